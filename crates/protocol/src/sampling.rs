//! Sampling.
use crate::record::record;
use crate::{Content, Json};
record! {
    /// A model's wish to use a tool.
    pub struct ToolUse {
        /// The id its result must name.
        id: String = required "id",
        /// Which tool.
        name: String = required "name",
        /// The arguments.
        input: Json = required "input",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}
record! {
    /// What a tool answered to a model.
    pub struct ToolResult {
        /// The id of the wish.
        tool_use_id: String = required "toolUseId",
        /// The blocks of the answer.
        content: Vec<Content> = always "content",
        /// The structured answer.
        structured_content: Option<Json> = optional "structuredContent",
        /// The tool failed.
        is_error: bool = default "isError",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}
