//! YAML as a tree of JSON values, for the two tools that keep their servers in it.
//!
//! Built from the parser's events, so that depth and the work of aliases are bounded here: nested
//! anchors cannot be made to grow without end.

use std::borrow::Cow;
use std::collections::BTreeMap;

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Tag};
use serde_json::{Map, Number, Value};

use super::Misread;

/// How deep lists and maps may nest.
const DEEPEST: usize = 64;
/// How many values a document may have, those that aliases repeat included.
const MOST_VALUES: usize = 100_000;

/// The first document of a text.
pub(super) fn parse(text: &str) -> Result<Value, Misread> {
    let mut tree = Tree::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| misread(&error))?;
        let position = (span.start.line(), span.start.col() + 1);
        if matches!(event, Event::DocumentEnd) {
            break;
        }
        tree.take(event).map_err(|message| Misread {
            line: position.0,
            column: position.1,
            message: message.to_owned(),
        })?;
    }
    Ok(tree.root.unwrap_or(Value::Null))
}

fn misread(error: &ScanError) -> Misread {
    Misread {
        line: error.marker().line(),
        column: error.marker().col() + 1,
        message: error.info().to_owned(),
    }
}

#[derive(Default)]
struct Tree {
    root: Option<Value>,
    open: Vec<Open>,
    anchors: BTreeMap<usize, Value>,
    values: usize,
}

/// A list or map that is not complete yet, with its anchor; zero is none.
enum Open {
    List(usize, Vec<Value>),
    Map(usize, Map<String, Value>, Option<String>),
}

impl Tree {
    fn take(&mut self, event: Event<'_>) -> Result<(), &'static str> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = scalar(&text, style, tag.as_ref());
                self.put(anchor, value)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned();
                self.put(0, value.unwrap_or(Value::Null))
            }
            Event::SequenceStart(anchor, _) => self.begin(Open::List(anchor, Vec::new())),
            Event::MappingStart(anchor, _) => self.begin(Open::Map(anchor, Map::new(), None)),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                Some(Open::List(anchor, items)) => self.put(anchor, Value::Array(items)),
                Some(Open::Map(anchor, members, _)) => self.put(anchor, Value::Object(members)),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn begin(&mut self, open: Open) -> Result<(), &'static str> {
        if self.open.len() == DEEPEST {
            return Err("the file nests too deeply");
        }
        self.open.push(open);
        Ok(())
    }

    fn put(&mut self, anchor: usize, value: Value) -> Result<(), &'static str> {
        self.values += count(&value);
        if self.values > MOST_VALUES {
            return Err("the file has too many values");
        }
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(value),
            Some(Open::List(_, items)) => items.push(value),
            Some(Open::Map(_, members, key)) => match key.take() {
                Some(key) => {
                    members.insert(key, value);
                }
                None => {
                    *key = Some(match value {
                        Value::String(text) => text,
                        other => other.to_string(),
                    });
                }
            },
        }
        Ok(())
    }
}

/// How many values a value is. A list counts its items anew when it is complete, so honest files
/// count a small multiple of what they have.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(members) => members.values().map(count).sum(),
        _ => 0,
    }
}

/// A plain word has the type of the core schema; a quoted one is text.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Cow<'_, Tag>>) -> Value {
    let is_text = tag.is_some_and(|tag| tag.suffix == "str");
    if style != ScalarStyle::Plain || is_text {
        return Value::String(text.to_owned());
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ => number(text).unwrap_or_else(|| Value::String(text.to_owned())),
    }
}

fn number(text: &str) -> Option<Value> {
    let looks_like_one = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && text.bytes().any(|byte| byte.is_ascii_digit());
    if !looks_like_one {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(Value::from(whole));
    }
    Number::from_f64(text.parse().ok()?).map(Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_become_trees() {
        for (text, expected) in [
            ("", json!(null)),
            (
                "a: 1\nb: [x, 'true', true, null, 1.5, -3]",
                json!({"a": 1, "b": ["x", "true", true, null, 1.5, -3]}),
            ),
            (
                "# c\nlist:\n  - name: n\n    args:\n      - '-y'\n",
                json!({"list": [{"name": "n", "args": ["-y"]}]}),
            ),
            (
                "a: &x {k: v}\nb: *x",
                json!({"a": {"k": "v"}, "b": {"k": "v"}}),
            ),
            (
                "1: one\ntext: |\n  two\n  lines\n",
                json!({"1": "one", "text": "two\nlines\n"}),
            ),
            (
                "version: 1.2.3\nid: !!str 7",
                json!({"version": "1.2.3", "id": "7"}),
            ),
            ("a: 1\n---\nb: 2", json!({"a": 1})),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn errors_have_places() {
        let error = parse("a: 1\nb: [1, 2\nc: 3").unwrap_err();
        assert!(error.line >= 2, "{error:?}");
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |depth: usize| "- ".repeat(depth) + "x";
        assert!(parse(&nested(DEEPEST)).is_ok());
        assert!(parse(&nested(DEEPEST + 1)).is_err());
        assert!(parse(&nested(100_000)).is_err());
    }

    #[test]
    fn aliases_cannot_grow_without_end() {
        let mut text = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            let items = [before.as_str(); 9].join(", ");
            text.push_str(&format!("a{level}: &a{level} [{items}]\n"));
        }
        assert!(parse(&text).unwrap_err().message.contains("too many"));
    }
}
