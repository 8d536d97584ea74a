//! `attache serve`: the options it takes, and those it refuses.

use crate::harness::{Outcome, run, run_on};

fn serve(options: &[&str]) -> Vec<String> {
    let words = [&[env!("CARGO_BIN_EXE_attache"), "serve", "demo"], options].concat();
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The era and revision that a client and the server agree on.
fn spoken(options: &[&str], client: &[&str]) -> (String, String) {
    let words = [&["ls", "--json"], client].concat();
    let document = run_on(&serve(options), &words).expect(0).document();
    let text = |name: &str| document["servers"][0][name].as_str().unwrap().to_owned();
    (text("era"), text("revision"))
}

#[test]
fn it_speaks_what_it_is_told_to() {
    for (options, era, revision) in [
        (&[][..], "modern", "2026-07-28"),
        (&["--era", "auto"], "modern", "2026-07-28"),
        (&["--era", "modern"], "modern", "2026-07-28"),
        (&["--era", "legacy"], "legacy", "2025-11-25"),
        (&["--protocol", "2025-06-18"], "legacy", "2025-06-18"),
        (
            &["--era", "legacy", "--protocol", "2024-11-05"],
            "legacy",
            "2024-11-05",
        ),
    ] {
        let seen = spoken(options, &[]);
        assert_eq!(seen, (era.to_owned(), revision.to_owned()), "{options:?}");
    }
    // A client that insists on something else is refused.
    let legacy_only = serve(&["--era", "legacy"]);
    run_on(&legacy_only, &["tools", "--era", "modern"]).expect(4);
    let modern_only = serve(&["--protocol", "2026-07-28"]);
    run_on(&modern_only, &["tools", "--era", "legacy"]).expect(4);
}

fn refused(words: &[&str]) -> Outcome {
    let outcome = run(words).expect(2);
    assert_eq!(outcome.stdout, "", "{outcome:?}");
    outcome
}

/// Options of the verbs that talk to servers; nothing is done about them, so they are refused
/// wherever they stand.
#[test]
fn options_that_mean_nothing_to_it_are_refused() {
    for (option, value) in [
        ("--timeout", Some("5s")),
        ("--config", Some("attache.toml")),
        ("--partial", None),
        ("--server", Some("notes")),
        ("--start-timeout", Some("5s")),
        ("--env", Some("A=b")),
        ("--cwd", Some("/")),
        ("--log-level", Some("info")),
    ] {
        let given: Vec<&str> = [option].into_iter().chain(value).collect();
        for words in [
            [&["serve", "demo"], &given[..]].concat(),
            [&given[..], &["serve", "demo"]].concat(),
        ] {
            let outcome = refused(&words);
            let expected = format!("{option} means nothing to `attache serve`");
            assert!(outcome.stderr.contains(&expected), "{words:?}: {outcome:?}");
        }
        // What is refused is not offered either.
        let help = run(&["serve", "--help"]).expect(0).stdout;
        assert!(!help.contains(&format!("{option} ")), "{option} in {help}");
    }
}

#[test]
fn what_it_is_told_to_speak_must_exist() {
    let outcome = refused(&[
        "serve",
        "demo",
        "--era",
        "modern",
        "--protocol",
        "2025-06-18",
    ]);
    assert!(outcome.stderr.contains("2025-06-18"), "{outcome:?}");
    assert!(outcome.stderr.contains("legacy"), "{outcome:?}");
    let outcome = refused(&["serve", "demo", "--protocol", "1999-01-01"]);
    assert!(outcome.stderr.contains("--protocol"), "{outcome:?}");
}

#[test]
fn its_help() {
    insta::assert_snapshot!(run(&["serve", "--help"]).expect(0).stdout, @"
    Be one of the ready-made servers

    Usage: attache serve [OPTIONS] <SERVER> [-- <AGENT>...]

    Arguments:
      <SERVER>
              Which server

              Possible values:
              - demo:    A few tools, resources and a prompt to try things out
              - lisp:    Evaluates Scheme programs with every resource bounded
              - notes:   A folder of Markdown: every note a resource, search, sync by git
              - speckit: From an idea to a specification, a plan, tasks and their implementation

    Options:
          --http <ADDR>
              Serve HTTP at this address instead of stdin and stdout: 127.0.0.1:8080, :8080 or 8080

          --token-env <VAR>
              Let only those in over HTTP who bring the token in this environment variable; repeated, each token is somebody else's

          --host <NAME>
              A name by which other machines ask for it; may be repeated

          --strict-initialized
              Refuse what a client asks before it has said that it is initialized, and a second initialize

          --era <auto|modern|legacy>
              Speak this era only; auto speaks both

          --protocol <DATE>
              Speak this revision only, like 2025-06-18

          --json
              Print one JSON document; failures are JSON on stderr

      -v, --verbose
              Show the server's stderr and log, and more about failures

      -h, --help
              Print help (see a summary with '-h')

    Notes:
          --dir <DIR>
              The folder of notes; without it a few samples

          --name <NAME>
              What the server calls itself

          --scheme <SCHEME>
              The scheme of the notes' URIs

          --description <TEXT>
              What a note is described as

          --remote <REMOTE>
              The git remote to sync from; origin by default

          --branch <BRANCH>
              The branch to sync; the one that is checked out by default

          --lang <LANGUAGE>
              The language of notes that name none, like de; English by default

          --dialect <DIALECT>
              Answer in another way than the standard

              Possible values:
              - seed000: As the server that seed 000 describes

          --write
              Offer tools that save notes and commit them

    Speckit:
          --project <DIR>
              The project; without it the nearest folder with specs or a repository in it

          --writer <WRITER>
              Who writes documents

              Possible values:
              - auto:  The first of these that is there
              - agent: The agent
              - model: The client's model, through sampling
              - plain: Without a model: structures what is there

      [AGENT]...
              A program that reads a prompt on stdin, and its arguments

    Example:
      attache tools -- attache serve lisp
      attache serve demo --http 8080 --era legacy
      attache call search_notes query=morning -- attache serve notes --dir ~/notes
      attache tools -- attache serve speckit -- claude -p
    ");
}
