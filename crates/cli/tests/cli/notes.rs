//! `attache serve notes`, and the contract of seed 000 with both sides the real binary.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::configured::home;
use crate::harness::{Folder, Scratch, recorded, run, toml_server, wait_until};

const MORNING: &str = "---\ntitle: Morning Meditation - Dec 1\n---\n";
const URI: &str = "meditation://note/morning-meditation-2024-12-01";

/// The folder of seed 000, with one note.
fn seed_folder() -> Folder {
    let folder = Folder::new("notes");
    let text = "# Morning Meditation\n\nContent here...";
    folder.write("morning-meditation-2024-12-01.md", text);
    folder
}

fn served(folder: &Folder, more: &[&str]) -> Vec<String> {
    let executable = env!("CARGO_BIN_EXE_attache");
    let folder = folder.path().display().to_string();
    let words = [executable, "serve", "notes", "--dir", &folder];
    words
        .iter()
        .chain(more)
        .map(|it| (*it).to_owned())
        .collect()
}

/// The server, spoken to in raw lines.
struct Raw {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Raw {
    fn start(home: &Folder, words: &[String]) -> Self {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env("HOME", home.path())
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            input: child.stdin.take().unwrap(),
            output: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input, "{request}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }

    #[track_caller]
    fn check(&mut self, request: Value, response: Value) {
        assert_eq!(self.ask(&request), response, "{request}");
    }

    fn end(mut self) {
        drop(self.input);
        assert!(self.child.wait().unwrap().success());
    }
}

/// Every request and response that the seed writes down, as it writes them.
#[test]
fn seed_000_is_answered_as_written() {
    let folder = seed_folder();
    folder.write(
        "morning-meditation-2024-12-01.md",
        "# Morning Meditation - Dec 1",
    );
    let home = Folder::new("notes-home");
    let mut server = Raw::start(&home, &served(&folder, &["--dialect", "seed000"]));
    server.check(
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "project_chat", "version": "1.0"}}}),
        json!({"jsonrpc": "2.0", "id": 1, "result": {
            "protocolVersion": "2024-11-05", "capabilities": {"resources": {}, "tools": {}},
            "serverInfo": {"name": "meditation-mcp", "version": "1.0"}}}),
    );
    // The seed's client does not say that it is initialized.
    server.check(
        json!({"jsonrpc": "2.0", "id": 2, "method": "resources/list"}),
        json!({"jsonrpc": "2.0", "id": 2, "result": {"resources": [{
            "uri": URI, "name": "Morning Meditation - Dec 1", "description": "Meditation note",
            "mimeType": "text/markdown"}]}}),
    );
    folder.write(
        "morning-meditation-2024-12-01.md",
        "# Morning Meditation\n\nContent here...",
    );
    server.check(
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": URI}}),
        json!({"jsonrpc": "2.0", "id": 3, "result": {"contents": [{
            "uri": URI, "mimeType": "text/markdown",
            "text": "# Morning Meditation\n\nContent here..."}]}}),
    );
    let missing = "meditation://note/non-existent";
    server.check(
        json!({"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": missing}}),
        json!({"jsonrpc": "2.0", "id": 3, "error": {
            "code": -32000, "message": "Resource not found", "data": {"uri": missing}}}),
    );
    server.check(
        json!({"jsonrpc": "2.0", "id": 4, "method": "tools/list"}),
        json!({"jsonrpc": "2.0", "id": 4, "result": {"tools": [
            {"name": "search_notes", "description": "Search meditation notes", "inputSchema": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "limit": {"type": "integer"}}}},
            // The seed leaves its schema out, which the protocol does not allow.
            {"name": "sync_repository", "description": "Sync repository and update index",
                "inputSchema": {"type": "object"}}]}}),
    );
    folder.write(
        "morning-meditation-2024-12-01.md",
        &format!("{MORNING}morning morning morning"),
    );
    folder.write("Morning Routine.md", "Tea.");
    folder.write(
        "Walk.md",
        "A long walk on a cold day, in the morning of the last week of the year.",
    );
    let search = json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {
        "name": "search_notes", "arguments": {"query": "morning", "limit": 10}}});
    let expected = json!({"jsonrpc": "2.0", "id": 5, "result": {"content": [{
        "type": "text", "text": "Found 3 notes matching 'morning':\n\n\
            1. Morning Meditation - Dec 1\n2. Morning Routine\n3. Walk"}]}});
    let mut last = Value::Null;
    wait_until("three notes", || {
        last = server.ask(&search);
        last == expected
            || last["result"]["content"][0]["text"]
                .as_str()
                .unwrap()
                .starts_with("Found 3 notes")
                && !last.to_string().contains("not searchable")
    });
    assert_eq!(last, expected);
    // Its error codes.
    server.check(
        json!({"jsonrpc": "2.0", "id": 6, "method": "unknown"}),
        json!({"jsonrpc": "2.0", "id": 6, "error": {"code": -32601, "message": "there is no method \"unknown\""}}),
    );
    server.end();
}

