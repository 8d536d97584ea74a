//! What a server lists, fetched once for each connection, and which of its tools may be called.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::bench::Bench;
use crate::peer::{Peer, Trouble};
use crate::sample;

/// The most pages of a list that are looked at.
const MOST_PAGES: usize = 50;
/// How many tools are called that were not named.
const MOST_CALLED: usize = 5;

/// The four lists: their method, their key, and the capability they belong to.
pub(crate) const LISTS: [(&str, &str, &str); 4] = [
    ("tools/list", "tools", "tools"),
    ("resources/list", "resources", "resources"),
    ("resources/templates/list", "resourceTemplates", "resources"),
    ("prompts/list", "prompts", "prompts"),
];

/// The lists of one connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    lists: BTreeMap<&'static str, Listed>,
}

/// A whole list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listed {
    pub(crate) items: Vec<Value>,
    pub(crate) pages: usize,
    pub(crate) scopes: BTreeSet<String>,
    /// What is wrong with the list as a whole.
    pub(crate) problem: Option<String>,
    /// Why there is no list.
    pub(crate) refused: Option<String>,
}

/// A call that may be made.
#[derive(Clone, Debug)]
pub(crate) struct Callable {
    pub(crate) tool: Value,
    pub(crate) arguments: Value,
}

impl Callable {
    pub(crate) fn name(&self) -> &str {
        self.tool["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn params(&self) -> Value {
        json!({"name": self.name(), "arguments": self.arguments})
    }
}

impl Peer {
    /// A whole list, from the server or as it was before.
    pub(crate) async fn list(&mut self, method: &'static str) -> Result<Listed, Trouble> {
        if let Some(known) = self.facts.lists.get(method) {
            return Ok(known.clone());
        }
        let listed = self.fetch(method).await?;
        self.facts.lists.insert(method, listed.clone());
        Ok(listed)
    }

    /// A whole list, asked for anew.
    pub(crate) async fn fetch(&mut self, method: &'static str) -> Result<Listed, Trouble> {
        let key = LISTS.iter().find(|(known, ..)| *known == method);
        let key = key.map_or("", |(_, key, _)| key);
        let mut listed = Listed::default();
        let mut cursor = Value::Null;
        let mut cursors = BTreeSet::new();
        loop {
            let params = match &cursor {
                Value::Null => Value::Null,
                cursor => json!({"cursor": cursor}),
            };
            let answer = self.ask(method, params).await?;
            let Some(result) = answer.result() else {
                match listed.pages {
                    0 => listed.refused = Some(answer.summary()),
                    page => {
                        let what = format!("page {} is {}", page + 1, answer.summary());
                        listed.problem = Some(what);
                    }
                }
                return Ok(listed);
            };
            listed.pages += 1;
            let Some(items) = result[key].as_array() else {
                listed.problem = Some(format!("the result has no array \"{key}\""));
                return Ok(listed);
            };
            listed.items.extend(items.iter().cloned());
            if let Some(scope) = result["cacheScope"].as_str() {
                listed.scopes.insert(scope.to_owned());
            }
            cursor = match result.get("nextCursor") {
                None | Some(Value::Null) => return Ok(listed),
                Some(next) if !next.is_string() => {
                    listed.problem = Some(format!("the cursor {next} is no string"));
                    return Ok(listed);
                }
                Some(next) if !cursors.insert(next.to_string()) => {
                    listed.problem = Some(format!("the cursor {next} comes again and again"));
                    return Ok(listed);
                }
                Some(next) => next.clone(),
            };
            if listed.pages >= MOST_PAGES {
                // A long list is no fault.
                return Ok(listed);
            }
        }
    }

    /// The tools that are called: those that say they change nothing, and those the user named.
    pub(crate) async fn callables(&mut self, bench: &Bench) -> Result<Vec<Callable>, Trouble> {
        if !self.offers("tools") {
            return Ok(Vec::new());
        }
        let tools = self.list("tools/list").await?.items;
        let mut calls = Vec::new();
        for allowed in bench.allowed.iter() {
            let tool = tools
                .iter()
                .find(|tool| tool["name"] == allowed.tool.as_str());
            let Some(tool) = tool else { continue };
            let arguments = allowed.arguments.clone();
            let arguments = arguments.or_else(|| sample::arguments(&tool["inputSchema"]));
            calls.push(Callable {
                tool: tool.clone(),
                arguments: arguments.unwrap_or_else(|| json!({})),
            });
        }
        let mut unnamed = 0;
        for tool in &tools {
            let is_named = calls.iter().any(|call| call.tool["name"] == tool["name"]);
            let needs_task = tool["execution"]["taskSupport"] == "required";
            let is_harmless = tool["annotations"]["readOnlyHint"] == true;
            if is_named || !is_harmless || needs_task || unnamed == MOST_CALLED {
                continue;
            }
            if let Some(arguments) = sample::arguments(&tool["inputSchema"]) {
                unnamed += 1;
                calls.push(Callable {
                    tool: tool.clone(),
                    arguments,
                });
            }
        }
        Ok(calls)
    }
}

/// Why a check that calls tools cannot be made.
pub(crate) const NOTHING_TO_CALL: &str =
    "no tool says that it is read-only; name one that may be called with --call";
