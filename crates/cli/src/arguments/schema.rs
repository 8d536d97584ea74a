//! The part of JSON Schema that says what type a value has.
//!
//! Enough to type what a user writes and to say what is missing: `type`, `enum`, `const`,
//! `anyOf`, `oneOf`, `allOf`, local `$ref`, `properties`, `items`. It does not validate; that is
//! the server's. References to other documents are never fetched (S14), and a schema that leads in
//! circles says nothing about types.

use attache::protocol::{Extra, Json, Tool};
use serde_json::Value;

/// How many schemas are looked at to answer one question, so that references that multiply cost no
/// time (S14).
const MOST_STEPS: usize = 1000;
/// How many choices a signature spells out.
const MOST_CHOICES: usize = 6;

/// The schema of a tool's arguments.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    /// The names of the arguments in the order of the server, which the tree does not keep.
    names: Vec<String>,
}

/// A place in a schema: what it says about one value.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'s> {
    root: &'s Value,
    /// `None` where the schema says nothing.
    schema: Option<&'s Value>,
}

/// Where a key leads.
#[derive(Debug)]
pub(super) struct Path<'s> {
    /// The names on the way; never empty.
    pub(super) names: Vec<String>,
    pub(super) place: Place<'s>,
}

/// A set of JSON types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds(u8);

impl Kinds {
    pub(super) const NONE: Self = Self(0);
    pub(super) const STRING: Self = Self(1);
    pub(super) const INTEGER: Self = Self(2);
    /// Any number, whole ones included.
    pub(super) const NUMBER: Self = Self(4 | 2);
    pub(super) const BOOLEAN: Self = Self(8);
    pub(super) const NULL: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ALL: Self = Self(127);

    pub(super) fn has(self, kind: Self) -> bool {
        self.0 & kind.0 == kind.0
    }

    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    fn named(name: &str) -> Self {
        match name {
            "string" => Self::STRING,
            "integer" => Self::INTEGER,
            "number" => Self::NUMBER,
            "boolean" => Self::BOOLEAN,
            "null" => Self::NULL,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => Self::ALL,
        }
    }

    fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.is_f64() => Self::NUMBER,
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }
}

impl Schema {
    pub(crate) fn of_tool(tool: &Tool) -> Self {
        Self::parse(&tool.schema())
    }

    /// Reads a schema; one that cannot be read says nothing about types.
    pub(crate) fn parse(text: &str) -> Self {
        let json = Json::parse(text).unwrap_or_default();
        let root = json.to_value().unwrap_or(Value::Bool(true));
        let in_order = json
            .decode::<Extra>()
            .ok()
            .and_then(|schema| schema.get("properties")?.decode::<Extra>().ok())
            .map(|properties| properties.iter().map(|(name, _)| name.to_owned()).collect());
        let names = in_order.unwrap_or_else(|| property_names(&root));
        Self { root, names }
    }

    /// The names of the arguments, as far as the schema lists them.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// What a tool takes, as it is typed: required arguments first.
    pub(crate) fn signature(&self) -> String {
        let required = self.top().required();
        let (needed, optional): (Vec<&String>, Vec<&String>) = self
            .names
            .iter()
            .partition(|name| required.contains(&name.as_str()));
        let word = |name: &str| format!("{name}=<{}>", self.top().property(name).describe());
        let needed = needed.into_iter().map(|name| word(name));
        let optional = optional.into_iter().map(|name| format!("[{}]", word(name)));
        needed.chain(optional).collect::<Vec<_>>().join(" ")
    }

    /// The values that an argument could be given, as they are typed.
    pub(crate) fn choices_for(&self, key: &str) -> Vec<String> {
        let place = self.path(key).place;
        // A list is given by repeating its key, so its items' values count.
        let place = place.items().filter(|_| !place.kinds().has(Kinds::STRING));
        let place = place.unwrap_or_else(|| self.path(key).place);
        let typed = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match place.choices() {
            Some(values) => values.into_iter().map(typed).collect(),
            None if place.kinds() == Kinds::BOOLEAN => vec!["true".to_owned(), "false".to_owned()],
            None => Vec::new(),
        }
    }

