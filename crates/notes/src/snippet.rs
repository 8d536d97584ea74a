//! The piece of a note that shows why it was found.

use crate::analysis;
use crate::identity::one_line;

/// How many bytes of a note are looked at.
const REACH: usize = 16 * 1024;
/// How many bytes stand before the first word that was looked for, and how long the piece is.
const BEFORE: usize = 60;
const LENGTH: usize = 200;

/// One line of the text around the first of the words, or else its beginning. Words are folded.
pub(crate) fn snippet<'a>(body: &str, words: impl Iterator<Item = &'a str>) -> String {
    let body = &body[..boundary(body, REACH)];
    let at = first(body, words);
    let mut start = boundary(body, at.unwrap_or(0).saturating_sub(BEFORE));
    // A piece begins with a whole word.
    if start > 0 {
        let until = at.unwrap_or(start);
        start += body[start..until].find(char::is_whitespace).unwrap_or(0);
    }
    let end = boundary(body, start + LENGTH);
    let shown = one_line(&body[start..end]);
    let before = if start > 0 { "… " } else { "" };
    let after = if end < body.len() { " …" } else { "" };
    format!("{before}{shown}{after}")
}

/// Where the first of the words stands, in whatever form.
fn first<'a>(body: &str, words: impl Iterator<Item = &'a str>) -> Option<usize> {
    let mut words = words.peekable();
    words.peek()?;
    if body.is_ascii() {
        let lower = body.to_ascii_lowercase();
        return words.filter_map(|word| find(&lower, word)).min();
    }
    let (folded, origins) = analysis::folded(body);
    let found = words.filter_map(|word| find(&folded, word)).min()?;
    origins.get(found).copied()
}

/// Finds a word, or a shorter beginning of it that other forms share.
fn find(text: &str, word: &str) -> Option<usize> {
    let begins_word = |at: usize| {
        let before = text[..at].chars().next_back();
        before.is_none_or(|it| !it.is_alphanumeric() || !it.is_ascii())
    };
    let mut stem = word;
    loop {
        let mut places = text.match_indices(stem).map(|(at, _)| at);
        if let Some(at) = places.find(|at| begins_word(*at)) {
            return Some(at);
        }
        let shorter = stem.char_indices().next_back().map_or(0, |(at, _)| at);
        if shorter < 3 || word.len() - shorter > 4 {
            return None;
        }
        stem = &word[..shorter];
    }
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, words: &[&str], expected: &str) {
        assert_eq!(snippet(body, words.iter().copied()), expected);
    }

    #[test]
    fn the_word_is_in_sight() {
        check("short text", &["text"], "short text");
        check("", &["text"], "");
        check("short", &[], "short");
        let long = format!("{} needle {}", "hay ".repeat(100), "hay ".repeat(100));
        let shown = snippet(&long, ["needle"].into_iter());
        assert!(
            shown.starts_with("… hay") && shown.ends_with("hay …"),
            "{shown}"
        );
        assert!(shown.contains(" needle "));
        let other = snippet(&long, ["needles"].into_iter());
        assert_eq!(other, shown);
        let folded = long.replace("needle", "Näße");
        assert!(snippet(&folded, ["nasse"].into_iter()).contains("Näße"));
    }

    #[test]
    fn pieces_are_cut_between_characters_and_in_one_line() {
        let wide = "瞑想\n".repeat(1000);
        assert!(snippet(&wide, ["想法"].into_iter()).len() < 400);
        check("a\n\n2. forged\u{1b}[0m", &[], "a 2. forged [0m");
    }
}
