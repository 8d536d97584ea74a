//! What older revisions cannot say, said in their words or left out (eras section 3.2).

use attache_protocol::{
    CallToolResult, Content, Era, GetPromptResult, Prompt, Resource, ResourceTemplate, Revision,
    Tool,
};

/// A tool with the fields that `revision` knows.
pub(super) fn tool(revision: Revision, tool: &Tool) -> Tool {
    let features = revision.features();
    let mut tool = tool.clone();
    if !features.tool_annotations {
        tool.annotations = None;
    }
    if !features.structured_results {
        tool.output_schema = None;
        tool.title = None;
        tool.meta = None;
    }
    if features.era == Era::Legacy && !describes_object(&tool) {
        tool.output_schema = None;
    }
    if !features.identity_details {
        tool.icons = None;
    }
    if !features.experimental_tasks {
        tool.execution = None;
    }
    tool
}

/// Before the modern era structured content is an object.
fn describes_object(tool: &Tool) -> bool {
    let schema = tool
        .output_schema
        .as_ref()
        .and_then(|it| it.to_value().ok());
    schema.is_none_or(|it| it.get("type").is_some_and(|kind| kind == "object"))
}

/// A resource with the fields that `revision` knows.
pub(super) fn resource(revision: Revision, resource: &Resource) -> Resource {
    let features = revision.features();
    let mut resource = resource.clone();
    if !features.structured_results {
        resource.title = None;
        resource.meta = None;
    }
    if !features.identity_details {
        resource.icons = None;
    }
    resource
}

/// A template with the fields that `revision` knows.
pub(super) fn template(revision: Revision, template: &ResourceTemplate) -> ResourceTemplate {
    let features = revision.features();
    let mut template = template.clone();
    if !features.structured_results {
        template.title = None;
        template.meta = None;
    }
    if !features.identity_details {
        template.icons = None;
    }
    template
}

/// A prompt with the fields that `revision` knows.
pub(super) fn prompt(revision: Revision, prompt: &Prompt) -> Prompt {
    let features = revision.features();
    let mut prompt = prompt.clone();
    if !features.structured_results {
        prompt.title = None;
        prompt.meta = None;
        for argument in prompt.arguments.iter_mut().flatten() {
            argument.title = None;
        }
    }
    if !features.identity_details {
        prompt.icons = None;
    }
    prompt
}

/// A tool's result that `revision` can carry.
pub(super) fn tool_result(revision: Revision, mut result: CallToolResult) -> CallToolResult {
    let features = revision.features();
    if features.era == Era::Modern {
        return result;
    }
    let is_object = |it: &attache_protocol::Json| it.as_str().trim_start().starts_with('{');
    let fits =
        features.structured_results && result.structured_content.as_ref().is_none_or(is_object);
    let unfit = result.structured_content.take_if(|_| !fits);
    if let Some(unfit) = unfit.filter(|_| result.content.is_empty()) {
        result.content.push(Content::text(unfit.as_str()));
    }
    for block in &mut result.content {
        make_older(revision, block);
    }
    result
}

/// A prompt's messages that `revision` can carry.
pub(super) fn prompt_result(revision: Revision, mut result: GetPromptResult) -> GetPromptResult {
    for message in &mut result.messages.items {
        make_older(revision, &mut message.content);
    }
    result
}

fn make_older(revision: Revision, block: &mut Content) {
    let features = revision.features();
    let text = match block {
        Content::Audio(audio) if !features.audio => {
            Some(format!("[a sound of the type {}]", audio.mime_type))
        }
        Content::ResourceLink(link) if !features.structured_results => {
            Some(format!("{}: {}", link.name, link.uri))
        }
        _ => None,
    };
    if let Some(text) = text {
        *block = Content::text(text);
    }
}
