//! The four lists, page by page.

use std::sync::Arc;

use attache_protocol::{
    Entries, ErrorObject, PromptPage, ResourcePage, Revision, TemplatePage, ToolPage,
};

use crate::asking::Asking;
use crate::catalog::{prompt_name, resource_uri, template_uri, tool_name};
use crate::context::{Call, Context};
use crate::resource::{ListHandler, PageRequest};
use crate::service::{Answer, Work};

use super::handlers::Client;
use super::running::drive;
use super::{Asked, encode, older};

impl Asked<'_> {
    pub(super) fn list_tools(&self, revision: Revision) -> Work {
        self.page(revision, |catalog, cursor, size| {
            let (page, next_cursor) = catalog.tools.page(cursor, size, tool_name)?;
            let tools = page
                .iter()
                .map(|it| older::tool(revision, &it.tool.description));
            Ok(ToolPage {
                tools: entries(tools),
                next_cursor,
                ..ToolPage::default()
            })
        })
    }

    pub(super) fn list_resources(&self, client: Client) -> Work {
        let revision = client.revision;
        if let Some(handler) = &self.kernel.resource_list {
            return self.kept_resources(client, Arc::clone(handler));
        }
        self.page(revision, |catalog, cursor, size| {
            let (page, next_cursor) = catalog.resources.page(cursor, size, resource_uri)?;
            let resources = page
                .iter()
                .map(|it| older::resource(revision, &it.description));
            Ok(ResourcePage {
                resources: entries(resources),
                next_cursor,
                ..ResourcePage::default()
            })
        })
    }

    /// A page of the list that the author keeps.
    fn kept_resources(&self, client: Client, handler: Arc<ListHandler>) -> Work {
        let request = match self.params.cursor() {
            Ok(cursor) => PageRequest {
                cursor: cursor.map(std::borrow::Cow::into_owned),
                size: self.kernel.limits.page_size,
            },
            Err(error) => return self.refuse(&error),
        };
        let call = self.call(client, Asking::Never);
        let listing = Arc::clone(&call);
        drive(call, String::new, async move {
            let context = Context::new(Arc::clone(&listing));
            let Call {
                kernel,
                revision,
                id,
                ..
            } = &*listing;
            match handler(context, request).await {
                Ok(mut page) => {
                    for resource in &mut page.resources.items {
                        *resource = older::resource(*revision, resource);
                    }
                    encode::cacheable(kernel, *revision, id, kernel.caching, page)
                }
                Err(failure) => Answer::error(id, &failure.into_error()),
            }
        })
    }

    pub(super) fn list_templates(&self, revision: Revision) -> Work {
        self.page(revision, |catalog, cursor, size| {
            let (page, next_cursor) = catalog.templates.page(cursor, size, template_uri)?;
            let templates = page
                .iter()
                .map(|it| older::template(revision, &it.template.description));
            Ok(TemplatePage {
                resource_templates: entries(templates),
                next_cursor,
                ..TemplatePage::default()
            })
        })
    }

    pub(super) fn list_prompts(&self, revision: Revision) -> Work {
        self.page(revision, |catalog, cursor, size| {
            let (page, next_cursor) = catalog.prompts.page(cursor, size, prompt_name)?;
            let prompts = page
                .iter()
                .map(|it| older::prompt(revision, &it.description));
            Ok(PromptPage {
                prompts: entries(prompts),
                next_cursor,
                ..PromptPage::default()
            })
        })
    }

    fn page<R: encode::WithMeta>(
        &self,
        revision: Revision,
        build: impl Fn(&crate::catalog::Catalog, Option<&str>, usize) -> Result<R, ErrorObject>,
    ) -> Work {
        let page = self.params.cursor().and_then(|cursor| {
            let catalog = self.kernel.catalog();
            build(&catalog, cursor.as_deref(), self.kernel.limits.page_size)
        });
        Work::Done(match page {
            Ok(page) => {
                encode::cacheable(self.kernel, revision, &self.id, self.kernel.caching, page)
            }
            Err(error) => Answer::error(&self.id, &error),
        })
    }
}

fn entries<T>(items: impl Iterator<Item = T>) -> Entries<T> {
    items.collect::<Vec<_>>().into()
}
