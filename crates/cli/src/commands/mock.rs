//! `attache mock`: a recording in place of its server.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache::EraChoice;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::host::{Error as HostError, Host};
use attache::protocol::{CallTool, Era, ErrorObject, Json, Method as _, Payload, codes};
use attache::server::http::{self, HttpSettings};
use attache::server::{Limits, serve_stdio};
use attache_record::Conversation;
use attache_record::mock::{Asked, Mock as Service, OnMiss, Pace, Settings, Upstream};
use clap::ValueEnum;
use tokio::net::TcpListener;

use super::{Context, Known, Typed, Verb};
use crate::args::{ConfigArgs, ServerOption};
use crate::failure::{Exit, Failure};
use crate::interrupt::Interrupts;
use crate::output::Output;
use crate::overrides::{Overrides, era_parser};
use crate::recording;
use crate::selection::ServerSelection;
use crate::target::Target;

/// How long open requests may go on after a signal.
const END_GRACE: Duration = Duration::from_secs(2);

/// Answer clients from a recording, in place of its server
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A request gets the answer of the recorded one with the same method and params; what differs from
client to client, such as progress tokens, does not count. Requests that were recorded several
times are answered in that order, then with the last answer. Each request without an answer is told
on stderr, and makes the exit code 5.

Example:
  attache mock s.mcprec
  attache mock s.mcprec --http 127.0.0.1:8080 --on-miss nearest
  attache mock s.mcprec --on-miss ask-upstream -- uvx mcp-server-time")]
pub(crate) struct Mock {
    /// The recording
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Serve HTTP at this address instead of stdin and stdout
    #[arg(long, value_name = "ADDR")]
    http: Option<SocketAddr>,
    /// Answer in this era only; auto answers in all that were recorded
    #[arg(
        long,
        value_name = "auto|modern|legacy",
        value_parser = era_parser(),
        hide_possible_values = true
    )]
    era: Option<EraChoice>,
    /// What a request gets that was not recorded: an error, the answer to the nearest one, or that
    /// of the real server, which --server or a command names
    #[arg(
        long,
        value_enum,
        value_name = "error|nearest|ask-upstream",
        default_value = "error",
        hide_possible_values = true,
        hide_default_value = true
    )]
    on_miss: Missing,
    /// When answers come: at once, or as long after the request as they were recorded
    #[arg(
        long,
        value_enum,
        value_name = "instant|as-recorded",
        default_value = "instant",
        hide_possible_values = true,
        hide_default_value = true
    )]
    timing: Timing,
    /// Answer also with what stands in for secrets
    #[arg(long)]
    allow_redacted: bool,
    /// Have the real server called without asking where the policy says to ask
    #[arg(short, long)]
    yes: bool,
    #[command(flatten)]
    option: ServerOption,
    #[command(flatten)]
    config: ConfigArgs,
    /// The command of the real server and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Missing {
    Error,
    Nearest,
    AskUpstream,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Timing {
    Instant,
    AsRecorded,
}

impl Mock {
    pub(crate) fn is_over_http(&self) -> bool {
        self.http.is_some()
    }
}

