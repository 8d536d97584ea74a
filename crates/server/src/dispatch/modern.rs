//! Requests of the modern era: each stands for itself.

use std::sync::Arc;

use attache_protocol::{
    CallTool, ClientCapabilities, Complete, Discover, DiscoverResult, ExtCancelTask, ExtGetTask,
    ExtUpdateTask, GetPrompt, ListPrompts, ListResources, ListTemplates, ListTools, Listen, Method,
    ReadResource, meta,
};

use crate::service::Work;

use super::handlers::Client;
use super::params::ModernMeta;
use super::{Asked, encode};

impl Asked<'_> {
    pub(super) fn modern(&self) -> Work {
        let read = self.params.meta().and_then(|meta| {
            let token = meta.progress_token()?;
            Ok((meta.modern(self.kernel)?, token))
        });
        let (meta, progress_token) = match read {
            Ok(read) => read,
            Err(error) => return self.refuse(&error),
        };
        let ModernMeta {
            revision,
            capabilities,
            client,
            log_level,
        } = meta;
        let client = Client {
            revision,
            capabilities: Arc::new(capabilities),
            identity: client.map(Arc::new),
            log_level,
            progress_token,
        };
        let areas = self.kernel.areas();
        match self.method {
            Discover::NAME => self.discover(&client),
            CallTool::NAME if areas.tools => self.call_tool(client),
            ListTools::NAME if areas.tools => self.list_tools(revision),
            ListResources::NAME if areas.resources => self.list_resources(client),
            ListTemplates::NAME if areas.resources => self.list_templates(revision),
            ReadResource::NAME if areas.resources => self.read_resource(client),
            ListPrompts::NAME if areas.prompts => self.list_prompts(revision),
            GetPrompt::NAME if areas.prompts => self.get_prompt(client),
            Complete::NAME if areas.completions => self.complete(client),
            Listen::NAME if areas.subscriptions => self.listen(&client),
            ExtGetTask::NAME if areas.tasks => self.ext_get_task(&client),
            ExtUpdateTask::NAME if areas.tasks => self.ext_update_task(&client),
            ExtCancelTask::NAME if areas.tasks => self.ext_cancel_task(&client),
            _ => self.unknown_method(),
        }
    }

    fn discover(&self, client: &Client) -> Work {
        let result = DiscoverResult {
            supported_versions: self.kernel.supported(),
            capabilities: self.kernel.capabilities(client.revision),
            instructions: self.kernel.instructions.clone(),
            ..DiscoverResult::default()
        };
        Work::Done(encode::cacheable(
            self.kernel,
            client.revision,
            &self.id,
            self.kernel.caching,
            result,
        ))
    }
}

/// Whether the request declares the tasks extension (C-TSKE-01).
pub(super) fn declares_tasks(capabilities: &ClientCapabilities) -> bool {
    let extensions = capabilities
        .extensions
        .as_ref()
        .and_then(|raw| raw.to_value().ok());
    extensions.is_some_and(|it| {
        it.get(meta::TASKS_EXTENSION)
            .is_some_and(|it| it.is_object())
    })
}
