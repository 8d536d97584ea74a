//! Texts cut where a character ends.

/// The last place up to `at` where `text` can be cut.
pub(crate) fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The beginning of a text, with a mark if that is not all of it.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    match text.len() <= most {
        true => text.to_owned(),
        false => format!("{}…", &text[..boundary(text, most)]),
    }
}
