//! What a server offers: the registrations, and the same prepared for being asked.

use std::collections::HashMap;
use std::sync::Arc;

use attache_protocol::ErrorObject;

use crate::caching::Caching;
use crate::failure::BuildError;
use crate::prompt::Prompt;
use crate::resource::{PreparedTemplate, ReadHandler, Reading, Resource, Template};
use crate::tool::{PreparedTool, TaskSupport, Tool};

/// Everything that is registered, in order.
#[derive(Clone, Default)]
pub struct Registry {
    pub(crate) tools: Vec<Tool>,
    pub(crate) resources: Vec<Resource>,
    pub(crate) templates: Vec<Template>,
    pub(crate) prompts: Vec<Prompt>,
}

impl Registry {
    /// Adds a tool.
    pub fn add_tool(&mut self, tool: Tool) -> &mut Self {
        self.tools.push(tool);
        self
    }

    /// Removes the tool of that name.
    pub fn remove_tool(&mut self, name: &str) -> &mut Self {
        self.tools.retain(|tool| tool.description.name != name);
        self
    }

    /// Adds a resource.
    pub fn add_resource(&mut self, resource: Resource) -> &mut Self {
        self.resources.push(resource);
        self
    }

    /// Removes the resource of that URI.
    pub fn remove_resource(&mut self, uri: &str) -> &mut Self {
        self.resources
            .retain(|resource| resource.description.uri != uri);
        self
    }

    /// Adds a template.
    pub fn add_template(&mut self, template: Template) -> &mut Self {
        self.templates.push(template);
        self
    }

    /// Removes a template.
    pub fn remove_template(&mut self, uri_template: &str) -> &mut Self {
        self.templates
            .retain(|template| template.description.uri_template != uri_template);
        self
    }

    /// Adds a prompt.
    pub fn add_prompt(&mut self, prompt: Prompt) -> &mut Self {
        self.prompts.push(prompt);
        self
    }

    /// Removes the prompt of that name.
    pub fn remove_prompt(&mut self, name: &str) -> &mut Self {
        self.prompts
            .retain(|prompt| prompt.description.name != name);
        self
    }
}