/// A repository `upstream` with the seed's note in `home`, and its clone `notes`.
fn cloned(home: &Folder) {
    home.write(
        "upstream/morning-meditation-2024-12-01.md",
        &format!("{MORNING}Breath."),
    );
    git(home, "", &["init", "-q", "-b", "main", "upstream"]);
    commit(home, "upstream");
    git(home, "", &["clone", "-q", "upstream", "notes"]);
}

fn git(home: &Folder, folder: &str, words: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(home.path().join(folder))
        .args([
            "-c",
            "user.name=Test",
            "-c",
            "user.email=test@example.invalid",
        ])
        .args(words)
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{words:?}: {output:?}");
}

fn commit(home: &Folder, folder: &str) {
    git(home, folder, &["add", "-A"]);
    git(home, folder, &["commit", "-q", "-m", "notes"]);
}

/// Seed 000 end to end: a configured server with the profile of the seed, asked from the shell.
#[test]
fn seed_000_works_from_the_shell() {
    let record = Scratch::new("notes-record");
    let home = Folder::new("notes-shell");
    cloned(&home);
    let notes = home.path().join("notes").display().to_string();
    let executable = env!("CARGO_BIN_EXE_attache");
    let words = [
        executable,
        "serve",
        "notes",
        "--dir",
        &notes,
        "--dialect",
        "seed000",
    ];
    let words = recorded(&words.map(str::to_owned), &record);
    let config = format!(
        "[client]\nname = 'project_chat'\nversion = '1.0'\n{}profile = 'interactive'\ntimeouts = {{ initialize = '30s', request = '30s', read = '30s', call = '30s' }}\n",
        toml_server("notes", &words)
    );
    home.write(".config/attache/attache.toml", &config);

    let listed = home.run(&["resources"]).expect(0).stdout;
    assert!(
        listed.contains(URI) && listed.contains("Morning Meditation - Dec 1"),
        "{listed}"
    );
    let first: Value = serde_json::from_str(record.text().lines().next().unwrap()).unwrap();
    assert_eq!(
        first["params"],
        json!({"protocolVersion": "2024-11-05", "capabilities": {},
            "clientInfo": {"name": "project_chat", "version": "1.0"}})
    );
    let read = home.run(&["read", URI]).expect(0).stdout;
    assert_eq!(read.trim_end(), format!("{MORNING}Breath."));
    let missing = home
        .run(&["read", "meditation://note/non-existent"])
        .expect(5);
    let told = "notes: the resource does not exist: Resource not found";
    assert!(missing.stderr.contains(told), "{missing:?}");
    let search = ["call", "notes/search_notes", "query=evening", "limit=10"];
    let found = home.run(&search).expect(0).stdout;
    assert!(
        found.starts_with("Found 0 notes matching 'evening'."),
        "{found}"
    );

    home.write("upstream/evening.md", "# Evening Walk\n\nSlowly.");
    commit(&home, "upstream");
    let synced = home
        .run(&["call", "notes/sync_repository"])
        .expect(0)
        .stdout;
    assert_eq!(
        synced.trim_end(),
        "Repository sync completed. Found 2 notes (1 new). Index updated."
    );
    let found = home.run(&search).expect(0).stdout;
    assert_eq!(
        found.trim_end(),
        "Found 1 notes matching 'evening':\n\n1. Evening Walk"
    );
}

