//! Sampling: a server asks the client's model.

use std::collections::BTreeSet;
use std::ops::Deref;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::mcp::method::methods;
use crate::wire::record::record;
use crate::{Content, Entries, Json, TaskRequest, Tool};

methods! {
    /// Asks the client's model to go on with a conversation.
    CreateMessage = "sampling/createMessage" (CreateMessageParams) -> CreateMessageResult;
}

record! {
    /// The params of `sampling/createMessage`.
    #[derive(Default)]
    pub struct CreateMessageParams {
        /// The conversation so far.
        messages: Entries<SamplingMessage> = required "messages",
        /// Which model would be best.
        model_preferences: Option<ModelPreferences> = optional "modelPreferences",
        /// What the model is told first; the client may change it (C-SAMP-09).
        system_prompt: Option<String> = optional "systemPrompt",
        /// `none`, `thisServer` or `allServers`.
        include_context: Option<String> = optional "includeContext",
        /// How freely the model speaks.
        temperature: Option<f64> = optional "temperature",
        /// How much it may say; must be obeyed (C-SAMP-09).
        max_tokens: i64 = required "maxTokens",
        /// What makes it stop.
        stop_sequences: Option<Vec<String>> = optional "stopSequences",
        /// Whatever the provider of the model understands.
        metadata: Option<Json> = optional "metadata",
        /// Tools the model may use (from 2025-11-25).
        tools: Option<Entries<Tool>> = optional "tools",
        /// Whether it must use them (from 2025-11-25).
        tool_choice: Option<ToolChoice> = optional "toolChoice",
        /// Makes the request a task (2025-11-25).
        task: Option<TaskRequest> = optional "task",
    }
}

