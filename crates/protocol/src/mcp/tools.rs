//! Tools: listing and calling them.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::mcp::method::{methods, notifications};
use crate::wire::plain_result;
use crate::wire::record::record;
use crate::{
    Content, Entries, Json, Method, MirroredParams, NoParams, PageParams, Paged, Payload,
    TaskRequest,
};

methods! {
    /// Lists the tools of a server.
    ListTools = "tools/list" (PageParams) -> ToolPage;
}

/// Calls a tool.
#[derive(Clone, Copy, Debug)]
pub struct CallTool;

impl Method for CallTool {
    const NAME: &'static str = "tools/call";
    type Params = CallToolParams;
    type Result = CallToolResult;

    fn decode(payload: &Payload) -> Result<CallToolResult, serde_json::Error> {
        match plain_result::read(payload.as_bytes()) {
            Some(result) => Ok(result),
            None => payload.decode(),
        }
    }
}

impl Paged for ListTools {
    type Item = Tool;

    fn into_page(result: ToolPage) -> (Entries<Tool>, Option<String>) {
        (result.tools, result.next_cursor)
    }

    /// A tool whose annotations for headers are invalid is left out there (C-SHM-14).
    fn unusable_over_http(tool: &Tool) -> Option<String> {
        let problem = MirroredParams::of_schema(tool.input_schema.as_ref()?).err()?;
        Some(format!("the tool {:?}: {problem}", tool.name))
    }
}

notifications! {
    /// The list of tools has changed.
    ToolsChanged = "notifications/tools/list_changed" (NoParams);
}

record! {
    /// One page of `tools/list`.
    #[derive(Default)]
    pub struct ToolPage {
        /// The tools of this page.
        tools: Entries<Tool> = required "tools",
        /// Where the next page begins; an empty string is a cursor too (C-PAG-03).
        next_cursor: Option<String> = strict "nextCursor",
        /// How long the page is fresh (2026-07-28).
        ttl_ms: Option<i64> = optional "ttlMs",
        /// Who may share it: `public` or `private` (2026-07-28).
        cache_scope: Option<String> = optional "cacheScope",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// A tool as its server describes it.
    pub struct Tool {
        /// The name to call it by.
        name: String = required "name",
        /// A name for people (from 2025-06-18).
        title: Option<String> = optional "title",
        /// What it does.
        description: Option<String> = optional "description",
        /// The JSON Schema of its arguments as it came; see [`Tool::schema`].
        input_schema: Option<Json> = optional "inputSchema",
        /// The JSON Schema of its structured result (from 2025-06-18).
        output_schema: Option<Json> = optional "outputSchema",
        /// What the server claims about its behaviour; untrusted (C-TOOL-14).
        annotations: Option<ToolAnnotations> = optional "annotations",
        /// How it may be run (2025-11-25).
        execution: Option<ToolExecution> = optional "execution",
        /// Pictures for it (from 2025-11-25).
        icons: Option<Json> = optional "icons",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl Tool {
    /// A tool with a name and an input schema.
    pub fn new(name: impl Into<String>, input_schema: Json) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: None,
            input_schema: Some(input_schema),
            output_schema: None,
            annotations: None,
            execution: None,
            icons: None,
            meta: None,
            extra: Default::default(),
        }
    }

    /// The schema of the arguments; a tool that came without one takes any object
    /// (seeds row 41).
    pub fn schema(&self) -> Cow<'_, str> {
        match &self.input_schema {
            Some(schema) => Cow::Borrowed(schema.as_str()),
            None => Cow::Borrowed(r#"{"type":"object"}"#),
        }
    }

