//! A command's side of the background process.
//!
//! A request that only asks for something and does not succeed is none: the command then finds out
//! by itself, and says what it would have said. Only a call cannot be made twice.

use std::sync::Arc;
use std::time::Duration;

use attache::host::ReadAnswer;
use attache::host::cache::{CacheScope, Freshness};
use attache::host::catalog::{
    Aggregate, ListKind, Listable, Offered, Outcome, RejectedEntry, ServerAnswer,
};
use attache::host::config::ServerName;
use attache::host::questions::{Answer, Question, Topic};
use attache::protocol::{Ending, GetPromptResult, Json, Payload, ProgressParams};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncWriteExt as _, ReadHalf, WriteHalf, split};
use tokio::sync::Mutex;

use super::Place;
use super::socket::{Stream, connect};
use super::wire::{
    AnswerWith, CallWith, FindResult, FindWith, Hello, Lines, ListResult, ListWith, PROTOCOL,
    PromptWith, ReadResult, ReadWith, Reply, Request, Welcome, line,
};
use crate::failure::Failure;

/// How long the background process may take to greet. One that is stopped or swamped must not hold
/// up a command that can do without it.
const GREETING: Duration = Duration::from_secs(2);

/// A connection to the background process.
pub(crate) struct Attached {
    connection: Mutex<Connection>,
    /// What was greeted with.
    pub(crate) welcome: Welcome,
}

struct Connection {
    lines: Lines<ReadHalf<Stream>>,
    write: WriteHalf<Stream>,
    requests: u64,
}

/// What a call is made with.
pub(crate) struct RemoteCall<'a> {
    pub(crate) server: &'a str,
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a Json,
    pub(crate) timeout: Option<Duration>,
    /// The user has said yes beforehand.
    pub(crate) approved: bool,
    /// Which questions can be answered here.
    pub(crate) questions: Vec<Topic>,
}

/// Who answers questions about a call.
pub(crate) trait Answers {
    async fn answer(&self, question: &Question) -> Answer;
}

impl Attached {
    /// Connects to the process that keeps this configuration's servers, if there is one and it would
    /// start them as this command would.
    pub(crate) async fn to(place: &Place) -> Option<Self> {
        let attached = Self::greet(place, Some(place.key.clone())).await?;
        attached.welcome.refused.is_none().then_some(attached)
    }

    /// Connects to whatever process there is, to ask about it or to end it.
    pub(crate) async fn to_any(place: &Place) -> Option<Self> {
        Self::greet(place, Some(place.key.clone())).await
    }

    async fn greet(place: &Place, key: Option<String>) -> Option<Self> {
        let greeted = async {
            let stream = connect(place).await.ok()?;
            let (read, mut write) = split(stream);
            let hello = line(&Hello {
                attach: PROTOCOL,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                key,
            });
            write.write_all(hello.as_bytes()).await.ok()?;
            let mut lines = Lines::new(read);
            let welcome: Welcome = serde_json::from_slice(&lines.next().await?).ok()?;
            Some(Self {
                connection: Mutex::new(Connection {
                    lines,
                    write,
                    requests: 0,
                }),
                welcome,
            })
        };
        tokio::time::timeout(GREETING, greeted).await.ok().flatten()
    }

    /// Tells the background process to end, and waits until it has heard it.
    pub(crate) async fn shut_down(&self) {
        let mut connection = self.connection.lock().await;
        if connection.send("shutdown", &()).await.is_some() {
            while connection.lines.next().await.is_some() {}
        }
    }

    /// What the background process says about its host.
    pub(crate) async fn snapshot(&self) -> Option<Json> {
        self.ask("snapshot", &()).await
    }

    /// A list of all servers, or of one. None if anything is not as it should be.
    pub(crate) async fn list<T: Listable>(&self, server: Option<&str>) -> Option<Aggregate<T>> {
        let wanted = ListWith {
            kind: kind::<T>().to_owned(),
            server: server.map(str::to_owned),
        };
        let ListResult { entries, servers } = self.ask("list", &wanted).await?;
        let entries = entries.into_iter().map(|listed| {
            Some(Offered {
                server: ServerName::new(&listed.server).ok()?,
                qualified: listed.qualified,
                plain: listed.plain,
                provider: listed.provider,
                entry: listed.entry.decode().ok()?,
            })
        });
        let servers = servers.into_iter().map(|answer| {
            Some(ServerAnswer {
                name: ServerName::new(&answer.name).ok()?,
                outcome: match answer.outcome.as_str() {
                    "ok" => Outcome::Ok,
                    "not_offered" => Outcome::NotOffered,
                    "disabled" => Outcome::Disabled,
                    _ => return None,
                },
                error: None,
                rejected: answer.rejected,
            })
        });
        Some(Aggregate {
            entries: entries.collect::<Option<_>>()?,
            servers: servers.collect::<Option<_>>()?,
        })
    }

