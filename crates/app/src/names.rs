//! Names as a user types them, and the nearest ones that exist.

/// The farthest a name may be from another to be taken for a slip.
const FARTHEST: usize = 3;
/// Names longer than this are nobody's slip, and not worth comparing.
const LONGEST: usize = 100;
/// How many names a hint shows at most.
const MOST_SHOWN: usize = 12;

/// A name without the server's name in front, if that is there: `SERVER/NAME`.
pub(crate) fn without_server<'a>(given: &'a str, server: &str) -> &'a str {
    given
        .strip_prefix(server)
        .and_then(|rest| rest.strip_prefix('/'))
        .filter(|name| !name.is_empty())
        .unwrap_or(given)
}

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

/// The known name that differs least, if it differs little.
pub(crate) fn nearest<'a>(given: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    known
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(given, name), name))
        .filter(|(distance, name)| *distance <= FARTHEST.min(name.chars().count() / 2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters have to be changed, added or removed, ignoring case.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.to_lowercase().chars().collect();
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (above, letter) in from.iter().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (left, other) in to.iter().enumerate() {
            let changed = diagonal + usize::from(letter != other);
            diagonal = row[left + 1];
            row[left + 1] = changed.min(row[left] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_letters() {
        for (from, to, expected) in [
            ("echo", "echo", 0),
            ("Echo", "echo", 0),
            ("ehco", "echo", 2),
            ("ech", "echo", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn hints_name_the_nearest_or_all() {
        let known = || ["echo", "add", "count"].into_iter();
        assert_eq!(hint("eco", known()).unwrap(), "did you mean \"echo\"?");
        assert_eq!(
            hint("delete-all", known()).unwrap(),
            "there are: echo, add, count"
        );
        assert_eq!(hint("x", std::iter::empty()), None);
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(nearest(&long, [long.as_str()].into_iter()), None);
        let long = &long[1..];
        assert_eq!(nearest(long, [long].into_iter()), Some(long));
        let many: Vec<String> = (0..20)
            .map(|number| format!("tool-number-{number}"))
            .collect();
        let hint = hint("x", many.iter().map(String::as_str)).unwrap();
        assert!(hint.ends_with("tool-number-11 and 8 more"), "{hint}");
    }

    #[test]
    fn the_servers_name_in_front_is_optional() {
        assert_eq!(without_server("demo/echo", "demo"), "echo");
        assert_eq!(without_server("echo", "demo"), "echo");
        assert_eq!(without_server("other/echo", "demo"), "other/echo");
        assert_eq!(without_server("demo/", "demo"), "demo/");
    }
}
