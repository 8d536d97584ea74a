//! JSON as a tree of bounded size, safe to show.

use serde::Serialize;

use crate::{Value, safe_text};

/// How many nodes a tree shows; what is left out is counted.
pub const MAX_TREE_NODES: usize = 50_000;

/// A JSON value to be shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "node", rename_all = "snake_case")]
pub enum Tree {
    /// `null`
    Null,
    /// `true` or `false`
    Bool {
        /// Which of them.
        value: bool,
    },
    /// A number, as it was written.
    Number {
        /// Its text.
        text: String,
    },
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A list.
    List {
        /// The items.
        items: Vec<Tree>,
        /// How many more there are.
        more: usize,
    },
    /// An object.
    Object {
        /// The members, in order.
        members: Vec<Member>,
        /// How many more there are.
        more: usize,
    },
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: Tree,
}

impl Tree {
    /// The tree of a value.
    pub fn of(value: &Value) -> Self {
        Self::build(value, &mut (MAX_TREE_NODES - 1))
    }

    /// The value in one line, as in a cell of a table.
    pub fn to_line(&self) -> String {
        match self {
            Self::Null => "null".to_owned(),
            Self::Bool { value } => value.to_string(),
            Self::Number { text } => text.clone(),
            Self::Text { text } => text.replace('\n', "\\n"),
            Self::List { items, more } => format!("[{} items]", items.len() + more),
            Self::Object { members, more } => format!("{{{} members}}", members.len() + more),
        }
    }

    /// The values inside count before the values inside those, so that a deep first item does not
    /// hide all others.
    fn build(value: &Value, left: &mut usize) -> Self {
        let mut take = |count: usize| {
            let taken = count.min(*left);
            *left -= taken;
            taken
        };
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool { value: *value },
            Value::Number(number) => Self::Number {
                text: number.to_string(),
            },
            Value::String(text) => Self::Text {
                text: safe_text::block(text).into_owned(),
            },
            Value::Array(items) => {
                let shown = take(items.len());
                Self::List {
                    items: items
                        .iter()
                        .take(shown)
                        .map(|item| Self::build(item, left))
                        .collect(),
                    more: items.len() - shown,
                }
            }
            Value::Object(object) => {
                let shown = take(object.len());
                let member = |(name, value): (&str, &Value)| Member {
                    name: safe_text::one_line(name).into_owned(),
                    value: Self::build(value, left),
                };
                Self::Object {
                    members: object.iter().take(shown).map(member).collect(),
                    more: object.len() - shown,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_safe_and_keep_numbers() {
        let value = Value::parse(r#"{"b\u001b":[1e400,"x\u202e"],"a":null,"c":true}"#).unwrap();
        let text = serde_json::to_string(&Tree::of(&value)).unwrap();
        assert_eq!(
            text,
            concat!(
                r#"{"node":"object","members":[{"name":"b\\u{1b}","value":{"node":"list","items":["#,
                r#"{"node":"number","text":"1e400"},{"node":"text","text":"x\\u{202e}"}],"more":0}},"#,
                r#"{"name":"a","value":{"node":"null"}},{"name":"c","value":{"node":"bool","value":true}}],"more":0}"#
            )
        );
    }

    #[test]
    fn the_number_of_nodes_is_limited_exactly() {
        let more = |count: usize| match Tree::of(&Value::Array(vec![Value::Null; count])) {
            Tree::List { items, more } => (items.len(), more),
            other => panic!("{other:?}"),
        };
        assert_eq!(more(MAX_TREE_NODES - 1), (MAX_TREE_NODES - 1, 0));
        assert_eq!(more(MAX_TREE_NODES + 6), (MAX_TREE_NODES - 1, 7));
    }
}
