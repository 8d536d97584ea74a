//! The help of every command, as it is printed.

use crate::harness::run;

fn help(words: &[&str]) -> String {
    let outcome = run(words).expect(0);
    assert_eq!(outcome.stderr, "");
    outcome.stdout
}

#[test]
fn the_program() {
    insta::assert_snapshot!(help(&["--help"]), @"
    Talk to any MCP server from the shell

    Usage: attache [OPTIONS] [VERB] [-- <COMMAND>...]

    Verbs:
      ls           Show the servers: state, era, revision, what they offer
      tools        List the tools, or show one in full
      resources    List the resources and resource templates
      prompts      List the prompts
      call         Call a tool
      batch        Make many calls with one start: JSON lines in, one JSON line per ending out
      read         Read a resource
      prompt       Get a prompt, filled in
      watch        Print changes of resources and lists as they happen, until Ctrl-C
      web          Open the console: every server in one page of the browser, and an HTTP API
      chat         Talk to a model that uses the servers
      ui           Work with the servers on a full screen: forms, calls, questions, logs
      serve        Be one of the ready-made servers
      up           Keep the configured servers running, so that commands need not start them
      down         End the background process and the servers it keeps
      tap          Stand between a client and a server, and record what they say
      record       Record what a server offers, and calls of your choice
      show         Show what a recording holds: the requests, or every message, or one of them
      diff         Compare two recordings: what is offered, how calls are answered, how long they take
      replay       Ask a server again what was recorded, and compare its answers
      mock         Answer clients from a recording, in place of its server
      logs         Print the log files of servers: their stderr, logs and states
      history      Show the calls that were made: what, when and how they ended
      doctor       Find out what is wrong with servers: one cause, one remedy
      verify       Check a server against the specification, or a client
      trust        Approve a project's configuration file, or the tools of a server as they are now
      auth         Log in to servers behind a URL, log out, or see where you are logged in
      config       Add and remove servers; find, check, explain, import and export configurations
      completions  Print a script that makes a shell complete servers, tools and arguments
      man          Print the manual page, or that of the configuration file
      help         Explain a verb, or a topic on one screen

    Arguments:
      [COMMAND]...  The server's command and its arguments

    Options:
          --json            Print one JSON document; failures are JSON on stderr
      -v, --verbose         Show the server's stderr and log, and more about failures
          --timeout <TIME>  How long one request may take, like 500ms, 30s or 5m
          --config <FILE>   Take this configuration file
          --partial         Be content if only some of the servers answer
      -h, --help            Print help
      -V, --version         Print version

    Server:
          --server <SERVER>           The server to talk to: its name or its URL
          --start-timeout <TIME>      How long the server may take to start, like 30s
          --env <NAME=VALUE>          Set a variable in the server's environment; may be repeated
          --cwd <FOLDER>              Start the server in this folder
          --log-level <LEVEL>         Show the server's log from this level on, like info
          --era <auto|modern|legacy>  Which protocol era to speak; auto finds out
          --protocol <DATE>           The protocol revision to ask for, like 2025-06-18
          --dialect <standard|lsp>    lsp adds `$/cancelRequest`, `shutdown` and `exit`
          --record <FILE>             Record what passes into this file, secrets replaced

    Servers come from attache.toml: the one that --config names, the nearest in this folder or above
    it, or the one in your configuration folder. A name or a URL in place of SERVER chooses one, and
    `-- COMMAND` starts one on the spot. Without any of these there is a small server inside this
    program to try things on.

    Topics, each on one screen: attache help servers, arguments, states, eras, trust, json, scripts.

    Exit codes: 0 done, 1 unexpected, 2 usage or configuration, 3 authorization needed, 4 server
    unreachable, 5 the tool failed or does not exist, 6 timed out, 7 cancelled or refused, 8 outcome
    unknown.

    Example:
      attache config add time -- uvx mcp-server-time
      attache tools time/convert_time
      attache call echo message=hi
    ");
}

#[test]
fn call() {
    insta::assert_snapshot!(help(&["call", "--help"]), @r#"
    Call a tool

    Usage: attache call [OPTIONS] <TOOL> [KEY=VALUE]... [-- <COMMAND>...]

    Arguments:
      <TOOL>          The tool's name, as SERVER/TOOL or alone if no other server has it
      [KEY=VALUE]...  The tool's arguments, see below
      [COMMAND]...    The server's command and its arguments

    Options:
          --args <JSON>                   All arguments as one JSON object, or @file, or - for stdin
          --no-list                       Do not list the tools first
          --no-validate                   Send the arguments even if they do not fit the tool's schema
      -y, --yes                           Call it without asking where the policy says to ask
          --progress <auto|always|never>  A bar on a terminal (auto), also lines elsewhere (always)
          --raw                           Print text and bytes as they are, and nothing else
          --jq <FILTER>                   Print what this jq filter makes of it, like '.content[0].text'
          --repeat <N>                    Call it so often and print how long it takes
          --concurrency <M>               So many calls at a time
          --save <FILE|FOLDER/>           Save the first image, sound or other bytes; into a folder, all
          --json                          Print one JSON document; failures are JSON on stderr
      -v, --verbose                       Show the server's stderr and log, and more about failures
          --timeout <TIME>                How long one request may take, like 500ms, 30s or 5m
          --config <FILE>                 Take this configuration file
      -h, --help                          Print help

    Server:
          --server <SERVER>           The server to talk to: its name or its URL
          --start-timeout <TIME>      How long the server may take to start, like 30s
          --env <NAME=VALUE>          Set a variable in the server's environment; may be repeated
          --cwd <FOLDER>              Start the server in this folder
          --log-level <LEVEL>         Show the server's log from this level on, like info
          --era <auto|modern|legacy>  Which protocol era to speak; auto finds out
          --protocol <DATE>           The protocol revision to ask for, like 2025-06-18
          --dialect <standard|lsp>    lsp adds `$/cancelRequest`, `shutdown` and `exit`
          --record <FILE>             Record what passes into this file, secrets replaced

    Tool arguments:
      key=value       a value of the type that the tool's schema says; text if it allows text.
                      Repeat the key for a list; a.b=value reaches into an object, a[0]=value
                      into a list.
      key=@file       the same, read from a file (- is stdin)
      key:=json       a JSON value, for example count:=3, tags:='["a"]', note:=null
      key:=@file      the same, read from a file

    The tools are listed first, to know these types and to say so if there is no such tool;
    --no-list calls without looking. Arguments are checked before they are sent;
    --no-validate sends them as they are, a word that is not of its type as text.

    Example:
      attache call notes/search query=tea
      attache call notes/search query=tea --jq '.content[].text' --raw
      attache call get_current_time timezone=Europe/Paris -- uvx mcp-server-time
    "#);
}

#[test]
fn watch() {
    insta::assert_snapshot!(help(&["watch", "--help"]), @"
    Print changes of resources and lists as they happen, until Ctrl-C

    Usage: attache watch [OPTIONS] [URI]... [-- <COMMAND>...]

    Arguments:
      [URI]...      URIs of resources to watch
      [COMMAND]...  The server's command and its arguments

    Options:
          --tools           Watch the list of tools
          --prompts         Watch the list of prompts
          --resources       Watch the list of resources
          --read            Read a resource again when it has changed, and print it
          --json            Print one JSON document; failures are JSON on stderr
      -v, --verbose         Show the server's stderr and log, and more about failures
          --timeout <TIME>  How long one request may take, like 500ms, 30s or 5m
          --config <FILE>   Take this configuration file
      -h, --help            Print help

    Server:
          --server <SERVER>           The server to talk to: its name or its URL
          --start-timeout <TIME>      How long the server may take to start, like 30s
          --env <NAME=VALUE>          Set a variable in the server's environment; may be repeated
          --cwd <FOLDER>              Start the server in this folder
          --log-level <LEVEL>         Show the server's log from this level on, like info
          --era <auto|modern|legacy>  Which protocol era to speak; auto finds out
          --protocol <DATE>           The protocol revision to ask for, like 2025-06-18
          --dialect <standard|lsp>    lsp adds `$/cancelRequest`, `shutdown` and `exit`
          --record <FILE>             Record what passes into this file, secrets replaced

    --json prints one JSON document per line.

    Example:
      attache watch demo://clock --read
    ");
}

#[test]
fn every_command_has_an_example_and_shows_where_the_server_goes() {
    for command in [
        "ls",
        "tools",
        "resources",
        "prompts",
        "call",
        "batch",
        "read",
        "prompt",
        "watch",
        "doctor",
        "verify",
        "record",
    ] {
        let help = help(&[command, "--help"]);
        assert!(help.contains("[-- <COMMAND>...]"), "{help}");
        let offers_record = !["verify", "record"].contains(&command);
        assert_eq!(help.contains("--record <FILE>"), offers_record, "{help}");
    }
    for words in [
        &["ls"][..],
        &["tools"],
        &["resources"],
        &["prompts"],
        &["call"],
        &["batch"],
        &["read"],
        &["prompt"],
        &["watch"],
        &["logs"],
        &["doctor"],
        &["verify"],
        &["record"],
        &["trust"],
        &["completions"],
        &["man"],
        &["help"],
        &["config", "add"],
        &["config", "remove"],
        &["config", "init"],
        &["config", "path"],
        &["config", "check"],
        &["config", "reference"],
        &["config", "discover"],
        &["config", "import"],
        &["config", "export"],
    ] {
        let help = help(&[words, &["--help"]].concat());
        let example = format!("attache {}", words.join(" "));
        let examples = help.split("Example:\n").nth(1).unwrap_or_default();
        assert!(examples.contains(&example), "{help}");
        assert!(
            help.lines().all(|line| line.chars().count() <= 100),
            "{help}"
        );
    }
}

#[test]
fn options_that_mean_nothing_to_a_verb_are_neither_offered_nor_taken() {
    for (words, options) in [
        (&["call", "echo"][..], &["--partial"][..]),
        (&["doctor"], &["--partial"]),
        (&["logs"], &["--timeout", "--era", "--partial"]),
        (&["trust"], &["--timeout", "--env", "--cwd"]),
        (&["auth", "status"], &["--start-timeout", "--dialect"]),
        (&["config", "path"], &["--server", "--protocol"]),
        (&["completions", "bash"], &["--config", "--server"]),
        (&["man"], &["--config", "--log-level"]),
    ] {
        let help = help(&[words, &["--help"]].concat());
        for option in options {
            assert!(!help.contains(option), "{option} in {help}");
            let outcome = run(&[words, &[*option]].concat()).expect(2);
            let expected = format!("{option} means nothing to `attache {}", words[0]);
            assert!(outcome.stderr.contains(&expected), "{outcome:?}");
        }
    }
}

#[test]
fn the_version_is_one_line() {
    let version = help(&["--version"]);
    assert_eq!(version, format!("attache {}\n", env!("CARGO_PKG_VERSION")));
}
