//! A schema as a document: what its references refer to, and where its parts are.
//!
//! References are resolved inside the document only; another document is never fetched (S14).

use std::collections::{BTreeSet, HashMap};

use attache_protocol::Json;

use crate::check::Checker;
use crate::limits::{MAX_PATTERN_BYTES, MAX_PATTERNS};
use crate::path::Path;
use crate::pattern::Pattern;
use crate::report::Report;
use crate::{Object, Value, uri, well_formed};

/// A schema, read once for any number of checks.
#[derive(Debug)]
pub struct Schema {
    /// On the heap, where its parts stay when the schema is moved: they are known by address.
    root: Box<Value>,
    /// Why nothing in it can be read, if so.
    unreadable: Option<String>,
    pub(crate) dialect: Dialect,
    /// Parts with an address of their own, by which references in them go; the first is the whole.
    resources: Vec<Resource>,
    by_uri: HashMap<String, usize>,
    anchors: HashMap<(usize, String), String>,
    dynamic_anchors: HashMap<(usize, String), String>,
    /// The resource that a part belongs to, by the part's address in memory.
    owners: HashMap<usize, usize>,
    patterns: HashMap<String, Option<Pattern>>,
    /// Some rule asks which parts of a value other rules have looked at.
    pub(crate) asks_evaluated: bool,
}

#[derive(Debug)]
struct Resource {
    pointer: String,
    uri: String,
}

/// What a reference refers to.
pub(crate) struct Target<'s> {
    pub(crate) part: &'s Value,
    pub(crate) pointer: String,
    pub(crate) resource: usize,
}

/// The versions of JSON Schema, by which its words mean different things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Dialect {
    Draft4,
    Draft6,
    Draft7,
    Draft2019,
    Draft2020,
}

impl Dialect {
    /// A dialect that is not one of json-schema.org's may mean anything by its words.
    fn of(root: &Value) -> Result<Self, String> {
        let Some(Value::String(named)) = root.get("$schema") else {
            return Ok(Self::Draft2020);
        };
        let address = named.trim_end_matches('#');
        let name = address
            .split_once("://json-schema.org/")
            .map(|(_, name)| name);
        match name {
            Some("draft-04/schema") => Ok(Self::Draft4),
            Some("draft-06/schema") => Ok(Self::Draft6),
            Some("draft-07/schema") => Ok(Self::Draft7),
            Some("draft/2019-09/schema") => Ok(Self::Draft2019),
            // The address without a version means the newest.
            Some("draft/2020-12/schema" | "schema") => Ok(Self::Draft2020),
            _ => Err(format!(
                "the schema is written in the unknown dialect {named}"
            )),
        }
    }

    /// What stands beside a reference counts only since 2019-09.
    pub(crate) fn reference_is_alone(self) -> bool {
        self <= Self::Draft7
    }

    fn id_word(self) -> &'static str {
        match self {
            Self::Draft4 => "id",
            _ => "$id",
        }
    }
}

impl Schema {
    /// Reads a schema. One that cannot be read checks nothing, and says why.
    pub fn new(schema: &Json) -> Self {
        Self::of(Value::of_json(schema))
    }

    /// The same of a value, or of the reason why there is none.
    pub fn of(root: Result<Value, serde_json::Error>) -> Self {
        let (root, unreadable) = match root {
            Ok(root @ (Value::Object(_) | Value::Bool(_))) => (root, None),
            Ok(_) => (
                Value::Bool(true),
                Some("the schema is neither an object nor true or false".to_owned()),
            ),
            Err(error) => (
                Value::Bool(true),
                Some(format!("the schema cannot be read: {error}")),
            ),
        };
        let dialect = Dialect::of(&root);
        let root = Box::new(root);
        let mut schema = Self {
            root: Box::new(Value::Bool(true)),
            unreadable: unreadable.or_else(|| dialect.clone().err()),
            dialect: dialect.unwrap_or(Dialect::Draft2020),
            resources: vec![Resource {
                pointer: String::new(),
                uri: String::new(),
            }],
            by_uri: HashMap::from([(String::new(), 0)]),
            anchors: HashMap::new(),
            dynamic_anchors: HashMap::new(),
            owners: HashMap::new(),
            patterns: HashMap::new(),
            asks_evaluated: false,
        };
        schema.scan(&root, &mut String::new(), 0);
        schema.root = root;
        schema
    }

    /// Why nothing in it can be read, if so.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// The whole.
    pub fn root(&self) -> &Value {
        &self.root
    }

    /// Checks a value that a person entered: within bounds, formats included.
    pub fn check(&self, value: &Value) -> Report {
        Checker::new(self).report(&self.root, value, &Path::default())
    }

    /// Checks a value as the standard has it: formats are remarks. The schema is trusted to ask for
    /// no more than it needs, so nothing is left unchecked for being much.
    pub fn validate(&self, value: &Value) -> Report {
        Checker::thorough(self).report(&self.root, value, &Path::default())
    }

