//! A host that runs in the background, reached over its socket.

use std::collections::BTreeMap;
use std::sync::Arc;

use attache::host::catalog::{Aggregate, Listable};
use attache::host::config::ServerName;
use attache::host::questions::{Answer, Topic};
use attache::host::snapshot::Snapshot;
use attache::protocol::{GetPromptResult, Payload, ReadResourceResult, SubscriptionFilter};
use attache_attach::{
    CallUpdate, RemoteCall, RemoteError, RemoteEvents, RemoteFrames, RemoteHost, RemoteWatch,
};

use super::{CallWith, OnPart, OnProgress, Problem};
use crate::message::{CompleteWith, Order};

/// A host that runs in the background. What it keeps on disk is read here, by the same user.
#[derive(Clone, Debug)]
pub struct AttachedHost {
    host: RemoteHost,
    calls: Option<std::path::PathBuf>,
}

impl From<RemoteError> for Problem {
    fn from(error: RemoteError) -> Self {
        match &error {
            RemoteError::Failed(failure) => match &failure.hint {
                Some(hint) => Self::Words(format!("{}; {hint}", failure.message)),
                None => Self::Words(failure.message.to_string()),
            },
            _ => Self::Words(error.to_string()),
        }
    }
}

impl AttachedHost {
    /// Takes a connection; `calls` is the folder with the log of calls.
    pub fn new(host: RemoteHost, calls: Option<std::path::PathBuf>) -> Self {
        Self { host, calls }
    }

    pub(super) async fn follow(&self) -> Result<(Snapshot, RemoteEvents), Problem> {
        let (snapshot, events) = self.host.follow(None, Topic::ALL).await?;
        match snapshot {
            Some(snapshot) => Ok((snapshot, events)),
            None => Ok((self.host.snapshot().await?, events)),
        }
    }

    pub(super) async fn list<T: Listable>(
        &self,
        mut on_part: OnPart<T>,
    ) -> Result<Aggregate<T>, Problem> {
        // What is known at once comes first.
        let known = self
            .host
            .list(None, Some(std::time::Duration::ZERO))
            .await?;
        if known.is_complete() {
            return Ok(known);
        }
        on_part(known);
        Ok(self.host.list(None, None).await?)
    }

    pub(super) async fn call(
        &self,
        call: CallWith,
        mut on_progress: OnProgress,
    ) -> Result<Payload, Problem> {
        if !call.meta.is_empty() {
            let words = "metadata cannot be sent by the background host; attache down ends it";
            return Err(Problem::Words(words.to_owned()));
        }
        let timeout = call
            .timeout
            .map(|it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
        let remote = RemoteCall {
            server: call.server,
            tool: call.tool,
            arguments: call.arguments,
            timeout_ms: timeout,
            progress: true,
            task: call.as_task,
            ..RemoteCall::default()
        };
        let mut pending = self.host.call(&remote).await?;
        let mut on_number = Some(call.on_number);
        loop {
            match pending.next().await {
                CallUpdate::Numbered(number) => {
                    if let Some(on_number) = on_number.take() {
                        on_number(number);
                    }
                }
                CallUpdate::Progress(params) => on_progress(params),
                // Who follows sees questions there.
                CallUpdate::Question(_) | CallUpdate::Closed(_) => {}
                CallUpdate::Ended(ended) => return Ok(ended?),
            }
        }
    }

    pub(super) async fn read(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<Arc<ReadResourceResult>, Problem> {
        Ok(Arc::new(self.host.read(uri, Some(server)).await?.contents))
    }

    pub(super) async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
    ) -> Result<GetPromptResult, Problem> {
        let arguments: BTreeMap<String, String> = arguments.into_iter().collect();
        Ok(self
            .host
            .prompt(&format!("{server}/{name}"), arguments)
            .await?)
    }

    pub(super) async fn complete(&self, with: CompleteWith) -> Result<Vec<String>, Problem> {
        let others: BTreeMap<String, String> = with.question.others.into_iter().collect();
        let (argument, value) = (&with.question.argument, &with.question.value);
        let completion = self
            .host
            .complete(&with.server, with.reference, argument, value, others)
            .await?;
        Ok(completion.values)
    }

    pub(super) async fn answer(&self, question: u64, answer: Answer) -> Result<(), Problem> {
        Ok(self.host.answer(question, answer).await?)
    }

    pub(super) async fn order(&self, server: &str, order: Order) -> Result<(), Problem> {
        match order {
            Order::Start | Order::Restart => self.host.restart(server).await?,
            Order::Stop => self.host.stop(server).await?,
            Order::Enable(enabled) => self.host.set_enabled(server, enabled).await?,
            Order::LogLevel(level) => self.host.set_log_level(server, level).await?,
        }
        Ok(())
    }

    /// The background process guards the pins: a call of a tool that has changed asks here, with
    /// the difference. Looking at it before a call is for the shell.
    pub(super) fn no_pins(server: &str) -> Problem {
        Problem::Words(format!(
            "attached, only a call shows what changed, and asks; attache trust {server} shows it \
             now and approves it"
        ))
    }

    pub(super) async fn frames(&self) -> Option<RemoteFrames> {
        self.host.frames().await.ok()
    }

    pub(super) async fn watch(&self, server: &str, uri: &str) -> Result<RemoteWatch, Problem> {
        let server = ServerName::new(server).map_err(|error| Problem::Words(error.to_string()))?;
        let filter = SubscriptionFilter {
            resource_subscriptions: Some(vec![uri.to_owned()]),
            ..SubscriptionFilter::default()
        };
        Ok(self.host.watch(&server, filter).await?)
    }

    pub(super) fn call_log(&self) -> Option<std::path::PathBuf> {
        self.calls.clone()
    }
}