    /// The name to show: title, annotated title, name.
    pub fn display_name(&self) -> &str {
        let annotated = || self.annotations.as_ref()?.title.as_deref();
        self.title
            .as_deref()
            .or_else(annotated)
            .unwrap_or(&self.name)
    }
}

impl Entries<Tool> {
    /// The tool of that name.
    pub fn by_name(&self, name: &str) -> Option<&Tool> {
        self.items.iter().find(|tool| tool.name == name)
    }
}

record! {
    /// Hints about a tool (from 2025-03-26).
    #[derive(Default)]
    pub struct ToolAnnotations {
        /// A name for people.
        title: Option<String> = optional "title",
        /// It changes nothing.
        read_only: Option<bool> = optional "readOnlyHint",
        /// It may destroy something.
        destructive: Option<bool> = optional "destructiveHint",
        /// Calling it twice is calling it once.
        idempotent: Option<bool> = optional "idempotentHint",
        /// It reaches beyond its own world.
        open_world: Option<bool> = optional "openWorldHint",
    }
}

record! {
    /// How a tool may be run (2025-11-25).
    #[derive(Default)]
    pub struct ToolExecution {
        /// `forbidden`, `optional` or `required`; absent means forbidden (C-TSKX-02).
        task_support: Option<String> = optional "taskSupport",
    }
}

record! {
    /// The params of `tools/call`.
    pub struct CallToolParams {
        /// Which tool.
        name: String = required "name",
        /// Its arguments.
        arguments: Option<Json> = optional "arguments",
        /// Makes the call a task (2025-11-25).
        task: Option<TaskRequest> = optional "task",
    }
}

impl CallToolParams {
    /// Calls the tool of that name.
    pub fn new(name: impl Into<String>, arguments: Option<Json>) -> Self {
        Self {
            name: name.into(),
            arguments,
            task: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// What a tool answered.
    #[derive(Default)]
    pub struct CallToolResult {
        /// The blocks of the answer.
        content: Vec<Content> = always "content",
        /// The structured answer: an object, from 2026-07-28 any JSON value.
        structured_content: Option<Json> = optional "structuredContent",
        /// The tool ran and failed.
        is_error: bool = default "isError",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl CallToolResult {
    /// Whether an answer says that its tool has failed. Nothing else of it is read.
    pub fn says_failed(answer: &Payload) -> Result<bool, serde_json::Error> {
        #[derive(Deserialize)]
        struct Flag {
            #[serde(rename = "isError", default)]
            is_error: bool,
        }
        let text = answer.text();
        // A payload is well-formed. One that has neither the name nor an escape that could spell it
        // need not be read to know.
        let may_say = text.contains("isError") || text.contains("\\u");
        if !may_say && text.trim_start().starts_with('{') {
            return Ok(false);
        }
        serde_json::from_str(&text).map(|flag: Flag| flag.is_error)
    }

    /// All text blocks, joined by line breaks.
    pub fn text(&self) -> String {
        let blocks: Vec<_> = self.content.iter().filter_map(Content::as_text).collect();
        blocks.join("\n")
    }

    /// The answer, or the failure of the tool as an error that carries it (seeds row 43).
    pub fn into_result(self) -> Result<Self, ToolFailed> {
        if self.is_error {
            Err(ToolFailed(Box::new(self)))
        } else {
            Ok(self)
        }
    }

    /// The structured answer as a tree, if there is one.
    pub fn structured(&self) -> Option<Value> {
        self.structured_content.as_ref()?.to_value().ok()
    }
}

/// A tool that ran and failed, with what it said.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolFailed(pub Box<CallToolResult>);

impl fmt::Display for ToolFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.text().as_str() {
            "" => formatter.write_str("the tool failed without a word"),
            text => write!(formatter, "the tool failed: {text}"),
        }
    }
}

impl std::error::Error for ToolFailed {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_that_its_tool_has_failed_however_it_spells_it() {
        for (text, expected) in [
            ("{}", Some(false)),
            (
                r#"{"content":[{"type":"text","text":"isError"}]}"#,
                Some(false),
            ),
            (
                r#"{"content":[{"isError":true}],"isError":false}"#,
                Some(false),
            ),
            (r#"{"content":[],"isError":true}"#, Some(true)),
            (r#" {"\u0069sError" : true}"#, Some(true)),
            (r#"{"isError":"yes"}"#, None),
            (r#"["isError"]"#, None),
            ("7", None),
        ] {
            let answer = Payload::from(Json::parse(text).unwrap());
            assert_eq!(
                CallToolResult::says_failed(&answer).ok(),
                expected,
                "{text}"
            );
        }
    }
}