    /// What in this schema no check can tell, in words: parts of other documents that it refers to,
    /// patterns that are not known here.
    pub fn unknown(&self) -> BTreeSet<String> {
        let mut unknown: BTreeSet<String> = self.unreadable.clone().into_iter().collect();
        let unread = self
            .patterns
            .iter()
            .filter(|(_, pattern)| pattern.is_none());
        unknown.extend(unread.map(|(text, _)| format!("the pattern {text} cannot be used here")));
        self.visit(&self.root, &mut |part, owner| {
            for word in ["$ref", "$dynamicRef", "$recursiveRef"] {
                if let Some(Value::String(reference)) = part.get(word) {
                    unknown.extend(self.target(owner, reference).err());
                }
            }
        });
        unknown
    }

    /// Words of it whose values mean nothing, in words; references within it that lead nowhere too.
    pub fn mistakes(&self) -> Vec<String> {
        let mut mistakes: Vec<String> = self.unreadable.clone().into_iter().collect();
        self.visit(&self.root, &mut |part, owner| {
            if let Some(Value::String(reference)) = part.get("$ref")
                && reference.starts_with('#')
            {
                mistakes.extend(self.target(owner, reference).err());
            }
            let words = part.as_object();
            for (word, rule) in words.into_iter().flat_map(Object::iter) {
                if let Some(expected) = well_formed::mistake(word, rule) {
                    mistakes.push(format!("\"{word}\" must be {expected}, not {rule}"));
                }
            }
        });
        mistakes
    }

    fn visit(&self, part: &Value, look: &mut impl FnMut(&Value, usize)) {
        look(part, self.owner(part));
        if let Value::Object(words) = part {
            for (word, rule) in words.iter() {
                for_each_part(word, rule, |_, part| self.visit(part, look));
            }
        }
    }

    /// Finds addresses, anchors and patterns.
    fn scan(&mut self, part: &Value, pointer: &mut String, mut resource: usize) {
        let Value::Object(words) = part else {
            return;
        };
        let is_alone = self.dialect.reference_is_alone() && part.get("$ref").is_some();
        let id = part.get(self.dialect.id_word()).and_then(Value::as_str);
        if let Some(id) = id.filter(|_| !is_alone) {
            let (address, fragment) = id.split_once('#').unwrap_or((id, ""));
            if !address.is_empty() {
                let uri = uri::resolve(&self.resources[resource].uri, address);
                if pointer.is_empty() {
                    self.resources[0].uri.clone_from(&uri);
                } else {
                    resource = self.resources.len();
                    self.resources.push(Resource {
                        pointer: pointer.clone(),
                        uri: uri.clone(),
                    });
                }
                self.by_uri.entry(uri).or_insert(resource);
            }
            if !fragment.is_empty() && self.dialect <= Dialect::Draft7 {
                self.anchors
                    .insert((resource, fragment.to_owned()), pointer.clone());
            }
        }
        self.owners.insert(address_of(part), resource);
        let length = pointer.len();
        for (word, rule) in words.iter() {
            match (word, rule) {
                ("$anchor" | "$dynamicAnchor", Value::String(anchor)) => {
                    let key = (resource, anchor.clone());
                    self.anchors.insert(key.clone(), pointer.clone());
                    if word == "$dynamicAnchor" {
                        self.dynamic_anchors.insert(key, pointer.clone());
                    }
                }
                ("pattern", Value::String(pattern)) => self.read_pattern(pattern),
                ("patternProperties", Value::Object(parts)) => {
                    for (pattern, _) in parts.iter() {
                        self.read_pattern(pattern);
                    }
                }
                ("unevaluatedProperties" | "unevaluatedItems", _) => self.asks_evaluated = true,
                _ => {}
            }
            for_each_part(word, rule, |tokens, part| {
                for token in tokens {
                    push_token(pointer, token);
                }
                self.scan(part, pointer, resource);
                pointer.truncate(length);
            });
        }
    }

    fn read_pattern(&mut self, text: &str) {
        if self.patterns.len() < MAX_PATTERNS && !self.patterns.contains_key(text) {
            let is_short = text.len() <= MAX_PATTERN_BYTES;
            let pattern = is_short.then(|| Pattern::parse(text)).flatten();
            self.patterns.insert(text.to_owned(), pattern);
        }
    }

    /// The pattern of that text, if it is one that can be used.
    pub(crate) fn pattern(&self, text: &str) -> Option<&Pattern> {
        self.patterns.get(text)?.as_ref()
    }

