//! Tools found by words: BM25 over names and descriptions, without a model.

use std::collections::BTreeMap;

use super::KnownTool;

/// How fast repeating a word stops counting.
const SATURATION: f64 = 1.2;
/// How much the length of a text counts.
const LENGTH_WEIGHT: f64 = 0.75;
/// How often a word of the name counts.
const NAME_WEIGHT: f64 = 3.0;
/// The most words of a query that are looked for.
const MOST_WORDS: usize = 32;

/// Words of all tools.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: Vec<Entry>,
    /// In how many tools each word occurs.
    spread: BTreeMap<String, usize>,
    average_length: f64,
}

#[derive(Debug)]
struct Entry {
    /// Its name for model providers.
    provider: String,
    /// The names that mean exactly it, in lower case.
    names: [String; 3],
    /// How much each word counts.
    words: BTreeMap<String, f64>,
    length: f64,
}

impl Index {
    pub(super) fn new<'a>(tools: impl Iterator<Item = &'a KnownTool>) -> Self {
        let entries: Vec<Entry> = tools.map(Entry::new).collect();
        let mut spread: BTreeMap<String, usize> = BTreeMap::new();
        for word in entries.iter().flat_map(|entry| entry.words.keys()) {
            *spread.entry(word.clone()).or_default() += 1;
        }
        let total: f64 = entries.iter().map(|entry| entry.length).sum();
        let average_length = total / (entries.len().max(1) as f64);
        Self {
            entries,
            spread,
            average_length,
        }
    }

    /// The names of the tools that fit best, best first.
    pub(super) fn find(&self, query: &str, most: usize) -> Vec<&str> {
        let asked = query.trim().to_lowercase();
        let words: Vec<String> = words(query).into_iter().take(MOST_WORDS).collect();
        let mut scored: Vec<(f64, &Entry)> = Vec::new();
        for entry in &self.entries {
            let exact = entry.names.contains(&asked);
            let score = match exact {
                true => f64::MAX,
                false => words.iter().map(|word| self.score(word, entry)).sum(),
            };
            if score > 0.0 {
                scored.push((score, entry));
            }
        }
        scored.sort_by(|(one, a), (other, b)| {
            other
                .total_cmp(one)
                .then_with(|| a.provider.cmp(&b.provider))
        });
        scored.truncate(most);
        scored
            .into_iter()
            .map(|(_, entry)| entry.provider.as_str())
            .collect()
    }

    fn score(&self, word: &str, entry: &Entry) -> f64 {
        let Some(weight) = entry.words.get(word) else {
            return 0.0;
        };
        let all = self.entries.len() as f64;
        let with = self.spread.get(word).copied().unwrap_or(0) as f64;
        let rarity = (1.0 + (all - with + 0.5) / (with + 0.5)).ln();
        let length = entry.length / self.average_length.max(1.0);
        let damped = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * length);
        rarity * weight * (SATURATION + 1.0) / (weight + damped)
    }
}

impl Entry {
    fn new(tool: &KnownTool) -> Self {
        let mut counted: BTreeMap<String, f64> = BTreeMap::new();
        let name = tool.name.to_string();
        for word in words(&name) {
            *counted.entry(word).or_default() += NAME_WEIGHT;
        }
        for word in words(&tool.definition.description) {
            *counted.entry(word).or_default() += 1.0;
        }
        Self {
            provider: tool.definition.name.clone(),
            names: [
                tool.definition.name.to_lowercase(),
                tool.name.tool.to_lowercase(),
                name.to_lowercase(),
            ],
            length: counted.values().sum(),
            words: counted,
        }
    }
}

/// The words of a text in lower case: parted by marks, and where a name changes its case.
fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for run in text.split(|found: char| !found.is_alphanumeric()) {
        let mut word = String::new();
        let mut after_lower = false;
        for found in run.chars() {
            if found.is_uppercase() && after_lower {
                words.push(std::mem::take(&mut word));
            }
            after_lower = found.is_lowercase();
            word.extend(found.to_lowercase());
        }
        if !word.is_empty() {
            words.push(word);
        }
    }
    // The plural of a word is that word.
    for word in &mut words {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
            word.pop();
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use attache_host::names::ToolName;
    use serde_json::json;

    use super::*;
    use crate::model::Definition;

    fn tool(name: &str, description: &str) -> KnownTool {
        let name = ToolName::parse_qualified(name).unwrap();
        KnownTool {
            definition: Definition {
                name: name.provider(),
                description: description.to_owned(),
                parameters: json!({}),
            },
            name,
        }
    }

    #[test]
    fn the_exactly_named_tool_comes_first_and_words_find_the_rest() {
        let tools = [
            tool("notes/search_notes", "Search notes"),
            tool(
                "notes/search",
                "Full-text. search_notes search_notes search_notes",
            ),
            tool("web/fetchPage", "Fetches a page of the web"),
            tool("db/query", "Runs SQL"),
        ];
        let index = Index::new(tools.iter());
        for (query, first) in [
            ("search_notes", Some("notes__search_notes")),
            ("notes/search", Some("notes__search")),
            ("NOTES__SEARCH", Some("notes__search")),
            ("fetch pages", Some("web__fetchPage")),
            ("sql", Some("db__query")),
            ("nothing like it", None),
            ("", None),
        ] {
            assert_eq!(index.find(query, 3).first().copied(), first, "{query}");
        }
    }
}
