//! `${VAR}` and `${VAR:-default}` in configured text.
//!
//! `$${` stands for a literal `${`; any other dollar is itself. What a variable holds is not
//! expanded again, so no value can smuggle in another.

use super::UserEnvironment;

/// Why a text cannot be expanded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpandError {
    /// A variable is not set and has no default.
    #[error("the environment variable {variable} is not set")]
    Missing {
        /// The variable.
        variable: String,
    },
    /// A `${` has no `}`.
    #[error("a \"${{\" has no \"}}\"")]
    Unclosed,
    /// What stands between the braces is no name.
    #[error("\"${{{text}}}\" does not name an environment variable")]
    BadName {
        /// What stands there.
        text: String,
    },
}

/// Replaces every reference by the variable's value, or by its default if the variable is not set
/// or empty.
pub fn expand(text: &str, environment: &UserEnvironment) -> Result<String, ExpandError> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let before = &rest[..at];
        rest = &rest[at + 2..];
        if let Some(before) = before.strip_suffix('$') {
            expanded.push_str(before);
            expanded.push_str("${");
            continue;
        }
        expanded.push_str(before);
        let end = rest.find('}').ok_or(ExpandError::Unclosed)?;
        expanded.push_str(&value_of(&rest[..end], environment)?);
        rest = &rest[end + 1..];
    }
    expanded.push_str(rest);
    Ok(expanded)
}

/// The variables that a text would read, in the order in which it names them.
pub fn references(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        let is_escaped = rest[..at].ends_with('$');
        rest = &rest[at + 2..];
        if is_escaped {
            continue;
        }
        let Some(end) = rest.find('}') else { break };
        let (variable, _) = parts(&rest[..end]);
        if is_name(variable) {
            found.push(variable);
        }
        rest = &rest[end + 1..];
    }
    found
}

/// The variable and the default of a reference.
fn parts(reference: &str) -> (&str, Option<&str>) {
    match reference.split_once(":-") {
        Some((variable, default)) => (variable, Some(default)),
        None => (reference, None),
    }
}

fn is_name(variable: &str) -> bool {
    let mut bytes = variable.bytes();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    bytes
        .next()
        .is_some_and(|first| fits(first) && !first.is_ascii_digit())
        && bytes.all(fits)
}

fn value_of(reference: &str, environment: &UserEnvironment) -> Result<String, ExpandError> {
    let (variable, default) = parts(reference);
    if !is_name(variable) {
        return Err(ExpandError::BadName {
            text: reference.to_owned(),
        });
    }
    match (environment.variable(variable), default) {
        (Some(value), None) => Ok(value.to_owned()),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value.to_owned()),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(ExpandError::Missing {
            variable: variable.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_values() {
        let variables = [("A", "1"), ("EMPTY", ""), ("SLY", "${A}")];
        let variables = variables.map(|(name, value)| (name.into(), value.into()));
        let environment = UserEnvironment::new(variables, "/");
        let missing = |variable: &str| {
            Err(ExpandError::Missing {
                variable: variable.to_owned(),
            })
        };
        let bad = |text: &str| {
            Err(ExpandError::BadName {
                text: text.to_owned(),
            })
        };
        let ok = |text: &str| Ok(text.to_owned());
        for (text, expected) in [
            ("", ok("")),
            ("plain $HOME $ $5 {A}", ok("plain $HOME $ $5 {A}")),
            ("${A}", ok("1")),
            ("x${A}y${A}z", ok("x1y1z")),
            ("${B:-two}", ok("two")),
            ("${B:-}", ok("")),
            ("${A:-two}", ok("1")),
            ("${EMPTY:-two}", ok("two")),
            ("${EMPTY}", ok("")),
            ("${SLY}", ok("${A}")),
            ("$${A}", ok("${A}")),
            ("$$${A}", ok("$${A}")),
            ("${B:-a:-b}", ok("a:-b")),
            ("é${A}é", ok("é1é")),
            ("${B}", missing("B")),
            ("${A", Err(ExpandError::Unclosed)),
            ("${}", bad("")),
            ("${1A}", bad("1A")),
            ("${input:key}", bad("input:key")),
        ] {
            assert_eq!(expand(text, &environment), expected, "{text}");
        }
    }

    #[test]
    fn the_variables_of_a_text_are_told_without_reading_them() {
        for (text, expected) in [
            ("plain $HOME", &[][..]),
            ("${A}x${B:-${C}}", &["A", "B"]),
            ("$${A} ${B}", &["B"]),
            ("${1A} ${A", &[]),
            ("${A}${A}", &["A", "A"]),
        ] {
            assert_eq!(references(text), expected, "{text}");
        }
    }
}