/// A list in order with an index by key.
pub(crate) struct Listed<T> {
    entries: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T> Listed<T> {
    fn new(
        kind: &'static str,
        entries: Vec<T>,
        key: impl Fn(&T) -> &str,
    ) -> Result<Self, BuildError> {
        let mut places = HashMap::with_capacity(entries.len());
        for (place, entry) in entries.iter().enumerate() {
            let name = key(entry).to_owned();
            if places.insert(name.clone(), place).is_some() {
                return Err(BuildError::Duplicate { kind, name });
            }
        }
        Ok(Self { entries, places })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&T> {
        self.entries.get(*self.places.get(key)?)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries behind the one that `cursor` names, and the cursor of the page after them.
    ///
    /// A cursor names an entry, so it stays good while others come and go (S-PAG-05).
    pub(crate) fn page(
        &self,
        cursor: Option<&str>,
        size: usize,
        key: impl Fn(&T) -> &str,
    ) -> Result<(&[T], Option<String>), ErrorObject> {
        let start = match cursor {
            None => 0,
            Some(cursor) => self
                .places
                .get(cursor)
                .map(|place| place + 1)
                .ok_or_else(|| {
                    ErrorObject::new(
                        attache_protocol::codes::INVALID_PARAMS,
                        "there is no such page; begin with the first one again",
                    )
                })?,
        };
        let end = start.saturating_add(size).min(self.entries.len());
        let page = &self.entries[start..end];
        let next = (end < self.entries.len())
            .then(|| page.last().map(|last| key(last).to_owned()))
            .flatten();
        Ok((page, next))
    }
}

/// The registrations, checked and compiled.
pub(crate) struct Catalog {
    pub(crate) tools: Listed<Arc<PreparedTool>>,
    pub(crate) resources: Listed<Resource>,
    pub(crate) templates: Listed<PreparedTemplate>,
    pub(crate) prompts: Listed<Prompt>,
    /// Some tool can run as a task.
    pub(crate) has_task_tools: bool,
    /// Some argument can be completed.
    pub(crate) completes: bool,
}

/// How to read what a URI names.
pub(crate) struct Readable {
    pub(crate) reading: Reading,
    pub(crate) handler: Arc<ReadHandler>,
    pub(crate) caching: Option<Caching>,
}

impl Catalog {
    pub(crate) fn prepare(registry: &Registry) -> Result<Self, BuildError> {
        let tools = registry
            .tools
            .iter()
            .cloned()
            .map(|tool| tool.prepare().map(Arc::new));
        let templates = registry.templates.iter().cloned().map(Template::prepare);
        let is_task_tool = |tool: &Tool| tool.tasks != TaskSupport::Forbidden;
        let completes_prompts = registry.prompts.iter().any(|it| !it.completers.is_empty());
        let completes_templates = registry
            .templates
            .iter()
            .any(|it| !it.completers.is_empty());
        Ok(Self {
            has_task_tools: registry.tools.iter().any(is_task_tool),
            completes: completes_prompts || completes_templates,
            tools: Listed::new("tool", tools.collect::<Result<_, _>>()?, tool_name)?,
            resources: Listed::new("resource", registry.resources.clone(), resource_uri)?,
            templates: Listed::new(
                "template",
                templates.collect::<Result<_, _>>()?,
                template_uri,
            )?,
            prompts: Listed::new("prompt", registry.prompts.clone(), prompt_name)?,
        })
    }

    /// Who reads `uri`: the resource of that very URI, else the first template that matches.
    pub(crate) fn readable(&self, uri: &str) -> Option<Readable> {
        if let Some(resource) = self.resources.get(uri) {
            return Some(Readable {
                reading: Reading {
                    uri: uri.to_owned(),
                    variables: Default::default(),
                },
                handler: Arc::clone(&resource.handler),
                caching: resource.caching,
            });
        }
        self.templates.iter().find_map(|prepared| {
            Some(Readable {
                reading: Reading {
                    variables: prepared.pattern.matches(uri)?,
                    uri: uri.to_owned(),
                },
                handler: Arc::clone(&prepared.template.handler),
                caching: prepared.template.caching,
            })
        })
    }
}

pub(crate) fn tool_name(tool: &Arc<PreparedTool>) -> &str {
    &tool.tool.description.name
}

pub(crate) fn resource_uri(resource: &Resource) -> &str {
    &resource.description.uri
}

pub(crate) fn template_uri(template: &PreparedTemplate) -> &str {
    &template.template.description.uri_template
}

pub(crate) fn prompt_name(prompt: &Prompt) -> &str {
    &prompt.description.name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(count: usize) -> Listed<String> {
        let entries = (1..=count).map(|it| it.to_string()).collect();
        Listed::new("entry", entries, |it: &String| it).unwrap()
    }

    #[test]
    fn s_pag_05_pages_follow_each_other_and_bad_cursors_are_refused() {
        let list = listed(5);
        let (page, next) = list.page(None, 2, |it| it).unwrap();
        assert_eq!(
            (page, next.as_deref()),
            (&["1".to_owned(), "2".to_owned()][..], Some("2"))
        );
        let (page, next) = list.page(Some("4"), 2, |it| it).unwrap();
        assert_eq!((page, next), (&["5".to_owned()][..], None));
        let (page, next) = list.page(Some("5"), 2, |it| it).unwrap();
        assert_eq!((page.len(), next), (0, None));
        assert_eq!(list.page(Some(""), 2, |it| it).unwrap_err().code, -32602);
        assert_eq!(listed(4).page(Some("2"), 2, |it| it).unwrap().1, None);
    }

    #[test]
    fn a_name_is_registered_once() {
        let entries = vec!["a".to_owned(), "a".to_owned()];
        assert!(Listed::new("entry", entries, |it: &String| it).is_err());
    }
}
