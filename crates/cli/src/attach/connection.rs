//! One client of the background process.
//!
//! Its requests run side by side; what it does not read is bounded, and when it leaves, everything
//! it asked for is cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use attache::host::catalog::{Aggregate, Listable, Outcome};
use attache::host::config::ServerName;
use attache::host::names::ToolName;
use attache::host::policy::{CallOrigin, Remember, Scope};
use attache::host::questions::{Answer, Attached, QuestionKind, Topic};
use attache::host::{Error, ReadAnswer, cache::Freshness};
use attache::protocol::{Json, LogLevel, Prompt, Resource, ResourceTemplate, Tool};
use serde::de::DeserializeOwned;
use tokio::io::AsyncWriteExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::serve::Service;
use super::socket::Stream;
use super::wire::{
    AnswerWith, CallWith, FindResult, FindWith, FollowWith, Hello, LONGEST_LINE, Lines, ListResult,
    ListWith, ListedEntry, ListedServer, PROTOCOL, PromptWith, ReadResult, ReadWith, Reply,
    Request, ServerWith, Welcome, line,
};
use crate::failure::Failure;

/// How long a client may take to say what it wants.
const HELLO_PATIENCE: Duration = Duration::from_secs(2);
/// How long a client may take to read a line.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// How many requests of a client run at a time; it is not read further meanwhile.
const MOST_REQUESTS: usize = 64;
/// How many lines wait for a client to read them.
const LINES_AHEAD: usize = 256;

/// Tells a client why it is not served.
pub(super) async fn refuse(mut stream: Stream, welcome: Welcome, why: &'static str) {
    let welcome = Welcome {
        refused: Some(why.to_owned()),
        ..welcome
    };
    let said = line(&welcome);
    let written = stream.write_all(said.as_bytes());
    // Who does not listen need not hear it.
    let _ = tokio::time::timeout(HELLO_PATIENCE, written).await;
}

/// Serves a client until it leaves.
pub(super) async fn serve(stream: Stream, service: Arc<Service>) {
    let (read, mut write) = tokio::io::split(stream);
    let mut lines = Lines::new(read);
    let hello = tokio::time::timeout(HELLO_PATIENCE, lines.next()).await;
    let Ok(Some(hello)) = hello else { return };
    let Ok(hello) = serde_json::from_slice::<Hello>(&hello) else {
        return;
    };
    let access = Access::of(&hello, &service);
    let welcome = Welcome {
        refused: access.refusal().map(str::to_owned),
        ..service.welcome.clone()
    };
    if write.write_all(line(&welcome).as_bytes()).await.is_err() {
        return;
    }
    let (replies, mut queue) = mpsc::channel::<String>(LINES_AHEAD);
    let mut writer = tokio::spawn(async move {
        while let Some(line) = queue.recv().await {
            let written = write.write_all(line.as_bytes());
            match tokio::time::timeout(WRITE_PATIENCE, written).await {
                Ok(Ok(())) => {}
                _ => return,
            }
        }
    });
    let mut work = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            _ = &mut writer => break,
            Some(_) = work.join_next(), if !work.is_empty() => {}
            line = lines.next(), if work.len() < MOST_REQUESTS => {
                let request = line.and_then(|line| serde_json::from_slice::<Request>(&line).ok());
                // A client that speaks another language is not answered in it.
                let Some(request) = request else { break };
                let client = Client {
                    id: request.id,
                    access,
                    service: service.clone(),
                    replies: replies.clone(),
                };
                work.spawn(client.answer(request));
            }
        }
    }
    writer.abort();
}

/// What a client may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    /// Everything.
    Whole,
    /// It would have started other servers: it may ask what runs here, and end it.
    Control(&'static str),
}

impl Access {
    fn of(hello: &Hello, service: &Service) -> Self {
        if hello.attach != PROTOCOL || hello.version != service.welcome.version {
            return Self::Control("version");
        }
        match hello.key.as_deref() {
            Some(key) if key == service.key => Self::Whole,
            _ => Self::Control("key"),
        }
    }

    fn refusal(self) -> Option<&'static str> {
        match self {
            Self::Whole => None,
            Self::Control(why) => Some(why),
        }
    }
}

/// One request of a client.
struct Client {
    id: u64,
    access: Access,
    service: Arc<Service>,
    replies: mpsc::Sender<String>,
}

impl Client {
    async fn answer(self, request: Request) {
        let reply = match self.result(&request).await {
            Ok(result) => Reply {
                id: Some(self.id),
                result: Some(result),
                ..Reply::default()
            },
            Err(failure) => Reply {
                id: Some(self.id),
                error: Some(Box::new(failure.into())),
                ..Reply::default()
            },
        };
        let mut said = line(&reply);
        if said.len() > LONGEST_LINE {
            let failure = Failure::unexpected("the answer is too long for this connection")
                .hint("`attache down` first, and each command asks the server itself");
            said = line(&Reply {
                id: Some(self.id),
                error: Some(Box::new(failure.into())),
                ..Reply::default()
            });
        }
        // Who has left does not wait for it.
        let _ = self.replies.send(said).await;
    }

