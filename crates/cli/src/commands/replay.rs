//! `attache replay`: ask a server what was recorded, and compare its answers.
//!
//! Calls go by the policy: what it forbids is not sent, what it says to ask about is asked, and
//! without a user to ask it is left out.

use std::path::PathBuf;

use attache::host::Error as HostError;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::protocol::{CallTool, ErrorObject, Json, Method as _};
use attache_record::{Difference, Exchange, Normaliser, Signature, answer_differences};
use attache_view::Value;
use serde::Serialize;

use super::diff::{DifferenceDocument, difference_documents, show_differences};
use super::{Context, Known, Typed, Verb, mock};
use crate::args::ServerArgs;
use crate::command_host::CommandHost;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Style, Text, json};
use crate::recording;

/// Ask a server again what was recorded, and compare its answers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every tool call, read, prompt, completion and list of the recording is sent again, one after the
other, and for each is told whether its answer is the same, differs, or why it was left out. What
opens or tunes a session is not sent, nor are later pages and rounds. Calls go by the policy; those
it says to ask about are asked, or left out where there is nobody to ask. Times, UUIDs and absolute
paths in results do not count, nor does what --ignore names. The exit code is 5 if an answer differs.

Example:
  attache replay s.mcprec --to notes
  attache replay s.mcprec --yes -- uvx mcp-server-time")]
pub(crate) struct Replay {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The server to ask: its name or its URL
    #[arg(long, value_name = "SERVER")]
    to: Option<String>,
    /// Only what is about this tool, prompt or resource; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Do not compare this place of results: a JSON pointer, where * is any part; may be repeated
    #[arg(long, value_name = "POINTER")]
    ignore: Vec<String>,
    /// Call without asking where the policy says to ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    servers: ServerArgs,
}

/// What became of one request.
enum Verdict {
    Same,
    Differs(Vec<Difference>),
    /// It was not sent.
    LeftOut(String),
}

