//! What servers answer, as blocks that any face can show.
//!
//! A [`Document`] is made of the result of a call, of the contents of a resource or of the messages
//! of a prompt. Every text in it is safe to show (S13), every block tells its size, and nothing in it
//! makes a face fetch anything. What is not known is kept raw. How a block looks is for the face.

mod blocks;
mod markdown;
mod table;
mod tree;

use attache_protocol::{CallToolResult, GetPromptResult, Json, ReadResourceResult, Rejected};
use serde::Serialize;

pub use blocks::{Block, Body, Link, LooksLike, Media};
pub use markdown::{
    Alignment, Inline, ListItem, MAX_MARKDOWN_BYTES, MAX_MARKDOWN_DEPTH, Markdown, MarkdownBlock,
};
pub use table::{Column, MAX_COLUMNS, MAX_ROWS, Table};
pub use tree::{MAX_TREE_NODES, Member, Tree};

use crate::form::{Form, Report};
use crate::{Value, safe_text};

/// An answer, ready to be shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    /// The tool ran and failed.
    pub is_error: bool,
    /// What the answer is about, if it says so.
    pub description: Option<String>,
    /// The blocks, in the order of the server.
    pub blocks: Vec<Block>,
    /// The structured answer.
    pub structured: Option<Structured>,
    /// The size of all blocks and of the structured answer, in bytes.
    pub bytes: usize,
}

/// A structured answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Structured {
    /// How it can be shown: as a table or as a tree.
    pub body: Body,
    /// The size of its JSON, in bytes.
    pub bytes: usize,
    /// How it fits the schema that the tool promises; nothing if the tool promises none.
    pub report: Option<Report>,
}

impl Document {
    /// The answer of a tool, whose definition may promise a schema for its structured part.
    pub fn of_call(result: &CallToolResult, output_schema: Option<&Json>) -> Self {
        let value = result
            .structured_content
            .as_ref()
            .map(|json| (json, Value::of_json(json)));
        let form = output_schema.map(Form::new);
        let mut blocks: Vec<Block> = result.content.iter().map(Block::of_content).collect();
        let structured = value.map(|(json, value)| {
            if let Ok(value) = &value {
                for (block, content) in blocks.iter_mut().zip(&result.content) {
                    block.mark_repeated(content, value);
                }
            }
            structured(json, value, form.as_ref())
        });
        Self::new(blocks, structured, result.is_error, None)
    }

    /// The same of an answer that is needed no more: long texts are taken over instead of copied.
    pub fn of_own_call(mut result: CallToolResult, output_schema: Option<&Json>) -> Self {
        let contents = result.content.iter_mut().enumerate();
        let long: Vec<(usize, String)> = contents
            .filter_map(|(at, content)| Some((at, blocks::take_long_text(content)?)))
            .collect();
        let mut document = Self::of_call(&result, output_schema);
        for (at, text) in long {
            document.bytes += text.len();
            if let Some(block) = document.blocks.get_mut(at) {
                block.bytes = text.len();
                block.body = Body::of_long_text(text);
            }
        }
        document
    }

    /// What a read brought.
    pub fn of_resource(result: &ReadResourceResult) -> Self {
        let mut blocks: Vec<Block> = result.contents.iter().map(Block::of_resource).collect();
        blocks.extend(result.contents.rejected.iter().map(rejected));
        Self::new(blocks, None, false, None)
    }

    /// A prompt, filled in.
    pub fn of_prompt(result: &GetPromptResult) -> Self {
        let of_message = |message: &attache_protocol::PromptMessage| {
            let mut block = Block::of_content(&message.content);
            block.role = Some(safe_text::one_line(&message.role).into_owned());
            block
        };
        let mut blocks: Vec<Block> = result.messages.iter().map(of_message).collect();
        blocks.extend(result.messages.rejected.iter().map(rejected));
        let description = result.description.as_deref();
        let description = description.map(|text| safe_text::block(text).into_owned());
        Self::new(blocks, None, false, description)
    }

    fn new(
        blocks: Vec<Block>,
        structured: Option<Structured>,
        is_error: bool,
        description: Option<String>,
    ) -> Self {
        let of_blocks: usize = blocks.iter().map(|block| block.bytes).sum();
        Self {
            bytes: of_blocks + structured.as_ref().map_or(0, |structured| structured.bytes),
            is_error,
            description,
            blocks,
            structured,
        }
    }
}

fn structured(
    json: &Json,
    value: Result<Value, serde_json::Error>,
    form: Option<&Form>,
) -> Structured {
    let bytes = json.as_str().len();
    match value {
        Ok(value) => Structured {
            report: form.map(|form| form.check(&value)),
            body: Body::of_value(&value, form),
            bytes,
        },
        // Too deep to be read: it is shown as it came, and the check is the reader's.
        Err(_) => Structured {
            body: Body::unknown("structured content", json.as_str()),
            bytes,
            report: None,
        },
    }
}

fn rejected(entry: &Rejected) -> Block {
    Block::unknown(&entry.reason, entry.raw.as_str())
}
