//! The MCP server: one tool over the evaluator.
//!
//! Owns names, schemas and words; knows nothing of processes.

use attache_lisp::ErrorKind;
use attache_server::protocol::{CallToolResult, Content, Json, ToolAnnotations};
use attache_server::{BuildError, Context, Failure, Server, ServerBuilder, Tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::evaluator::Evaluator;
use super::limits::{Limits, LowerLimits};
use super::request::{Answer, Evaluated, Failed, MAX_SESSION_NAME, Request, SessionState};

/// The tool's name.
pub const TOOL: &str = "evaluate-lisp";

const DESCRIPTION: &str = "\
Evaluates a Scheme program (R7RS-small) and answers its last value and what it wrote. Exact \
integers without bound, rationals, floats, strings, lists, vectors, records, hygienic macros, \
continuations and exceptions; no files, clock, processes or network. Every resource is limited; \
an error says its kind and place. Name a session to keep definitions for later calls.";

const INSTRUCTIONS: &str = "\
Compute with evaluate-lisp: exact arithmetic, text and list work, small simulations. A call \
without a session starts from nothing. Calls that name the same session share definitions; when \
an answer says that the session is new or lost, define again what you need. A session outlives \
connections and belongs to everybody with the same credentials, so choose a name that others \
would not.";

#[derive(Debug, Deserialize)]
struct Arguments {
    code: String,
    session: Option<String>,
    #[serde(default)]
    limits: LowerLimits,
}

/// The server that evaluates Lisp.
///
/// # Errors
/// [`BuildError`] when the system gives no random bytes.
pub fn server(evaluator: Evaluator) -> Result<Server, BuildError> {
    builder(evaluator).build()
}

/// The same server before it is built, for those who restrict what it speaks.
pub fn builder(evaluator: Evaluator) -> ServerBuilder {
    Server::builder("attache-lisp", env!("CARGO_PKG_VERSION"))
        .describe(|identity| identity.title = Some("Attaché Lisp".to_owned()))
        .instructions(INSTRUCTIONS)
        // Each evaluation ends by its own limit, so all that were accepted can be answered.
        .limits(|it| it.end_grace = evaluator.longest(it.max_running + it.max_waiting))
        .tool(tool(evaluator))
}

/// The tool by itself, for a server with more of them.
#[must_use]
pub fn tool(evaluator: Evaluator) -> Tool {
    let schema = Json::from(input_schema(evaluator.limits()));
    Tool::raw(TOOL, DESCRIPTION, schema, move |context: Context, raw| {
        let evaluator = evaluator.clone();
        async move {
            let arguments: Arguments = raw.decode()?;
            evaluate(&evaluator, &context, arguments).await
        }
    })
    .title("Evaluate Lisp")
    .output_schema(Json::from(output_schema()))
    .annotations(ToolAnnotations {
        // Definitions of a session are the only thing that changes.
        read_only: Some(false),
        destructive: Some(false),
        idempotent: Some(false),
        open_world: Some(false),
        ..ToolAnnotations::default()
    })
}

async fn evaluate(
    evaluator: &Evaluator,
    context: &Context,
    arguments: Arguments,
) -> Result<CallToolResult, Failure> {
    let session = arguments.session.clone();
    let request = Request {
        code: arguments.code,
        session: arguments.session,
        owner: context.principal().as_str().to_owned(),
        limits: arguments.limits,
    };
    let answer = evaluator
        .evaluate(request, |progress| {
            context.progress_with(
                as_float(progress.steps),
                Some(as_float(progress.limit)),
                "steps",
            );
        })
        .await?;
    Ok(result(answer, session.as_deref()))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "progress is for people; beyond 2^53 steps the last digits do not matter"
)]
fn as_float(number: u64) -> f64 {
    number as f64
}

/// What the caller sees.
fn result(answer: Answer, session: Option<&str>) -> CallToolResult {
    let mut structured = Map::new();
    let text = match &answer.result {
        Ok(evaluated) => success(evaluated, &mut structured),
        Err(failed) => failure(failed, &mut structured),
    };
    if let (Some(name), Some(state)) = (session, answer.session) {
        let state = json!({"name": name, "state": state.name()});
        structured.insert("session".to_owned(), state);
    }
    CallToolResult {
        content: vec![Content::text(text)],
        structured_content: Some(Json::from(Value::Object(structured))),
        is_error: answer.result.is_err(),
        ..CallToolResult::default()
    }
}

