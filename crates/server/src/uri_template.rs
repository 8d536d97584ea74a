//! URI templates of resources, matched in linear time (S18).
//!
//! Owns the part of RFC 6570 that names families of resources: literal text, `{name}`, which stops
//! at a slash, and `{+name}`, which does not. A template where two expressions touch would be
//! ambiguous and is refused, so matching never has to go back.

use std::collections::BTreeMap;

/// A template that can be matched against URIs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UriTemplate {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable { name: String, reach: Reach },
}

/// How far a variable may reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    /// Up to the next reserved character: `{name}`.
    Segment,
    /// As far as the rest allows: `{+name}`.
    Anything,
}

impl UriTemplate {
    pub(crate) fn parse(template: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = template;
        while !rest.is_empty() {
            match rest.find('{') {
                Some(0) => {
                    let end = rest.find('}').ok_or("a brace is not closed")?;
                    if matches!(parts.last(), Some(Part::Variable { .. })) {
                        return Err("two expressions stand side by side".to_owned());
                    }
                    parts.push(expression(&rest[1..end])?);
                    rest = &rest[end + 1..];
                }
                found => {
                    let literal = &rest[..found.unwrap_or(rest.len())];
                    if literal.contains('}') {
                        return Err("a brace is not opened".to_owned());
                    }
                    parts.push(Part::Literal(literal.to_owned()));
                    rest = &rest[literal.len()..];
                }
            }
        }
        let names: Vec<_> = parts.iter().filter_map(Part::name).collect();
        if names.is_empty() {
            return Err("it has no expression; register a resource instead".to_owned());
        }
        if let Some(name) = names.iter().find(|name| count(&names, name) > 1) {
            return Err(format!("the variable \"{name}\" appears twice"));
        }
        Ok(Self { parts })
    }

    /// The names of the variables.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(Part::name)
    }

    /// The values of the variables if `uri` is one of the family. A variable takes as little as the
    /// literal behind it allows, so each character is looked at a bounded number of times.
    pub(crate) fn matches(&self, uri: &str) -> Option<BTreeMap<String, String>> {
        self.matches_by(uri, |text, literal| text.find(literal))
    }

    /// The same with the search for literals named, so that a test can count what it looks at.
    fn matches_by(
        &self,
        uri: &str,
        mut find: impl FnMut(&str, &str) -> Option<usize>,
    ) -> Option<BTreeMap<String, String>> {
        let mut values = BTreeMap::new();
        let mut rest = uri;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            match part {
                Part::Literal(literal) => rest = rest.strip_prefix(literal.as_str())?,
                Part::Variable { name, reach } => {
                    let end = match parts.peek() {
                        // The last literal must end the URI, so it is looked for at the end.
                        Some(Part::Literal(literal)) if self.ends_with(literal) => {
                            rest.strip_suffix(literal.as_str())?.len()
                        }
                        Some(Part::Literal(literal)) => find(rest, literal)?,
                        _ => rest.len(),
                    };
                    let value = &rest[..end];
                    let is_reserved = |it: char| matches!(it, '/' | '?' | '#');
                    if value.is_empty() || (*reach == Reach::Segment && value.contains(is_reserved))
                    {
                        return None;
                    }
                    values.insert(name.clone(), percent_decoded(value)?);
                    rest = &rest[end..];
                }
            }
        }
        rest.is_empty().then_some(values)
    }

    /// Whether `literal` is the very last part (the same string, not an equal one).
    fn ends_with(&self, literal: &String) -> bool {
        matches!(self.parts.last(), Some(Part::Literal(last)) if std::ptr::eq(last, literal))
    }
}

impl Part {
    fn name(&self) -> Option<&str> {
        match self {
            Self::Variable { name, .. } => Some(name),
            Self::Literal(_) => None,
        }
    }
}

fn count(names: &[&str], wanted: &str) -> usize {
    names.iter().filter(|name| **name == wanted).count()
}

fn expression(text: &str) -> Result<Part, String> {
    let (reach, name) = match text.strip_prefix('+') {
        Some(name) => (Reach::Anything, name),
        None => (Reach::Segment, text),
    };
    let is_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-');
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!(
            "\"{{{text}}}\" is none of the forms {{name}} and {{+name}}"
        ));
    }
    Ok(Part::Variable {
        name: name.to_owned(),
        reach,
    })
}

/// The text with `%41` and the like decoded; `None` if that is malformed or no UTF-8.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        if byte == b'%' {
            let digits = std::str::from_utf8(behind.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &behind[2..];
        } else {
            bytes.push(byte);
            rest = behind;
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, uri: &str, expected: Option<&[(&str, &str)]>) {
        let template = UriTemplate::parse(template).unwrap();
        let expected = expected.map(|pairs| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(owned).collect()
        });
        assert_eq!(template.matches(uri), expected, "{uri}");
    }

    #[test]
    fn s_tpl_01_templates_find_their_variables() {
        check("a://{x}", "a://1", Some(&[("x", "1")]));
        check("a://{x}/data", "a://1/data", Some(&[("x", "1")]));
        check("a://{x}/data", "a://1/2/data", None);
        check("a://{+x}/data", "a://1/2/data", Some(&[("x", "1/2")]));
        check("a://{+x}/d", "a://d/d/d", Some(&[("x", "d/d")]));
        check(
            "a://{x}-{y}",
            "a://1-2-3",
            Some(&[("x", "1"), ("y", "2-3")]),
        );
        check("a://{x}", "a://", None);
        check("a://{x}", "b://1", None);
        check("a://{x}", "a://%C3%A4%20b", Some(&[("x", "ä b")]));
        check("a://{x}", "a://%C3", None);
        check("a://{x}", "a://%4", None);
        check("a://{x}", "a://1?q", None);
    }

    #[test]
    fn ambiguous_and_malformed_templates_are_refused() {
        for (template, complaint) in [
            ("a://b", "no expression"),
            ("a://{x}{y}", "side by side"),
            ("a://{x", "not closed"),
            ("a://x}{y}", "not opened"),
            ("a://{}", "none of the forms"),
            ("a://{?q}", "none of the forms"),
            ("a://{x}/{x}", "appears twice"),
        ] {
            let error = UriTemplate::parse(template).unwrap_err();
            assert!(error.contains(complaint), "{template}: {error}");
        }
    }

    #[test]
    fn s18_a_hostile_uri_is_matched_in_linear_time() {
        let template = UriTemplate::parse("a://{+a}/x/{+b}/x/{+c}/y").unwrap();
        let uri = format!("a://{}", "/x".repeat(20_000));
        let mut looked_at = 0;
        let matched = template.matches_by(&uri, |text, literal| {
            let found = text.find(literal);
            looked_at += found.map_or(text.len(), |at| at + literal.len());
            found
        });
        assert_eq!(matched, None);
        assert!((1..=uri.len()).contains(&looked_at), "{looked_at}");

        let found = template.matches("a://1/x/2/x/3/y").unwrap();
        assert_eq!(found["c"], "3");
    }
}
