//! Where two JSON values differ.

use attache_schema::Value;

/// How many differences of two values are told.
const MOST: usize = 200;

/// One place where two values differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Where, as a JSON pointer; empty for the whole.
    pub path: String,
    /// How.
    pub kind: DifferenceKind,
}

/// How two values differ in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// Only the second has it.
    Added(Value),
    /// Only the first has it.
    Removed(Value),
    /// Both have it, and not the same.
    Changed(Value, Value),
}

/// Where two values differ, in the order of the first; at most 200 places.
pub fn differences(one: &Value, other: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    compare(one, other, &mut String::new(), &mut found);
    found
}

/// How many places of two values differ: nothing means that they are equal.
pub(crate) fn distance(one: &Value, other: &Value) -> usize {
    differences(one, other).len()
}

fn compare(one: &Value, other: &Value, path: &mut String, found: &mut Vec<Difference>) {
    if found.len() >= MOST || one == other {
        return;
    }
    let mut add = |path: &str, kind| {
        found.push(Difference {
            path: path.to_owned(),
            kind,
        });
    };
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            for (name, value) in one.iter() {
                let length = path.len();
                path.push('/');
                path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                match other.get(name) {
                    Some(counterpart) => compare(value, counterpart, path, found),
                    None => found.push(Difference {
                        path: path.clone(),
                        kind: DifferenceKind::Removed(value.clone()),
                    }),
                }
                path.truncate(length);
            }
            for (name, value) in other.iter().filter(|(name, _)| one.get(name).is_none()) {
                let name = name.replace('~', "~0").replace('/', "~1");
                found.push(Difference {
                    path: format!("{path}/{name}"),
                    kind: DifferenceKind::Added(value.clone()),
                });
            }
        }
        (Value::Array(one), Value::Array(other)) => {
            for index in 0..one.len().max(other.len()) {
                let length = path.len();
                path.push_str(&format!("/{index}"));
                match (one.get(index), other.get(index)) {
                    (Some(one), Some(other)) => compare(one, other, path, found),
                    (Some(one), None) => found.push(Difference {
                        path: path.clone(),
                        kind: DifferenceKind::Removed(one.clone()),
                    }),
                    (None, Some(other)) => found.push(Difference {
                        path: path.clone(),
                        kind: DifferenceKind::Added(other.clone()),
                    }),
                    (None, None) => {}
                }
                path.truncate(length);
            }
        }
        _ => add(path, DifferenceKind::Changed(one.clone(), other.clone())),
    }
    found.truncate(MOST);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_place_is_named_once() {
        let one = Value::parse(r#"{"a":1,"b":[1,2],"c":{"x/y":true},"gone":0}"#).unwrap();
        let other = Value::parse(r#"{"b":[1,3,4],"a":1.0,"c":{"x/y":null},"new":[]}"#).unwrap();
        let found = differences(&one, &other);
        let shown: Vec<String> = found
            .iter()
            .map(|it| match &it.kind {
                DifferenceKind::Added(value) => format!("+ {} {value}", it.path),
                DifferenceKind::Removed(value) => format!("- {} {value}", it.path),
                DifferenceKind::Changed(one, other) => format!("{} {one} {other}", it.path),
            })
            .collect();
        assert_eq!(
            shown,
            [
                "/b/1 2 3",
                "+ /b/2 4",
                "/c/x~1y true null",
                "- /gone 0",
                "+ /new []"
            ]
        );
        assert!(differences(&one, &one).is_empty());
    }

    #[test]
    fn at_most_so_many_are_told() {
        let list = |count: usize| Value::parse(&format!("[{}0]", "0,".repeat(count))).unwrap();
        assert_eq!(differences(&list(0), &list(MOST)).len(), MOST);
        assert_eq!(differences(&list(0), &list(MOST + 1)).len(), MOST);
    }
}
