//! What real programs write, and the line that says it.

use super::*;

#[track_caller]
fn check(stderr: &str, expected: &str) {
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(telling_line(&lines).as_deref(), Some(expected), "{stderr}");
}

#[test]
fn fault_37_node_says_it_before_its_stack_and_its_version() {
    check(
        "node:internal/modules/cjs/loader:1210
  throw err;
  ^

Error: Cannot find module '/srv/missing.js'
    at Module._resolveFilename (node:internal/modules/cjs/loader:1207:15)
    at node:internal/main/run_main_module:28:49 {
  code: 'MODULE_NOT_FOUND',
  requireStack: []
}

Node.js v22.23.3",
        "Error: Cannot find module '/srv/missing.js'",
    );
    check(
        "/srv/a.js:1
throw new Error(\"DATABASE_URL is not set\");
^

Error: DATABASE_URL is not set
    at Object.<anonymous> (/srv/a.js:1:7)
    at node:internal/main/run_main_module:28:49

Node.js v20.20.2",
        "Error: DATABASE_URL is not set",
    );
    check(
        "node:events:502
      throw er; // Unhandled 'error' event
      ^

Error: listen EADDRINUSE: address already in use :::3000
    at Server.setupListenHandle [as _listen2] (node:net:1886:21)
Emitted 'error' event on Server instance at:
    at emitErrorNT (node:net:1944:8) {
  code: 'EADDRINUSE',
  port: 3000
}

Node.js v20.20.2",
        "Error: listen EADDRINUSE: address already in use :::3000",
    );
    check(
        "npm warn exec The following package was not found and will be installed: notes
npm error code ECONNREFUSED
npm error syscall connect
npm error errno ECONNREFUSED
npm error FetchError: request to http://127.0.0.1:9/notes failed, reason: connect ECONNREFUSED
npm error     at ClientRequest.<anonymous> (/usr/lib/node_modules/npm/index.js:130:14)
npm error A complete log of this run can be found in: /root/.npm/_logs/x.log",
        "npm error FetchError: request to http://127.0.0.1:9/notes failed, \
         reason: connect ECONNREFUSED",
    );
    check(
        "(node:77) ExperimentalWarning: SQLite is an experimental feature
(Use `node --trace-warnings ...` to show where the warning was created)
Missing required environment variable: NOTES_TOKEN",
        "Missing required environment variable: NOTES_TOKEN",
    );
}

#[test]
fn fault_37_python_says_it_at_the_end_of_its_last_traceback() {
    check(
        "Traceback (most recent call last):
  File \"<string>\", line 1, in <module>
ModuleNotFoundError: No module named 'notes'",
        "ModuleNotFoundError: No module named 'notes'",
    );
    check(
        "Traceback (most recent call last):
  File \"/srv/ch.py\", line 2, in <module>
    {}[\"API_KEY\"]
    ~~^^^^^^^^^^^
KeyError: 'API_KEY'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File \"/srv/ch.py\", line 4, in <module>
    raise SystemError(\"API_KEY is not set\") from e
SystemError: API_KEY is not set",
        "SystemError: API_KEY is not set",
    );
    check(
        "  + Exception Group Traceback (most recent call last):
  |   File \"/srv/g.py\", line 5, in <module>
  |     asyncio.run(main())
  |     raise me from None
  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File \"/srv/g.py\", line 2, in bad
    |     async def bad(): raise ConnectionError(\"the database is gone\")
    |                      ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
    | ConnectionError: the database is gone
    +------------------------------------",
        "ConnectionError: the database is gone",
    );
    check(
        "Traceback (most recent call last):
  File \"/srv/s.py\", line 9, in <module>
    settings = Settings()
pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings
api_key
  Field required [type=missing, input_value={}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.11/v/missing",
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for Settings",
    );
    check(
        "  File \"/srv/se.py\", line 1
    def x(
         ^
SyntaxError: '(' was never closed",
        "SyntaxError: '(' was never closed",
    );
    check(
        "usage: notes [-h] --db DB\nnotes: error: the following arguments are required: --db",
        "notes: error: the following arguments are required: --db",
    );
    check(
        "/usr/bin/python3: No module named mcp_server_notes",
        "/usr/bin/python3: No module named mcp_server_notes",
    );
}

#[test]
fn fault_37_boxes_are_taken_off() {
    check(
        "Usage: mcp dev [OPTIONS] FILE_SPEC
Try 'mcp dev --help' for help.
╭─ Error ──────────────────────────────╮
│ Missing argument 'FILE_SPEC'.        │
╰──────────────────────────────────────╯",
        "Missing argument 'FILE_SPEC'.",
    );
    check(
        "  × No solution found when resolving tool dependencies:
  ╰─▶ Because notes was not found in the package registry, it cannot be installed.",
        "No solution found when resolving tool dependencies: Because notes was not found in the \
         package registry, it cannot be installed.",
    );
    check(
        "\u{1b}[31merror\u{1b}[0m: no bin target named `notes`\n+------+\n",
        "error: no bin target named `notes`",
    );
}

#[test]
fn fault_37_go_rust_java_and_dotnet_say_it_first() {
    check(
        "2026/07/01 10:00:00 ERROR cannot fetch the index, trying again
panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47e3b4]

goroutine 1 [running]:
main.main()
\t/srv/main.go:8 +0x18
exit status 2",
        "panic: runtime error: invalid memory address or nil pointer dereference",
    );
    check(
        "flag provided but not defined: -stdin
Usage of notes:
  -db string
    \tthe database",
        "flag provided but not defined: -stdin",
    );
    check(
        "2026/07/01 10:00:00 open notes.yaml: no such file or directory\nexit status 1",
        "2026/07/01 10:00:00 open notes.yaml: no such file or directory",
    );
    check(
        "
thread 'main' (10479) panicked at src/main.rs:1:38:
called `Option::unwrap()` on a `None` value
note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace",
        "thread 'main' (10479) panicked at src/main.rs:1:38: called `Option::unwrap()` on a \
         `None` value",
    );
    check(
        "Error: cannot read the configuration

Caused by:
    No such file or directory (os error 2)",
        "Error: cannot read the configuration",
    );
    check(
        "error: the following required arguments were not provided:
  --db <DB>

Usage: notes --db <DB>

For more information, try '--help'.",
        "error: the following required arguments were not provided: --db <DB>",
    );
    check(
        "Unhandled exception. System.IO.FileNotFoundException: Could not find '/srv/notes.json'.
File name: '/srv/notes.json'
   at System.IO.Strategies.FileStreamHelpers.ChooseStrategy(FileStream fileStream)
   at Program.<Main>$(String[] args) in /srv/Program.cs:line 3",
        "Unhandled exception. System.IO.FileNotFoundException: Could not find '/srv/notes.json'.",
    );
    check(
        "info: Microsoft.Hosting.Lifetime[14]
      Now listening on: http://localhost:5000
fail: Microsoft.Extensions.Hosting.Internal.Host[11]
      Hosting failed to start
      System.IO.IOException: Failed to bind to address http://127.0.0.1:5000
         at Microsoft.AspNetCore.Server.Kestrel.Core.Internal.AddressBinder.BindAsync()",
        "System.IO.IOException: Failed to bind to address http://127.0.0.1:5000",
    );
    check(
        "Exception in thread \"main\" java.lang.IllegalStateException: no database
\tat Main.main(Main.java:3)",
        "Exception in thread \"main\" java.lang.IllegalStateException: no database",
    );
    check(
        "Unable to find image 'notes:latest' locally
docker: Error response from daemon: pull access denied for notes

See 'docker run --help'.",
        "docker: Error response from daemon: pull access denied for notes",
    );
}

#[test]
fn without_an_error_the_last_words_count() {
    check(
        "loading\nInfo: no errors so far\nlistening on port 3000\n",
        "listening on port 3000",
    );
    let none: [&str; 0] = [];
    assert_eq!(telling_line(&none), None);
    assert_eq!(telling_line(&["", "  ", "-----", "Node.js v22.23.3"]), None);
    assert_eq!(complaint(&["listening on port 3000"]), None);
    assert_eq!(
        complaint(&["x: not found"]).as_deref(),
        Some("x: not found")
    );
}

#[test]
fn an_old_complaint_is_not_taken_for_the_cause() {
    let mut lines = vec!["Error: long ago".to_owned()];
    lines.extend((0..LINES_LOOKED_AT).map(|number| format!("request {number}")));
    assert_eq!(telling_line(&lines).as_deref(), Some("request 63"));
}

#[test]
fn a_long_line_is_cut_where_characters_end() {
    let long = format!("Error: {}", "ä".repeat(2 * LONGEST_QUOTE));
    let told = telling_line(&[long]).unwrap();
    assert_eq!(told.chars().count(), LONGEST_QUOTE + 1);
    assert!(told.ends_with('…'));
}