    /// What one server offers under a name, and what of its list could not be read.
    pub(crate) async fn find<T: Listable>(
        &self,
        name: &str,
        server: Option<&str>,
    ) -> Option<(ServerName, T, Vec<RejectedEntry>)> {
        let wanted = FindWith {
            kind: kind::<T>().to_owned(),
            name: name.to_owned(),
            server: server.map(str::to_owned),
        };
        let found: FindResult = self.ask("find", &wanted).await?;
        let server = ServerName::new(&found.server).ok()?;
        Some((server, found.entry.decode().ok()?, found.rejected))
    }

    /// The contents of a resource.
    pub(crate) async fn read(&self, uri: &str, server: Option<&str>) -> Option<ReadAnswer> {
        let wanted = ReadWith {
            uri: uri.to_owned(),
            server: server.map(str::to_owned),
        };
        let read: ReadResult = self.ask("read", &wanted).await?;
        Some(ReadAnswer {
            server: ServerName::new(&read.server).ok()?,
            contents: Arc::new(read.contents.decode().ok()?),
            freshness: match read.age_ms {
                None => Freshness::Fetched,
                Some(age) => Freshness::Fresh {
                    age: Duration::from_millis(age),
                },
            },
            scope: CacheScope::Private,
        })
    }

    /// A prompt, filled in.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: &[(String, String)],
    ) -> Option<GetPromptResult> {
        let wanted = PromptWith {
            name: name.to_owned(),
            arguments: arguments.iter().cloned().collect(),
        };
        self.ask("prompt", &wanted).await
    }

    /// Calls a tool. Whatever happens to the connection after the call was handed over, its outcome
    /// is unknown.
    pub(crate) async fn call(
        &self,
        call: RemoteCall<'_>,
        mut on_progress: Option<impl FnMut(ProgressParams)>,
        answers: &impl Answers,
    ) -> Result<Payload, Failure> {
        let server = call.server.to_owned();
        let lost = || {
            Failure::ended(
                Ending::OutcomeUnknown,
                "the process that keeps the servers ended before the answer",
            )
            .hint("find out whether it took effect before you repeat it")
            .of(&server)
        };
        let wanted = CallWith {
            server: call.server.to_owned(),
            tool: call.tool.to_owned(),
            arguments: call.arguments.clone(),
            timeout_ms: call
                .timeout
                .map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
            progress: on_progress.is_some(),
            approved: call.approved,
            questions: call.questions,
        };
        let mut connection = self.connection.lock().await;
        let id = connection.send("call", &wanted).await.ok_or_else(lost)?;
        let mut next = None;
        loop {
            let reply = match next.take() {
                Some(reply) => reply,
                None => connection.reply().await.ok_or_else(lost)?,
            };
            if reply.id != Some(id) {
                continue;
            }
            if let Some(note) = reply.progress
                && let Some(listener) = &mut on_progress
                && let Ok(note) = note.decode()
            {
                listener(note);
            }
            if let Some(question) = reply.question {
                next = Some(
                    connection
                        .converse(&question, answers)
                        .await
                        .ok_or_else(lost)?,
                );
            }
            if let Some(error) = reply.error {
                return Err((*error).into());
            }
            if let Some(result) = reply.result {
                return Ok(result.into());
            }
        }
    }

    /// Asks for something that can be asked for again. None if there is no answer.
    async fn ask<R: DeserializeOwned>(&self, verb: &str, with: &impl Serialize) -> Option<R> {
        let mut connection = self.connection.lock().await;
        let id = connection.send(verb, with).await?;
        loop {
            let reply = connection.reply().await?;
            if reply.id == Some(id) {
                return reply.result?.decode().ok();
            }
        }
    }
}

impl Connection {
    async fn send(&mut self, verb: &str, with: &impl Serialize) -> Option<u64> {
        self.requests += 1;
        let request = Request {
            id: self.requests,
            verb: verb.to_owned(),
            with: Json::from_serialize(with).ok()?,
        };
        let written = self.write.write_all(line(&request).as_bytes()).await;
        written.ok()?;
        Some(self.requests)
    }

    async fn reply(&mut self) -> Option<Reply> {
        serde_json::from_slice(&self.lines.next().await?).ok()
    }

    /// Puts a question to the user until it is answered, here or elsewhere, or the call ends. Gives
    /// the next line that is not about it.
    async fn converse(&mut self, question: &Question, answers: &impl Answers) -> Option<Reply> {
        let mut answering = std::pin::pin!(answers.answer(question));
        let answer = loop {
            tokio::select! {
                biased;
                line = self.lines.next() => {
                    let reply: Reply = serde_json::from_slice(&line?).ok()?;
                    match reply.closed {
                        // Another face was faster, or it was taken back.
                        Some(closed) if closed == question.id => return Some(Reply::default()),
                        _ if reply.result.is_some() || reply.error.is_some() => return Some(reply),
                        _ => {}
                    }
                }
                answer = &mut answering => break answer,
            }
        };
        let with = AnswerWith {
            question: question.id,
            answer,
        };
        self.send("answer", &with).await?;
        Some(Reply::default())
    }
}

fn kind<T: Listable>() -> &'static str {
    match T::KIND {
        ListKind::Tools => "tools",
        ListKind::Resources => "resources",
        ListKind::Templates => "templates",
        ListKind::Prompts => "prompts",
    }
}