/// What was written, then the value, as a terminal would show them.
fn success(evaluated: &Evaluated, structured: &mut Map<String, Value>) -> String {
    let Evaluated {
        value,
        output,
        steps,
        heap_peak,
    } = evaluated;
    structured.insert("value".to_owned(), json!(value));
    structured.insert("output".to_owned(), json!(output));
    structured.insert("steps".to_owned(), json!(steps));
    structured.insert("heapPeak".to_owned(), json!(heap_peak));
    joined(output, value)
}

fn failure(failed: &Failed, structured: &mut Map<String, Value>) -> String {
    let Failed {
        kind,
        message,
        position,
        output,
    } = failed;
    let mut error = json!({"kind": kind.name(), "message": message});
    let mut words = format!("{kind} error");
    if let Some(position) = position {
        error["position"] = json!({"line": position.line, "column": position.column});
        words.push_str(&format!(" at {position}"));
    }
    words.push_str(": ");
    words.push_str(message);
    structured.insert("error".to_owned(), error);
    structured.insert("output".to_owned(), json!(output));
    joined(output, &words)
}

fn joined(output: &str, last: &str) -> String {
    let separator = if output.is_empty() || last.is_empty() || output.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{output}{separator}{last}")
}

fn input_schema(limits: &Limits) -> Value {
    let limit = |description: &str, most: u64| {
        json!({
            "type": "integer",
            "minimum": 0,
            "maximum": most,
            "description": format!("{description}; {most} unless lowered"),
        })
    };
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "code": {
                "type": "string",
                "description": "The program: any number of forms. The last value is the answer.",
            },
            "session": {
                "type": "string",
                "minLength": 1,
                "maxLength": MAX_SESSION_NAME,
                "description": "Keeps definitions under this name for later calls.",
            },
            "limits": {
                "type": "object",
                "description": "Lower limits than the server's own.",
                "properties": {
                    "steps": limit("Calls, loop turns and units of work", limits.steps),
                    "heap": limit("Bytes of data and code", limits.heap),
                    "depth": limit("Pending calls", limits.depth),
                    "integerBits": limit("Bits of an exact integer", limits.integer_bits),
                    "source": limit("Bytes of the program", limits.source),
                    "output": limit("Bytes written, and bytes of the value", limits.output),
                    "wallMs": limit("Milliseconds", limits.wall_ms),
                },
                "additionalProperties": false,
            },
        },
        "required": ["code"],
        "additionalProperties": false,
    })
}

fn output_schema() -> Value {
    let kinds: Vec<&str> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    let states = [
        SessionState::New,
        SessionState::Continued,
        SessionState::Lost,
    ]
    .map(SessionState::name);
    let count =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "description": "Either a value and its cost, or an error.",
        "properties": {
            "value": {
                "type": "string",
                "description": "The last value as `write` shows it; empty if there is none.",
            },
            "output": {"type": "string", "description": "What the program wrote."},
            "steps": count("Steps used."),
            "heapPeak": count("The most bytes of heap in use."),
            "error": {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": kinds},
                    "message": {"type": "string"},
                    "position": {
                        "type": "object",
                        "properties": {
                            "line": {"type": "integer", "minimum": 1},
                            "column": {"type": "integer", "minimum": 1},
                        },
                        "required": ["line", "column"],
                        "additionalProperties": false,
                    },
                },
                "required": ["kind", "message"],
                "additionalProperties": false,
            },
            "session": {
                "type": "object",
                "description": "The session after this call; lost means that its definitions are gone.",
                "properties": {
                    "name": {"type": "string"},
                    "state": {"type": "string", "enum": states},
                },
                "required": ["name", "state"],
                "additionalProperties": false,
            },
        },
        "required": ["output"],
        "oneOf": [{"required": ["value", "steps", "heapPeak"]}, {"required": ["error"]}],
        "additionalProperties": false,
    })
}
