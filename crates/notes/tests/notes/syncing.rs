//! `sync_repository` with real repositories.

use attache_notes::Upstream;
use serde_json::{Value, json};

use crate::support::{Client, PATIENCE, Place, appears, text};

async fn client(place: &Place) -> Client {
    Client::new(&place.server(|_| {}), "2025-11-25").await
}

async fn sync(client: &mut Client) -> Value {
    client.call("sync_repository", json!({})).await
}

#[tokio::test]
async fn a_commit_upstream_is_fetched_and_found() {
    let place = Place::cloned();
    let mut client = client(&place).await;
    client.search("alpha").await;
    let from = place.git("upstream", &["rev-parse", "HEAD"]);
    place.write("upstream/b.md", "beta");
    place.write("upstream/sub/c.md", "gamma");
    place.write("upstream/a.md", "# First\nalpha omega");
    place.write("upstream/readme.txt", "no note");
    let to = place.commit("upstream", "more");
    let result = sync(&mut client).await;
    assert_eq!(
        text(&result),
        "Repository sync completed. Found 3 notes (2 new). Index updated."
    );
    let data = &result["structuredContent"];
    let counts = [
        &data["notes"],
        &data["added"],
        &data["changed"],
        &data["removed"],
    ];
    assert_eq!(counts, [&json!(3), &json!(2), &json!(1), &json!(0)]);
    assert_eq!((&data["from"], &data["to"]), (&json!(from), &json!(to)));
    for (word, title) in [("beta", "b"), ("gamma", "c"), ("omega", "First")] {
        let found = client.search(word).await;
        assert_eq!(
            text(&found),
            format!("Found 1 notes matching '{word}':\n\n1. {title}")
        );
        assert_eq!(found["structuredContent"]["index"]["commit"], json!(to));
    }
    client.hear("notifications/resources/list_changed").await;

    std::fs::remove_file(place.path("upstream/b.md")).unwrap();
    place.commit("upstream", "less");
    let result = sync(&mut client).await;
    assert_eq!(result["structuredContent"]["removed"], 1);
    assert_eq!(
        text(&client.search("beta").await),
        "Found 0 notes matching 'beta'."
    );

    let again = sync(&mut client).await;
    assert_eq!(
        text(&again),
        "Repository sync completed. Found 2 notes (0 new). Index updated."
    );
    assert_eq!(
        again["structuredContent"]["from"],
        again["structuredContent"]["to"]
    );
}

/// The folder may be beneath the top of the repository; git's paths begin at the top.
#[tokio::test]
async fn the_folder_may_be_a_part_of_the_repository() {
    let place = Place::cloned();
    place.write("upstream/vault/one.md", "one");
    place.commit("upstream", "vault");
    place.git("notes", &["pull", "-q"]);
    let server = place.server_of("notes/vault", |_| {});
    let mut client = Client::new(&server, "2025-11-25").await;
    place.write("upstream/vault/two.md", "two");
    place.write("upstream/outside.md", "two");
    place.commit("upstream", "two");
    let result = sync(&mut client).await;
    assert_eq!(
        text(&result),
        "Repository sync completed. Found 2 notes (1 new). Index updated."
    );
    assert_eq!(client.search("two").await["structuredContent"]["total"], 1);
    // Also files outside of the folder have changes of their own.
    place.write("upstream/outside.md", "theirs");
    place.write("upstream/vault/two.md", "theirs");
    place.commit("upstream", "theirs");
    place.write("notes/outside.md", "mine");
    let result = sync(&mut client).await;
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("touch: outside.md. "), "{result}");
}

