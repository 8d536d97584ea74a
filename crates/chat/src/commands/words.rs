//! Words of a typed line, with quotes.

/// Splits at blanks that are not within quotes. A quote that never ends, ends with the line.
pub(super) fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut is_word = false;
    let mut quote = None;
    let mut characters = line.chars();
    while let Some(found) = characters.next() {
        match (quote, found) {
            (Some(open), _) if found == open => quote = None,
            (Some('"') | None, '\\') => {
                word.extend(characters.next());
                is_word = true;
            }
            (None, '"' | '\'') => {
                quote = Some(found);
                is_word = true;
            }
            (None, blank) if blank.is_whitespace() => {
                if is_word {
                    words.push(std::mem::take(&mut word));
                }
                is_word = false;
            }
            _ => {
                word.push(found);
                is_word = true;
            }
        }
    }
    if is_word {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hold_words_together() {
        for (line, expected) in [
            (
                "notes \"morning routine\" 5",
                &["notes", "morning routine", "5"][..],
            ),
            ("a='b c' d", &["a=b c", "d"]),
            (r#"x\ y "a\"b" '\n'"#, &["x y", "a\"b", "\\n"]),
            ("\"open end", &["open end"]),
            ("  \"\"  ", &[""]),
            ("", &[]),
        ] {
            assert_eq!(split_words(line), expected, "{line}");
        }
    }
}
