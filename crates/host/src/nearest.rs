//! The nearest of the names that exist, for a name that does not.

use strsim::osa_distance;

/// The farthest a name may be from another to be taken for a slip: letters changed, added, removed or swapped with
/// their neighbour.
const FARTHEST: usize = 3;
/// Names longer than this are no slip, and not worth comparing.
const LONGEST: usize = 100;

/// The known name that differs least from the given one, if it differs little.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.len() > LONGEST {
        return None;
    }
    let given = given.to_lowercase();
    known
        .into_iter()
        .filter(|name| name.len() <= LONGEST)
        .map(|name| (osa_distance(&given, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= FARTHEST.min(name.chars().count() / 2))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_offered() {
        let known = ["command", "args", "env"];
        assert_eq!(nearest("comand", known), Some("command"));
        assert_eq!(nearest("arg", known), Some("args"));
        assert_eq!(nearest("evn", known), Some("env"));
        assert_eq!(nearest("ENV", known), Some("env"));
        assert_eq!(nearest("cmmoand", known), Some("command"), "two swaps");
        assert_eq!(nearest("password", known), None);
        let long = "x".repeat(LONGEST);
        assert_eq!(nearest(&long, [long.as_str()]), Some(long.as_str()));
        let longer = "x".repeat(LONGEST + 1);
        assert_eq!(nearest(&longer, [longer.as_str()]), None);
    }
}
