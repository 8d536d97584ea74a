use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn name(server: &str, tool: &str) -> ToolName {
    ToolName::new(ServerName::new(server).unwrap(), tool)
}

#[test]
fn qualified_names_split_at_the_first_slash() {
    for (text, expected) in [
        ("notes/search", Some(name("notes", "search"))),
        ("notes/a/b", Some(name("notes", "a/b"))),
        ("notes/", None),
        ("/search", None),
        ("search", None),
        ("my notes/search", None),
    ] {
        assert_eq!(ToolName::parse_qualified(text), expected, "{text}");
    }
    assert_eq!(name("notes", "a/b").to_string(), "notes/a/b");
}

#[test]
fn provider_names_are_plain_where_they_can_be() {
    for (server, tool, expected) in [
        ("notes", "search_notes", "notes__search_notes"),
        ("a-b", "c", "a-b__c"),
        ("a", "_b", "a___b"),
        ("a", "b__c", "a__b__c"),
    ] {
        assert_eq!(provider_name(server, tool), expected);
    }
    for (server, tool, beginning) in [
        ("speckit", "speckit.plan", "speckit__speckit_plan_"),
        ("a__b", "c", "a__b__c_"),
        ("a_", "b", "a___b_"),
        ("my.notes", "x", "my_notes__x_"),
        ("a", "tool_0123456789ab", "a__tool_0123456789ab_"),
    ] {
        let name = provider_name(server, tool);
        let digest = name.strip_prefix(beginning).unwrap();
        assert_eq!(digest.len(), DIGEST_DIGITS, "{name}");
    }
}

#[test]
fn the_longest_provider_name_is_not_cut_and_the_next_is() {
    let fits = "t".repeat(PROVIDER_LONGEST - 3);
    assert_eq!(provider_name("s", &fits), format!("s__{fits}"));
    let cut = provider_name("s", &format!("{fits}t"));
    assert_eq!(cut.len(), PROVIDER_LONGEST);
    assert!(ends_like_a_digest(&cut));
}

#[test]
fn tools_are_found_by_any_of_their_names() {
    let directory = Directory::new([
        name("notes", "search"),
        name("notes", "sync"),
        name("web", "search"),
        name("web", "notes/sync"),
    ]);
    for (given, expected) in [
        ("notes/search", name("notes", "search")),
        ("sync", name("notes", "sync")),
        // A qualified name wins over a plain one that looks like it.
        ("notes/sync", name("notes", "sync")),
        ("web/notes/sync", name("web", "notes/sync")),
        ("web__search", name("web", "search")),
    ] {
        assert_eq!(directory.resolve(given), Ok(expected), "{given}");
    }
    let ambiguous = directory.resolve("search").unwrap_err();
    assert_eq!(
        ambiguous.to_string(),
        "several servers have a tool \"search\"; say which: \"notes/search\", \"web/search\""
    );
    let unknown = directory.resolve("notes/serch").unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "there is no tool \"notes/serch\"; did you mean \"notes/search\"?"
    );
    assert!(directory.is_unambiguous("sync"));
    assert!(!directory.is_unambiguous("search"));
}

fn any_name() -> impl Strategy<Value = ToolName> {
    // Few letters and many marks, so that names nearly collide.
    ("[ab][ab_.-]{0,8}", "[ab_./é ]{1,70}|[a-c_]{1,6}")
        .prop_map(|(server, tool)| name(&server, &tool))
}

proptest! {
    // H-TOOL-05.
    #[test]
    fn provider_names_fit_and_lead_back(tools in prop::collection::btree_set(any_name(), 1..60)) {
        let directory = Directory::new(tools.iter().cloned());
        let mut seen = BTreeSet::new();
        for tool in &tools {
            let provider = tool.provider();
            prop_assert!(!provider.is_empty() && provider.len() <= PROVIDER_LONGEST);
            prop_assert!(provider.chars().all(is_provider_character), "{}", provider);
            prop_assert_eq!(directory.by_provider(&provider), Some(tool));
            prop_assert_eq!(directory.resolve(&tool.to_string()), Ok(tool.clone()));
            prop_assert!(seen.insert(provider));
        }
    }

    #[test]
    fn provider_names_do_not_change_when_a_server_joins(
        tools in prop::collection::btree_set(any_name(), 1..20),
        others in prop::collection::btree_set(any_name(), 1..20),
    ) {
        let before = Directory::new(tools.iter().cloned());
        let after = Directory::new(tools.iter().chain(&others).cloned());
        for (provider, tool) in before.provider_names() {
            prop_assert_eq!(after.by_provider(provider), Some(tool));
        }
    }

    #[test]
    fn a_name_made_to_look_like_a_digest_does_not_take_anothers_place(tool in "[a-z.]{1,20}") {
        let victim = provider_name("my.server", &tool);
        let rest = victim.strip_prefix("my_server__").unwrap().to_owned();
        prop_assert_ne!(provider_name("my_server", &rest), victim);
    }
}
