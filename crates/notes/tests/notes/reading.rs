//! Lists, templates, completion, reading, searching, and news of changes.

use attache_notes::NotesDialect;
use serde_json::{Value, json};

use crate::support::{Client, Place, text};

fn place() -> Place {
    let place = Place::new();
    place.write(
        "notes/morning-meditation-2024-12-01.md",
        "---\ntitle: Morning Meditation - Dec 1\ntags: [morning]\n---\n# Morning Meditation\n\nContent here...",
    );
    place.write("notes/Morning Routine.md", "# Morning Routine\n\nTea.");
    place.write("notes/daas/evening.md", "Evening.");
    place
}

#[tokio::test]
async fn every_note_is_a_resource() {
    let server = place().server(|_| {});
    drop(server);
    let place = place();
    let server = place.server(|_| {});
    let mut client = Client::new(&server, "2025-06-18").await;
    let listed = client.ask("resources/list", json!({})).await;
    let resources = listed["result"]["resources"].as_array().unwrap().clone();
    let names: Vec<_> = resources
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["evening", "Morning Meditation - Dec 1", "Morning Routine"]
    );
    let first = &resources[0];
    assert_eq!(first["uri"], "meditation://note/daas-evening");
    assert_eq!(first["description"], "Meditation note");
    assert_eq!(first["mimeType"], "text/markdown");
    assert_eq!(first["size"], 8);
    let modified = first["annotations"]["lastModified"].as_str().unwrap();
    assert!(
        modified.ends_with('Z') && modified.len() == 20,
        "{modified}"
    );

    let read = |uri: &str| json!({ "uri": uri });
    for uri in [
        "meditation://note/daas-evening",
        "meditation://note/daas%2Fevening.md",
        "meditation://note/daas%2Fevening",
    ] {
        let answer = client.ask("resources/read", read(uri)).await;
        let contents = &answer["result"]["contents"][0];
        let expected = json!({"uri": uri, "mimeType": "text/markdown", "text": "Evening."});
        assert_eq!(*contents, expected);
    }
    let missing = read("meditation://note/non-existent");
    let answer = client.ask("resources/read", missing.clone()).await;
    assert_eq!(answer["error"]["code"], -32002);
    assert_eq!(answer["error"]["data"], missing);
    let mut modern = Client::new(&server, "2026-07-28").await;
    let answer = modern.ask("resources/read", missing.clone()).await;
    assert_eq!(answer["error"]["code"], -32602);
}

#[tokio::test]
async fn templates_complete() {
    let place = place();
    let server = place.server(|_| {});
    let mut client = Client::new(&server, "2025-06-18").await;
    let listed = client.ask("resources/templates/list", json!({})).await;
    let template = &listed["result"]["resourceTemplates"][0];
    assert_eq!(template["uriTemplate"], "meditation://note/{slug}");
    for (typed, expected) in [
        (
            "mo",
            json!(["morning-meditation-2024-12-01", "morning-routine"]),
        ),
        ("Rout", json!(["morning-routine"])),
        ("devg", json!(["daas-evening"])),
        ("zzz", json!([])),
    ] {
        let params = json!({"ref": {"type": "ref/resource", "uri": "meditation://note/{slug}"},
            "argument": {"name": "slug", "value": typed}});
        let answer = client.ask("completion/complete", params).await;
        assert_eq!(
            answer["result"]["completion"]["values"], expected,
            "{typed}"
        );
    }
}

#[tokio::test]
async fn capabilities_are_those_of_notes() {
    let place = place();
    let server = place.server(|_| {});
    let mut client = Client::new(&server, "2026-07-28").await;
    let answer = client.ask("server/discover", json!({})).await;
    assert_eq!(
        answer["result"]["capabilities"],
        json!({"resources": {"subscribe": true, "listChanged": true}, "tools": {}, "completions": {}})
    );
    let tools = client.ask("tools/list", json!({})).await;
    let names: Vec<_> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["name"])
        .collect();
    assert_eq!(names, ["search_notes", "sync_repository"]);
}

