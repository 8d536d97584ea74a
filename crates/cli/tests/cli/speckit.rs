//! `attache serve speckit`, and seed 003 on the wire with a foreign agent server.

use std::io::BufRead as _;
use std::path::Path;
use std::process::{Child, Stdio};

use attache_testkit::processes::is_running;
use serde_json::{Value, json};

use crate::harness::{Folder, Outcome, Scratch, attache, finish, wait_until};
use crate::screen::Screen;
use crate::signals::signal;

const SPEC: &str = "spec_directory=specs/001-search";

/// Calls a tool of the server inside the binary, in a project's folder.
fn call(project: &Folder, tool: &str, more: &[&str]) -> Outcome {
    let tool = format!("speckit/speckit.{tool}");
    let mut words = vec!["call", &tool, SPEC];
    words.extend(more);
    project.run(&words)
}

fn text(project: &Folder, file: &str) -> String {
    let path = project.path().join("specs/001-search").join(file);
    std::fs::read_to_string(path).unwrap()
}

const WANTED: &str = "feature_description=Readers can search notes by tag. Results come in 200 ms. \
                      Export is easy.";

/// A project with an agent in the user's own file: a script that is given prompts.
fn with_agent(script: &str) -> Folder {
    let project = Folder::new("speckit-agent");
    let agent = project.write("agent.sh", script);
    let agent = agent.display();
    project.write(
        ".config/attache/attache.toml",
        &format!("[speckit]\nagent = [\"sh\", \"{agent}\"]\n"),
    );
    project.write("specs/001-search/spec.md", "# S\n");
    project
}

#[test]
fn from_an_idea_to_traced_tasks_without_a_model() {
    let project = Folder::new("speckit");
    project.write("Cargo.toml", "");
    let specified = call(&project, "specify", &[WANTED]).expect(0).stdout;
    let path = project
        .path()
        .canonicalize()
        .unwrap()
        .join("specs/001-search/spec.md");
    assert!(
        specified.starts_with(&format!(
            "Specification created successfully at {}\n",
            path.display()
        )),
        "{specified}"
    );
    let spec = text(&project, "spec.md");
    for item in [
        "### User Story 1 - Readers can search notes by tag (Priority: P1)",
        "- **FR-001**: Readers can search notes by tag (US1)",
        "- **FR-003**: The system MUST fulfil: Export is easy (US3) [NEEDS CLARIFICATION:",
        "- **SC-001**: Results come in 200 ms",
    ] {
        assert!(spec.contains(item), "{item} in {spec}");
    }
    let active = std::fs::read_to_string(project.path().join(".specify/feature.json")).unwrap();
    let active: Value = serde_json::from_str(&active).unwrap();
    assert_eq!(active, json!({"feature_directory": "specs/001-search"}));
    assert!(text(&project, "checklists/requirements.md").contains("- [x] At most 3"));

    let clarified = call(&project, "clarify", &[]).expect(0).stdout;
    assert!(
        clarified.contains("1. what does \"easy\" mean"),
        "{clarified}"
    );
    call(&project, "tasks", &[]).expect(5);
    call(&project, "plan", &[]).expect(0);
    let planned = call(&project, "tasks", &[]).expect(0).stdout;
    assert!(planned.contains("8 tasks."), "{planned}");
    let (plan, tasks) = (text(&project, "plan.md"), text(&project, "tasks.md"));
    for id in ["FR-001", "FR-002", "FR-003", "SC-001"] {
        assert!(plan.contains(&format!("| {id} |")), "{id} in {plan}");
        assert!(tasks.contains(&format!("| {id} | T0")), "{id} in {tasks}");
    }
    let line = "- [ ] T002 [P] [US1] Write a failing test for FR-001 in tests/readers_can_search";
    let line = line.replace("readers_can_search", "readers_search_notes_tag.rs");
    assert!(tasks.contains(&line), "{tasks}");
}

