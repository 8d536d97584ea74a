//! Finding a name by some of its letters.
//!
//! All letters of the pattern have to occur in the name, in this order. What is found at the
//! beginnings of words, without gaps and early scores higher.

/// A pattern, ready to be compared with many names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pattern {
    letters: Vec<char>,
    is_case_sensitive: bool,
}

impl Pattern {
    /// A pattern as it was typed. With a capital letter in it, case matters.
    pub(crate) fn new(typed: &str) -> Self {
        let letters: Vec<char> = typed.chars().filter(|it| !it.is_whitespace()).collect();
        Self {
            is_case_sensitive: letters.iter().any(|letter| letter.is_uppercase()),
            letters,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.letters.is_empty()
    }

    /// How well a name fits, the higher the better; none if it does not.
    pub(crate) fn score(&self, name: &str) -> Option<u32> {
        self.walk(name, |_| {})
    }

    /// Where in the name the letters are, as places of characters.
    pub(crate) fn places(&self, name: &str) -> Vec<usize> {
        let mut places = Vec::new();
        match self.walk(name, |place| places.push(place)) {
            Some(_) => places,
            None => Vec::new(),
        }
    }

    fn walk(&self, name: &str, mut found: impl FnMut(usize)) -> Option<u32> {
        // A whole occurrence is better than scattered letters, wherever it is.
        if let Some(at) = self.whole(name) {
            (at..at + self.letters.len()).for_each(&mut found);
            let start = if at == 0 { 500 } else { 300 };
            return Some(start + 1000 / (u32::try_from(name.len()).unwrap_or(1000) + 10));
        }
        let mut wanted = self.letters.iter();
        let Some(mut letter) = wanted.next() else {
            return Some(0);
        };
        let mut score = 0;
        let mut former = None;
        let mut in_a_row = 0;
        for (place, character) in name.chars().enumerate() {
            if self.is_same(*letter, character) {
                in_a_row += 1;
                score += 1
                    + in_a_row * 2
                    + if is_beginning(former, character) {
                        8
                    } else {
                        0
                    };
                found(place);
                match wanted.next() {
                    Some(next) => letter = next,
                    None => return Some(score),
                }
            } else {
                in_a_row = 0;
            }
            former = Some(character);
        }
        None
    }

    /// Whether the pattern occurs without gaps.
    pub(crate) fn is_whole_in(&self, name: &str) -> bool {
        self.is_empty() || self.whole(name).is_some()
    }

    /// Where the whole pattern occurs.
    fn whole(&self, name: &str) -> Option<usize> {
        let first = *self.letters.first()?;
        let mut rest = name.chars();
        let mut at = 0;
        loop {
            let mut ahead = rest.clone();
            let same = self.letters.iter().all(|letter| {
                let character = ahead.next();
                character.is_some_and(|character| self.is_same(*letter, character))
            });
            if same {
                return Some(at);
            }
            loop {
                rest.next()?;
                at += 1;
                if self.is_same(first, rest.clone().next()?) {
                    break;
                }
            }
        }
    }

    fn is_same(&self, letter: char, character: char) -> bool {
        letter == character
            || !self.is_case_sensitive
                && match character.is_ascii() {
                    true => character.to_ascii_lowercase() == letter,
                    false => character.to_lowercase().eq(std::iter::once(letter)),
                }
    }
}

fn is_beginning(former: Option<char>, character: char) -> bool {
    former.is_none_or(|former| {
        !former.is_alphanumeric() || (former.is_lowercase() && character.is_uppercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_found_in_order() {
        let pattern = Pattern::new("snt");
        assert!(pattern.score("search_notes_today").is_some());
        assert_eq!(pattern.score("notes"), None);
        assert_eq!(Pattern::new("").score("anything"), Some(0));
        assert_eq!(Pattern::new("Se").score("search"), None);
        assert_eq!(Pattern::new("üb").places("Über"), [0, 1]);
    }

    #[test]
    fn whole_words_and_beginnings_come_first() {
        fn order(typed: &str, names: &[&'static str]) -> Vec<&'static str> {
            let pattern = Pattern::new(typed);
            let mut found: Vec<_> = names
                .iter()
                .filter_map(|name| Some((pattern.score(name)?, *name)))
                .collect();
            found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
            found.into_iter().map(|(_, name)| name).collect()
        }
        assert_eq!(
            order("note", &["no_test_e", "search_notes", "notes"]),
            ["notes", "search_notes", "no_test_e"]
        );
    }
}
