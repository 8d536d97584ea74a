//! The decision about a call, as a pure function of rules and names.

use std::cell::LazyCell;
use std::fmt;

use attache_client::protocol::Tool;
use serde::{Deserialize, Serialize};

use crate::config::{Decision, Pattern, PolicyRules, ReadOnlyHint};
use crate::names::ToolName;

/// Who wants a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOrigin {
    /// A person typed it, with these arguments. That is its own consent where no rule says to ask.
    Person,
    /// A model or a program wants it on a person's behalf.
    Program,
}

/// What a tool claims about itself. Hints, never authority (S19, C-TOOL-14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// It claims to change nothing.
    pub read_only: bool,
    /// It says that it may destroy something.
    pub destructive: bool,
}

impl Hints {
    /// The claims of a tool.
    pub fn of(tool: &Tool) -> Self {
        let claims = |read: fn(&attache_client::protocol::ToolAnnotations) -> Option<bool>| {
            tool.annotations.as_ref().and_then(read).unwrap_or(false)
        };
        Self {
            read_only: claims(|annotations| annotations.read_only),
            destructive: claims(|annotations| annotations.destructive),
        }
    }
}

/// A decision with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The decision.
    pub decision: Decision,
    /// Why.
    pub reason: Reason,
}

/// Why a decision was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A pattern names the tool.
    Pattern {
        /// The pattern.
        pattern: Pattern,
        /// Whose pattern it is.
        of: Breadth,
    },
    /// It claims to be read-only, and the configuration believes that.
    ReadOnly,
    /// A configured `default`.
    Default(Breadth),
    /// Nothing is configured.
    Unconfigured,
    /// A person typed the call.
    Typed,
    /// The user answered so before.
    Answered(super::Remember),
    /// The user was asked just now.
    Asked,
}

/// What a rule holds for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// One server.
    Server,
    /// All servers.
    Everywhere,
}

/// The decision and its reason as a clause.
impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = |breadth: &Breadth| match breadth {
            Breadth::Server => "the server's policy",
            Breadth::Everywhere => "the policy for all servers",
        };
        let does = match self.decision {
            Decision::Deny => "forbids it",
            Decision::Ask => "says to ask first",
            Decision::Allow => "allows it",
        };
        match (&self.reason, self.decision) {
            (Reason::Pattern { pattern, of }, _) => {
                write!(formatter, "{} {does}, by \"{pattern}\"", owner(of))
            }
            (Reason::Default(of), _) => {
                write!(formatter, "{} {does}, by its default", owner(of))
            }
            (Reason::ReadOnly, _) => {
                formatter.write_str("it claims to be read-only, and the policy believes it")
            }
            (Reason::Unconfigured, _) => {
                formatter.write_str("no policy says that it may be called")
            }
            (Reason::Typed, _) => formatter.write_str("a person typed the call"),
            (Reason::Answered(remember), Decision::Deny) => {
                write!(formatter, "it was refused earlier, {remember}")
            }
            (Reason::Answered(remember), _) => {
                write!(formatter, "it was allowed earlier, {remember}")
            }
            (Reason::Asked, Decision::Deny) => formatter.write_str("the user said no"),
            (Reason::Asked, _) => formatter.write_str("the user said yes"),
        }
    }
}

/// Decides by configuration alone: steps 1 to 5 of the [order](super).
pub fn decide(
    everywhere: &PolicyRules,
    server: &PolicyRules,
    name: &ToolName,
    hints: Hints,
) -> Verdict {
    let qualified = LazyCell::new(|| name.to_string());
    let of_server =
        |patterns: &[Pattern]| find(patterns, |it| it.matches(&name.tool), Breadth::Server);
    let of_all =
        |patterns: &[Pattern]| find(patterns, |it| it.matches(&qualified), Breadth::Everywhere);
    let by_pattern = [
        (Decision::Deny, of_server(&server.deny)),
        (Decision::Deny, of_all(&everywhere.deny)),
        (Decision::Ask, of_server(&server.ask)),
        (Decision::Allow, of_server(&server.allow)),
        (Decision::Ask, of_all(&everywhere.ask)),
        (Decision::Allow, of_all(&everywhere.allow)),
    ];
    for (decision, found) in by_pattern {
        if let Some(reason) = found {
            return Verdict { decision, reason };
        }
    }
    let belief = server.read_only.or(everywhere.read_only);
    if hints.read_only && !hints.destructive && belief == Some(ReadOnlyHint::Believe) {
        return Verdict {
            decision: Decision::Allow,
            reason: Reason::ReadOnly,
        };
    }
    let (decision, reason) = match (server.otherwise, everywhere.otherwise) {
        (Some(decision), _) => (decision, Reason::Default(Breadth::Server)),
        (None, Some(decision)) => (decision, Reason::Default(Breadth::Everywhere)),
        (None, None) => (Decision::Ask, Reason::Unconfigured),
    };
    Verdict { decision, reason }
}