    pub(super) fn top(&self) -> Place<'_> {
        Place {
            root: &self.root,
            schema: Some(&self.root),
        }
    }

    /// Where a key leads: to the argument of that very name, or along its dots into objects.
    pub(super) fn path<'s>(&'s self, key: &str) -> Path<'s> {
        let mut names = Vec::new();
        let mut place = self.top();
        let mut rest = key;
        while !place.mentions(rest) {
            let Some((first, remaining)) = rest.split_once('.') else {
                break;
            };
            let inner = place.property(first);
            let leads_on = place.mentions(first) && inner.kinds().has(Kinds::OBJECT);
            if !leads_on || first.is_empty() || remaining.is_empty() {
                break;
            }
            names.push(first.to_owned());
            (place, rest) = (inner, remaining);
        }
        names.push(rest.to_owned());
        let place = place.property(rest);
        Path { names, place }
    }
}

fn property_names(root: &Value) -> Vec<String> {
    let properties = root.get("properties").and_then(Value::as_object);
    properties
        .into_iter()
        .flat_map(|properties| properties.keys().cloned())
        .collect()
}

impl<'s> Place<'s> {
    fn at(self, schema: Option<&'s Value>) -> Self {
        Self {
            root: self.root,
            schema,
        }
    }

    /// The types a value may have here.
    pub(super) fn kinds(self) -> Kinds {
        match self.schema {
            Some(schema) => self.kinds_of(schema, &mut Steps::new()),
            None => Kinds::ALL,
        }
    }

    fn kinds_of(self, schema: &'s Value, steps: &mut Steps) -> Kinds {
        if steps.take().is_none() {
            return Kinds::ALL;
        }
        let mut kinds = match schema.get("type") {
            Some(Value::String(name)) => Kinds::named(name),
            Some(Value::Array(names)) => union(
                names
                    .iter()
                    .map(|name| name.as_str().map_or(Kinds::ALL, Kinds::named)),
            ),
            _ => Kinds::ALL,
        };
        if let Some(values) = own_choices(schema) {
            kinds = kinds.and(union(values.into_iter().map(Kinds::of)));
        }
        if let Some(target) = self.reference(schema) {
            kinds = kinds.and(self.kinds_of(target, steps));
        }
        for branch in branches(schema, "allOf") {
            kinds = kinds.and(self.kinds_of(branch, steps));
        }
        for word in ["anyOf", "oneOf"] {
            let alternatives = branches(schema, word);
            if !alternatives.is_empty() {
                let any = alternatives
                    .iter()
                    .map(|branch| self.kinds_of(branch, steps));
                kinds = kinds.and(union(any));
            }
        }
        kinds
    }

