//! A small server to try things out, so that the first command a newcomer types does something
//! real: three tools, two resources, one prompt.
//!
//! Owns what they do and say; knows nothing of how it is started.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use attache_server::protocol::{CallToolResult, Content, Json};
use attache_server::{
    BuildError, Context, Failure, Prompt, PromptArguments, Resource, Server, ServerBuilder, Tool,
};
use serde::Deserialize;
use serde_json::{Number, Value, json};
use tokio::time::sleep;

/// What the server calls itself.
pub const NAME: &str = "attache-demo";

const ABOUT: &str =
    "A small server to try things out: echo, add, count, two resources and a prompt.";
/// How often the clock changes.
const CLOCK_TICK: Duration = Duration::from_secs(1);
/// How far the tool `count` counts at most.
const MOST_COUNTED: u32 = 1000;
/// How long it pauses before each number, unless it is told, and at most.
const PAUSE_MS: u64 = 100;
const LONGEST_PAUSE_MS: u64 = 10_000;

/// The server.
///
/// # Errors
/// [`BuildError`] when the system gives no random bytes.
pub fn server() -> Result<Server, BuildError> {
    builder().build()
}

/// The same server before it is built, for those who restrict what it speaks.
pub fn builder() -> ServerBuilder {
    Server::builder(NAME, env!("CARGO_PKG_VERSION"))
        .instructions(ABOUT)
        .subscriptions()
        .tool(echo())
        .tool(add())
        .tool(count())
        .resource(welcome())
        .resource(clock())
        .prompt(introduce())
}

#[derive(Deserialize)]
struct Echo {
    message: String,
}

fn echo() -> Tool {
    let schema = arguments(json!({"message": {"type": "string"}}), &["message"]);
    Tool::raw(
        "echo",
        "Says the message back.",
        schema,
        |_, it| async move {
            let Echo { message } = it.decode()?;
            Ok(message)
        },
    )
}

#[derive(Deserialize)]
struct Sum {
    a: Number,
    b: Number,
}

fn add() -> Tool {
    let number = || json!({"type": "number"});
    let schema = arguments(json!({"a": number(), "b": number()}), &["a", "b"]);
    Tool::raw("add", "Adds two numbers.", schema, |_, it| async move {
        let sum = it.decode::<Sum>()?.value()?;
        Ok(CallToolResult {
            content: vec![Content::text(sum.to_string())],
            structured_content: Some(Json::from(json!({"sum": sum}))),
            ..CallToolResult::default()
        })
    })
}

impl Sum {
    /// Exact for whole numbers that are not too large.
    fn value(&self) -> Result<Number, Failure> {
        let whole = self.a.as_i64().zip(self.b.as_i64());
        if let Some(sum) = whole.and_then(|(a, b)| a.checked_add(b)) {
            return Ok(sum.into());
        }
        let sum = self.a.as_f64().zip(self.b.as_f64()).map(|(a, b)| a + b);
        let sum = sum.and_then(Number::from_f64);
        sum.ok_or_else(|| Failure::new("the sum is too large to be written; add smaller numbers"))
    }
}

#[derive(Deserialize)]
struct Count {
    to: u32,
    delay_ms: Option<u64>,
}

fn count() -> Tool {
    let schema = arguments(
        json!({
            "to": {"type": "integer", "minimum": 1, "maximum": MOST_COUNTED},
            "delay_ms": {
                "type": "integer",
                "minimum": 0,
                "maximum": LONGEST_PAUSE_MS,
                "default": PAUSE_MS,
            },
        }),
        &["to"],
    );
    let description = "Counts slowly, with progress; it can be cancelled.";
    Tool::raw(
        "count",
        description,
        schema,
        |context: Context, it| async move {
            let Count { to, delay_ms } = it.decode()?;
            let pause = Duration::from_millis(delay_ms.unwrap_or(PAUSE_MS));
            for number in 1..=to {
                if !pause.is_zero() {
                    sleep(pause).await;
                }
                let message = format!("counted to {number}");
                context.progress_with(number.into(), Some(to.into()), &message);
            }
            Ok(format!("counted to {to}"))
        },
    )
}

fn arguments(properties: Value, required: &[&str]) -> Json {
    Json::from(json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    }))
}

fn welcome() -> Resource {
    let read = |_, it: attache_server::Reading| async move { Ok(it.text("text/plain", ABOUT)) };
    Resource::new("demo://welcome", "welcome", read)
        .describe(|it| described(it, "What this server is."))
}

fn clock() -> Resource {
    let read = |_, it: attache_server::Reading| async move {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let seconds = now.unwrap_or_default().as_secs();
        Ok(it.text("text/plain", seconds.to_string()))
    };
    Resource::new("demo://clock", "clock", read)
        .changes_every(CLOCK_TICK)
        .describe(|it| described(it, "Seconds since 1970; changes every second."))
}

fn described(resource: &mut attache_server::protocol::Resource, description: &str) {
    resource.description = Some(description.to_owned());
    resource.mime_type = Some("text/plain".to_owned());
}

fn introduce() -> Prompt {
    let description = "Asks for an introduction of somebody.";
    Prompt::new(
        "introduce",
        description,
        |_, it: PromptArguments| async move {
            let name = it.get("name").map_or("", String::as_str);
            let style = it.get("style").map_or("in one sentence", String::as_str);
            Ok(format!("Introduce {name} {style}."))
        },
    )
    .required("name", "Who is introduced.")
    .optional("style", "How, for example briefly.")
}