#[tokio::test]
async fn what_cannot_be_synced_is_refused_in_words() {
    let place = Place::new();
    let refused = |result: Value, words: &str| {
        assert_eq!(result["isError"], true, "{result}");
        assert!(text(&result).contains(words), "{result}");
    };
    let mut plain = client(&place).await;
    refused(sync(&mut plain).await, "is in no git repository");

    let place = Place::cloned();
    let mut client = client(&place).await;
    let switch = |words: &[&str]| place.git("notes", words);
    switch(&["switch", "-q", "--detach"]);
    refused(sync(&mut client).await, "no branch is checked out");
    switch(&["switch", "-q", "main"]);
    std::fs::rename(place.path("upstream"), place.path("moved")).unwrap();
    refused(sync(&mut client).await, "cannot be reached");
    std::fs::rename(place.path("moved"), place.path("upstream")).unwrap();
    place.write("notes/.git/index.lock", "");
    place.write("upstream/b.md", "beta");
    place.commit("upstream", "b");
    refused(sync(&mut client).await, "another git is at work");
    std::fs::remove_file(place.path("notes/.git/index.lock")).unwrap();
    switch(&["remote", "rename", "origin", "other"]);
    refused(sync(&mut client).await, "it has no remote \"origin\"");
    switch(&["remote", "rename", "other", "origin"]);
    let branch = |it: &mut attache_notes::NotesSettings| {
        it.upstream = Upstream {
            branch: Some("trunk".to_owned()),
            ..Upstream::default()
        };
    };
    let mut other = Client::new(&place.server(branch), "2025-11-25").await;
    refused(
        sync(&mut other).await,
        "main is checked out, and trunk is to be synced",
    );
    switch(&["switch", "-q", "-c", "trunk"]);
    refused(sync(&mut other).await, "origin/trunk has no such branch");
    assert_eq!(
        sync(&mut client).await["isError"],
        true,
        "trunk is not upstream"
    );
    switch(&["switch", "-q", "main"]);
    assert!(text(&sync(&mut client).await).contains("(1 new)"));
}

#[tokio::test]
async fn own_changes_are_named_and_kept() {
    let place = Place::cloned();
    let mut client = client(&place).await;
    place.write("upstream/a.md", "theirs");
    place.write("upstream/new file.md", "theirs");
    place.write("upstream/free.md", "theirs");
    place.commit("upstream", "theirs");
    place.write("notes/a.md", "mine");
    place.write("notes/new file.md", "mine");
    place.write("notes/unrelated.md", "mine");
    let head = place.git("notes", &["rev-parse", "HEAD"]);
    let result = sync(&mut client).await;
    assert_eq!(result["isError"], true);
    let told = text(&result);
    assert!(
        told.contains("a.md, new file.md. Commit or stash"),
        "{told}"
    );
    assert_eq!(place.git("notes", &["rev-parse", "HEAD"]), head);
    assert_eq!(
        std::fs::read_to_string(place.path("notes/a.md")).unwrap(),
        "mine"
    );
    // Changes that the sync does not touch are no reason to refuse.
    place.git("notes", &["checkout", "-q", "--", "a.md"]);
    std::fs::remove_file(place.path("notes/new file.md")).unwrap();
    let result = sync(&mut client).await;
    assert_eq!(
        text(&result),
        "Repository sync completed. Found 4 notes (2 new). Index updated."
    );
}

#[tokio::test]
async fn diverged_histories_are_left_alone() {
    let place = Place::cloned();
    let mut client = client(&place).await;
    place.write("upstream/b.md", "theirs");
    place.commit("upstream", "theirs");
    place.write("upstream/c.md", "theirs");
    place.commit("upstream", "theirs too");
    place.write("notes/mine.md", "mine");
    let head = place.commit("notes", "mine");
    let result = sync(&mut client).await;
    assert_eq!(result["isError"], true);
    let told = text(&result);
    assert!(
        told.contains("The folder has 1 commit, origin has 2 commits of its own"),
        "{told}"
    );
    assert_eq!(place.git("notes", &["rev-parse", "HEAD"]), head);
    assert_eq!(place.git("notes", &["status", "--porcelain"]), "");

    // A history that was rewritten upstream has diverged too.
    place.git("notes", &["reset", "-q", "--hard", "HEAD~1"]);
    assert!(text(&sync(&mut client).await).contains("(2 new)"));
    place.git("upstream", &["commit", "-q", "--amend", "-m", "rewritten"]);
    let result = sync(&mut client).await;
    assert!(text(&result).contains("have diverged"), "{result}");
    // Only ahead is up to date.
    place.git("notes", &["reset", "-q", "--hard", "origin/main"]);
    place.write("notes/mine.md", "mine");
    place.commit("notes", "mine");
    assert!(text(&sync(&mut client).await).contains("(0 new)"));
}

