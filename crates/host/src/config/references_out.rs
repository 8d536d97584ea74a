//! Our references to variables, written for others.

/// `${NAME}` becomes `${env:NAME}`. VS Code knows no defaults, so a default is dropped; an escaped
/// `$${` stays as it is, for there is no escape either.
pub(super) fn for_vs_code(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let (before, after) = (&rest[..at], &rest[at + 2..]);
        written.push_str(before);
        rest = after;
        match after.find('}') {
            Some(end) if !before.ends_with('$') => {
                let name = after[..end].split(":-").next().unwrap_or_default();
                written.push_str(&format!("${{env:{name}}}"));
                rest = &after[end + 1..];
            }
            _ => written.push_str("${"),
        }
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_written_for_vs_code() {
        for (text, expected) in [
            ("plain", "plain"),
            ("Bearer ${TOKEN}", "Bearer ${env:TOKEN}"),
            ("${A:-x}${B}", "${env:A}${env:B}"),
            ("$${A}", "$${A}"),
            ("${open", "${open"),
        ] {
            assert_eq!(for_vs_code(text), expected, "{text}");
        }
    }
}