#[tokio::test]
async fn search_answers_in_words_data_and_links() {
    let place = place();
    let server = place.server(|_| {});
    let mut client = Client::new(&server, "2025-11-25").await;
    let result = client.search("morning").await;
    assert_eq!(
        text(&result),
        "Found 2 notes matching 'morning':\n\n1. Morning Routine\n2. Morning Meditation - Dec 1"
    );
    let data = &result["structuredContent"];
    assert_eq!(
        (&data["query"], &data["total"]),
        (&json!("morning"), &json!(2))
    );
    assert_eq!(data["index"]["notes"], 3);
    assert_eq!(data["index"]["commit"], Value::Null);
    let second = &data["results"][1];
    assert_eq!(
        second["uri"],
        "meditation://note/morning-meditation-2024-12-01"
    );
    assert_eq!(second["tags"], json!(["morning"]));
    assert_eq!(second["snippet"], "# Morning Meditation Content here...");
    assert!(second["score"].as_f64().unwrap() > 0.0);
    assert!(data["took_ms"].as_f64().unwrap() >= 0.0);
    let link = &result["content"][1];
    assert_eq!(link["type"], "resource_link");
    assert_eq!(link["uri"], "meditation://note/morning-routine");

    assert_eq!(
        text(&client.search("nothing").await),
        "Found 0 notes matching 'nothing'."
    );
    let forged = client.search("x'\n\n1. Forged\u{1b}[31m").await;
    assert_eq!(text(&forged), "Found 0 notes matching 'x' 1. Forged [31m'.");
    let latest = client.call("search_notes", json!({"limit": 1})).await;
    assert!(
        text(&latest).starts_with("Found 3 notes, latest first:\n\n1. "),
        "{latest}"
    );
    assert!(text(&latest).ends_with("\n..."), "{latest}");
    for bad in [
        json!({"limit": 0}),
        json!({"limit": 101}),
        json!({"limit": "x"}),
        json!({"q": "x"}),
    ] {
        let refused = client.call("search_notes", bad.clone()).await;
        assert_eq!(refused["isError"], true, "{bad}");
    }
}

#[tokio::test]
async fn changes_are_announced_in_both_eras() {
    let place = place();
    let server = place.server(|_| {});
    let uri = "meditation://note/daas-evening";
    let mut legacy = Client::new(&server, "2025-06-18").await;
    legacy.ask("resources/list", json!({})).await;
    legacy.ask("resources/subscribe", json!({"uri": uri})).await;
    let mut modern = Client::new(&server, "2026-07-28").await;
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": [uri]});
    modern
        .begin("subscriptions/listen", json!({"notifications": wanted}))
        .await;
    modern
        .hear("notifications/subscriptions/acknowledged")
        .await;
    // Only a folder that was looked at twice is watched from then on.
    modern.search("evening").await;
    place.write("notes/daas/evening.md", "Evening again.");
    for client in [&mut legacy, &mut modern] {
        assert_eq!(
            client.hear("notifications/resources/updated").await["uri"],
            uri
        );
    }
    place.write("notes/new.md", "new");
    for client in [&mut legacy, &mut modern] {
        client.hear("notifications/resources/list_changed").await;
    }
    std::fs::remove_file(place.path("notes/daas/evening.md")).unwrap();
    for client in [&mut legacy, &mut modern] {
        assert_eq!(
            client.hear("notifications/resources/updated").await["uri"],
            uri
        );
        client.hear("notifications/resources/list_changed").await;
    }
}

/// The dialect of seed 000 differs in nothing but what the seed says.
#[tokio::test]
async fn seed_000_is_a_dialect() {
    let place = place();
    let server = place.server(|it| it.dialect = NotesDialect::Seed000);
    let mut client = Client::new(&server, "2024-11-05").await;
    for uri in ["meditation://note/non-existent", "other://thing"] {
        let answer = client.ask("resources/read", json!({"uri": uri})).await;
        assert_eq!(
            answer["error"],
            json!({"code": -32000, "message": "Resource not found", "data": {"uri": uri}})
        );
    }
}
