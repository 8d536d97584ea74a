//! What to say about names that do not exist.

use attache::host::nearest;

/// How many names a hint shows at most.
const MOST_SHOWN: usize = 12;

/// What to say about a name that does not exist: the nearest names, or all of them.
pub(crate) fn hint<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known: Vec<&str> = known.collect();
    if let Some(nearest) = nearest(given, known.iter().copied()) {
        return Some(format!("did you mean \"{nearest}\"?"));
    }
    if known.is_empty() {
        return None;
    }
    let mut shown = known[..known.len().min(MOST_SHOWN)].join(", ");
    if known.len() > MOST_SHOWN {
        shown.push_str(&format!(" and {} more", known.len() - MOST_SHOWN));
    }
    Some(format!("there are: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_the_nearest_or_all() {
        let known = || ["echo", "add", "count"].into_iter();
        assert_eq!(hint("eco", known()).unwrap(), "did you mean \"echo\"?");
        assert_eq!(
            hint("delete-all", known()).unwrap(),
            "there are: echo, add, count"
        );
        assert_eq!(hint("x", std::iter::empty()), None);
        let many: Vec<String> = (0..20)
            .map(|number| format!("tool-number-{number}"))
            .collect();
        let hint = hint("x", many.iter().map(String::as_str)).unwrap();
        assert!(hint.ends_with("tool-number-11 and 8 more"), "{hint}");
    }
}
