//! `save_note` and `save_conversation`, where they are offered.

use attache_notes::Writing;
use serde_json::json;

use crate::support::{Client, Place, text};

async fn client(place: &Place) -> Client {
    Client::new(
        &place.server(|it| it.writing = Writing::Offered),
        "2025-11-25",
    )
    .await
}

#[tokio::test]
async fn notes_are_saved_found_and_committed_alone() {
    let place = Place::cloned();
    place.write("notes/staged.md", "staged by somebody else");
    place.git("notes", &["add", "staged.md"]);
    let mut client = client(&place).await;
    let arguments = json!({"title": "Green \"Tea\": a\nstudy", "content": "Steep for two minutes.", "tags": ["tea"]});
    let result = client.call("save_note", arguments.clone()).await;
    assert_eq!(text(&result), "Saved green-tea-a-study.md and committed.");
    assert_eq!(
        result["structuredContent"]["uri"],
        "meditation://note/green-tea-a-study"
    );
    let saved = std::fs::read_to_string(place.path("notes/green-tea-a-study.md")).unwrap();
    assert!(
        saved.starts_with("---\ntitle: \"Green \\\"Tea\\\": a study\"\ndate: "),
        "{saved}"
    );
    assert!(
        saved.ends_with("tags: [\"tea\"]\n---\n\nSteep for two minutes.\n"),
        "{saved}"
    );
    let found = client.search("tag:tea steep").await;
    assert_eq!(
        found["structuredContent"]["results"][0]["title"],
        "Green \"Tea\": a study"
    );
    let last = place.git(
        "notes",
        &["log", "-1", "--format=%an <%ae> %s", "--name-only"],
    );
    assert_eq!(
        last,
        "Attaché notes <notes@attache.invalid> Save green-tea-a-study.md\n\ngreen-tea-a-study.md"
    );
    assert_eq!(
        place.git("notes", &["status", "--porcelain"]),
        "A  staged.md"
    );

    let again = client.call("save_note", arguments.clone()).await;
    assert_eq!(again["isError"], true);
    assert!(
        text(&again).contains("already, and nothing was saved"),
        "{again}"
    );
    let mut replacing = arguments;
    replacing["replace"] = json!(true);
    replacing["content"] = json!("Steep for three.");
    let result = client.call("save_note", replacing).await;
    assert!(text(&result).ends_with("and committed."), "{result}");

    let conversation = json!({"title": "About tea", "messages": [
        {"role": "user", "content": "Which tea?"}, {"role": "assistant", "content": "Green."}]});
    let result = client.call("save_conversation", conversation).await;
    assert_eq!(
        text(&result),
        "Saved conversations/about-tea.md and committed."
    );
    let read = client
        .ask(
            "resources/read",
            json!({"uri": "meditation://note/conversations-about-tea"}),
        )
        .await;
    let saved = read["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(
        saved.ends_with("## user\n\nWhich tea?\n\n## assistant\n\nGreen.\n"),
        "{saved}"
    );
}

#[tokio::test]
async fn paths_stay_beneath_the_folder() {
    let place = Place::new();
    #[cfg(unix)]
    std::os::unix::fs::symlink(place.path(""), place.path("notes/out")).unwrap();
    let mut client = client(&place).await;
    for path in [
        "../x.md",
        "/x.md",
        "a/../../x.md",
        ".hidden.md",
        ".git/x.md",
        "x.txt",
        "",
        "a//b.md",
        "-x.md",
        "out/x.md",
        "a\\b.md",
        "a\nb.md",
    ] {
        let arguments = json!({"title": "x", "content": "x", "path": path});
        let result = client.call("save_note", arguments).await;
        assert_eq!(result["isError"], true, "{path}: {result}");
    }
    assert!(!place.path("x.md").exists());
    let result = client
        .call(
            "save_note",
            json!({"title": "x", "content": "x", "path": "deep/er/x.md"}),
        )
        .await;
    assert_eq!(
        text(&result),
        "Saved deep/er/x.md; the folder is no git repository, so it is not committed."
    );
    let left: Vec<_> = std::fs::read_dir(place.path("notes/deep/er"))
        .unwrap()
        .collect();
    assert_eq!(left.len(), 1, "no draft is left");
}

#[tokio::test]
async fn without_being_offered_nothing_is_saved() {
    let place = Place::new();
    let mut client = Client::new(&place.server(|_| {}), "2025-11-25").await;
    let answer = client
        .ask(
            "tools/call",
            json!({"name": "save_note", "arguments": {"title": "x", "content": "x"}}),
        )
        .await;
    assert_eq!(answer["error"]["code"], -32602);
}
