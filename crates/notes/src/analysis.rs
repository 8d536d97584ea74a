//! Text as the terms of the index.
//!
//! Owns how words are cut, folded and stemmed, alike for notes and for queries. Words are runs of
//! letters and digits in lower case without diacritics. Chinese, Japanese and Korean text, which has
//! no spaces to rely on, becomes pairs of characters. A word's stem stands at the place of the word,
//! beside it, so that prefixes and phrases see what was written.

use std::collections::BTreeSet;
use std::ops::Range;

use icu_normalizer::properties::{CanonicalDecompositionBorrowed, Decomposed};
use rust_stemmers::{Algorithm, Stemmer};

/// How long a term may be in characters; the rest of a word does not count.
const LONGEST_TERM: usize = 64;

const DECOMPOSITION: CanonicalDecompositionBorrowed<'static> =
    CanonicalDecompositionBorrowed::new();

/// A language whose words have stems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language {
    code: &'static str,
    algorithm: Algorithm,
}

const LANGUAGES: &[(&str, &str, Algorithm)] = &[
    ("ar", "arabic", Algorithm::Arabic),
    ("da", "danish", Algorithm::Danish),
    ("de", "german", Algorithm::German),
    ("el", "greek", Algorithm::Greek),
    ("en", "english", Algorithm::English),
    ("es", "spanish", Algorithm::Spanish),
    ("fi", "finnish", Algorithm::Finnish),
    ("fr", "french", Algorithm::French),
    ("hu", "hungarian", Algorithm::Hungarian),
    ("it", "italian", Algorithm::Italian),
    ("nl", "dutch", Algorithm::Dutch),
    ("no", "norwegian", Algorithm::Norwegian),
    ("pt", "portuguese", Algorithm::Portuguese),
    ("ro", "romanian", Algorithm::Romanian),
    ("ru", "russian", Algorithm::Russian),
    ("sv", "swedish", Algorithm::Swedish),
    ("ta", "tamil", Algorithm::Tamil),
    ("tr", "turkish", Algorithm::Turkish),
];

impl Language {
    /// English.
    pub const ENGLISH: Self = Self {
        code: "en",
        algorithm: Algorithm::English,
    };

    /// The language of a code like `de` or `de-AT`, or of an English name.
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_lowercase();
        let primary = name.split(['-', '_']).next()?;
        let known = LANGUAGES
            .iter()
            .find(|(code, full, _)| *code == primary || *full == name);
        known.map(|&(code, _, algorithm)| Self { code, algorithm })
    }

    /// Its code, like `de`.
    pub fn code(self) -> &'static str {
        self.code
    }
}

/// A term and where it stands in the text, in bytes and in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Term {
    pub(crate) text: String,
    pub(crate) range: Range<usize>,
    pub(crate) position: usize,
}

/// The terms of a note's text: every word, and its stem where that differs.
pub(crate) fn indexed(text: &str, language: Language) -> Vec<Term> {
    let stemmer = Stemmer::create(language.algorithm);
    let mut terms = Vec::new();
    words(text, |word, range, position| {
        let stem = stemmer.stem(word);
        if stem != word {
            terms.push(Term {
                text: stem.into_owned(),
                range: range.clone(),
                position,
            });
        }
        terms.push(Term {
            text: word.to_owned(),
            range,
            position,
        });
    });
    terms
}

/// The words of a query, folded, in the order they have to stand in. At the end of it a run of
/// characters without spaces may go on in the note.
pub(crate) fn queried(text: &str) -> Vec<String> {
    let mut found = told_words(text);
    if found.last().is_some_and(|(_, completes)| *completes) {
        found.pop();
    }
    found.into_iter().map(|(word, _)| word).collect()
}

/// The words of a query, folded, wherever they stand: there every run may go on.
pub(crate) fn queried_anywhere(text: &str) -> Vec<String> {
    let found = told_words(text).into_iter();
    found
        .filter_map(|(word, completes)| (!completes).then_some(word))
        .collect()
}

/// Words, and whether each is only the last character of a run, which stands alone in the index
/// behind the pair that it belongs to.
fn told_words(text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let mut end = None;
    words(text, |word, range, _| {
        let completes = end == Some(range.end) && is_half_pair(word);
        end = Some(range.end);
        found.push((word.to_owned(), completes));
    });
    found
}

/// Whether a word is a single character of a script without spaces, of which the index has pairs.
pub(crate) fn is_half_pair(word: &str) -> bool {
    let mut characters = word.chars();
    characters.next().is_some_and(is_unspaced) && characters.next().is_none()
}

/// The stems of a word in several languages, without the word itself.
pub(crate) fn stems(word: &str, languages: &[Language]) -> BTreeSet<String> {
    let stem = |it: &Language| Stemmer::create(it.algorithm).stem(word).into_owned();
    let mut stems: BTreeSet<String> = languages.iter().map(stem).collect();
    stems.remove(word);
    stems
}