record! {
    /// One message of a conversation with a model.
    pub struct SamplingMessage {
        /// Who speaks: `user` or `assistant`.
        role: String = required "role",
        /// What is said.
        content: Blocks = required "content",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl SamplingMessage {
    /// What `role` says.
    pub fn new(role: impl Into<String>, content: impl Into<Blocks>) -> Self {
        Self {
            role: role.into(),
            content: content.into(),
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// Which model would be best; hints count before priorities (C-SAMP-10).
    #[derive(Default)]
    pub struct ModelPreferences {
        /// Models by name, best first.
        hints: Option<Vec<ModelHint>> = optional "hints",
        /// How much low cost matters, from 0 to 1.
        cost_priority: Option<f64> = optional "costPriority",
        /// How much speed matters, from 0 to 1.
        speed_priority: Option<f64> = optional "speedPriority",
        /// How much ability matters, from 0 to 1.
        intelligence_priority: Option<f64> = optional "intelligencePriority",
    }
}

record! {
    /// A hint at a model.
    #[derive(Default)]
    pub struct ModelHint {
        /// A part of its name.
        name: Option<String> = optional "name",
    }
}

record! {
    /// Whether the model must use tools (C-SAMP-08).
    #[derive(Default)]
    pub struct ToolChoice {
        /// `auto`, `required` or `none`; absent means `auto`.
        mode: Option<String> = optional "mode",
    }
}

record! {
    /// What the model said.
    pub struct CreateMessageResult {
        /// Who speaks: `assistant` as a rule.
        role: String = required "role",
        /// What is said.
        content: Blocks = required "content",
        /// The model.
        model: String = required "model",
        /// Why it stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or another reason.
        stop_reason: Option<String> = optional "stopReason",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl CreateMessageResult {
    /// What the assistant said through `model`.
    pub fn new(model: impl Into<String>, content: impl Into<Blocks>) -> Self {
        Self {
            role: "assistant".to_owned(),
            content: content.into(),
            model: model.into(),
            stop_reason: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

/// One block of content or a list of them, in the form it came in (C-SAMP-12).
#[derive(Clone, Debug, PartialEq)]
pub enum Blocks {
    /// One block, the only form before 2025-11-25.
    One(Box<Content>),
    /// A list of blocks.
    Many(Vec<Content>),
}

impl Deref for Blocks {
    type Target = [Content];

    fn deref(&self) -> &[Content] {
        match self {
            Self::One(block) => std::slice::from_ref(block),
            Self::Many(blocks) => blocks,
        }
    }
}

impl From<Content> for Blocks {
    fn from(block: Content) -> Self {
        Self::One(Box::new(block))
    }
}

impl From<Vec<Content>> for Blocks {
    fn from(blocks: Vec<Content>) -> Self {
        Self::Many(blocks)
    }
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::One(block) => block.serialize(serializer),
            Self::Many(blocks) => blocks.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        let blocks = if text.starts_with('[') {
            serde_json::from_str(text).map(Self::Many)
        } else {
            serde_json::from_str(text).map(Self::One)
        };
        blocks.map_err(D::Error::custom)
    }
}

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

impl ToolUse {
    /// Wishes to call the tool `name` with `input`.
    pub fn new(id: impl Into<String>, name: impl Into<String>, input: Json) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            input,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// What a tool answered to a model.
    #[derive(Default)]
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

impl ToolResult {
    /// Answers the wish of that id.
    pub fn new(tool_use_id: impl Into<String>, content: Vec<Content>) -> Self {
        Self {
            tool_use_id: tool_use_id.into(),
            content,
            ..Self::default()
        }
    }
}

/// Checks that tool results stand alone in their message (X-SAMP-05) and that each tool use is
/// answered in the next message (X-SAMP-06). The error says what is wrong.
pub fn check_tool_pairing(messages: &[SamplingMessage]) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let number = index + 1;
        let answers: BTreeSet<&str> = tool_results(message).collect();
        if !answers.is_empty() {
            let stands_alone = message
                .content
                .iter()
                .all(|block| matches!(block, Content::ToolResult(_)));
            if !stands_alone {
                return Err(format!(
                    "message {number} mixes tool results with other content"
                ));
            }
            if message.role != "user" {
                return Err(format!(
                    "message {number} has tool results but is not the user's"
                ));
            }
        }
        if let Some(id) = open.difference(&answers).next() {
            return Err(format!(
                "message {number} does not answer the tool use \"{id}\""
            ));
        }
        if let Some(id) = answers.difference(&open).next() {
            return Err(format!(
                "message {number} answers the tool use \"{id}\", which the message before does not have"
            ));
        }
        open = tool_uses(message).collect();
    }
    match open.first() {
        Some(id) => Err(format!("no message answers the tool use \"{id}\"")),
        None => Ok(()),
    }
}

fn tool_uses(message: &SamplingMessage) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        Content::ToolUse(tool_use) => Some(tool_use.id.as_str()),
        _ => None,
    })
}

fn tool_results(message: &SamplingMessage) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        Content::ToolResult(result) => Some(result.tool_use_id.as_str()),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn uses(ids: &[&str]) -> SamplingMessage {
        let blocks = ids
            .iter()
            .map(|id| Content::ToolUse(ToolUse::new(*id, "tool", json!({}).into())));
        SamplingMessage::new("assistant", blocks.collect::<Vec<_>>())
    }

    fn results(ids: &[&str]) -> SamplingMessage {
        let blocks = ids
            .iter()
            .map(|id| Content::ToolResult(ToolResult::new(*id, vec![])));
        SamplingMessage::new("user", blocks.collect::<Vec<_>>())
    }

    fn says(role: &str) -> SamplingMessage {
        SamplingMessage::new(role, Content::text("words"))
    }

    #[track_caller]
    fn check(messages: &[SamplingMessage], complaint: Option<&str>) {
        let verdict = check_tool_pairing(messages);
        assert_eq!(verdict.as_ref().err().map(String::as_str), complaint);
    }

    #[test]
    fn x_samp_06_each_tool_use_is_answered_in_the_next_message() {
        check(&[], None);
        check(&[says("user"), says("assistant"), says("user")], None);
        check(
            &[
                says("user"),
                uses(&["a", "b"]),
                results(&["b", "a"]),
                uses(&["c"]),
                results(&["c"]),
                says("assistant"),
            ],
            None,
        );
        check(
            &[uses(&["a", "b"]), results(&["a"])],
            Some("message 2 does not answer the tool use \"b\""),
        );
        check(
            &[uses(&["a"]), says("user"), results(&["a"])],
            Some("message 2 does not answer the tool use \"a\""),
        );
        check(
            &[uses(&["a"])],
            Some("no message answers the tool use \"a\""),
        );
        check(
            &[uses(&["a"]), results(&["a", "z"])],
            Some("message 2 answers the tool use \"z\", which the message before does not have"),
        );
    }

    #[test]
    fn x_samp_05_tool_results_stand_alone() {
        let mut mixed = results(&["a"]);
        mixed.content = vec![mixed.content[0].clone(), Content::text("and")].into();
        check(
            &[uses(&["a"]), mixed],
            Some("message 2 mixes tool results with other content"),
        );
        let mut by_assistant = results(&["a"]);
        by_assistant.role = "assistant".to_owned();
        check(
            &[uses(&["a"]), by_assistant],
            Some("message 2 has tool results but is not the user's"),
        );
    }

    #[test]
    fn c_samp_12_content_keeps_its_form() {
        for (text, count) in [
            (r#"{"role":"user","content":{"type":"text","text":"a"}}"#, 1),
            (
                r#"{"role":"user","content":[{"type":"text","text":"a"}]}"#,
                1,
            ),
            (r#"{"role":"user","content":[]}"#, 0),
            (r#"{"role":"user","content":{"type":"video","x":1e400}}"#, 1),
        ] {
            let message: SamplingMessage = serde_json::from_str(text).unwrap();
            assert_eq!(message.content.len(), count);
            assert_eq!(serde_json::to_string(&message).unwrap(), text);
        }
    }
}
