//! A host of this process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache::host::PinError;
use attache::host::catalog::{Aggregate, Listable};
use attache::host::names::ToolName;
use attache::host::policy::{CallOrigin, PinState};
use attache::host::questions::{Answer, Attached, Topic};
use attache::host::snapshot::Snapshot;
use attache::protocol::{GetPromptResult, Json, Payload, ReadResourceResult, Tool};
use attache::{Host, TaskHandle, TaskStart};

use super::{CallWith, EventStream, FrameStream, OnPart, OnProgress, Problem};
use crate::message::{CompleteWith, Order};

/// How long a task may take altogether.
const LONGEST_TASK: Duration = Duration::from_secs(24 * 60 * 60);

/// Cancels a task that is given up before its end.
struct CancelTask(Option<TaskHandle>);

impl CancelTask {
    fn has_ended(mut self) {
        self.0 = None;
    }
}

impl Drop for CancelTask {
    fn drop(&mut self) {
        if let Some(task) = self.0.take() {
            tokio::spawn(async move { task.cancel().await });
        }
    }
}

/// A host of this process, and the UI's place among those who answer its questions.
#[derive(Clone, Debug)]
pub struct OwnHost {
    host: Host,
    /// While this is there, questions wait for the person.
    _attached: Arc<Attached>,
}

impl OwnHost {
    /// Takes a host that runs.
    pub fn new(host: Host) -> Self {
        let attached = Arc::new(host.questions().attach(Topic::ALL));
        Self {
            host,
            _attached: attached,
        }
    }

    pub(super) fn follow(&self) -> (Snapshot, EventStream) {
        let (snapshot, events) = self.host.follow();
        (snapshot, EventStream::Own(events))
    }

    pub(super) async fn list<T: Listable>(
        &self,
        mut on_part: OnPart<T>,
    ) -> Result<Aggregate<T>, Problem> {
        // What is remembered of servers that are still starting comes first.
        let known = self.host.list::<T>();
        let known = known
            .remembered_after(Duration::ZERO)
            .starting_after(Duration::ZERO);
        on_part(known.await?);
        Ok(self.host.list::<T>().on_answer(on_part).for_all().await?)
    }

    pub(super) async fn call(
        &self,
        call: CallWith,
        on_progress: OnProgress,
    ) -> Result<Payload, Problem> {
        let server = attache::host::config::ServerName::new(&call.server)
            .map_err(|error| Problem::Words(error.to_string()))?;
        let name = ToolName::new(server.clone(), call.tool);
        let mut made = self
            .host
            .call(name, call.arguments)
            .origin(CallOrigin::Person)
            .numbered(call.on_number)
            .on_progress(on_progress);
        if let Some(timeout) = call.timeout {
            made = made.timeout(timeout);
        }
        for (key, value) in call.meta {
            made = made.meta(key, value);
        }
        if !call.as_task {
            return Ok(made.raw().await?);
        }
        let failed = |error| {
            Problem::Host(attache::host::Error::Request {
                server: server.clone(),
                error,
            })
        };
        let result = match made.as_task().await? {
            TaskStart::Finished(result) => result,
            TaskStart::Running(task) => {
                let guard = CancelTask(Some(task.clone()));
                let result = task.result(LONGEST_TASK).await.map_err(failed)?;
                guard.has_ended();
                result
            }
        };
        let result = Json::from_serialize(&result);
        Ok(result
            .map_err(|error| Problem::Words(error.to_string()))?
            .into())
    }

    pub(super) async fn read(
        &self,
        server: &str,
        uri: &str,
        on_progress: OnProgress,
    ) -> Result<Arc<ReadResourceResult>, Problem> {
        let read = self.host.read(uri).server(server).on_progress(on_progress);
        Ok(read.await?.contents)
    }

    pub(super) async fn prompt(
        &self,
        server: &str,
        name: &str,
        arguments: Vec<(String, String)>,
        on_progress: OnProgress,
    ) -> Result<GetPromptResult, Problem> {
        let qualified = format!("{server}/{name}");
        let prompt = self.host.prompt(qualified, arguments);
        Ok(prompt.on_progress(on_progress).await?)
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

    pub(super) fn answer(&self, question: u64, answer: Answer) -> Result<(), Problem> {
        let answered = self.host.questions().answer(question, answer);
        answered.map_err(|error| Problem::Words(error.to_string()))
    }

    pub(super) async fn order(&self, server: &str, order: Order) -> Result<(), Problem> {
        match order {
            Order::Start => self.host.ready(server).await?,
            Order::Stop => self.host.stop(server).await?,
            Order::Restart => self.host.restart(server).await?,
            Order::Enable(enabled) => self.host.set_enabled(server, enabled).await?,
            Order::LogLevel(level) => self.host.set_log_level(server, level).await?,
        }
        Ok(())
    }

    pub(super) fn pin_state(&self, server: &str, tool: &Tool) -> Result<PinState, Problem> {
        let pinned = self.host.pin_of(server, tool).map_err(words)?;
        Ok(pinned.state.unwrap_or(PinState::New))
    }

    /// Approves a tool as it was shown.
    pub(super) async fn accept_pin(&self, server: &str, tool: &Tool) -> Result<(), Problem> {
        let shown = self.host.pin_of(server, tool).map_err(words)?;
        let shown = [(shown.name, shown.definition)];
        self.host.accept_pins(server, &shown).await.map_err(words)
    }

    pub(super) fn frames(&self) -> FrameStream {
        FrameStream::Own(self.host.frames())
    }

    pub(super) async fn watch(
        &self,
        server: &str,
        uri: &str,
    ) -> Result<attache::host::Watch, Problem> {
        Ok(self.host.watch_of(server, uri).await?)
    }

    pub(super) fn call_log(&self) -> Option<PathBuf> {
        Some(self.host.call_log()?.folder().to_path_buf())
    }
}

fn words(error: PinError) -> Problem {
    match error {
        PinError::Host(error) => Problem::Host(error),
        other => Problem::Words(other.to_string()),
    }
}