fn find(patterns: &[Pattern], fits: impl Fn(&Pattern) -> bool, of: Breadth) -> Option<Reason> {
    let pattern = patterns.iter().find(|pattern| fits(pattern))?;
    Some(Reason::Pattern {
        pattern: pattern.clone(),
        of,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerName;

    const CLAIMS_READ_ONLY: Hints = Hints {
        read_only: true,
        destructive: false,
    };

    fn rules(deny: &[&str], ask: &[&str], allow: &[&str]) -> PolicyRules {
        let patterns = |texts: &[&str]| texts.iter().map(|text| Pattern::new(*text)).collect();
        PolicyRules {
            deny: patterns(deny),
            ask: patterns(ask),
            allow: patterns(allow),
            ..PolicyRules::default()
        }
    }

    fn check(everywhere: &PolicyRules, server: &PolicyRules, hints: Hints, expected: Decision) {
        let name = ToolName::new(ServerName::new("notes").unwrap(), "get_note");
        let verdict = decide(everywhere, server, &name, hints);
        assert_eq!(verdict.decision, expected, "{verdict:?}");
    }

    // C-TOOL-14.
    // S19.
    #[test]
    fn unconfigured_tools_ask_whatever_they_claim() {
        let none = PolicyRules::default();
        check(&none, &none, Hints::default(), Decision::Ask);
        check(&none, &none, CLAIMS_READ_ONLY, Decision::Ask);
    }

    #[test]
    fn deny_wins_then_the_nearer_rule_then_ask() {
        let none = PolicyRules::default();
        let allow = rules(&[], &[], &["*"]);
        let ask = rules(&[], &["*"], &[]);
        let deny = rules(&["get_*"], &[], &[]);
        let deny_everywhere = rules(&["notes/get_*"], &[], &[]);
        let both = rules(&[], &["get_note"], &["*"]);
        for (everywhere, server, expected) in [
            (&none, &allow, Decision::Allow),
            (&allow, &none, Decision::Allow),
            (&ask, &allow, Decision::Allow),
            (&allow, &ask, Decision::Ask),
            (&none, &both, Decision::Ask),
            (&both, &none, Decision::Allow),
            (&allow, &deny, Decision::Deny),
            (&deny_everywhere, &allow, Decision::Deny),
            (&deny, &allow, Decision::Allow),
        ] {
            check(everywhere, server, Hints::default(), expected);
        }
    }

    // C-TOOL-14.
    #[test]
    fn a_read_only_claim_counts_only_where_the_user_says_so() {
        let none = PolicyRules::default();
        let believe = PolicyRules {
            read_only: Some(ReadOnlyHint::Believe),
            ..PolicyRules::default()
        };
        let ignore = PolicyRules {
            read_only: Some(ReadOnlyHint::Ignore),
            ..PolicyRules::default()
        };
        check(&believe, &none, CLAIMS_READ_ONLY, Decision::Allow);
        check(&none, &believe, CLAIMS_READ_ONLY, Decision::Allow);
        check(&believe, &ignore, CLAIMS_READ_ONLY, Decision::Ask);
        check(&believe, &none, Hints::default(), Decision::Ask);
        let contradiction = Hints {
            destructive: true,
            ..CLAIMS_READ_ONLY
        };
        check(&believe, &none, contradiction, Decision::Ask);
        let named = PolicyRules {
            ask: vec!["get_*".into()],
            ..believe.clone()
        };
        check(&none, &named, CLAIMS_READ_ONLY, Decision::Ask);
        let denied = PolicyRules {
            otherwise: Some(Decision::Deny),
            ..believe
        };
        check(&none, &denied, CLAIMS_READ_ONLY, Decision::Allow);
        check(&none, &denied, Hints::default(), Decision::Deny);
    }

    #[test]
    fn verdicts_read_as_clauses() {
        use super::super::Remember;
        let pattern = Reason::Pattern {
            pattern: "sync_*".into(),
            of: Breadth::Server,
        };
        for (decision, reason, text) in [
            (
                Decision::Deny,
                pattern.clone(),
                "the server's policy forbids it, by \"sync_*\"",
            ),
            (
                Decision::Ask,
                pattern,
                "the server's policy says to ask first, by \"sync_*\"",
            ),
            (
                Decision::Deny,
                Reason::Default(Breadth::Everywhere),
                "the policy for all servers forbids it, by its default",
            ),
            (
                Decision::Deny,
                Reason::Answered(Remember::Always),
                "it was refused earlier, for always",
            ),
            (Decision::Deny, Reason::Asked, "the user said no"),
        ] {
            assert_eq!(Verdict { decision, reason }.to_string(), text);
        }
    }

    #[test]
    fn the_servers_default_goes_before_the_general_one() {
        let of = |decision| PolicyRules {
            otherwise: Some(decision),
            ..PolicyRules::default()
        };
        let none = PolicyRules::default();
        check(&of(Decision::Deny), &none, Hints::default(), Decision::Deny);
        check(
            &of(Decision::Deny),
            &of(Decision::Allow),
            Hints::default(),
            Decision::Allow,
        );
    }
}