/// `attache watch` tells when a note is saved.
#[test]
fn a_saved_note_is_told() {
    let folder = seed_folder();
    let home = Folder::new("notes-watch");
    let log = Scratch::new("notes-watch-log");
    let file = std::fs::File::create(log.path()).unwrap();
    let mut watching = home
        .attache()
        .args(["watch", URI, "--resources", "--"])
        .args(served(&folder, &[]))
        .stdout(file)
        .spawn()
        .unwrap();
    // Until it watches, nothing that is saved is told, so it is saved until it is.
    let mut round = 0;
    wait_until("a line about the note", || {
        round += 1;
        folder.write(
            "morning-meditation-2024-12-01.md",
            &format!("saved {round}"),
        );
        std::thread::sleep(std::time::Duration::from_millis(50));
        log.text().contains(URI)
    });
    let mut round = 0;
    wait_until("a line about the list", || {
        round += 1;
        folder.write(&format!("new {round}.md"), "new");
        std::thread::sleep(std::time::Duration::from_millis(50));
        log.text().contains("resources")
    });
    watching.kill().unwrap();
    watching.wait().unwrap();
}

/// Without a folder of one's own there are a few notes to try it with.
#[test]
fn the_roster_has_a_sample() {
    let home = Folder::new("notes-sample");
    let found = home
        .run(&["call", "notes/search_notes", "query=morning"])
        .expect(0);
    assert!(
        found.stdout.contains("Morning Meditation - Dec 1"),
        "{found:?}"
    );
    let read = home.run(&["read", URI, "--server", "notes"]).expect(0);
    assert!(
        read.stdout.contains("Twenty minutes before sunrise"),
        "{read:?}"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, expected) in [
        (&["serve", "demo", "--dir", "/"][..], "--dir is for notes"),
        (&["serve", "lisp", "--write"], "--write is for notes"),
        (
            &["serve", "notes", "--dir", "/nowhere/at/all"],
            "cannot open /nowhere/at/all",
        ),
        (&["serve", "notes", "--remote=-u"], "plain names of git"),
        (
            &["serve", "notes", "--scheme", "a:b"],
            "a scheme is a letter",
        ),
        (&["serve", "notes", "--lang", "klingon"], "known stems"),
    ] {
        let outcome = run(words).expect(2);
        assert!(outcome.stderr.contains(expected), "{words:?}: {outcome:?}");
    }
}

/// A second server of the same folder, as when two programs have it configured.
#[test]
fn two_processes_serve_one_folder() {
    let folder = seed_folder();
    let home = home("notes-two", "");
    let words = served(&folder, &["--dialect", "seed000"]);
    let mut servers = [Raw::start(&home, &words), Raw::start(&home, &words)];
    for (round, word) in ["one", "two"].into_iter().enumerate() {
        folder.write(
            &format!("{word}.md"),
            &format!("# Title {word}\nlook for {word}{round}"),
        );
        for server in &mut servers {
            let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2024-11-05", "capabilities": {},
                "clientInfo": {"name": "project_chat", "version": "1.0"}}});
            server.ask(&hello);
            let search = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
                "name": "search_notes", "arguments": {"query": format!("{word}{round}")}}});
            let expected = format!("Found 1 notes matching '{word}{round}':\n\n1. Title {word}");
            wait_until(&expected, || {
                server.ask(&search)["result"]["content"][0]["text"] == expected.as_str()
            });
        }
    }
    // The one that writes is killed; the other goes on.
    servers[0].child.kill().unwrap();
    servers[0].child.wait().unwrap();
    folder.write("three.md", "# Title three\nlook for three");
    let search = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
        "name": "search_notes", "arguments": {"query": "path:three three"}}});
    let server = &mut servers[1];
    wait_until("the third note", || {
        let text = server.ask(&search)["result"]["content"][0]["text"].clone();
        text == "Found 1 notes matching 'path:three three':\n\n1. Title three"
    });
    let [_, last] = servers;
    last.end();
}

