//! Addresses with variables in them (RFC 6570), filled in.

use std::collections::BTreeMap;

/// The characters that begin an expression, and how its values are joined.
const OPERATORS: [(char, Shape); 7] = [
    ('+', Shape::new("", ",", false, true)),
    ('#', Shape::new("#", ",", false, true)),
    ('.', Shape::new(".", ".", false, false)),
    ('/', Shape::new("/", "/", false, false)),
    (';', Shape::new(";", ";", true, false)),
    ('?', Shape::new("?", "&", true, false)),
    ('&', Shape::new("&", "&", true, false)),
];

#[derive(Clone, Copy)]
struct Shape {
    first: &'static str,
    between: &'static str,
    is_named: bool,
    keeps_reserved: bool,
}

impl Shape {
    const fn new(
        first: &'static str,
        between: &'static str,
        is_named: bool,
        keeps_reserved: bool,
    ) -> Self {
        Self {
            first,
            between,
            is_named,
            keeps_reserved,
        }
    }
}

/// The names of the variables, each once, in their order.
pub(crate) fn variables(template: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for part in parts(template) {
        if let Part::Expression(_, variables) = part {
            for (name, _) in variables {
                if !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
    }
    names
}

/// The template with its variables filled in; one that has no value is left out.
pub(crate) fn expand(template: &str, values: &BTreeMap<String, String>) -> String {
    let mut address = String::new();
    for part in parts(template) {
        match part {
            Part::Literal(text) => address.push_str(text),
            Part::Expression(shape, variables) => {
                let mut is_first = true;
                for (name, longest) in variables {
                    let Some(value) = values.get(name) else {
                        continue;
                    };
                    address.push_str(if is_first { shape.first } else { shape.between });
                    is_first = false;
                    if shape.is_named {
                        address.push_str(name);
                        address.push('=');
                    }
                    let value: String = value.chars().take(longest).collect();
                    encode(&value, shape.keeps_reserved, &mut address);
                }
            }
        }
    }
    address
}

enum Part<'a> {
    Literal(&'a str),
    Expression(Shape, Vec<(&'a str, usize)>),
}

fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let Some(length) = rest[start..].find('}') else {
            break;
        };
        parts.push(Part::Literal(&rest[..start]));
        let inside = &rest[start + 1..start + length];
        let operator = OPERATORS.iter().find(|(sign, _)| inside.starts_with(*sign));
        let (shape, names) = match operator {
            Some((sign, shape)) => (*shape, &inside[sign.len_utf8()..]),
            None => (Shape::new("", ",", false, false), inside),
        };
        let names = names.split(',').filter(|name| !name.is_empty());
        let variables = names.map(|name| {
            let name = name.trim_end_matches('*');
            match name.split_once(':') {
                Some((name, longest)) => (name, longest.parse().unwrap_or(usize::MAX)),
                None => (name, usize::MAX),
            }
        });
        parts.push(Part::Expression(shape, variables.collect()));
        rest = &rest[start + length + 1..];
    }
    parts.push(Part::Literal(rest));
    parts
}

fn encode(value: &str, keeps_reserved: bool, into: &mut String) {
    for byte in value.bytes() {
        let is_plain = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let is_reserved = b":/?#[]@!$&'()*+,;=%".contains(&byte);
        if is_plain || keeps_reserved && is_reserved {
            into.push(char::from(byte));
        } else {
            use std::fmt::Write as _;
            let _ = write!(into, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_in_as_the_standard_says() {
        let values: BTreeMap<String, String> =
            [("var", "value"), ("path", "/foo/bar"), ("x", "1 2")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        for (template, expected) in [
            ("{var}", "value"),
            ("x://{path}/y", "x://%2Ffoo%2Fbar/y"),
            ("{+path}/here", "/foo/bar/here"),
            ("X{#path}", "X#/foo/bar"),
            ("X{.var}", "X.value"),
            ("{/var,x}/here", "/value/1%202/here"),
            ("{?x,missing,var}", "?x=1%202&var=value"),
            ("{&x}", "&x=1%202"),
            ("{var:3}", "val"),
            ("{missing}", ""),
            ("open {var", "open {var"),
        ] {
            assert_eq!(expand(template, &values), expected, "{template}");
        }
        assert_eq!(variables("a{x}/{?y,x:2,z*}"), ["x", "y", "z"]);
    }
}
