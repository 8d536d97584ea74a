//! References between addresses, as far as the inside of a schema needs them (RFC 3986).

/// What `reference` means where `base` is the address, both without fragment. Neither needs to be
/// absolute.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    if reference.is_empty() {
        return base.to_owned();
    }
    if scheme(reference).is_some() {
        return reference.to_owned();
    }
    let scheme_end = scheme(base).map_or(0, |scheme| scheme.len() + 1);
    if reference.starts_with("//") {
        return format!("{}{reference}", &base[..scheme_end]);
    }
    let after_scheme = &base[scheme_end..];
    let authority = match after_scheme.strip_prefix("//") {
        Some(rest) => 2 + rest.find(['/', '?']).unwrap_or(rest.len()),
        None => 0,
    };
    let (head, path) = base.split_at(scheme_end + authority);
    let path = path.split('?').next().unwrap_or_default();
    let folder = path.rfind('/').map_or("", |at| &path[..=at]);
    let joined = match reference.strip_prefix('/') {
        Some(_) => reference.to_owned(),
        None if folder.is_empty() && authority > 0 => format!("/{reference}"),
        None => format!("{folder}{reference}"),
    };
    format!("{head}{}", without_dots(&joined))
}

fn scheme(address: &str) -> Option<&str> {
    let (scheme, _) = address.split_once(':')?;
    let is_in = |it: char| it.is_ascii_alphanumeric() || matches!(it, '+' | '-' | '.');
    let begins = scheme.starts_with(|it: char| it.is_ascii_alphabetic());
    (begins && scheme.chars().all(is_in)).then_some(scheme)
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_last = segments.peek().is_none();
        match segment {
            "." if is_last => kept.push(""),
            "." => {}
            ".." => {
                if kept.len() > 1 || kept.first().is_some_and(|first| !first.is_empty()) {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            segment => kept.push(segment),
        }
    }
    kept.join("/")
}

/// A text with its `%XX` decoded; `None` if that is no text.
pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? * 16 + digit()?) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved() {
        for (base, reference, expected) in [
            ("http://a/b/c/d?q", "", "http://a/b/c/d?q"),
            ("http://a/b/c/d", "g", "http://a/b/c/g"),
            ("http://a/b/c/d", "./g/", "http://a/b/c/g/"),
            ("http://a/b/c/d", "../../g", "http://a/g"),
            ("http://a/b/c/d", "../../../g", "http://a/g"),
            ("http://a/b/c/d", "..", "http://a/b/"),
            ("http://a/b", "/g", "http://a/g"),
            ("http://a", "g", "http://a/g"),
            ("http://a/b", "//c/d", "http://c/d"),
            ("http://a/b", "urn:x", "urn:x"),
            ("a/b.json", "c.json", "a/c.json"),
            ("", "c.json", "c.json"),
        ] {
            assert_eq!(resolve(base, reference), expected, "{base} {reference}");
        }
        assert_eq!(percent_decoded("a%25b%C3%A9").as_deref(), Some("a%bé"));
        assert_eq!(percent_decoded("%zz"), None);
    }
}
