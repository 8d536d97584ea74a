//! Which scopes to ask for (C-AUTH-30 to C-AUTH-34).
//!
//! Owns the choice as pure functions over lists of names; knows nothing of where they come from.

/// The scope that asks for a refresh token.
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// What is known when scopes are chosen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Known<'a> {
    /// The scopes of the challenge.
    pub(crate) challenged: Option<&'a str>,
    /// The scopes that the configuration names.
    pub(crate) configured: &'a [String],
    /// The scopes that the resource lists.
    pub(crate) resource: Option<&'a [String]>,
    /// The scopes that the authorization server lists.
    pub(crate) server: &'a [String],
    /// The scopes that were asked for before.
    pub(crate) earlier: &'a [String],
}

/// Whether a refresh token is of use to the grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewal {
    Wanted,
    Useless,
}

/// The scopes to ask for; an empty list means to leave the parameter out.
///
/// The challenge's scopes are authoritative; without them the configured ones, else all that the
/// resource lists. Scopes asked for before stay, so that a step up loses nothing (C-AUTH-32).
pub(crate) fn choose(known: Known<'_>, renewal: Renewal) -> Vec<String> {
    let mut chosen: Vec<String> = known.earlier.to_vec();
    match known.challenged.filter(|scopes| !scopes.trim().is_empty()) {
        Some(challenged) => add(&mut chosen, challenged.split_ascii_whitespace()),
        None if !known.configured.is_empty() => {
            add(&mut chosen, known.configured.iter().map(String::as_str));
        }
        None => add(
            &mut chosen,
            known
                .resource
                .unwrap_or_default()
                .iter()
                .map(String::as_str),
        ),
    }
    // Alone it would replace the default scopes of the server, so it only comes along. Only if the
    // authorization server lists it may it be asked for (C-AUTH-34).
    let lists_offline = known.server.iter().any(|scope| scope == OFFLINE_ACCESS);
    if renewal == Renewal::Wanted && lists_offline && !chosen.is_empty() {
        add(&mut chosen, [OFFLINE_ACCESS].into_iter());
    }
    chosen
}

/// Whether all of the challenged scopes were asked for before, so that asking again is of no use.
pub(crate) fn asked_before(challenged: &str, earlier: &[String]) -> bool {
    challenged
        .split_ascii_whitespace()
        .all(|wanted| earlier.iter().any(|scope| scope == wanted))
}

fn add<'a>(scopes: &mut Vec<String>, more: impl Iterator<Item = &'a str>) {
    for scope in more {
        if !scopes.iter().any(|known| known == scope) {
            scopes.push(scope.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Vec<String> {
        text.split_ascii_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn scopes_are_chosen_in_order() {
        struct Case<'a> {
            challenged: Option<&'a str>,
            configured: &'a str,
            resource: Option<&'a str>,
            server: &'a str,
            earlier: &'a str,
            expected: &'a str,
        }
        let nothing = Case {
            challenged: None,
            configured: "",
            resource: None,
            server: "",
            earlier: "",
            expected: "",
        };
        let cases = [
            // C-AUTH-31: the challenge, else the resource's list, else nothing.
            Case {
                challenged: Some("a b"),
                resource: Some("c"),
                expected: "a b",
                ..nothing
            },
            Case {
                resource: Some("c d"),
                expected: "c d",
                ..nothing
            },
            Case {
                server: "x y",
                ..nothing
            },
            Case {
                configured: "k",
                resource: Some("c"),
                expected: "k",
                ..nothing
            },
            Case {
                challenged: Some("a"),
                configured: "k",
                expected: "a",
                ..nothing
            },
            // C-AUTH-30: no relation to the lists is assumed.
            Case {
                challenged: Some("z"),
                resource: Some("c"),
                server: "c",
                expected: "z",
                ..nothing
            },
            // C-AUTH-32: the union of earlier and challenged scopes.
            Case {
                challenged: Some("b a"),
                earlier: "a c",
                expected: "a c b",
                ..nothing
            },
            // C-AUTH-34: offline_access only if the authorization server lists it.
            Case {
                challenged: Some("a"),
                server: "a offline_access",
                expected: "a offline_access",
                ..nothing
            },
            Case {
                challenged: Some("a"),
                server: "a",
                expected: "a",
                ..nothing
            },
            Case {
                server: "offline_access",
                ..nothing
            },
            Case {
                challenged: Some(" "),
                resource: Some("c"),
                expected: "c",
                ..nothing
            },
        ];
        for case in cases {
            let resource = case.resource.map(list);
            let known = Known {
                challenged: case.challenged,
                configured: &list(case.configured),
                resource: resource.as_deref(),
                server: &list(case.server),
                earlier: &list(case.earlier),
            };
            assert_eq!(
                choose(known, Renewal::Wanted).join(" "),
                case.expected,
                "{known:?}"
            );
        }
    }

    #[test]
    fn nothing_is_asked_for_offline_if_useless() {
        let known = Known {
            challenged: Some("a"),
            server: &list("offline_access"),
            ..Known::default()
        };
        assert_eq!(choose(known, Renewal::Useless), ["a"]);
    }

    #[test]
    fn scopes_asked_before_are_recognised() {
        assert!(asked_before("b a", &list("a b c")));
        assert!(!asked_before("a d", &list("a b c")));
        assert!(asked_before("", &list("")));
    }
}