    /// The part at a pointer.
    pub fn at(&self, pointer: &str) -> Option<&Value> {
        let mut tokens = pointer.split('/');
        tokens.next();
        tokens.try_fold(&*self.root, |part, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match part {
                Value::Array(items) => items.get(token.parse::<usize>().ok()?),
                other => other.get(&token),
            }
        })
    }

    /// What a reference of the part at `pointer` refers to, as a pointer; the error says why that is
    /// not known.
    pub fn resolve(&self, pointer: &str, reference: &str) -> Result<String, String> {
        self.target(self.resource_at(pointer), reference)
            .map(|target| target.pointer)
    }

    /// The resource that a part belongs to.
    pub(crate) fn owner(&self, part: &Value) -> usize {
        self.owners.get(&address_of(part)).copied().unwrap_or(0)
    }

    pub(crate) fn target(&self, resource: usize, reference: &str) -> Result<Target<'_>, String> {
        let unknown = || format!("the reference {reference} leads out of the schema or nowhere");
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let resource = match address {
            "" => resource,
            address => {
                let uri = uri::resolve(&self.resources[resource].uri, address);
                *self.by_uri.get(&uri).ok_or_else(unknown)?
            }
        };
        let fragment = uri::percent_decoded(fragment).ok_or_else(unknown)?;
        let pointer = match fragment.is_empty() || fragment.starts_with('/') {
            true => format!("{}{fragment}", self.resources[resource].pointer),
            false => {
                let anchor = self.anchors.get(&(resource, fragment));
                anchor.cloned().ok_or_else(unknown)?
            }
        };
        let part = self.at(&pointer).ok_or_else(unknown)?;
        Ok(Target {
            part,
            resource: self.resource_at(&pointer),
            pointer,
        })
    }

    /// What a dynamic reference refers to, seen through the resources that a check went through on
    /// its way: the first of them that has the anchor decides, if the plain target has it at all.
    pub(crate) fn dynamic_target(
        &self,
        resource: usize,
        reference: &str,
        scope: &[usize],
    ) -> Result<Target<'_>, String> {
        let plain = self.target(resource, reference)?;
        let anchor = reference.split_once('#').map_or("", |(_, anchor)| anchor);
        let anchor_at = |resource: usize| {
            let key = (resource, anchor.to_owned());
            self.dynamic_anchors.get(&key)
        };
        if anchor_at(plain.resource) != Some(&plain.pointer) {
            return Ok(plain);
        }
        let outermost = scope.iter().find_map(|resource| anchor_at(*resource));
        match outermost.and_then(|pointer| Some((pointer, self.at(pointer)?))) {
            Some((pointer, part)) => Ok(Target {
                part,
                resource: self.resource_at(pointer),
                pointer: pointer.clone(),
            }),
            None => Ok(plain),
        }
    }

    /// The resource of 2019-09's recursive references: the outermost of those that a check went
    /// through which all say that they are recursive.
    pub(crate) fn recursive_target(
        &self,
        resource: usize,
        scope: &[usize],
    ) -> Result<Target<'_>, String> {
        let is_recursive = |resource: usize| {
            let root = self.at(&self.resources[resource].pointer);
            root.and_then(|root| root.get("$recursiveAnchor")) == Some(&Value::Bool(true))
        };
        let mut found = resource;
        if is_recursive(resource) {
            let outermost = scope
                .iter()
                .copied()
                .find(|resource| is_recursive(*resource));
            found = outermost.unwrap_or(resource);
        }
        self.target(found, "#")
    }

    /// The innermost resource around what is at a pointer.
    fn resource_at(&self, pointer: &str) -> usize {
        let is_around = |resource: &Resource| {
            let rest = pointer.strip_prefix(resource.pointer.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let around = (0..self.resources.len()).filter(|at| is_around(&self.resources[*at]));
        around
            .max_by_key(|at| self.resources[*at].pointer.len())
            .unwrap_or(0)
    }
}

/// Calls with each schema that stands under a word, and with the way to it. What stands elsewhere,
/// such as values to choose from, is none.
fn for_each_part<'v>(word: &'v str, rule: &'v Value, mut found: impl FnMut(&[&str], &'v Value)) {
    match (word, rule) {
        (
            "additionalItems"
            | "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties",
            Value::Object(_),
        ) => found(&[word], rule),
        ("allOf" | "anyOf" | "items" | "oneOf" | "prefixItems", Value::Array(parts)) => {
            for (index, part) in parts.iter().enumerate() {
                found(&[word, &index.to_string()], part);
            }
        }
        (
            "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
            | "properties",
            Value::Object(parts),
        ) => {
            for (name, part) in parts.iter() {
                found(&[word, name], part);
            }
        }
        _ => {}
    }
}

fn address_of(part: &Value) -> usize {
    std::ptr::from_ref(part).addr()
}

/// The pointer to a member or an item of what is at `pointer`.
pub fn child_pointer(pointer: &str, tokens: &[&str]) -> String {
    let mut child = pointer.to_owned();
    for token in tokens {
        push_token(&mut child, token);
    }
    child
}

fn push_token(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&token.replace('~', "~0").replace('/', "~1"));
}
