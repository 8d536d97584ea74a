//! A list of flat objects as a table.

use std::collections::HashMap;

use serde::Serialize;

use super::tree::Tree;
use crate::form::{Form, Step};
use crate::{Object, Value, safe_text};

/// How many columns a table has at most; a list with more names is a tree.
pub const MAX_COLUMNS: usize = 60;
/// How many rows a table shows; what is left out is counted.
pub const MAX_ROWS: usize = 10_000;

/// A list of flat objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The name of the list, if it is the only member of an object.
    pub name: Option<String>,
    /// The columns: first those that the schema names, in its order.
    pub columns: Vec<Column>,
    /// The rows; a cell is missing where its object has no such member.
    pub rows: Vec<Vec<Option<Tree>>>,
    /// How many more rows there are.
    pub more: usize,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// The name of the member.
    pub name: String,
    /// A name for people.
    pub title: Option<String>,
}

impl Table {
    /// The table of a list of flat objects, or of an object that has nothing but such a list.
    pub fn of(value: &Value, schema: Option<&Form>) -> Option<Self> {
        let (name, items) = match value {
            Value::Array(items) => (None, items),
            Value::Object(object) => match object.iter().next()? {
                (name, Value::Array(items)) if object.len() == 1 => (Some(name), items),
                _ => return None,
            },
            _ => return None,
        };
        let objects: Option<Vec<&Object>> = items.iter().map(flat).collect();
        let objects = objects.filter(|objects| !objects.is_empty())?;
        let mut steps: Vec<Step> = name
            .iter()
            .map(|name| Step::Key((*name).to_owned()))
            .collect();
        steps.push(Step::Index(0));
        let described = schema
            .map(|schema| schema.members_at(&steps))
            .unwrap_or_default();
        let mut columns: Vec<(String, Option<String>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        // Of what the schema describes, only what some object has is a column.
        let is_used = |name: &str| objects.iter().any(|object| object.get(name).is_some());
        for (name, title) in described
            .iter()
            .take(MAX_COLUMNS)
            .filter(|(name, _)| is_used(name))
        {
            places.insert(name, columns.len());
            columns.push((name.clone(), title.clone()));
        }
        for (name, _) in objects.iter().flat_map(|object| object.iter()) {
            if !places.contains_key(name) {
                places.insert(name, columns.len());
                columns.push((name.to_owned(), None));
            }
            if columns.len() > MAX_COLUMNS {
                return None;
            }
        }
        let cell = |object: &Object, name: &str| object.get(name).map(Tree::of);
        let row = |object: &&Object| columns.iter().map(|(name, _)| cell(object, name)).collect();
        let rows = objects.iter().take(MAX_ROWS).map(row).collect();
        let safe = |text: &str| safe_text::one_line(text).into_owned();
        Some(Self {
            name: name.map(safe),
            rows,
            more: objects.len().saturating_sub(MAX_ROWS),
            columns: columns
                .iter()
                .map(|(name, title)| Column {
                    name: safe(name),
                    title: title.clone(),
                })
                .collect(),
        })
    }
}

/// An object without lists and objects inside.
fn flat(value: &Value) -> Option<&Object> {
    let is_leaf =
        |(_, member): (&str, &Value)| !matches!(member, Value::Array(_) | Value::Object(_));
    value
        .as_object()
        .filter(|object| !object.is_empty() && object.iter().all(is_leaf))
}

#[cfg(test)]
mod tests {
    use super::*;
    use attache_protocol::Json;

    fn sketch(value: &str, schema: Option<&str>) -> Option<String> {
        let form = schema.map(|schema| Form::new(&Json::parse(schema).unwrap()));
        let table = Table::of(&Value::parse(value).unwrap(), form.as_ref())?;
        let head: Vec<&str> = table
            .columns
            .iter()
            .map(|column| column.title.as_deref().unwrap_or(&column.name))
            .collect();
        let mut lines = vec![head.join("|")];
        for row in table.rows {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| cell.as_ref().map_or(String::new(), Tree::to_line))
                .collect();
            lines.push(cells.join("|"));
        }
        Some(format!(
            "{}:{}",
            table.name.unwrap_or_default(),
            lines.join("/")
        ))
    }

    #[test]
    fn lists_of_flat_objects_are_tables() {
        for (value, expected) in [
            (
                r#"[{"b":1.50,"a":"x"},{"a":null,"c":"l\nm"}]"#,
                Some(":b|a|c/1.50|x|/|null|l\\nm"),
            ),
            (r#"{"rows":[{"a":true}]}"#, Some("rows:a/true")),
            ("[]", None),
            ("[1]", None),
            (r#"[{}]"#, None),
            (r#"[{"a":[]}]"#, None),
            (r#"{"rows":[{"a":1}],"next":2}"#, None),
            (r#"{"a":1}"#, None),
            ("7", None),
        ] {
            assert_eq!(sketch(value, None).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn columns_come_in_the_order_of_the_schema() {
        let schema = r##"{"type":"object","properties":{"rows":{"type":"array","items":{"$ref":"#/$defs/row"}}},
            "$defs":{"row":{"type":"object","properties":{"z":{"type":"string","title":"Zed"},"unused":{},"a":{"type":"integer"}}}}}"##;
        let value = r#"{"rows":[{"more":1,"a":1,"z":"x"}]}"#;
        assert_eq!(
            sketch(value, Some(schema)).as_deref(),
            Some("rows:Zed|a|more/x|1|1")
        );
    }

    #[test]
    fn columns_and_rows_are_limited_exactly() {
        let wide = |count: usize| {
            let object: Object = (0..count).map(|n| (format!("c{n}"), Value::Null)).collect();
            Table::of(&Value::Array(vec![Value::Object(object)]), None).is_some()
        };
        assert!(wide(MAX_COLUMNS) && !wide(MAX_COLUMNS + 1));
        let row: Object = [("a", Value::Null)].into_iter().collect();
        let long = |count: usize| {
            Table::of(&Value::Array(vec![Value::Object(row.clone()); count]), None).unwrap()
        };
        assert_eq!(
            (long(MAX_ROWS).rows.len(), long(MAX_ROWS).more),
            (MAX_ROWS, 0)
        );
        assert_eq!(
            (long(MAX_ROWS + 2).rows.len(), long(MAX_ROWS + 2).more),
            (MAX_ROWS, 2)
        );
    }
}
