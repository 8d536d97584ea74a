//! One call as it is handed to the log: on the call's own way, so nothing here waits or writes.

use std::sync::Arc;
use std::time::Duration;

use attache_client::TaskStart;
use attache_client::protocol::{CallToolResult, GetPromptResult, Json, Payload, ProgressParams};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::{CallLog, Message};
use crate::cache::Freshness;
use crate::config::ServerConfig;
use crate::error::Error;
use crate::host::ReadAnswer;
use crate::journal::now_ms;
use crate::policy::CallOrigin;

/// How many notes of progress are kept of one call.
const MOST_NOTES: usize = 200;

/// What is wanted, before it is known of which server.
pub(crate) struct WantedRecord {
    pub(crate) method: &'static str,
    pub(crate) name: String,
    pub(crate) arguments: Option<Json>,
    /// Who wants it, where that matters.
    pub(crate) origin: Option<CallOrigin>,
}

/// The server of a call, for the log.
pub(crate) struct RecordedServer {
    pub(crate) config: Arc<ServerConfig>,
    /// A person typed it.
    pub(crate) is_typed: bool,
}

/// The beginning of a call, on its way to the thread.
pub(super) struct BeganCall {
    pub(super) key: u64,
    pub(super) at_ms: u64,
    pub(super) wanted: WantedRecord,
    pub(super) server: Option<RecordedServer>,
    pub(super) claims_read_only: bool,
}

impl BeganCall {
    pub(super) fn weight(&self) -> usize {
        let arguments = self.wanted.arguments.as_ref();
        self.wanted.name.len() + arguments.map_or(0, |it| it.as_str().len())
    }
}

/// The end of a call, on its way to the thread.
pub(super) struct EndedCall {
    pub(super) key: u64,
    pub(super) at_ms: u64,
    pub(super) took: Duration,
    pub(super) outcome: Outcome,
    /// What was said on the way, if anything could be.
    pub(super) notes: Option<Box<Notes>>,
    /// The beginning, if it was not handed over yet.
    pub(super) began: Option<Box<BeganCall>>,
}

impl EndedCall {
    pub(super) fn weight(&self) -> usize {
        let result = match &self.outcome {
            Outcome::Result { result, .. } => result.as_bytes().len(),
            _ => 0,
        };
        result + self.began.as_ref().map_or(0, |began| began.weight())
    }
}

/// How a call ended.
pub(crate) enum Outcome {
    Result {
        result: Payload,
        cached: bool,
    },
    /// It goes on as a task.
    Task,
    /// There was a result, which is not at hand.
    Omitted,
    Error(Box<Error>),
    /// The caller that made it has gone.
    Dropped,
}

/// What was said on the way.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) kept: Vec<(Duration, ProgressParams)>,
    pub(super) omitted: u64,
}

/// Takes note of a call's progress.
#[derive(Clone)]
pub(crate) struct ProgressLog {
    began: Instant,
    notes: Arc<Mutex<Notes>>,
}

impl ProgressLog {
    pub(crate) fn note(&self, progress: &ProgressParams) {
        let mut notes = self.notes.lock();
        if notes.kept.len() < MOST_NOTES {
            notes.kept.push((self.began.elapsed(), progress.clone()));
        } else {
            notes.omitted += 1;
        }
    }
}

/// A call that is being recorded, or not. One that is dropped was cancelled.
pub(crate) struct Recording(Option<Box<Active>>);

struct Active {
    log: CallLog,
    key: u64,
    began_at: Instant,
    /// What is said on the way, if anything can be.
    progress: Option<ProgressLog>,
    /// The beginning, until it is handed over.
    began: Option<BeganCall>,
}

impl Recording {
    /// Begins to record a call, if there is a log.
    pub(crate) fn begin(log: Option<&CallLog>, wanted: impl FnOnce() -> WantedRecord) -> Self {
        Self(log.map(|log| {
            let key = log.next_key();
            Box::new(Active {
                log: log.clone(),
                key,
                began_at: Instant::now(),
                progress: None,
                began: Some(BeganCall {
                    key,
                    at_ms: now_ms(),
                    wanted: wanted(),
                    server: None,
                    claims_read_only: false,
                }),
            })
        }))
    }

    /// The call has found its server, so it can be written down that it begins.
    pub(crate) fn found(
        &mut self,
        own_name: &str,
        server: impl FnOnce() -> (RecordedServer, bool),
    ) {
        let Some(active) = &mut self.0 else { return };
        let Some(mut began) = active.began.take() else {
            return;
        };
        let (server, claims_read_only) = server();
        if began.wanted.name != own_name {
            began.wanted.name = own_name.to_owned();
        }
        began.server = Some(server);
        began.claims_read_only = claims_read_only;
        // What does not fit is written with the end.
        if let Err(Message::Began(began)) = active.log.send(Message::Began(began)) {
            active.began = Some(began);
        }
    }

    /// Where the call's progress is noted.
    pub(crate) fn progress(&mut self) -> Option<ProgressLog> {
        let active = self.0.as_mut()?;
        let progress = active.progress.get_or_insert_with(|| ProgressLog {
            began: active.began_at,
            notes: Arc::default(),
        });
        Some(progress.clone())
    }

    /// The call has ended.
    pub(crate) fn end<R: Recordable>(mut self, answer: &Result<R, Error>) {
        if let Some(active) = self.0.take() {
            active.end(match answer {
                Ok(answer) => answer.outcome(),
                Err(error) => Outcome::Error(Box::new(error.clone())),
            });
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(active) = self.0.take() {
            active.end(Outcome::Dropped);
        }
    }
}

impl Active {
    fn end(mut self, outcome: Outcome) {
        let ended = EndedCall {
            key: self.key,
            at_ms: now_ms(),
            took: self.began_at.elapsed(),
            outcome,
            notes: self
                .progress
                .map(|progress| Box::new(std::mem::take(&mut *progress.notes.lock()))),
            began: self.began.take().map(Box::new),
        };
        let Err(Message::Ended(mut ended)) = self.log.send(Message::Ended(ended)) else {
            return;
        };
        // The ending matters more than a result that has no room.
        if let Outcome::Result { .. } = ended.outcome {
            ended.outcome = Outcome::Omitted;
            if self.log.send(Message::Ended(ended)).is_ok() {
                return;
            }
        }
        self.log.count_lost();
    }
}

/// What a call may give.
pub(crate) trait Recordable {
    fn outcome(&self) -> Outcome;
}

impl Recordable for Payload {
    fn outcome(&self) -> Outcome {
        Outcome::Result {
            result: self.clone(),
            cached: false,
        }
    }
}

fn written(answer: &impl serde::Serialize, cached: bool) -> Outcome {
    match Json::from_serialize(answer) {
        Ok(json) => Outcome::Result {
            result: json.into(),
            cached,
        },
        Err(_) => Outcome::Omitted,
    }
}

/// What a face was told to change has no result.
impl Recordable for () {
    fn outcome(&self) -> Outcome {
        written(&Json::default(), false)
    }
}

impl Recordable for CallToolResult {
    fn outcome(&self) -> Outcome {
        written(self, false)
    }
}

impl Recordable for GetPromptResult {
    fn outcome(&self) -> Outcome {
        written(self, false)
    }
}

impl Recordable for TaskStart {
    fn outcome(&self) -> Outcome {
        match self {
            Self::Finished(result) => result.outcome(),
            Self::Running(_) => Outcome::Task,
        }
    }
}

impl Recordable for ReadAnswer {
    fn outcome(&self) -> Outcome {
        let cached = !matches!(self.freshness, Freshness::Fetched);
        written(&*self.contents, cached)
    }
}
