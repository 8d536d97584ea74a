//! The nearest of the names that exist, for a name that does not.

/// The farthest a name may be from another to be taken for a slip.
const FARTHEST: usize = 3;
/// Names longer than this are nobody's slip, and not worth comparing.
const LONGEST: usize = 100;

/// The known name that differs least from the given one, if it differs little.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    known
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (distance(given, name), name))
        .filter(|(distance, name)| *distance <= FARTHEST.min(name.chars().count() / 2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// How many letters have to be changed, added, removed or swapped with their neighbour.
fn distance(from: &str, to: &str) -> usize {
    let from: Vec<char> = from.to_lowercase().chars().collect();
    let to: Vec<char> = to.to_lowercase().chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.iter().enumerate() {
        let mut current = Vec::with_capacity(to.len() + 1);
        current.push(row + 1);
        for (column, other) in to.iter().enumerate() {
            let changed = above[column] + usize::from(letter != other);
            let mut least = changed.min(above[column + 1] + 1).min(current[column] + 1);
            if row > 0 && column > 0 && *letter == to[column - 1] && from[row - 1] == *other {
                least = least.min(before[column - 1] + 1);
            }
            current.push(least);
        }
        before = std::mem::replace(&mut above, current);
    }
    above[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_slips() {
        for (from, to, expected) in [
            ("echo", "echo", 0),
            ("Echo", "echo", 0),
            ("ehco", "echo", 1),
            ("ech", "echo", 1),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(distance(from, to), expected, "{from} {to}");
        }
    }

    #[test]
    fn only_a_near_name_is_offered() {
        let known = ["command", "args", "env"];
        assert_eq!(nearest("comand", known), Some("command"));
        assert_eq!(nearest("arg", known), Some("args"));
        assert_eq!(nearest("evn", known), Some("env"));
        assert_eq!(nearest("password", known), None);
        let long = "x".repeat(LONGEST);
        assert_eq!(nearest(&long, [long.as_str()]), Some(long.as_str()));
        let longer = "x".repeat(LONGEST + 1);
        assert_eq!(nearest(&longer, [longer.as_str()]), None);
    }
}
