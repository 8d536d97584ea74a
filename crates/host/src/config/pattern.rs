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
            match name.find(piece) {
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
    fn a_hostile_pattern_costs_no_time() {
        let pattern = Pattern::new("*a".repeat(5_000) + "b");
        let begun = std::time::Instant::now();
        assert!(!pattern.matches(&"a".repeat(100_000)));
        assert!(begun.elapsed().as_secs() < 5);
    }
}
