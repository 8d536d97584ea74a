//! JSON text in lines.

/// Breaks valid JSON into lines without reading its values: numbers and escapes stay as they were
/// written.
pub fn indented(json: &str) -> String {
    let mut lines = String::with_capacity(json.len() * 2);
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    let mut open = None;
    for character in json.chars() {
        if in_string {
            lines.push(character);
            in_string = escaped || character != '"';
            escaped = !escaped && character == '\\';
            continue;
        }
        if character.is_ascii_whitespace() {
            continue;
        }
        let closes = matches!(character, '}' | ']');
        if closes {
            depth = depth.saturating_sub(1);
        }
        // What was opened and is closed at once stays on its line.
        if open.take().is_some_and(|()| !closes) || (closes && !lines.ends_with(['{', '['])) {
            lines.push('\n');
            lines.extend(std::iter::repeat_n("  ", depth));
        }
        lines.push(character);
        match character {
            '"' => in_string = true,
            '{' | '[' => {
                depth += 1;
                open = Some(());
            }
            ',' => open = Some(()),
            ':' => lines.push(' '),
            _ => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_without_touching_values() {
        let json = r#"{"a":[1e400, {}],"b \\\" {":"x, [y]","c":[],"d":{"e":null}}"#;
        let lines = [
            "{",
            r#"  "a": ["#,
            "    1e400,",
            "    {}",
            "  ],",
            r#"  "b \\\" {": "x, [y]","#,
            r#"  "c": [],"#,
            r#"  "d": {"#,
            r#"    "e": null"#,
            "  }",
            "}",
        ];
        assert_eq!(indented(json), lines.join("\n"));
    }
}