    async fn result(&self, request: &Request) -> Result<Json, Failure> {
        let host = &self.service.host;
        match request.verb.as_str() {
            "shutdown" => {
                self.service.end.notify_one();
                return Ok(Json::default());
            }
            "snapshot" => return json(&host.snapshot()),
            _ => {}
        }
        if self.access != Access::Whole {
            return Err(Failure::refused("this process keeps other servers"));
        }
        match request.verb.as_str() {
            "call" => self.call(with(request)?).await,
            "read" => self.read(with(request)?).await,
            "prompt" => {
                let PromptWith { name, arguments } = with(request)?;
                json(&host.prompt(name, arguments).await?)
            }
            "list" => self.list(&with(request)?).await,
            "find" => self.find(&with(request)?).await,
            "answer" => {
                let AnswerWith { question, answer } = with(request)?;
                let answered = host.questions().answer(question, answer);
                answered.map_err(|error| Failure::usage(error.to_string()))?;
                Ok(Json::default())
            }
            "follow" => self.follow(with(request)?).await,
            "stop" => done(host.stop(&with::<ServerWith>(request)?.server).await),
            "restart" => done(host.restart(&with::<ServerWith>(request)?.server).await),
            "enable" | "disable" => {
                let enabled = request.verb == "enable";
                let server = with::<ServerWith>(request)?.server;
                done(host.set_enabled(&server, enabled).await)
            }
            "log_level" => {
                let ServerWith { server, level } = with(request)?;
                let level: Result<LogLevel, _> = level.unwrap_or_default().parse();
                let level = level.map_err(|_| Failure::usage("there is no such level"))?;
                done(host.set_log_level(&server, level).await)
            }
            other => Err(Failure::usage(format!("there is no request \"{other}\""))),
        }
    }

    /// Makes a call. Questions about it go to this client, as far as it can answer them.
    async fn call(&self, wanted: CallWith) -> Result<Json, Failure> {
        let server = ServerName::new(&wanted.server);
        let server = server.map_err(|error| Failure::usage(error.to_string()))?;
        // What other programs have approved or revoked since counts from now on.
        self.service.host.reread_approvals();
        let number = Arc::new(AtomicU64::new(0));
        let name = ToolName::new(server, wanted.tool);
        let mut call = self
            .service
            .host
            .call(name, &wanted.arguments)
            .origin(CallOrigin::Person)
            .numbered(number.clone());
        if let Some(timeout) = wanted.timeout_ms.map(Duration::from_millis) {
            call = call.timeout(timeout).maximum(timeout);
        }
        if wanted.progress {
            let (id, replies) = (self.id, self.replies.clone());
            call = call.on_progress(move |note| {
                let reply = Reply {
                    id: Some(id),
                    progress: Json::from_serialize(&note).ok(),
                    ..Reply::default()
                };
                // A note that finds no room is no loss: another follows, or the end.
                let _ = replies.try_send(line(&reply));
            });
        }
        let mut topics = wanted.questions;
        if wanted.approved && !topics.contains(&Topic::Approval) {
            topics.push(Topic::Approval);
        }
        let answered = match topics.is_empty() {
            true => call.raw().await,
            false => {
                let face = self.service.host.questions().attach(topics);
                tokio::select! {
                    answered = call.raw() => answered,
                    () = self.questions(face, &number, wanted.approved) => {
                        return Err(Failure::unexpected("the host has ended"));
                    }
                }
            }
        };
        let payload = answered?;
        let json = payload.to_json();
        json.map_err(|error| crate::failure::unreadable("tools/call", &error).of(&wanted.server))
    }

    /// Passes on the questions about one call. A yes that was given beforehand is for that call and
    /// no other.
    async fn questions(&self, mut face: Attached, number: &AtomicU64, approved: bool) {
        while let Some(question) = face.next().await {
            if question.request != Some(number.load(Ordering::Acquire)) {
                continue;
            }
            let questions = self.service.host.questions().clone();
            if approved && matches!(question.kind, QuestionKind::Approval(_)) {
                let yes = Answer::Allow {
                    remember: Remember::Once,
                    scope: Scope::Tool,
                };
                // Another face may have been faster.
                let _ = questions.answer(question.id, yes);
                continue;
            }
            self.ask(&question).await;
            questions.closed(question.id).await;
            self.tell_closed(question.id).await;
        }
    }

    async fn ask(&self, question: &attache::host::questions::Question) {
        let reply = Reply {
            id: Some(self.id),
            question: Some(Box::new(question.clone())),
            ..Reply::default()
        };
        let _ = self.replies.send(line(&reply)).await;
    }

    async fn tell_closed(&self, question: u64) {
        let reply = Reply {
            id: Some(self.id),
            closed: Some(question),
            ..Reply::default()
        };
        let _ = self.replies.send(line(&reply)).await;
    }

    async fn read(&self, wanted: ReadWith) -> Result<Json, Failure> {
        let read = self.service.host.read(wanted.uri);
        let read = match wanted.server {
            Some(server) => read.server(server),
            None => read,
        };
        let ReadAnswer {
            server,
            contents,
            freshness,
            ..
        } = read.await?;
        let age = match freshness {
            Freshness::Fetched => None,
            Freshness::Fresh { age } => Some(age),
            Freshness::Stale { because, .. } => return Err((*because).into()),
        };
        json(&ReadResult {
            server: server.to_string(),
            contents: json(&*contents)?,
            age_ms: age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
        })
    }

