//! A short way for the commonest result of a tool: blocks of plain text and nothing else.
//!
//! Decoding by type walks a text several times, and a long text with escapes passes through a
//! buffer of its own size. This reader walks it once, straight into the string that is kept. It
//! reads only what it is sure to read as the typed way would, and gives up on anything else; the
//! typed way then decides. Its input has passed the envelope's parser, so it is well-formed JSON.

use crate::wire::scan::end_of_run;
use crate::wire::unescape::unescaped;
use crate::{CallToolResult, Content, TextContent};

/// Reads a result that has no members but `content`, with plain text blocks, and `isError`.
pub(crate) fn read(json: &[u8]) -> Option<CallToolResult> {
    let mut reader = Reader {
        text: std::str::from_utf8(json).ok()?,
        at: 0,
    };
    let mut result = CallToolResult::default();
    let mut seen = [false; 2];
    reader.object(|reader, member| match member {
        "content" if !std::mem::replace(&mut seen[0], true) => {
            // One block is the rule; room for more is made when they come.
            result.content.reserve_exact(1);
            reader.array(|reader| {
                result.content.push(reader.text_block()?);
                Some(())
            })
        }
        "isError" if !std::mem::replace(&mut seen[1], true) => {
            if reader.literal("false").is_some() {
                result.extra.spell_out("isError");
                return Some(());
            }
            result.is_error = true;
            reader.literal("true")
        }
        _ => None,
    })?;
    reader.blank();
    (seen[0] && reader.at == json.len()).then_some(result)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// A block with a text and the type that says so.
    fn text_block(&mut self) -> Option<Content> {
        let mut typed = false;
        let mut text = None;
        self.object(|reader, member| match member {
            "type" if !typed => {
                typed = true;
                reader.literal("\"text\"")
            }
            "text" if text.is_none() => {
                text = Some(reader.string()?);
                Some(())
            }
            _ => None,
        })?;
        Some(Content::Text(TextContent {
            text: text.filter(|_| typed)?,
            ..TextContent::default()
        }))
    }

    fn object(&mut self, mut member: impl FnMut(&mut Self, &'a str) -> Option<()>) -> Option<()> {
        self.sequence(b'{', b'}', |reader| {
            let name = reader.name()?;
            reader.token(b':')?;
            reader.blank();
            member(reader, name)
        })
    }

    fn array(&mut self, item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.sequence(b'[', b']', item)
    }

    fn sequence(
        &mut self,
        open: u8,
        close: u8,
        mut item: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.token(open)?;
        if self.token(close).is_some() {
            return Some(());
        }
        loop {
            self.blank();
            item(self)?;
            if self.token(b',').is_none() {
                return self.token(close);
            }
        }
    }

    /// A member's name; none that matters has escapes.
    fn name(&mut self) -> Option<&'a str> {
        self.token(b'"')?;
        let length = end_of_run(self.rest())?;
        let name = &self.text[self.at..self.at + length];
        self.at += length;
        self.token(b'"')?;
        Some(name)
    }

    /// A string, unescaped into its own memory.
    fn string(&mut self) -> Option<String> {
        self.token(b'"')?;
        let (string, length) = unescaped(&self.text[self.at..])?;
        self.at += length;
        Some(string)
    }

    fn token(&mut self, byte: u8) -> Option<()> {
        self.blank();
        (*self.rest().first()? == byte).then(|| self.at += 1)
    }

    fn literal(&mut self, literal: &str) -> Option<()> {
        let rest = &self.text[self.at..];
        rest.starts_with(literal).then(|| self.at += literal.len())
    }

    fn blank(&mut self) {
        while matches!(self.rest().first(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Json, Payload};

    /// What the short way reads is what the typed way reads.
    fn check(json: &str, expected: Option<&[&str]>) {
        let read = read(json.as_bytes());
        let texts = read.as_ref().map(|result| {
            let blocks = result.content.iter();
            blocks.filter_map(Content::as_text).collect::<Vec<_>>()
        });
        assert_eq!(texts.as_deref(), expected, "{json}");
        if let Some(result) = read {
            let typed: CallToolResult = Payload::from(Json::parse(json).unwrap()).decode().unwrap();
            assert_eq!(result, typed, "{json}");
        }
    }

    #[test]
    fn plain_text_is_read_as_the_typed_way_reads_it() {
        check(r#"{"content":[]}"#, Some(&[]));
        check(r#"{"content":[{"type":"text","text":""}]}"#, Some(&[""]));
        check(
            r#"{"isError":false,"content":[{"text":"a","type":"text"}]}"#,
            Some(&["a"]),
        );
        check(
            r#" { "content" : [ { "type" : "text" , "text" : "a" } , {"type":"text","text":"b"} ] , "isError" : true } "#,
            Some(&["a", "b"]),
        );
        check(
            r#"{"content":[{"type":"text","text":"\"\\\/\b\f\n\r\t ä€😀 \u00e4\u20AC\ud83d\ude00\u0000"}]}"#,
            Some(&["\"\\/\u{8}\u{c}\n\r\t ä€😀 ä€😀\u{0}"]),
        );
    }

    #[test]
    fn everything_else_is_left_to_the_typed_way() {
        for json in [
            "{}",
            "[]",
            r#"{"content":null}"#,
            r#"{"content":[{"text":"a"}]}"#,
            r#"{"content":[{"text":"a","type":"new"}]}"#,
            r#"{"content":[{"type":"image","data":"","mimeType":"m"}]}"#,
            r#"{"content":[{"type":"text","text":"a","annotations":{}}]}"#,
            r#"{"content":[{"type":"text","text":"a"}],"isError":0}"#,
            r#"{"content":[{"type":"text","text":"a"}],"structuredContent":{}}"#,
            r#"{"content":[{"type":"text","text":"a"}],"content":[]}"#,
            r#"{"content":[{"type":"text","text":"\ud800"}]}"#,
            r#"{"content":[{"type":"text","text":"\ud800\u0041"}]}"#,
            r#"{"content":[{"type":"text","te\u0078t":"a"}]}"#,
            r#"{"content":[{"type":"text","text":5}]}"#,
        ] {
            check(json, None);
        }
    }

    #[test]
    fn a_long_text_takes_no_more_memory_than_it_needs() {
        let text = "\n".repeat(10_000);
        let json = serde_json::json!({"content": [{"type": "text", "text": text}]}).to_string();
        let result = read(json.as_bytes()).unwrap();
        let Content::Text(block) = &result.content[0] else {
            panic!("{result:?}");
        };
        assert_eq!(block.text, text);
        assert!(block.text.capacity() <= 2 * text.len() + 64);
    }
}
