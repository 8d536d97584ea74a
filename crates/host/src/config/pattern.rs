//! Patterns for names: text with `*` for any run of characters.
//!
//! There is no other wildcard. With stars alone a match is found by looking for each piece once
//! from left to right, so no pattern of a file can be made to take long (S18).

use std::fmt;

/// A pattern for names, such as `get_*`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pattern(String);

impl Pattern {
    /// A pattern; every text is one.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `name` as a whole matches.
    pub fn matches(&self, name: &str) -> bool {
        self.matches_by(name, |text, piece| text.find(piece))
    }

    /// The same with the search for pieces named, so that a test can count what it looks at.
    fn matches_by(&self, name: &str, mut find: impl FnMut(&str, &str) -> Option<usize>) -> bool {
        let Some((first, rest)) = self.0.split_once('*') else {
            return self.0 == name;
        };
        let Some(name) = name.strip_prefix(first) else {
            return false;
        };
        let (middle, last) = match rest.rsplit_once('*') {
            Some((middle, last)) => (middle, last),
            None => ("", rest),
        };
        let Some(mut name) = name.strip_suffix(last) else {
            return false;
        };
        // The leftmost place of each piece leaves most room for the next, so no choice has ever to
        // be taken back.
        for piece in middle.split('*') {
            match find(name, piece) {
                Some(at) => name = &name[at + piece.len()..],
                None => return false,
            }
        }
        true
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl From<&str> for Pattern {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_run() {
        for (pattern, name, expected) in [
            ("", "", true),
            ("", "a", false),
            ("*", "", true),
            ("*", "anything", true),
            ("get", "get", true),
            ("get", "gets", false),
            ("get_*", "get_file", true),
            ("get_*", "forget_file", false),
            ("*_file", "get_file", true),
            ("*_file", "get_files", false),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("*b*", "abc", true),
            ("*b*", "ac", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*bc*c", "abc", false),
            ("a**c", "abc", true),
            ("***", "", true),
            ("*é*", "café noir", true),
            ("get?", "gets", false),
            ("Get*", "get_file", false),
        ] {
            assert_eq!(
                Pattern::new(pattern).matches(name),
                expected,
                "{pattern} against {name}"
            );
        }
    }

    #[test]
    fn s18_a_hostile_pattern_looks_at_each_letter_once() {
        let pattern = Pattern::new("*a".repeat(5_000) + "*b*");
        let name = "a".repeat(20_000);
        let mut looked_at = 0;
        let matched = pattern.matches_by(&name, |text, piece| {
            let found = text.find(piece);
            looked_at += found.map_or(text.len(), |at| at + piece.len());
            found
        });
        assert!(!matched);
        assert_eq!(looked_at, name.len());
        assert!(pattern.matches(&(name + "b")));
    }
}