/// Seed 000 with a host that stays: started on first use, kept, restarted after a crash, answers
/// remembered until a sync, old answers while the server is away, and a graceful end.
#[tokio::test]
async fn seed_000_is_kept_restarted_remembered_and_missed() {
    use attache::Host;
    use attache::host::cache::Freshness;
    use attache::host::config::{Config, Origin, UserEnvironment};
    use attache::host::policy::CallOrigin;

    let home = Folder::new("notes-host");
    cloned(&home);
    let starts = Scratch::new("notes-starts");
    let at = |path: &str| home.path().join(path).display().to_string();
    let script = r#"file=$1; shift; echo $$ >> "$file"; exec "$@""#;
    let mut words = ["sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    words.push(starts.path().display().to_string());
    let served = [env!("CARGO_BIN_EXE_attache"), "serve", "notes", "--dir"];
    words.extend(served.map(str::to_owned));
    words.extend([at("notes"), "--dialect".to_owned(), "seed000".to_owned()]);
    let host_with = |more: &str| {
        // Times for a busy machine; those of the seed are the profile's business.
        let text = format!(
            "{}profile = 'interactive'\nenv = {{ HOME = '{}' }}\ntimeouts = {{ initialize = '30s', \
             request = '30s', read = '30s', call = '30s' }}\n{more}",
            toml_server("notes", &words),
            home.path().display()
        );
        let environment = UserEnvironment::new(std::env::vars_os(), home.path());
        let file = home.path().join("attache.toml");
        let config = Config::read(&text, &file, Origin::User, &environment);
        assert_eq!(config.problems, []);
        Host::builder().config(config).start()
    };
    let processes = || -> Vec<String> { starts.text().lines().map(str::to_owned).collect() };
    let kill = |process: &String| {
        let killed = Command::new("kill").args(["-9", process]).status();
        assert!(killed.unwrap().success());
    };
    let call = async |host: &Host, tool: &str, arguments: Value| {
        let call = host.call(tool, arguments).origin(CallOrigin::Person);
        call.await.map(|answer| answer.text())
    };

    let host = host_with("");
    assert_eq!(processes().len(), 0, "nothing is started before it is used");
    let first = host.read(URI).server("notes").await.unwrap();
    assert!(
        matches!(first.freshness, Freshness::Fetched),
        "{:?}",
        first.freshness
    );
    let again = host.read(URI).server("notes").await.unwrap();
    assert!(
        matches!(again.freshness, Freshness::Fresh { .. }),
        "{:?}",
        again.freshness
    );
    assert_eq!(processes().len(), 1, "it is kept");

    kill(&processes()[0]);
    let query = json!({"query": "breath"});
    let deadline = std::time::Instant::now() + crate::harness::PATIENCE;
    // A call that the dying server took may have had its effect, and is not repeated.
    let found = loop {
        match call(&host, "notes/search_notes", query.clone()).await {
            Ok(found) => break found,
            Err(error) => assert!(std::time::Instant::now() < deadline, "{error}"),
        }
    };
    assert_eq!(
        found,
        "Found 1 notes matching 'breath':\n\n1. Morning Meditation - Dec 1"
    );
    assert_eq!(processes().len(), 2, "it is started again");

    home.write(
        "upstream/morning-meditation-2024-12-01.md",
        "# Changed upstream",
    );
    commit(&home, "upstream");
    let synced = call(&host, "notes/sync_repository", json!({}))
        .await
        .unwrap();
    assert!(synced.starts_with("Repository sync completed."), "{synced}");
    let fetched = host.read(URI).server("notes").await.unwrap();
    assert!(
        matches!(fetched.freshness, Freshness::Fetched),
        "{:?}",
        fetched.freshness
    );
    assert_eq!(
        fetched.contents.contents[0].text.as_deref(),
        Some("# Changed upstream")
    );
    host.close().await;
    let gone = std::path::Path::new("/proc").join(&processes()[1]);
    wait_until("the end of the server", || !gone.exists());

    let host = host_with("cache = { ttl = '1ms' }\nrestart = 'never'\n");
    host.read(URI).server("notes").await.unwrap();
    std::fs::rename(at("notes"), at("away")).unwrap();
    kill(processes().last().unwrap());
    let stale = host.read(URI).server("notes").await.unwrap();
    assert!(
        matches!(stale.freshness, Freshness::Stale { .. }),
        "{:?}",
        stale.freshness
    );
    assert_eq!(
        stale.contents.contents[0].text.as_deref(),
        Some("# Changed upstream")
    );
    let error = call(&host, "notes/search_notes", json!({"query": "x"}))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("notes"), "{error}");
    host.close().await;
}