impl Verb for Mock {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let recording = recording::read(&self.file)?;
        if recording::is_redacted(&recording) && !self.allow_redacted {
            let message = "something in the recording stands in for secrets, so its answers are not \
                           the server's";
            return Err(
                Failure::usage(message).hint("--allow-redacted answers with them all the same")
            );
        }
        let era = match self.era {
            None | Some(EraChoice::Auto) => None,
            Some(EraChoice::Modern) => Some(Era::Modern),
            Some(EraChoice::Legacy) => Some(Era::Legacy),
        };
        let settings = Settings {
            pace: match self.timing {
                Timing::Instant => Pace::Instant,
                Timing::AsRecorded => Pace::AsRecorded,
            },
            era,
            on_miss: match self.on_miss {
                Missing::Error => OnMiss::Error,
                Missing::Nearest => OnMiss::Nearest,
                Missing::AskUpstream => OnMiss::Ask(self.upstream(context).await?),
            },
        };
        let told = output.clone();
        let mock = Service::new(
            Conversation::of(&recording),
            settings,
            Box::new(move |miss| told.note(&format!("{}: {}", miss.what, miss.reason))),
        );
        if mock.revisions().is_empty() {
            let message = "the recording holds no greeting and no modern request in that era";
            return Err(Failure::usage(message).hint("`attache show` lists what it holds"));
        }
        match self.http {
            Some(address) => over_http(&mock, address, output).await?,
            None => {
                let served = serve_stdio(mock.clone(), Limits::default()).await;
                served.map_err(|error| {
                    Failure::unexpected(format!("cannot serve stdin and stdout: {error}"))
                })?;
            }
        }
        match mock.missed() {
            0 => Ok(()),
            count => Err(Failure {
                exit: Exit::Failed,
                ..Failure::failed(match count {
                    1 => "1 request has no answer of its own in the recording".to_owned(),
                    count => {
                        format!("{count} requests have no answer of their own in the recording")
                    }
                })
            }),
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

impl Mock {
    /// The real server. What a recording says of its target never starts anything.
    async fn upstream(&self, context: &Context) -> Result<Arc<dyn Upstream>, Failure> {
        let target = Target::read(self.option.name(), self.command.clone())?;
        if target == Target::All {
            return Err(
                Failure::usage("--on-miss ask-upstream needs a server to ask")
                    .hint("name it with --server, or give its command after `--`"),
            );
        }
        let configuration = self.config.configuration()?;
        let selection = ServerSelection::of(&target, &configuration, &Overrides::default())?;
        let session = context.open(selection.approved(self.yes)).await?;
        let Some(server) = session.only_server() else {
            return Err(Failure::usage("several servers have that name"));
        };
        session.run(session.host()?.ready(server.as_str())).await?;
        Ok(Arc::new(Real {
            host: session.host()?.clone(),
            server: server.to_string(),
        }))
    }
}

/// The real server, behind the host with its policy.
struct Real {
    host: Host,
    server: String,
}

impl Upstream for Real {
    fn ask(&self, method: &str, params: Option<Json>) -> Asked {
        let (host, server, method) = (self.host.clone(), self.server.clone(), method.to_owned());
        Box::pin(async move { ask(&host, &server, &method, params).await })
    }
}

/// Sends a request to a server. Calls go by the policy.
pub(super) async fn ask(
    host: &Host,
    server: &str,
    method: &str,
    params: Option<Json>,
) -> Result<Json, ErrorObject> {
    let unreadable =
        |error: serde_json::Error| ErrorObject::new(codes::INVALID_PARAMS, error.to_string());
    let params = match params {
        Some(params) => params.to_value().map_err(unreadable)?,
        None => serde_json::json!({}),
    };
    let answer: Result<Payload, ErrorObject> = if method == CallTool::NAME {
        let tool = params["name"].as_str().unwrap_or_default();
        let name = ToolName::new(host_name(server), tool);
        let arguments = match &params["arguments"] {
            serde_json::Value::Null => serde_json::json!({}),
            arguments => arguments.clone(),
        };
        let call = host
            .call(name, arguments)
            .origin(CallOrigin::Program)
            .raw()
            .await;
        call.map_err(|error| error_object(&error))
    } else {
        let ready = host
            .ready(server)
            .await
            .map_err(|error| error_object(&error));
        match (ready, host.running(server)) {
            (Ok(()), Some(client)) => {
                let mut params = params;
                if let Some(members) = params.as_object_mut() {
                    // The connection writes metadata of its own.
                    members.remove("_meta");
                }
                let asked = client.request_raw(method, params).await;
                asked.map_err(|error| client_error_object(&error))
            }
            (Err(error), _) => Err(error),
            (Ok(()), None) => Err(ErrorObject::new(codes::INTERNAL_ERROR, "it has stopped")),
        }
    };
    answer?.to_json().map_err(unreadable)
}

fn host_name(server: &str) -> attache::host::config::ServerName {
    attache::host::config::ServerName::from_any(server)
}

/// An error of a server as it sent it; any other failure in words.
pub(super) fn error_object(error: &HostError) -> ErrorObject {
    match error {
        HostError::Request { error, .. } => client_error_object(error),
        other => ErrorObject::new(codes::INTERNAL_ERROR, other.to_string()),
    }
}

fn client_error_object(error: &attache::Error) -> ErrorObject {
    match error {
        attache::Error::Server(error) => ErrorObject {
            code: error.code,
            message: error.message.clone(),
            data: error.data.clone(),
        },
        other => ErrorObject::new(codes::INTERNAL_ERROR, other.to_string()),
    }
}

async fn over_http(mock: &Service, address: SocketAddr, output: &Output) -> Result<(), Failure> {
    // Nothing is encrypted, so only this machine may ask (S1).
    if !address.ip().is_loopback() {
        let message = format!("{address} can be reached from other machines");
        return Err(Failure::usage(message).hint("use a loopback address, like 127.0.0.1:8080"));
    }
    let interrupts = Interrupts::listen()?;
    let cannot = |error: std::io::Error| {
        Failure::unexpected(format!("cannot serve at {address}: {error}"))
            .hint("choose another port, or 0 for any that is free")
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let bound = listener.local_addr().map_err(cannot)?;
    let settings = HttpSettings::default();
    output.note(&format!("serving at http://{bound}{}", settings.path));
    let first = interrupts.clone();
    let stop = async move { first.raised().await };
    tokio::select! {
        served = http::serve(listener, mock.clone(), settings, stop) => served.map_err(cannot),
        // A client that keeps a stream open does not keep the mock.
        () = async {
            interrupts.raised().await;
            tokio::time::sleep(END_GRACE).await;
        } => Ok(()),
    }
}