/// Calls `found` with each word, the bytes it was made from, and its number.
fn words(text: &str, mut found: impl FnMut(&str, Range<usize>, usize)) {
    let mut position = 0;
    let mut word = String::new();
    let mut length = 0;
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        if is_unspaced(character) {
            if !word.is_empty() {
                found(&word, start..at, position);
                position += 1;
                word.clear();
            }
            let mut end = at + character.len_utf8();
            let mut pair = String::from(character);
            if let Some((next_at, next)) = characters.peek().filter(|(_, it)| is_unspaced(*it)) {
                pair.push(*next);
                end = next_at + next.len_utf8();
            }
            found(&pair, at..end, position);
            position += 1;
            continue;
        }
        if character.is_alphanumeric() {
            if word.is_empty() {
                start = at;
                length = 0;
            }
            if length < LONGEST_TERM {
                fold(character, &mut word);
            }
            length += 1;
        } else if !word.is_empty() && !is_mark(character) {
            found(&word, start..at, position);
            position += 1;
            word.clear();
        }
    }
    if !word.is_empty() {
        found(&word, start..text.len(), position);
    }
}

/// Text in lower case without diacritics, and for each of its bytes where it comes from.
pub(crate) fn folded(text: &str) -> (String, Vec<usize>) {
    let mut folded = String::with_capacity(text.len());
    let mut origins = Vec::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        if !is_mark(character) {
            fold(character, &mut folded);
        }
        origins.resize(folded.len(), at);
    }
    (folded, origins)
}

fn fold(character: char, into: &mut String) {
    if character.is_ascii() {
        into.push(character.to_ascii_lowercase());
        return;
    }
    for lower in character.to_lowercase() {
        match lower {
            'ß' => into.push_str("ss"),
            'æ' => into.push_str("ae"),
            'œ' => into.push_str("oe"),
            'þ' => into.push_str("th"),
            'ø' => into.push('o'),
            'ł' => into.push('l'),
            'đ' | 'ð' => into.push('d'),
            'ı' => into.push('i'),
            _ if is_mark(lower) => {}
            _ => into.push(base(lower)),
        }
    }
}

/// A character without its diacritics.
fn base(mut character: char) -> char {
    if is_unspaced(character) {
        return character;
    }
    // Each step takes one mark away; no character has more than a few.
    for _ in 0..4 {
        match DECOMPOSITION.decompose(character) {
            Decomposed::Default => break,
            Decomposed::Singleton(other) | Decomposed::Expansion(other, _) => character = other,
        }
    }
    character
}

fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}')
}

/// Whether a character belongs to a script that is written without spaces, or, like Korean, with
/// words that grow endings.
fn is_unspaced(character: char) -> bool {
    matches!(character,
        '\u{3041}'..='\u{3096}'
        | '\u{30a1}'..='\u{30ff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        words(text, |word, range, position| {
            assert!(text.get(range.clone()).is_some(), "{range:?} of {text}");
            found.push(format!("{position}:{word}"));
        });
        found
    }

    #[test]
    fn words_are_cut_and_folded() {
        for (text, expected) in [
            ("", &[][..]),
            ("Morning, MEDITATION!", &["0:morning", "1:meditation"]),
            ("Crème Brûlée straße", &["0:creme", "1:brulee", "2:strasse"]),
            ("e\u{301}te\u{301}", &["0:ete"]),
            ("don't c++ 3.14", &["0:don", "1:t", "2:c", "3:3", "4:14"]),
            ("Øystein Łódź", &["0:oystein", "1:lodz"]),
            ("瞑想法", &["0:瞑想", "1:想法", "2:法"]),
            ("山", &["0:山"]),
            ("a瞑想b", &["0:a", "1:瞑想", "2:想", "3:b"]),
            ("명상", &["0:명상", "1:상"]),
            ("--- ###", &[]),
        ] {
            assert_eq!(cut(text), expected, "{text}");
        }
        let long = "x".repeat(10_000);
        assert_eq!(cut(&long), [format!("0:{}", "x".repeat(LONGEST_TERM))]);
    }

    #[test]
    fn stems_stand_beside_their_words() {
        let terms = indexed("Mornings pass", Language::ENGLISH);
        let terms: Vec<_> = terms
            .iter()
            .map(|it| (it.text.as_str(), it.position))
            .collect();
        assert_eq!(terms, [("morn", 0), ("mornings", 0), ("pass", 1)]);
        let german = Language::named("de-AT").unwrap();
        assert_eq!(german.code(), "de");
        let both = stems("spielen", &[Language::ENGLISH, german]);
        assert!(both.contains("spiel"), "{both:?}");
        assert_eq!(Language::named("klingon"), None);
    }

    #[test]
    fn queries_leave_out_what_only_completes_a_run() {
        assert_eq!(queried("瞑想法"), ["瞑想", "想法"]);
        assert_eq!(queried("法"), ["法"]);
        assert_eq!(queried("瞑想法 b"), ["瞑想", "想法", "法", "b"]);
        assert_eq!(queried_anywhere("瞑想法 b"), ["瞑想", "想法", "b"]);
        assert_eq!(queried_anywhere("山 川"), ["山", "川"]);
        assert_eq!(queried("a b"), ["a", "b"]);
        assert!(is_half_pair("法") && !is_half_pair("瞑想") && !is_half_pair("a"));
    }

    #[test]
    fn folded_text_knows_where_it_comes_from() {
        let (text, origins) = folded("Äß e\u{301}x");
        assert_eq!(text, "ass ex");
        assert_eq!(origins.len(), text.len());
        assert_eq!((origins[0], origins[1], origins[5]), (0, 2, 8));
    }
}
