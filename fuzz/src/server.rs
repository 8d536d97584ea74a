//! The server kit: its whole dispatch with any lines, from bytes to answers.

use std::time::Duration;

use attache_protocol::{ElicitParams, Json};
use attache_server::{
    Context, EndReason, Failure, NoArguments, Prompt, Resource, Server, TaskSupport, Template, Tool,
};
use serde_json::json;
use serde_json::value::RawValue;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

/// Two bytes that no message holds stand for so many brackets: nesting for which no input of the
/// fuzzer is long enough.
const OPENING: u8 = 1;
const CLOSING: u8 = 2;
const LEVELS: usize = 60_000;

/// How many times that may happen in one input.
const MAX_EXPANSIONS: usize = 8;

/// Nothing more is to come after this, on a clock that stands still while there is something to do.
const SILENCE: Duration = Duration::from_millis(1);

/// More than all answers to one input hold.
const OUTPUT: usize = 1 << 26;

/// Any lines leave a server that answers the next one, and all it says is JSON.
pub fn server_dispatch(bytes: &[u8]) {
    let mut input = expanded(bytes);
    input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n");
    // Waiting takes no time: the clock stands still while there is anything to do.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime without I/O");
    let (reason, output) = runtime.block_on(async {
        let (write, mut read) = tokio::io::duplex(OUTPUT);
        let reason = server().serve(std::io::Cursor::new(input), write).await;
        // A task that goes on keeps the stream open, so its end need not come.
        let mut output = Vec::new();
        while let Ok(Ok(1..)) = timeout(SILENCE, read.read_buf(&mut output)).await {}
        let output = String::from_utf8(output).expect("a server writes UTF-8");
        (reason, output)
    });
    for line in output.lines() {
        let read = serde_json::from_str::<&RawValue>(line);
        assert!(read.is_ok(), "not JSON: {line}");
    }
    if reason == EndReason::EndOfInput {
        assert!(output.contains("\"id\":\"last\""), "no answer: {output}");
    }
}

fn expanded(bytes: &[u8]) -> Vec<u8> {
    let mut input = Vec::with_capacity(bytes.len());
    let mut left = MAX_EXPANSIONS;
    for &byte in bytes {
        let bracket = match byte {
            OPENING => b'[',
            CLOSING => b']',
            _ => {
                input.push(byte);
                continue;
            }
        };
        if left > 0 {
            left -= 1;
            input.resize(input.len() + LEVELS, bracket);
        }
    }
    input
}

/// A server with one of everything.
fn server() -> Server {
    let question = || ElicitParams {
        message: "?".to_owned(),
        ..ElicitParams::default()
    };
    let echo = Tool::raw(
        "echo",
        "Echoes.",
        Json::from(json!({"type": "object"})),
        |_, it: Json| async move { Ok::<_, Failure>(it.to_string()) },
    );
    let ask = Tool::new(
        "ask",
        "Asks.",
        move |context: Context, _: NoArguments| async move {
            context.progress(1.0, None);
            let answer = context.elicit(question()).await?;
            Ok(format!("{:?}", answer.action))
        },
    );
    let one = Resource::new("a://one", "one", move |context: Context, it| async move {
        context.elicit(question()).await?;
        Ok(it.text("text/plain", "one"))
    });
    let any = Template::new("b://{name}", "any", |_, it| async move {
        let name = it.variable("name").to_owned();
        Ok(it.text("text/plain", name))
    });
    let greet = Prompt::new("greet", "Greets.", |_, _| async { Ok("Hello.".to_owned()) });
    Server::builder("fuzzed", "1")
        .tool(echo)
        .tool(ask.tasks(TaskSupport::Optional))
        .resource(one)
        .template(any)
        .prompt(greet.required("name", "Whom."))
        .logging()
        .list_changes()
        .subscriptions()
        .build()
        .expect("the server is sound")
}