#[test]
fn a_hand_edited_line_survives_the_next_specify() {
    let project = Folder::new("speckit-edit");
    call(&project, "specify", &[WANTED]).expect(0);
    let edited = text(&project, "spec.md").replace(
        "- **FR-001**: Readers can search notes by tag (US1)",
        "- **FR-001**: Readers MUST find any note by two tags (US1)\n- **FR-100**: And by date",
    );
    project.write("specs/001-search/spec.md", &edited);
    let more = format!("{WANTED} Results can be sorted.");
    let again = call(&project, "specify", &[&more]).expect(0).stdout;
    assert!(
        again.contains("Specification updated successfully"),
        "{again}"
    );
    assert!(again.contains("Kept 2 edited places:"), "{again}");
    let spec = text(&project, "spec.md");
    assert!(spec.contains("find any note by two tags"), "{spec}");
    assert!(
        spec.contains("- **FR-100**: And by date\n- **FR-002**"),
        "{spec}"
    );
    assert!(
        !spec.contains("Readers can search notes by tag (US1)"),
        "{spec}"
    );
    assert!(spec.contains("Results can be sorted"), "{spec}");
}

/// S3, S15: nothing outside of the project, and no command that came with it.
#[test]
fn a_project_brings_no_agent_and_leads_nowhere_else() {
    let project = Folder::new("speckit-refused");
    project.write("work/specs/001-search/tasks.md", "- [ ] T001 Make a.txt\n");
    project.write(
        "work/attache.toml",
        "[speckit]\nagent = [\"sh\", \"-c\", \"touch ran\"]\n",
    );
    let work = project.path().join("work");
    let run = |words: &[&str]| finish(project.attache().current_dir(&work).args(words));
    let words = [
        "call",
        "speckit.implement",
        SPEC,
        "--yes",
        "--",
        env!("CARGO_BIN_EXE_attache"),
        "serve",
        "speckit",
    ];
    let refused = run(&words).expect(5);
    assert!(
        refused.stdout.contains("there is no agent to do this"),
        "{refused:?}"
    );
    assert!(!work.join("ran").exists());
    for folder in ["/etc", "../elsewhere", "specs/../../x", ".git/x"] {
        let folder = format!("spec_directory={folder}");
        let mut words = words.to_vec();
        words[2] = &folder;
        run(&words).expect(5);
    }
}

/// Ticks are made one by one, each when its task is done.
#[test]
fn with_an_agent_implement_ticks_tasks_off_one_by_one() {
    let project = with_agent(
        "cat >/dev/null; grep -c '\\[X\\]' specs/001-search/tasks.md >>seen; echo working; \
         echo note >&2",
    );
    let tasks =
        "- [ ] T001 Make a.txt\n- [ ] T002 Make b.txt (depends on T003)\n- [ ] T003 Make c.txt\n";
    project.write("specs/001-search/tasks.md", tasks);
    let run = call(&project, "implement", &["--yes"]).expect(0);
    assert!(
        run.stdout.contains("3 tasks done, 0 failed, 0 not begun"),
        "{run:?}"
    );
    let order: Vec<usize> = ["T001 done", "T003 done", "T002 done"]
        .iter()
        .map(|it| run.stdout.find(it).unwrap())
        .collect();
    assert!(order.is_sorted(), "{run:?}");
    let seen = std::fs::read_to_string(project.path().join("seen")).unwrap();
    assert_eq!(seen, "0\n1\n2\n");
    assert_eq!(text(&project, "tasks.md"), tasks.replace("[ ]", "[X]"));
    let again = call(&project, "implement", &["--yes"]).expect(0);
    assert!(again.stdout.contains("All 3 tasks are done"), "{again:?}");
}