/// S16: nothing in the repository is run.
#[cfg(unix)]
#[tokio::test]
async fn s16_hooks_and_monitors_are_not_run() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::cloned();
    let trap = place.path("trapped");
    let script = format!("#!/bin/sh\ntouch '{}'\n", trap.display());
    for hook in [
        "post-merge",
        "reference-transaction",
        "post-checkout",
        "pre-commit",
    ] {
        let file = place.path(&format!("notes/.git/hooks/{hook}"));
        place.write(&format!("notes/.git/hooks/{hook}"), &script);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let monitor = place.path("notes/.git/hooks/post-merge");
    place.git(
        "notes",
        &["config", "core.fsmonitor", &monitor.display().to_string()],
    );
    let mut client = client(&place).await;
    place.write("upstream/--upload-pack=x.md", "option");
    place.write("upstream/-rf.md", "option");
    place.commit("upstream", "options");
    let result = sync(&mut client).await;
    assert!(text(&result).contains("(2 new)"), "{result}");
    assert_eq!(
        client.search("option").await["structuredContent"]["total"],
        2
    );
    assert!(!trap.exists(), "a hook was run");
}

/// A remote that answers when a gate is opened; it counts who comes and says who it is.
#[cfg(unix)]
fn gated(place: &Place) {
    use std::os::unix::fs::PermissionsExt as _;
    let at = |name: &str| place.path(name).display().to_string();
    let script = format!(
        "#!/bin/sh\necho $$ >> '{}'\nuntil [ -e '{}' ]; do sleep 0.02; done\nexec git-upload-pack \"$@\"\n",
        at("comers"),
        at("gate"),
    );
    place.write("upload", &script);
    let file = place.path("upload");
    std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755)).unwrap();
    place.git(
        "notes",
        &["config", "remote.origin.uploadpack", &at("upload")],
    );
}

#[cfg(unix)]
#[tokio::test]
async fn progress_goes_on_and_calls_share_one_sync() {
    let place = Place::cloned();
    gated(&place);
    place.write("upstream/b.md", "beta");
    place.commit("upstream", "b");
    let mut client = client(&place).await;
    let call = |token: u64| json!({"name": "sync_repository", "arguments": {}, "_meta": {"progressToken": token}});
    let first = client.begin("tools/call", call(1)).await;
    let second = client.begin("tools/call", call(2)).await;
    appears(&place.path("comers")).await;
    let mut last = [0.0, 0.0];
    for _ in 0..10 {
        let told = client.hear("notifications/progress").await;
        let token = usize::try_from(told["progressToken"].as_u64().unwrap()).unwrap();
        let progress = told["progress"].as_f64().unwrap();
        assert!(progress > last[token - 1], "{told}");
        last[token - 1] = progress;
    }
    place.write("gate", "");
    for id in [first, second] {
        let answer = client.answer(id).await;
        assert!(text(&answer["result"]).contains("(1 new)"), "{answer}");
    }
    let comers = std::fs::read_to_string(place.path("comers")).unwrap();
    assert_eq!(comers.lines().count(), 1, "{comers}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn cancelling_ends_git_and_leaves_the_repository_as_it_was() {
    let place = Place::cloned();
    gated(&place);
    place.write("upstream/b.md", "beta");
    place.commit("upstream", "b");
    let mut client = client(&place).await;
    let refs = place.git("notes", &["show-ref", "--head"]);
    let id = client
        .begin(
            "tools/call",
            json!({"name": "sync_repository", "arguments": {}}),
        )
        .await;
    appears(&place.path("comers")).await;
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}))
        .await;
    let process = std::fs::read_to_string(place.path("comers")).unwrap();
    let process = std::path::PathBuf::from("/proc").join(process.trim());
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let is_alive = || {
        let state = std::fs::read_to_string(process.join("stat")).unwrap_or_default();
        !state.is_empty() && !state.contains(") Z")
    };
    while is_alive() {
        assert!(tokio::time::Instant::now() < deadline, "git goes on");
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
    assert_eq!(place.git("notes", &["show-ref", "--head"]), refs);
    assert_eq!(place.git("notes", &["status", "--porcelain"]), "");
    assert!(!place.path("notes/b.md").exists());
    // The next one works.
    place.write("gate", "");
    assert!(text(&sync(&mut client).await).contains("(1 new)"));
}
