//! The host of another process, with the verbs of a host.
//!
//! Several requests run at a time over one connection. Dropping one cancels it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use attache::host::catalog::{Aggregate, ListKind, Listable, Offered, RejectedEntry, ServerAnswer};
use attache::host::config::ServerName;
use attache::host::questions::{Answer, Topic};
use attache::host::snapshot::Snapshot;
use attache::protocol::{
    Completion, CompletionReference, GetPromptResult, LogLevel, ReadResourceResult,
    SubscriptionFilter,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::calls::PendingCall;
use crate::failure::{RemoteError, RemoteFailure};
use crate::link::Link;
use crate::place::Place;
use crate::streams::{Position, RemoteEvents, RemoteFrames, RemoteWatch};
use crate::wire::{
    AnswerWith, CompleteWith, FindResult, FindWith, FollowWith, KnownServer, ListResult, ListWith,
    OwnerResult, OwnerWith, PromptWith, ReadResult, ReadWith, RemoteCall, ServerWith,
    ServersResult, ServersWith, WatchWith, Welcome,
};

/// A host that runs in the background. Clones share one connection, which ends with the last of
/// them and of the calls and streams begun with them.
#[derive(Clone, Debug)]
pub struct RemoteHost {
    link: Arc<Link>,
}

/// The contents of a resource.
#[derive(Clone, Debug)]
pub struct RemoteRead {
    /// Whose resource it is.
    pub server: ServerName,
    /// The contents.
    pub contents: ReadResourceResult,
    /// How old they are, if they come from memory.
    pub age: Option<Duration>,
    /// Why there is nothing newer, if they are older than they may be.
    pub stale: Option<Box<RemoteFailure>>,
}

/// What a server offers under a name.
#[derive(Clone, Debug)]
pub struct Found<T> {
    /// Which server.
    pub server: ServerName,
    /// What it offers.
    pub entry: T,
    /// What of its list could not be read.
    pub rejected: Vec<RejectedEntry>,
}

impl RemoteHost {
    /// Connects to the process that keeps a configuration's servers, if there is one and it would
    /// start them as this program would.
    pub async fn connect(place: &Place) -> Option<Self> {
        let host = Self::begin(place).await?;
        host.is_welcome().await.then_some(host)
    }

    /// Connects to whatever process there is, to ask about it or to end it.
    pub async fn connect_to_any(place: &Place) -> Option<(Self, Welcome)> {
        let host = Self::begin(place).await?;
        let welcome = host.link.greeted().await?.clone();
        Some((host, welcome))
    }

    /// Connects without waiting to be greeted, so that a question can go along with the greeting.
    /// It fails if the process turns out to be another one, or does not greet. What must not be done
    /// by another one has to wait for [`is_welcome`](Self::is_welcome).
    pub async fn begin(place: &Place) -> Option<Self> {
        let link = Link::open(place).await?;
        Some(Self { link })
    }

    /// Waits for the greeting: whether the process would start the servers as this program would.
    pub async fn is_welcome(&self) -> bool {
        let welcome = self.link.greeted().await;
        welcome.is_some_and(|welcome| welcome.refused.is_none())
    }

    /// Whether it is known by now to be of no use.
    pub fn is_useless(&self) -> bool {
        let welcome = self.link.welcome();
        self.link.is_closed() || welcome.is_some_and(|welcome| welcome.refused.is_some())
    }

    /// Resolves when the connection has ended, which is when the process has.
    pub async fn closed(&self) {
        self.link.closed().await;
    }

    /// Tells the background process to end, and waits until it has left the connection. Its servers
    /// may take longer: see [`is_held`](crate::is_held).
    pub async fn shut_down(&self) {
        if self.link.send_now("shutdown", &()).is_ok() {
            self.closed().await;
        }
    }

    /// The host at this moment.
    pub async fn snapshot(&self) -> Result<Snapshot, RemoteError> {
        self.ask("snapshot", &()).await
    }

    /// Waits until the host has written what it is to keep: log lines, calls, remembered lists.
    pub async fn flushed(&self) -> Result<(), RemoteError> {
        let pending = self.link.send("flush", &()).await?;
        pending.result().await.map(drop)
    }

    /// Begins to follow the host: one cut, then every event after it. With a position, and if the
    /// events after it are still kept, there is no snapshot and it goes on from there.
    ///
    /// Questions are among the events, [`EventKind::Asked`](attache::host::events::EventKind), and
    /// those of these topics wait for an answer while the stream is held.
    pub async fn follow(
        &self,
        after: Option<Position>,
        questions: impl IntoIterator<Item = Topic>,
    ) -> Result<(Option<Snapshot>, RemoteEvents), RemoteError> {
        let wanted = FollowWith {
            after: after.map(|it| it.seq),
            started_ms: after.map(|it| it.started_ms),
            questions: questions.into_iter().collect(),
        };
        RemoteEvents::begin(self.link.send("follow", &wanted).await?).await
    }

    /// Frames of all connections from now on.
    pub async fn frames(&self) -> Result<RemoteFrames, RemoteError> {
        RemoteFrames::begin(self.link.send("frames", &()).await?).await
    }

    /// Answers a question. The first answer that fits wins.
    pub async fn answer(&self, question: u64, answer: Answer) -> Result<(), RemoteError> {
        let pending = self
            .link
            .send_now("answer", &AnswerWith { question, answer })?;
        pending.result().await.map(drop)
    }

    /// Makes a call. If the connection ends before the answer, its outcome is unknown.
    pub async fn call(&self, call: &RemoteCall) -> Result<PendingCall, RemoteError> {
        let pending = self.link.send("call", call).await?;
        Ok(PendingCall { pending })
    }

    /// A list of all servers, or of one. Servers that have not answered after `wait` are told as
    /// starting, or with what is remembered of them; without it they are all waited for.
    ///
    /// What stands behind an outcome is told in words: [`ServerAnswer::error`] is none.
    pub async fn list<T: Listable>(
        &self,
        server: Option<&str>,
        wait: Option<Duration>,
    ) -> Result<Aggregate<T>, RemoteError> {
        let wanted = ListWith {
            kind: kind::<T>().to_owned(),
            server: server.map(str::to_owned),
            wait_ms: wait.map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX)),
        };
        let ListResult { entries, servers } = self.ask("list", &wanted).await?;
        let entries = entries.into_iter().map(|listed| {
            Ok(Offered {
                server: listed.server,
                qualified: listed.qualified,
                plain: listed.plain,
                provider: listed.provider,
                entry: listed.entry.decode()?,
            })
        });
        let servers = servers.into_iter().map(|listed| ServerAnswer {
            name: listed.name,
            outcome: listed.answer,
            error: None,
            rejected: listed.rejected,
        });
        Ok(Aggregate {
            entries: entries.collect::<Result<_, RemoteError>>()?,
            servers: servers.collect(),
        })
    }

    /// What one server offers under a name. Tools and prompts are found so.
    pub async fn find<T: Listable>(
        &self,
        name: &str,
        server: Option<&str>,
    ) -> Result<Found<T>, RemoteError> {
        let wanted = FindWith {
            kind: kind::<T>().to_owned(),
            name: name.to_owned(),
            server: server.map(str::to_owned),
        };
        let found: FindResult = self.ask("find", &wanted).await?;
        Ok(Found {
            server: found.server,
            entry: found.entry.decode()?,
            rejected: found.rejected,
        })
    }

    /// Which server offers a resource.
    pub async fn owner_of(&self, uri: &str) -> Result<ServerName, RemoteError> {
        let wanted = OwnerWith {
            uri: uri.to_owned(),
        };
        let owner: OwnerResult = self.ask("owner", &wanted).await?;
        Ok(owner.server)
    }

    /// All servers, or one, with how much they offer. A failure unless all have answered.
    pub async fn servers(&self, server: Option<&str>) -> Result<Vec<KnownServer>, RemoteError> {
        let wanted = ServersWith {
            server: server.map(str::to_owned),
        };
        let known: ServersResult = self.ask("servers", &wanted).await?;
        Ok(known.servers)
    }

    /// The contents of a resource.
    pub async fn read(&self, uri: &str, server: Option<&str>) -> Result<RemoteRead, RemoteError> {
        let wanted = ReadWith {
            uri: uri.to_owned(),
            server: server.map(str::to_owned),
        };
        let read: ReadResult = self.ask("read", &wanted).await?;
        Ok(RemoteRead {
            server: read.server,
            contents: read.contents.decode()?,
            age: read.age_ms.map(Duration::from_millis),
            stale: read.stale,
        })
    }

    /// A prompt, filled in.
    pub async fn prompt(
        &self,
        name: &str,
        arguments: BTreeMap<String, String>,
    ) -> Result<GetPromptResult, RemoteError> {
        let name = name.to_owned();
        self.ask("prompt", &PromptWith { name, arguments }).await
    }

    /// How an argument could go on. `chosen` are arguments already filled in.
    pub async fn complete(
        &self,
        server: &str,
        reference: CompletionReference,
        argument: &str,
        value: &str,
        chosen: BTreeMap<String, String>,
    ) -> Result<Completion, RemoteError> {
        let wanted = CompleteWith {
            server: server.to_owned(),
            reference,
            argument: argument.to_owned(),
            value: value.to_owned(),
            chosen,
        };
        self.ask("complete", &wanted).await
    }

    /// Watches everything of a server that the filter names.
    pub async fn watch(
        &self,
        server: &ServerName,
        filter: SubscriptionFilter,
    ) -> Result<RemoteWatch, RemoteError> {
        let wanted = WatchWith {
            server: server.to_string(),
            filter,
        };
        let pending = self.link.send("watch", &wanted).await?;
        RemoteWatch::begin(server.clone(), pending).await
    }

    /// Stops a server until it is restarted.
    pub async fn stop(&self, server: &str) -> Result<(), RemoteError> {
        self.tell("stop", server, None).await
    }

    /// Stops a server and starts it again.
    pub async fn restart(&self, server: &str) -> Result<(), RemoteError> {
        self.tell("restart", server, None).await
    }

    /// Switches a server on or off, for as long as the background process runs.
    pub async fn set_enabled(&self, server: &str, enabled: bool) -> Result<(), RemoteError> {
        let verb = match enabled {
            true => "enable",
            false => "disable",
        };
        self.tell(verb, server, None).await
    }

    /// Has a server send its log from this level on.
    pub async fn set_log_level(&self, server: &str, level: LogLevel) -> Result<(), RemoteError> {
        self.tell("log_level", server, Some(level.to_string()))
            .await
    }

    async fn tell(
        &self,
        verb: &str,
        server: &str,
        level: Option<String>,
    ) -> Result<(), RemoteError> {
        let server = server.to_owned();
        let pending = self.link.send(verb, &ServerWith { server, level }).await?;
        pending.result().await.map(drop)
    }

    async fn ask<R: DeserializeOwned>(
        &self,
        verb: &str,
        with: &impl Serialize,
    ) -> Result<R, RemoteError> {
        let result = self.link.send(verb, with).await?.result().await?;
        Ok(result.decode()?)
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