/// The whole tree of an agent ends with its call, also what left its group.
#[cfg(target_os = "linux")]
#[test]
fn cancelling_a_call_leaves_no_process_of_the_agent() {
    let project = with_agent(
        "cat >/dev/null; setsid sleep 300 & echo $! >>pids; sleep 300 & echo $! >>pids; \
         echo $$ >>pids; wait",
    );
    project.write("specs/001-search/tasks.md", "- [ ] T001 Make a.txt\n");
    let mut child = project
        .attache()
        .args(["call", "speckit/speckit.implement", SPEC, "--yes"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pids = || -> Vec<u32> {
        let text = std::fs::read_to_string(project.path().join("pids")).unwrap_or_default();
        text.lines().filter_map(|it| it.parse().ok()).collect()
    };
    wait_until("the agent to start", || pids().len() == 3);
    signal(&child, "INT");
    assert_eq!(ended(&mut child), Some(7));
    wait_until("the agent to end", || {
        pids().iter().all(|pid| !is_running(*pid).unwrap())
    });
    assert_eq!(text(&project, "tasks.md"), "- [ ] T001 Make a.txt\n");
}

fn ended(child: &mut Child) -> Option<i32> {
    let mut code = None;
    wait_until("the command to end", || {
        code = child.try_wait().unwrap().map(|it| it.code());
        code.is_some()
    });
    code.flatten()
}

/// The agent of seed 003 in a file as that seed's tool has it, taken over as other tools' files are.
fn foreign(name: &str, record: &Scratch) -> Folder {
    let project = Folder::new(name);
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/seed003.sh");
    let log = record.path().display();
    project.write(
        ".spec-tui.toml",
        &format!(
            "[mcp]\ntransport = \"stdio\"\ncommand = \"sh\"\nargs = [\"{script}\", \
             \"{log}\"]\ntimeout_seconds = 30\n[ui]\nrefresh_rate_ms = 100\n"
        ),
    );
    let imported = project.run(&["config", "import", "--from", "spec-tui", "--yes"]);
    assert_eq!(imported.code, 0, "{imported:?}");
    project
}

fn received(record: &Scratch) -> Vec<Value> {
    let text = record.text();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Seed 003 on the wire: its client's name, its revision, its tokens, its goodbye.
#[test]
fn seed_003_is_spoken_to_a_foreign_agent() {
    let record = Scratch::new("seed003");
    let project = foreign("seed003", &record);
    let folder = project.path().join("specs/001-a").display().to_string();
    let directory = format!("spec_directory={folder}");
    let words = [
        "call",
        "spec-tui/speckit.specify",
        "feature_description=User-provided feature description",
        &directory,
    ];
    let done = project.run(&words).expect(0);
    assert_eq!(
        done.stdout,
        format!("Specification created successfully at {folder}/spec.md\n")
    );
    wait_until("the goodbye", || record.text().contains("\"exit\""));
    let all = received(&record);
    assert_eq!(
        all[0]["params"]["clientInfo"],
        json!({"name": "spec-tui", "version": "0.1.0"})
    );
    assert_eq!(all[0]["params"]["protocolVersion"], "2025-11-25");
    assert_eq!(
        all[1],
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"})
    );
    let call = all.iter().find(|it| it["method"] == "tools/call").unwrap();
    // No listener, no token: the request is the seed's, byte for byte.
    assert_eq!(
        call["params"],
        json!({
            "name": "speckit.specify",
            "arguments": {
                "feature_description": "User-provided feature description",
                "spec_directory": folder,
            },
        })
    );
    let last = &all[all.len() - 2..];
    assert_eq!(last[0]["method"], "shutdown");
    assert_eq!(last[1], json!({"jsonrpc": "2.0", "method": "exit"}));
}

/// Seed 003: `$/cancelRequest` on a time-out; −32000, −32001 and −32002 by name; the log.
#[test]
fn seed_003_failures_are_told_by_name_and_logged() {
    let record = Scratch::new("seed003-failures");
    let project = foreign("seed003-failures", &record);
    let directory = format!("spec_directory={}/specs/001-a", project.path().display());
    let slow = [
        "call",
        "spec-tui/speckit.specify",
        "feature_description=slow",
        &directory,
        "--timeout",
        "300ms",
    ];
    let late = project.run(&slow).expect(6);
    assert!(
        late.stderr.contains("not answered within 300 ms"),
        "{late:?}"
    );
    wait_until("the cancellation", || {
        record.text().contains("$/cancelRequest")
    });
    let all = received(&record);
    let call = all.iter().find(|it| it["method"] == "tools/call").unwrap();
    let cancel = all
        .iter()
        .find(|it| it["method"] == "$/cancelRequest")
        .unwrap();
    assert_eq!(cancel["params"], json!({"id": call["id"]}));

    let broken = [
        "call",
        "spec-tui/speckit.specify",
        "feature_description=broken",
        &directory,
    ];
    let failed = project.run(&broken).expect(5);
    assert!(
        failed.stderr.contains("the model is overloaded"),
        "{failed:?}"
    );
    let history = project.run(&["history"]).expect(0).stdout;
    assert!(history.contains("timed out"), "{history}");
    assert!(history.contains("spec-tui/speckit.specify"), "{history}");
    let logs = project.path().join(".local/state/attache");
    assert!(
        has_text(&logs, "the model is overloaded"),
        "{}",
        logs.display()
    );
}

fn has_text(folder: &Path, wanted: &str) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|it| it.path()).any(|path| match path.is_dir() {
        true => has_text(&path, wanted),
        false => std::fs::read_to_string(&path).is_ok_and(|text| text.contains(wanted)),
    })
}

/// Seed 003: `sampling` is declared where a person can answer, and answered.
#[test]
fn seed_003_sampling_is_declared_and_answered() {
    let record = Scratch::new("seed003-sampling");
    let project = foreign("seed003-sampling", &record);
    project.write("specs/001-ask/spec.md", "# S\n");
    let folder = project.path().join("specs/001-ask");
    let directory = format!("spec_directory={}", folder.display());
    let words = ["call", "spec-tui/speckit.plan", &directory];
    let mut screen = Screen::start(project.path(), &words, 100, 30);
    screen.wait_for("the question", |rows| rows.contains("Which language?"));
    screen.type_in("Rust\ry\r");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    let plan = std::fs::read_to_string(folder.join("plan.md")).unwrap();
    assert_eq!(plan, "# Implementation Plan\n\nRust\n");
    let capabilities = &received(&record)[0]["params"]["capabilities"];
    assert_eq!(capabilities["sampling"], json!({}));
}

/// The key that sends an answer.
#[cfg(feature = "ui")]
const F2: &str = "\u{1b}OQ";

/// Seed 003 whole: the tab drives a foreign agent from an idea to its implementation, cancels it and
/// tries again.
#[cfg(feature = "ui")]
#[test]
fn the_specs_tab_runs_the_whole_chain_with_a_foreign_agent() {
    let record = Scratch::new("seed003-ui");
    let project = foreign("seed003-ui", &record);
    let mut screen = Screen::start(project.path(), &["ui"], 160, 45);
    let see = |screen: &Screen, text: &str| screen.wait_for(text, |rows| rows.contains(text));
    see(&screen, "spec-tui");
    screen.type_in("7");
    see(&screen, "n describes");
    screen.type_in("n");
    see(&screen, "What is it about?");
    screen.type_in("Ask notes by tag\r");
    see(&screen, "001-ask-notes-tag");
    screen.type_in("\r");
    see(&screen, "specify done");
    see(&screen, "Specification created successfully at");
    see(&screen, "progress Analyzing requirements...");
    see(&screen, "clarify or plan");
    see(&screen, "branch foreign");
    screen.type_in("rc");
    see(&screen, "clarify done");
    // The agent asks the client's model: the question opens by itself, and the person answers.
    screen.type_in("rp");
    see(&screen, "Which language?");
    screen.type_in("eRust");
    see(&screen, "Rust");
    screen.type_in(F2);
    see(&screen, "plan done");
    let plan = project.path().join("specs/001-ask-notes-tag/plan.md");
    let plan = std::fs::read_to_string(plan).unwrap();
    assert_eq!(plan, "# Implementation Plan\n\nRust\n");
    for (keys, done, phase) in [
        ("rt", "tasks done", "implement 0/2"),
        ("ri", "implement done", "done 2"),
    ] {
        screen.type_in(keys);
        see(&screen, done);
        see(&screen, phase);
    }

    screen.type_in("n");
    see(&screen, "What is it about?");
    screen.type_in("slow one\r\r");
    see(&screen, "50 %");
    screen.type_in("x");
    see(&screen, "specify cancelled");
    assert!(
        screen.rows().contains("Analyzing requirements..."),
        "{}",
        screen.rows()
    );
    wait_until("the cancellation", || {
        record.text().contains("$/cancelRequest")
    });

    screen.type_in("n");
    see(&screen, "What is it about?");
    screen.type_in("broken one\r\r");
    see(&screen, "Tool execution error (-32000)");
    screen.type_in("R");
    see(&screen, "002-broken-one");
    see(&screen, "specify done");

    screen.type_in("q");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
    wait_until("the goodbye", || record.text().contains("\"exit\""));
    let all = received(&record);
    let named = &all[0]["params"]["clientInfo"];
    assert_eq!(named, &json!({"name": "spec-tui", "version": "0.1.0"}));
    assert_eq!(all[0]["params"]["capabilities"]["sampling"], json!({}));
    let call = all.iter().find(|it| it["method"] == "tools/call").unwrap();
    let id = call["id"].as_u64().unwrap();
    let token = &call["params"]["_meta"]["progressToken"];
    assert_eq!(token, &json!(format!("tool-{id}")));
}

/// The HTTP form of seed 003's `[mcp]`.
#[test]
fn seed_003_over_http() {
    let project = Folder::new("seed003-http");
    let mut server = project
        .attache()
        .args([
            "serve",
            "speckit",
            "--http",
            "127.0.0.1:0",
            "--protocol",
            "2025-11-25",
        ])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stderr = server.stderr.take().unwrap();
    std::io::BufReader::new(stderr)
        .read_line(&mut line)
        .unwrap();
    let endpoint = line.trim().split(' ').next_back().unwrap();
    let file = format!("[mcp]\ntransport = \"http\"\nendpoint = \"{endpoint}\"\n");
    project.write(".spec-tui.toml", &file);
    project
        .run(&["config", "import", "--from", "spec-tui", "--yes"])
        .expect(0);
    let done = project
        .run(&["call", "spec-tui/speckit.specify", WANTED, SPEC])
        .expect(0);
    assert!(
        done.stdout
            .starts_with("Specification created successfully at"),
        "{done:?}"
    );
    let listed = project.run(&["ls"]).expect(0);
    assert!(listed.stdout.contains("legacy 2025-11-25"), "{listed:?}");
    signal(&server, "TERM");
    ended(&mut server);
}

/// The tab with the server inside the program, and an agent that writes and works.
#[cfg(feature = "ui")]
#[test]
fn the_specs_tab_runs_the_whole_chain_with_an_agent_of_the_user() {
    let project = with_agent(
        "prompt=$(cat)\necho 'on it' >&2\ncase $prompt in\n*'Write its'*) echo \"$prompt\" | sed -n \
         '/<draft>/,/<.draft>/p' | grep -v 'draft>';;\n*) echo working;;\nesac\n",
    );
    std::fs::remove_dir_all(project.path().join("specs/001-search")).unwrap();
    let mut screen = Screen::start(project.path(), &["ui", "speckit"], 160, 45);
    let see = |screen: &Screen, text: &str| screen.wait_for(text, |rows| rows.contains(text));
    see(&screen, "speckit.specify");
    screen.type_in("7");
    see(&screen, "n describes");
    screen.type_in("n");
    see(&screen, "What is it about?");
    screen.type_in("Search notes by tag\r\r");
    see(&screen, "specify done");
    see(&screen, "Written by the agent sh.");
    for (keys, done, phase) in [
        ("rp", "plan done", "001-search-notes-tag"),
        ("rt", "tasks done", "implement 0/6"),
        ("ri", "implement done", "done 6"),
    ] {
        screen.type_in(keys);
        see(&screen, done);
        see(&screen, phase);
    }
    screen.type_in("q");
    let (code, rows) = screen.finish();
    assert_eq!(code, 0, "{rows}");
}

#[test]
fn options_of_specs_are_for_specs() {
    let refused = finish(attache().args(["serve", "demo", "--writer", "plain"]));
    assert_eq!(refused.code, 2, "{refused:?}");
    assert!(
        refused.stderr.contains("--writer is for speckit"),
        "{refused:?}"
    );
}
