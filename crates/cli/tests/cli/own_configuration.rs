//! Servers that a person writes down by typing a command: nothing else is touched, and what was not
//! approved stays so.

use crate::harness::{Folder, builtin, toml_server};

const MINE: &str = "\
# My servers.

[servers.notes] # the first
command = 'notes'
# Where they are.
env = { ROOT = '/notes' }

# Slow, but nice.
[servers.slow]
command = 'slow'
";

fn mine(name: &str) -> Folder {
    crate::configured::home(name, MINE)
}

fn text(home: &Folder) -> String {
    std::fs::read_to_string(home.path().join(".config/attache/attache.toml")).unwrap()
}

#[test]
fn comments_and_order_are_kept() {
    let home = mine("config-add");
    let words = [
        "config",
        "add",
        "time",
        "--env",
        "KEY=${KEY}",
        "--",
        "uvx",
        "mcp-server-time",
    ];
    let outcome = home.run(&words).expect(0);
    assert!(
        outcome
            .stdout
            .starts_with("time added to ~/.config/attache/attache.toml\n"),
        "{outcome:?}"
    );
    let added = "\n[servers.time]\ncommand = \"uvx\"\nargs = [\"mcp-server-time\"]\n\
                 env = { KEY = \"${KEY}\" }\n";
    assert_eq!(text(&home), format!("{MINE}{added}"));

    assert!(
        home.run(&words).expect(0).stdout.contains("is in"),
        "twice is once"
    );
    let other = [
        "config",
        "add",
        "time",
        "https://time.example/mcp",
        "--header",
        "X-Team: a",
    ];
    let outcome = home.run(&other).expect(2);
    assert!(
        outcome.stderr.contains("--replace puts this one"),
        "{outcome:?}"
    );
    home.run(&[&other[..], &["--replace"]].concat()).expect(0);
    assert!(
        text(&home).contains("headers = { X-Team = \"a\" }"),
        "{}",
        text(&home)
    );

    home.run(&["config", "remove", "time"]).expect(0);
    assert_eq!(text(&home), MINE);
    home.run(&["config", "remove", "slow", "--json"]).expect(0);
    let (first, _) = MINE.split_once("\n# Slow").unwrap();
    assert_eq!(text(&home), first);
    let outcome = home.run(&["config", "remove", "note"]).expect(2);
    assert!(
        outcome.stderr.contains("did you mean \"notes\"?"),
        "{outcome:?}"
    );
}

#[test]
fn what_makes_no_server_is_refused() {
    let home = mine("config-add-wrong");
    for (words, expected) in [
        (&["a/b", "--", "x"][..], "cannot be a name"),
        (&["x"], "required"),
        (&["x", "word"], "\"word\" is no address"),
        (&["x", "https://a/mcp", "--", "y"], "cannot be used with"),
        (&["x", "--header", "A: b", "--", "y"], "cannot be used with"),
        (&["x", "--", ""], "the command after `--` is empty"),
    ] {
        let outcome = home.run(&[&["config", "add"], words].concat()).expect(2);
        assert!(outcome.stderr.contains(expected), "{words:?}: {outcome:?}");
    }
    assert_eq!(text(&home), MINE);
    let broken = crate::configured::home("config-add-broken", "[servers\n");
    let outcome = broken.run(&["config", "add", "x", "--", "y"]).expect(2);
    assert!(outcome.stderr.contains("mended first"), "{outcome:?}");
}

#[test]
fn s21_a_file_of_the_folder_is_written_down_with_its_folder() {
    let home = mine("config-add-here");
    home.write("server.js", "");
    home.run(&["config", "add", "here", "--", "node", "server.js"])
        .expect(0);
    let here = home.path().canonicalize().unwrap();
    let cwd = format!("cwd = \"{}\"", here.display());
    assert!(text(&home).contains(&cwd), "{}", text(&home));
}

#[test]
fn s3_typing_it_approves_it_and_nothing_else() {
    let project = Folder::new("config-init");
    let run = |words: &[&str]| project.run(words);
    run(&["config", "init"]).expect(0);
    run(&["config", "init"]).expect(2);
    let server = builtin();
    let words: Vec<&str> = server.iter().map(String::as_str).collect();
    run(&[&["config", "add", "mine", "--"], &words[..]].concat()).expect(0);
    // No word about trust between writing and using it.
    assert_eq!(
        run(&["call", "mine/echo", "message=hi"]).expect(0).stdout,
        "hi\n"
    );

    // What others wrote into it is not approved along with what is typed.
    let file = project.path().join("attache.toml");
    let mut theirs = std::fs::read_to_string(&file).unwrap();
    theirs += &toml_server("theirs", &server);
    std::fs::write(&file, &theirs).unwrap();
    let outcome = run(&["config", "add", "more", "--", "x"]).expect(7);
    assert!(
        outcome.stderr.contains("nothing was written"),
        "{outcome:?}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), theirs);
    let outcome = run(&["ls"]).expect(7);
    assert!(
        outcome
            .stderr
            .contains("it is yours to approve: `attache trust`"),
        "{outcome:?}"
    );
}

#[test]
fn an_empty_file_and_a_json_file_get_the_next_step() {
    let empty = crate::configured::home("config-empty", "# nothing yet\n");
    let outcome = empty.run(&["ls"]).expect(0);
    assert!(
        outcome.stderr.contains("`attache config add NAME"),
        "{outcome:?}"
    );
    let file = empty.write("mcp.json", "{\"mcpServers\": {}}");
    let file = file.display().to_string();
    let outcome = empty.run(&["ls", "--config", &file]).expect(2);
    assert!(outcome.stderr.contains("is JSON"), "{outcome:?}");
    assert!(
        outcome.stderr.contains("`attache config import`"),
        "{outcome:?}"
    );
}