    /// The values to choose from, if the schema lists them.
    pub(super) fn choices(self) -> Option<Vec<&'s Value>> {
        self.choices_of(self.schema?, &mut Steps::new())
    }

    fn choices_of(self, schema: &'s Value, steps: &mut Steps) -> Option<Vec<&'s Value>> {
        steps.take()?;
        if let Some(values) = own_choices(schema) {
            return Some(values);
        }
        if let Some(target) = self.reference(schema) {
            return self.choices_of(target, steps);
        }
        if let Some(values) = branches(schema, "allOf")
            .iter()
            .find_map(|branch| self.choices_of(branch, steps))
        {
            return Some(values);
        }
        let alternatives = ["anyOf", "oneOf"].map(|word| branches(schema, word));
        let alternatives = alternatives.into_iter().find(|found| !found.is_empty())?;
        // Only if every branch lists its values do all of them together; null counts as one.
        let lists: Option<Vec<_>> = alternatives
            .iter()
            .map(|branch| match branch.get("type").and_then(Value::as_str) {
                Some("null") => Some(vec![&Value::Null]),
                _ => self.choices_of(branch, steps),
            })
            .collect();
        Some(lists?.concat())
    }

    /// The schema of the list's items, if a list is possible here.
    pub(super) fn items(self) -> Option<Self> {
        self.kinds().has(Kinds::ARRAY).then(|| {
            let items = self.schema.and_then(|schema| {
                self.find(schema, &mut Steps::new(), &|schema| schema.get("items"))
            });
            self.at(items)
        })
    }

    /// What the schema says about a member of an object here.
    pub(super) fn property(self, name: &str) -> Self {
        self.at(self.named_property(name).or_else(|| {
            let schema = self.schema?;
            self.find(schema, &mut Steps::new(), &|schema| {
                schema
                    .get("additionalProperties")
                    .filter(|it| it.is_object())
            })
        }))
    }

    /// Whether the schema names this member.
    pub(super) fn mentions(self, name: &str) -> bool {
        self.named_property(name).is_some()
    }

    fn named_property(self, name: &str) -> Option<&'s Value> {
        self.find(self.schema?, &mut Steps::new(), &|schema| {
            schema.get("properties")?.get(name)
        })
    }

    /// Whether members that the schema does not name are forbidden.
    pub(super) fn is_closed(self) -> bool {
        let Some(schema) = self.schema else {
            return false;
        };
        let forbids = self.find(schema, &mut Steps::new(), &|schema| {
            schema
                .get("additionalProperties")
                .filter(|allowed| **allowed == Value::Bool(false))
        });
        let patterns = self.find(schema, &mut Steps::new(), &|schema| {
            schema.get("patternProperties")
        });
        forbids.is_some() && patterns.is_none()
    }

    /// The members that must be there.
    pub(super) fn required(self) -> Vec<&'s str> {
        let mut required = Vec::new();
        if let Some(schema) = self.schema {
            self.collect_required(schema, &mut Steps::new(), &mut required);
        }
        required
    }

    /// Only what holds in every case: not what one of several branches wants.
    fn collect_required(self, schema: &'s Value, steps: &mut Steps, required: &mut Vec<&'s str>) {
        if steps.take().is_none() {
            return;
        }
        let names = schema.get("required").and_then(Value::as_array);
        required.extend(names.into_iter().flatten().filter_map(Value::as_str));
        for branch in branches(schema, "allOf") {
            self.collect_required(branch, steps, required);
        }
        if let Some(target) = self.reference(schema) {
            self.collect_required(target, steps, required);
        }
    }

    /// Looks for something in a schema, then where it refers to, then in its branches.
    fn find(
        self,
        schema: &'s Value,
        steps: &mut Steps,
        look: &impl Fn(&'s Value) -> Option<&'s Value>,
    ) -> Option<&'s Value> {
        steps.take()?;
        look(schema)
            .or_else(|| self.find(self.reference(schema)?, steps, look))
            .or_else(|| {
                ["allOf", "anyOf", "oneOf"]
                    .iter()
                    .flat_map(|word| branches(schema, word))
                    .find_map(|branch| self.find(branch, steps, look))
            })
    }

    /// What a local reference refers to.
    fn reference(self, schema: &'s Value) -> Option<&'s Value> {
        let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    /// The type in a word, as in signatures.
    pub(super) fn describe(self) -> String {
        if let Some(choices) = self.choices().filter(|choices| !choices.is_empty()) {
            let shown = choices.iter().take(MOST_CHOICES).copied();
            let mut words: Vec<String> = shown.map(plain).collect();
            if choices.len() > MOST_CHOICES {
                words.push("…".to_owned());
            }
            return words.join("|");
        }
        let kinds = self.kinds();
        if kinds == Kinds::ALL || kinds == Kinds::NONE {
            return "any".to_owned();
        }
        let mut words = Vec::new();
        for (kind, word) in [
            (Kinds::STRING, "string"),
            (Kinds::NUMBER, "number"),
            (Kinds::INTEGER, "integer"),
            (Kinds::BOOLEAN, "boolean"),
            (Kinds::OBJECT, "object"),
            (Kinds::NULL, "null"),
        ] {
            if kinds.has(kind) && !(kind == Kinds::INTEGER && kinds.has(Kinds::NUMBER)) {
                words.push(word.to_owned());
            }
        }
        if let Some(items) = self.items() {
            words.push(format!("{}[]", items.describe_item()));
        }
        words.join("|")
    }

    /// Like `describe`, for the items of a list, whose own items are not described.
    fn describe_item(self) -> String {
        let kinds = self.kinds();
        if kinds != Kinds::ALL && kinds.has(Kinds::ARRAY) {
            return "list".to_owned();
        }
        let words = self.describe();
        match words.contains('|') {
            true => format!("({words})"),
            false => words,
        }
    }
}

/// What is left of the steps for one question.
struct Steps(usize);

impl Steps {
    fn new() -> Self {
        Self(MOST_STEPS)
    }

    /// Takes one step; `None` when there is none left.
    fn take(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

fn union(kinds: impl Iterator<Item = Kinds>) -> Kinds {
    kinds.fold(Kinds::NONE, Kinds::or)
}

fn branches<'s>(schema: &'s Value, word: &str) -> &'s [Value] {
    let branches = schema.get(word).and_then(Value::as_array);
    branches.map_or(&[], Vec::as_slice)
}

fn own_choices(schema: &Value) -> Option<Vec<&Value>> {
    if let Some(value) = schema.get("const") {
        return Some(vec![value]);
    }
    Some(schema.get("enum")?.as_array()?.iter().collect())
}

/// A value as a user types it.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(property: &str, described: &str) {
        let schema = Schema::parse(&format!(
            r##"{{"properties":{{"x":{property}}},"$defs":{{
                "loop":{{"$ref":"#/$defs/loop"}},
                "size":{{"type":"integer"}},
                "level":{{"enum":["a","b"]}}
            }}}}"##
        ));
        assert_eq!(
            schema.top().property("x").describe(),
            described,
            "{property}"
        );
    }

    #[test]
    fn types_are_found_wherever_they_are_said() {
        check(r#"{"type":"string"}"#, "string");
        check(r#"{"type":["integer","null"]}"#, "integer|null");
        check(r#"{"type":["integer","number"]}"#, "number");
        check(r##"{"$ref":"#/$defs/size"}"##, "integer");
        check(
            r##"{"anyOf":[{"$ref":"#/$defs/size"},{"type":"null"}]}"##,
            "integer|null",
        );
        check(
            r##"{"allOf":[{"type":["string","integer"]},{"$ref":"#/$defs/size"}]}"##,
            "integer",
        );
        check(r#"{"oneOf":[{"const":"x"},{"const":"y"}]}"#, "x|y");
        check(
            r##"{"anyOf":[{"$ref":"#/$defs/level"},{"type":"null"}]}"##,
            "a|b|null",
        );
        check(r#"{"enum":[1,"two",null]}"#, "1|two|null");
        check(r#"{"enum":[1,2,3,4,5,6,7]}"#, "1|2|3|4|5|6|…");
        check(r#"{"type":"array","items":{"type":"string"}}"#, "string[]");
        check(
            r#"{"type":"array","items":{"type":["string","integer"]}}"#,
            "(string|integer)[]",
        );
        check(r#"{"type":"array","items":{"type":"array"}}"#, "list[]");
        check(r#"{"type":"array"}"#, "any[]");
        check(r#"{"type":"object"}"#, "object");
    }

    #[test]
    fn what_says_nothing_means_anything() {
        check("{}", "any");
        check("true", "any");
        check("17", "any");
        check(r#"{"type":"unheard-of"}"#, "any");
        check(r#"{"$ref":"https://example.org/schema"}"#, "any");
        check(r##"{"$ref":"#/nowhere"}"##, "any");
        check(r##"{"$ref":"#/$defs/loop"}"##, "any");
        let deep = "[".repeat(200) + &"]".repeat(200);
        assert_eq!(Schema::parse(&deep).signature(), "");
    }

    #[test]
    fn the_number_of_steps_is_limited() {
        let kinds = |count: usize| {
            let branches = vec![r#"{"type":"integer"}"#; count].join(",");
            let schema = Schema::parse(&format!(r#"{{"anyOf":[{branches}]}}"#));
            schema.top().kinds()
        };
        assert_eq!(kinds(MOST_STEPS - 1), Kinds::INTEGER);
        assert_eq!(kinds(MOST_STEPS), Kinds::ALL);
        let bomb = r##"{"anyOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}"##;
        let schema = Schema::parse(bomb);
        assert!(!schema.top().mentions("x") && !schema.top().is_closed());
        assert_eq!(schema.top().describe(), "any");
    }

    #[test]
    fn signatures_put_required_arguments_first_in_the_servers_order() {
        let schema = Schema::parse(
            r#"{"properties":{"z":{"type":"string"},"y":{"type":"integer"},"a":{"type":"boolean"}},
                "required":["a"]}"#,
        );
        assert_eq!(schema.signature(), "a=<boolean> [z=<string>] [y=<integer>]");
    }
}