    async fn list(&self, wanted: &ListWith) -> Result<Json, Failure> {
        match wanted.kind.as_str() {
            "tools" => self.list_of::<Tool>(wanted).await,
            "resources" => self.list_of::<Resource>(wanted).await,
            "templates" => self.list_of::<ResourceTemplate>(wanted).await,
            "prompts" => self.list_of::<Prompt>(wanted).await,
            other => Err(Failure::usage(format!("there is no list of {other}"))),
        }
    }

    async fn list_of<T: Listable>(&self, wanted: &ListWith) -> Result<Json, Failure> {
        let list = self.service.host.list::<T>().for_all();
        let list: Aggregate<T> = match &wanted.server {
            Some(server) => list.server(server).await?,
            None => list.await?,
        };
        let mut servers = Vec::new();
        for answer in list.servers {
            let outcome = match answer.outcome {
                Outcome::Ok => "ok",
                Outcome::NotOffered => "not_offered",
                Outcome::Disabled => "disabled",
                // The client finds out itself, and says it in its own words.
                _ => return Err(incomplete(answer.error)),
            };
            servers.push(ListedServer {
                name: answer.name.to_string(),
                outcome: outcome.to_owned(),
                rejected: answer.rejected,
            });
        }
        let entries = list.entries.into_iter().map(|offered| {
            Ok(ListedEntry {
                server: offered.server.to_string(),
                qualified: offered.qualified,
                plain: offered.plain,
                provider: offered.provider,
                entry: json(&offered.entry)?,
            })
        });
        let entries: Result<Vec<_>, Failure> = entries.collect();
        json(&ListResult {
            entries: entries?,
            servers,
        })
    }

    async fn find(&self, wanted: &FindWith) -> Result<Json, Failure> {
        match wanted.kind.as_str() {
            "tools" => self.find_of::<Tool>(wanted).await,
            "prompts" => self.find_of::<Prompt>(wanted).await,
            other => Err(Failure::usage(format!("{other} are not found by name"))),
        }
    }

    async fn find_of<T: Listable>(&self, wanted: &FindWith) -> Result<Json, Failure> {
        let host = &self.service.host;
        let name = match (&wanted.server, wanted.name.contains('/')) {
            (Some(server), false) => format!("{server}/{}", wanted.name),
            _ => wanted.name.clone(),
        };
        let found = host.resolve::<T>(&name).await?;
        let list = host.list::<T>().server(found.server.as_str()).await?;
        let mut entries = list.entries.into_iter();
        let entry = entries.find(|it| it.entry.own_name() == found.tool);
        let Some(entry) = entry else {
            return Err(Failure::failed(format!("there is no {name}")));
        };
        let rejected = list.servers.into_iter().flat_map(|it| it.rejected);
        json(&FindResult {
            server: found.server.to_string(),
            entry: json(&entry.entry)?,
            rejected: rejected.collect(),
        })
    }

    /// Sends what happens until the client leaves: first the snapshot, then events; and the
    /// questions that it can answer.
    async fn follow(&self, wanted: FollowWith) -> Result<Json, Failure> {
        let host = &self.service.host;
        let resumed = wanted.after.and_then(|seq| host.events_after(seq).ok());
        let mut events = match resumed {
            Some(events) => events,
            None => {
                let (snapshot, events) = host.follow();
                let reply = Reply {
                    id: Some(self.id),
                    event: Some(json(&serde_json::json!({ "snapshot": snapshot }))?),
                    ..Reply::default()
                };
                let _ = self.replies.send(line(&reply)).await;
                events
            }
        };
        let mut face = host.questions().attach(wanted.questions);
        loop {
            tokio::select! {
                // A question comes behind the event that tells of it.
                biased;
                event = events.next() => {
                    let Some(event) = event else { return Ok(Json::default()) };
                    let reply = Reply {
                        id: Some(self.id),
                        event: Some(json(&*event)?),
                        ..Reply::default()
                    };
                    if self.replies.send(line(&reply)).await.is_err() {
                        return Ok(Json::default());
                    }
                }
                question = face.next() => {
                    let Some(question) = question else { return Ok(Json::default()) };
                    self.ask(&question).await;
                }
            }
        }
    }
}

fn with<T: DeserializeOwned>(request: &Request) -> Result<T, Failure> {
    let read = request.with.decode();
    read.map_err(|error| Failure::usage(format!("\"{}\": {error}", request.verb)))
}

fn json(value: &impl serde::Serialize) -> Result<Json, Failure> {
    Json::from_serialize(value).map_err(|error| Failure::unexpected(error.to_string()))
}

fn done(result: Result<(), Error>) -> Result<Json, Failure> {
    result.map(|()| Json::default()).map_err(Failure::from)
}

fn incomplete(error: Option<Error>) -> Failure {
    error.map_or_else(|| Failure::failed("not all servers answered"), Into::into)
}
