//! References to variables in other tools' files, translated into ours.
//!
//! | Written | Becomes |
//! |---|---|
//! | `${NAME}`, `${NAME:-default}` | itself |
//! | `${env:NAME}` (Cursor, VS Code), `{env:NAME}` (OpenCode) | `${NAME}` |
//! | `${input:some-id}` (VS Code) | `${SOME_ID}`, with a note |
//! | `${{ secrets.NAME }}` (Continue) | `${NAME}`, with a note |
//! | `${workspaceFolder}` | the project's folder |
//! | `${userHome}` | `${HOME}` |
//! | anything else in `${…}` | the same characters, with a note |

use std::path::Path;

/// Translates one text. What needs the user's attention goes to `notes`.
pub(super) fn translate(text: &str, project: Option<&Path>, notes: &mut Vec<String>) -> String {
    let text = text.replace("{env:", "${env:").replace("$${env:", "${env:");
    let mut translated = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find("${") {
        translated.push_str(&rest[..at]);
        rest = &rest[at + 2..];
        let (inside, close) = match rest.strip_prefix('{') {
            Some(inside) => (inside, "}}"),
            None => (rest, "}"),
        };
        let Some(end) = inside.find(close) else {
            translated.push_str("$${");
            continue;
        };
        let (reference, after) = (&inside[..end], &inside[end + close.len()..]);
        rest = after;
        match reference_of(reference.trim(), project) {
            Some(Reference::Same(text)) => translated.push_str(&text),
            Some(Reference::Renamed(name)) => {
                notes.push(format!(
                    "\"{}\" is read from the environment variable {name} now: set it",
                    reference.trim()
                ));
                translated.push_str(&format!("${{{name}}}"));
            }
            None => {
                notes.push(format!(
                    "\"${{{reference}}}\" is not understood and stays as it is"
                ));
                translated.push_str(&format!("$${{{reference}}}"));
            }
        }
    }
    translated.push_str(rest);
    translated
}

enum Reference {
    /// It means the same as before.
    Same(String),
    /// It is a variable that the user has to set.
    Renamed(String),
}

fn reference_of(reference: &str, project: Option<&Path>) -> Option<Reference> {
    let same = |text: String| Some(Reference::Same(text));
    if let Some(name) = reference.strip_prefix("env:") {
        return is_variable(name).then(|| Reference::Same(format!("${{{name}}}")));
    }
    if let Some(id) = reference
        .strip_prefix("input:")
        .or_else(|| reference.strip_prefix("secrets."))
    {
        return Some(Reference::Renamed(variable_from(id)));
    }
    match (reference, project) {
        ("workspaceFolder", Some(folder)) => return same(folder.to_str()?.replace("${", "$${")),
        ("workspaceFolder", None) => return None,
        ("userHome", _) => return same("${HOME}".to_owned()),
        ("pathSeparator" | "/", _) => return same(std::path::MAIN_SEPARATOR.to_string()),
        _ => {}
    }
    let name = reference.split(":-").next().unwrap_or_default();
    is_variable(name).then(|| Reference::Same(format!("${{{reference}}}")))
}

fn is_variable(name: &str) -> bool {
    let first = name.bytes().next();
    first.is_some_and(|first| !first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn variable_from(id: &str) -> String {
    let mut name: String = id
        .chars()
        .map(|found| match found {
            found if found.is_ascii_alphanumeric() => found.to_ascii_uppercase(),
            _ => '_',
        })
        .collect();
    if !is_variable(&name) {
        name.insert(0, '_');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_translated() {
        let project = Path::new("/p");
        for (text, expected, noted) in [
            ("plain", "plain", 0),
            ("${A} ${B:-x}", "${A} ${B:-x}", 0),
            ("${env:A}", "${A}", 0),
            ("x{env:A}y", "x${A}y", 0),
            ("${input:api-key}", "${API_KEY}", 1),
            ("${{ secrets.KEY }}!", "${KEY}!", 1),
            ("${{ secrets.org/key }}", "${ORG_KEY}", 1),
            ("${workspaceFolder}/src", "/p/src", 0),
            ("${userHome}/x", "${HOME}/x", 0),
            ("${command:pick}", "$${command:pick}", 1),
            ("${unclosed", "$${unclosed", 0),
            ("${}", "$${}", 1),
        ] {
            let mut notes = Vec::new();
            let translated = translate(text, Some(project), &mut notes);
            assert_eq!(translated, expected, "{text}");
            assert_eq!(notes.len(), noted, "{text}: {notes:?}");
        }
        let mut notes = Vec::new();
        translate("${workspaceFolder}", None, &mut notes);
        assert_eq!(notes.len(), 1);
    }
}
