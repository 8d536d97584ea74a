//! URI templates filled in (RFC 6570), in linear time: literals, `{name}`, and the operators
//! `+ # . / ; ? &`, with values that are text. What is malformed stays as it is written.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How the variables of an expression are written.
struct Style {
    /// What comes before the first of them.
    first: &'static str,
    /// What comes between them.
    between: &'static str,
    /// Each is written with its name.
    named: bool,
    /// What stands for `=` where the value is empty.
    empty: &'static str,
    /// Characters with a meaning of their own in URIs stay.
    keeps_reserved: bool,
}

const fn style(first: &'static str, between: &'static str) -> Style {
    Style {
        first,
        between,
        named: false,
        empty: "",
        keeps_reserved: false,
    }
}

/// The names of all variables, in their order, each once.
pub fn variables(template: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in parts(template) {
        if let Part::Expression(inside) = part {
            let (_, specs) = operator(inside);
            for spec in specs.split(',') {
                let (name, _) = variable(spec);
                if !name.is_empty() && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
    }
    names
}

/// Fills a template in. Variables without a value are left out.
pub fn expand(template: &str, values: &BTreeMap<String, String>) -> String {
    let mut uri = String::with_capacity(template.len());
    for part in parts(template) {
        match part {
            Part::Literal(text) => uri.push_str(text),
            Part::Expression(inside) => expression(&mut uri, inside, values),
        }
    }
    uri
}

enum Part<'t> {
    Literal(&'t str),
    /// What stands between braces.
    Expression(&'t str),
}

fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(open) = rest.find('{') {
        let Some(length) = rest[open..].find('}') else {
            break;
        };
        parts.push(Part::Literal(&rest[..open]));
        parts.push(Part::Expression(&rest[open + 1..open + length]));
        rest = &rest[open + length + 1..];
    }
    parts.push(Part::Literal(rest));
    parts
}

fn operator(inside: &str) -> (Style, &str) {
    let rest = inside.get(1..).unwrap_or_default();
    match inside.bytes().next() {
        Some(b'+') => (
            Style {
                keeps_reserved: true,
                ..style("", ",")
            },
            rest,
        ),
        Some(b'#') => (
            Style {
                keeps_reserved: true,
                ..style("#", ",")
            },
            rest,
        ),
        Some(b'.') => (style(".", "."), rest),
        Some(b'/') => (style("/", "/"), rest),
        Some(b';') => (
            Style {
                named: true,
                ..style(";", ";")
            },
            rest,
        ),
        Some(b'?') => (
            Style {
                named: true,
                empty: "=",
                ..style("?", "&")
            },
            rest,
        ),
        Some(b'&') => (
            Style {
                named: true,
                empty: "=",
                ..style("&", "&")
            },
            rest,
        ),
        _ => (style("", ","), inside),
    }
}

/// A variable, and how many characters of its value are wanted.
fn variable(spec: &str) -> (&str, usize) {
    let spec = spec.trim().trim_end_matches('*');
    match spec.split_once(':') {
        Some((name, length)) => (name, length.parse().unwrap_or(usize::MAX)),
        None => (spec, usize::MAX),
    }
}

fn expression(uri: &mut String, inside: &str, values: &BTreeMap<String, String>) {
    let (style, specs) = operator(inside);
    let mut before = style.first;
    for spec in specs.split(',') {
        let (name, length) = variable(spec);
        let Some(value) = values.get(name) else {
            continue;
        };
        uri.push_str(before);
        before = style.between;
        if style.named {
            uri.push_str(name);
            uri.push_str(if value.is_empty() { style.empty } else { "=" });
        }
        let cut = value
            .char_indices()
            .nth(length)
            .map_or(value.len(), |(at, _)| at);
        encode(uri, &value[..cut], style.keeps_reserved);
    }
}

fn encode(uri: &mut String, value: &str, keeps_reserved: bool) {
    let bytes = value.as_bytes();
    for (at, byte) in bytes.iter().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
        let is_reserved = b":/?#[]@!$&'()*+,;=".contains(byte);
        // What is encoded already stays encoded once.
        let is_encoded = *byte == b'%'
            && bytes
                .get(at + 1..at + 3)
                .is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit));
        if is_plain || (keeps_reserved && (is_reserved || is_encoded)) {
            uri.push(char::from(*byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_in_as_rfc_6570_says() {
        let values = [
            ("var", "value"),
            ("hello", "Hello World!"),
            ("path", "/foo/bar"),
            ("x", "1024"),
            ("y", "768"),
            ("empty", ""),
            ("half", "50%"),
            ("fold", "a/b \u{e9}"),
        ];
        let values: BTreeMap<String, String> = values
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        for (template, expected) in [
            ("{var}", "value"),
            ("{hello}", "Hello%20World%21"),
            ("{half}", "50%25"),
            ("O{empty}X", "OX"),
            ("O{undef}X", "OX"),
            ("{x,y}", "1024,768"),
            ("{var:3}", "val"),
            ("{+hello}", "Hello%20World!"),
            ("{+path}/here", "/foo/bar/here"),
            ("{#path,x}here", "#/foo/bar,1024here"),
            ("X{.x,y}", "X.1024.768"),
            ("{/var,x}/here", "/value/1024/here"),
            ("{;x,empty}", ";x=1024;empty"),
            ("{?x,y,empty}", "?x=1024&y=768&empty="),
            ("?fixed=yes{&x}", "?fixed=yes&x=1024"),
            ("notes:///{fold}", "notes:///a%2Fb%20%C3%A9"),
            ("unclosed{var", "unclosed{var"),
            ("{}{}", ""),
        ] {
            assert_eq!(expand(template, &values), expected, "{template}");
        }
        assert_eq!(variables("a{x,y:3}{?x,z*}{}"), ["x", "y", "z"]);
    }
}