impl Verb for Replay {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let conversation = recording::conversation(&self.file)?;
        let normaliser = Normaliser::ignoring(&self.ignore);
        let (_, selection) = self.servers.named(self.to)?.selection()?;
        let session = context.open(selection.approved(self.yes)).await?;
        let Some(server) = session.only_server() else {
            return Err(Failure::usage("a recording is of one server")
                .hint("name it with --to, or give its command after `--`"));
        };
        session.run(session.host()?.ready(server.as_str())).await?;
        let is_wanted = |it: &&Exchange| {
            let names = self.only.iter().map(String::as_str);
            is_repeatable(it)
                && (self.only.is_empty() || names.into_iter().any(|name| it.about() == Some(name)))
        };
        let mut results = Vec::new();
        for exchange in conversation.exchanges.iter().filter(is_wanted) {
            let verdict = again(exchange, server.as_str(), session, &normaliser).await?;
            if output.format == Format::Human {
                output.text(&show(exchange, &verdict))?;
            }
            results.push((exchange, verdict));
        }
        let others = conversation.exchanges.iter();
        let others = others.filter(|it| !is_repeatable(it)).count();
        match output.format {
            Format::Json => output.document(&json::write(&document(&results, others)))?,
            Format::Human if results.is_empty() => {}
            Format::Human => output.text(&summary(&results, others))?,
        }
        conclude(&results)
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// Whether a request can be sent by itself: not those that open or tune a session, nor later rounds
/// and pages, which need what came before them.
fn is_repeatable(exchange: &Exchange) -> bool {
    let is_first = Signature::of(exchange.era, &exchange.method, &exchange.params)
        .round
        .is_first();
    let is_asked = matches!(
        exchange.method.as_str(),
        "tools/call"
            | "tools/list"
            | "resources/read"
            | "resources/list"
            | "resources/templates/list"
            | "prompts/get"
            | "prompts/list"
            | "completion/complete"
    );
    is_asked && is_first && exchange.params.get("cursor").is_none() && exchange.answer.is_some()
}

async fn again(
    exchange: &Exchange,
    server: &str,
    session: &CommandHost,
    normaliser: &Normaliser,
) -> Result<Verdict, Failure> {
    if exchange.is_redacted {
        let reason = "something in it stands in for a secret";
        return Ok(Verdict::LeftOut(reason.to_owned()));
    }
    if exchange.ending() == "input required" {
        let reason = "the server asked something before it answered";
        return Ok(Verdict::LeftOut(reason.to_owned()));
    }
    let answer: Result<Json, ErrorObject> = if exchange.method == CallTool::NAME {
        let name = ToolName::new(
            attache::host::config::ServerName::from_any(server),
            exchange.about().unwrap_or_default(),
        );
        let arguments = exchange.params.get("arguments").map_or_else(
            || Value::Object(Default::default()).to_json(),
            Value::to_json,
        );
        let call = session
            .host()?
            .call(name, arguments)
            .origin(CallOrigin::Program)
            .raw();
        let interrupted = async {
            session.interrupted().await;
        };
        tokio::select! {
            biased;
            answer = call => match answer {
                Err(HostError::Refused { by, .. }) => {
                    return Ok(Verdict::LeftOut(by.to_string()));
                }
                Ok(payload) => payload.to_json().map_err(|error| {
                    ErrorObject::new(attache::protocol::codes::INTERNAL_ERROR, error.to_string())
                }),
                Err(error) => Err(mock::error_object(&error)),
            },
            () = interrupted => return Err(crate::failure::cancelled()),
        }
    } else {
        let asked = mock::ask(
            session.host()?,
            server,
            &exchange.method,
            Some(exchange.params.to_json()),
        );
        tokio::select! {
            biased;
            answer = asked => answer,
            () = session.interrupted() => return Err(crate::failure::cancelled()),
        }
    };
    let found = answer_differences(exchange, &answer, normaliser);
    Ok(match found.is_empty() {
        true => Verdict::Same,
        false => Verdict::Differs(found),
    })
}

fn show(exchange: &Exchange, verdict: &Verdict) -> Text {
    let mut text = Text::new();
    let (style, word) = match verdict {
        Verdict::Same => (Style::Good, "same      "),
        Verdict::Differs(_) => (Style::Bad, "differs   "),
        Verdict::LeftOut(_) => (Style::Warning, "left out  "),
    };
    text.add(style, word).plain(&exchange.what());
    if let Verdict::LeftOut(reason) = verdict {
        text.faint(&format!(": {reason}"));
    }
    text.end_line();
    if let Verdict::Differs(differences) = verdict {
        show_differences(&mut text, differences);
    }
    text
}

fn summary(results: &[(&Exchange, Verdict)], others: usize) -> Text {
    let count = |is_it: fn(&Verdict) -> bool| results.iter().filter(|(_, it)| is_it(it)).count();
    let mut text = Text::new();
    text.end_line().plain(&format!(
        "{} the same, {} different, {} left out",
        count(|it| matches!(it, Verdict::Same)),
        count(|it| matches!(it, Verdict::Differs(_))),
        count(|it| matches!(it, Verdict::LeftOut(_))),
    ));
    if others > 0 {
        text.faint(&format!("; {others} more are not sent by themselves"));
    }
    text.end_line();
    text
}

#[derive(Serialize)]
struct Document {
    requests: Vec<RequestDocument>,
    /// Requests that are not sent by themselves, like those that open a session.
    not_sent: usize,
}

#[derive(Serialize)]
struct RequestDocument {
    seq: u64,
    what: String,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    differences: Vec<DifferenceDocument>,
}

fn document(results: &[(&Exchange, Verdict)], not_sent: usize) -> Document {
    let requests = results.iter().map(|(exchange, verdict)| {
        let (word, reason, differences) = match verdict {
            Verdict::Same => ("same", None, Vec::new()),
            Verdict::Differs(found) => ("differs", None, difference_documents(found)),
            Verdict::LeftOut(reason) => ("left_out", Some(reason.clone()), Vec::new()),
        };
        RequestDocument {
            seq: exchange.seq,
            what: exchange.what(),
            verdict: word,
            reason,
            differences,
        }
    });
    Document {
        requests: requests.collect(),
        not_sent,
    }
}

fn conclude(results: &[(&Exchange, Verdict)]) -> Result<(), Failure> {
    if results.is_empty() {
        return Err(Failure::usage("there is nothing to ask again")
            .hint("`attache show` lists what the recording holds"));
    }
    let differs = |(_, verdict): &&(&Exchange, Verdict)| matches!(verdict, Verdict::Differs(_));
    match results.iter().filter(differs).count() {
        0 => Ok(()),
        count => Err(Failure {
            exit: Exit::Failed,
            ..Failure::failed(format!("{count} of {} answers differ", results.len()))
        }),
    }
}
