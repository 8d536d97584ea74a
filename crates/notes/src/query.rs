//! The language of `search_notes`.
//!
//! Owns its grammar; knows nothing of the index. No query is wrong: what does not fit the grammar is
//! read as plain words.

use crate::{analysis, calendar};

/// How many parts of a query count.
const MOST_CLAUSES: usize = 64;
/// How many bytes of a query count.
const LONGEST: usize = 4096;

/// What is looked for: all clauses at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pub(crate) clauses: Vec<Clause>,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) is_negated: bool,
    pub(crate) condition: Condition,
}

/// What a note has to satisfy. Words are folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A word or another form of it.
    Word(String),
    /// Words in this order, as they are.
    Phrase(Vec<String>),
    /// A word that begins so.
    Prefix(String),
    /// A tag.
    Tag(String),
    /// Words of the title.
    Title(Vec<String>),
    /// Parts of the path, in this order.
    Path(Vec<String>),
    /// Of this day or a later one.
    After(i64),
    /// Of an earlier day.
    Before(i64),
}

impl Query {
    /// Whether words have to stand one behind the other.
    pub(crate) fn has_phrase(&self) -> bool {
        let mut conditions = self.clauses.iter().map(|it| &it.condition);
        conditions.any(
            |it| matches!(it, Condition::Phrase(words) | Condition::Path(words) if words.len() > 1),
        )
    }

    /// Reads a query. One without any words looks for everything.
    pub(crate) fn parse(text: &str) -> Self {
        let text = cut(text);
        let is_closed = text.matches('"').count().is_multiple_of(2);
        let plain;
        let text = if is_closed {
            text
        } else {
            plain = text.replace('"', " ");
            &plain
        };
        let mut clauses = Vec::new();
        for part in parts(text) {
            clause(part, &mut clauses);
        }
        clauses.truncate(MOST_CLAUSES);
        Self { clauses }
    }

    /// Folded words that a note found by this query contains, to show them in their place.
    pub(crate) fn shown_words(&self) -> impl Iterator<Item = &str> {
        let wanted = self.clauses.iter().filter(|it| !it.is_negated);
        wanted
            .flat_map(|it| match &it.condition {
                Condition::Word(word) | Condition::Prefix(word) => {
                    std::slice::from_ref(word).iter()
                }
                Condition::Phrase(words) => words.iter(),
                _ => [].iter(),
            })
            .map(String::as_str)
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LONGEST);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The text between spaces; quotes keep it together.
fn parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = None;
    let mut is_quoted = false;
    for (at, character) in text.char_indices() {
        if character.is_whitespace() && !is_quoted {
            if let Some(start) = start.take() {
                parts.push(&text[start..at]);
            }
            continue;
        }
        is_quoted ^= character == '"';
        start.get_or_insert(at);
    }
    parts.extend(start.map(|start| &text[start..]));
    parts
}

fn clause(part: &str, clauses: &mut Vec<Clause>) {
    let (is_negated, rest) = match part.strip_prefix('-') {
        Some(rest) if rest.starts_with(|it: char| it.is_alphanumeric() || it == '"') => {
            (true, rest)
        }
        _ => (false, part),
    };
    let mut push = |condition| {
        clauses.push(Clause {
            is_negated,
            condition,
        });
    };
    if let Some((name, value)) = rest.split_once(':')
        && let Some(condition) = field(name, value.trim_matches('"'))
    {
        push(condition);
        return;
    }
    let is_phrase = rest.starts_with('"');
    let words = analysis::queried(rest);
    match words.as_slice() {
        [] => {}
        [word] if !is_phrase && rest.ends_with('*') => push(Condition::Prefix(word.clone())),
        [word] if analysis::is_half_pair(word) => push(Condition::Prefix(word.clone())),
        [word] if !is_phrase => push(Condition::Word(word.clone())),
        // A word of several, like `well-being`, is found where they stand side by side.
        _ => push(Condition::Phrase(words)),
    }
}

fn field(name: &str, value: &str) -> Option<Condition> {
    let some = |words: Vec<String>| Some(words).filter(|it| !it.is_empty());
    match name.to_ascii_lowercase().as_str() {
        "tag" => tag(value).map(Condition::Tag),
        "title" => some(analysis::queried_anywhere(value)).map(Condition::Title),
        "path" => some(analysis::queried(value)).map(Condition::Path),
        "after" => calendar::day(value).map(Condition::After),
        "before" => calendar::day(value).map(Condition::Before),
        _ => None,
    }
}

/// A tag as it is compared.
pub(crate) fn tag(text: &str) -> Option<String> {
    let (folded, _) = analysis::folded(text.trim().trim_start_matches('#'));
    (!folded.is_empty()).then_some(folded)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use Condition::{After, Before, Path, Phrase, Prefix, Tag, Title, Word};

    fn word(text: &str) -> String {
        text.to_owned()
    }

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[track_caller]
    fn check(text: &str, expected: &[(bool, Condition)]) {
        let expected = expected
            .iter()
            .cloned()
            .map(|(is_negated, condition)| Clause {
                is_negated,
                condition,
            });
        let expected = Query {
            clauses: expected.collect(),
        };
        assert_eq!(Query::parse(text), expected, "{text}");
    }

    #[test]
    fn the_grammar() {
        check("", &[]);
        check("Morning", &[(false, Word(word("morning")))]);
        check("a b", &[(false, Word(word("a"))), (false, Word(word("b")))]);
        check(
            "\"Morning Walk\"",
            &[(false, Phrase(words("morning walk")))],
        );
        check("medit*", &[(false, Prefix(word("medit")))]);
        check("-tea", &[(true, Word(word("tea")))]);
        check("-\"green tea\"", &[(true, Phrase(words("green tea")))]);
        check("tag:#Yoga", &[(false, Tag(word("yoga")))]);
        check("-tag:yoga", &[(true, Tag(word("yoga")))]);
        check("title:\"Dec 1\"", &[(false, Title(words("dec 1")))]);
        check("path:daas/x", &[(false, Path(words("daas x")))]);
        check("after:2024-12-01", &[(false, After(20_058))]);
        check("before:1970-02", &[(false, Before(31))]);
        check("well-being", &[(false, Phrase(words("well being")))]);
        check("Brûlée", &[(false, Word(word("brulee")))]);
        check("瞑想法", &[(false, Phrase(words("瞑想 想法")))]);
        check("山", &[(false, Prefix(word("山")))]);
    }

    #[test]
    fn what_is_broken_is_plain_words() {
        check("\"open", &[(false, Word(word("open")))]);
        check("after:soon", &[(false, Phrase(words("after soon")))]);
        check("- -- * : \"\" !!!", &[]);
        check("tag:", &[(false, Word(word("tag")))]);
        check("unknown:x", &[(false, Phrase(words("unknown x")))]);
        check(
            "(a OR b)^2~",
            &[
                (false, Word(word("a"))),
                (false, Word(word("or"))),
                (false, Phrase(words("b 2"))),
            ],
        );
    }

    #[test]
    fn queries_are_bounded() {
        let many = "a ".repeat(1000);
        assert_eq!(Query::parse(&many).clauses.len(), MOST_CLAUSES);
        let long = "ä".repeat(LONGEST);
        assert_eq!(Query::parse(&long).clauses.len(), 1);
    }

    proptest! {
        #[test]
        fn no_query_is_wrong(text in ".{0,200}") {
            let query = Query::parse(&text);
            prop_assert!(query.clauses.len() <= MOST_CLAUSES);
        }
    }
}
