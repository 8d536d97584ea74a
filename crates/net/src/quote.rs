//! Text from outside, as an error message may show it.

/// How much of a text from outside goes into a message.
const MAX_QUOTED: usize = 300;

/// A text from outside as messages may show it: one short line without control characters.
pub fn quoted(text: &str) -> String {
    let printable = text
        .chars()
        .filter(|character| !is_disruptive(*character))
        .take(MAX_QUOTED);
    printable.collect()
}

/// Control characters and the marks that reorder text.
fn is_disruptive(character: char) -> bool {
    character.is_control()
        || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_text_is_harmless() {
        assert_eq!(quoted("a\u{1b}[31m\nb\u{202e}c"), "a[31mbc");
        assert_eq!(quoted(&"x".repeat(MAX_QUOTED + 1)).len(), MAX_QUOTED);
    }
}
