//! Which worker gets which request.
//!
//! Owns the workers. A named session has a worker of its own, so that its end takes nothing else
//! with it; requests without a session share a few warm ones. How many evaluations run at once and
//! how many sessions there are is bounded, and shared fairly among owners. Refuses to know how an
//! evaluation is done.

use std::sync::{Arc, Weak};
use std::time::Duration;

use attache_lisp::ErrorKind;
use parking_lot::Mutex;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::Instant;

use super::confinement::Confinement;
use super::limits::Limits;
use super::process::{Ending, Executable, WALL_GRACE, Worker};
use super::recent::{Found, Key, Recent};
use super::request::{Answer, Failed, Progress, Request, RequestError, SessionState};
use super::turns::Turns;
use super::wire::{MAX_TEXT, WorkerState, World};

/// Address space beyond what an evaluation needs: the program's own text, its allocator and its
/// threads.
const MARGIN: u64 = 768 << 20;
/// Address space for each byte of the heap limit: tables grow by being copied.
const SPACE_PER_BYTE: u64 = 4;
/// Address space for each permitted pending call: its frame and its values, being copied.
const SPACE_PER_CALL: u64 = 1 << 10;
/// Reports of progress that wait to be looked at.
const PROGRESS_WAITING: usize = 4;

/// How an evaluator works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What an evaluation may use at most.
    pub limits: Limits,
    /// Evaluations of one owner at the same time, and warm workers without a session. As many again
    /// are kept for owners of whom nothing runs, so that one owner's work never makes others wait.
    pub workers: usize,
    /// Sessions at the same time. For a new one the owner of the most loses the one not used for
    /// longest, and is told so when it asks for it.
    pub sessions: usize,
    /// How long a session keeps its process without being used. After that its definitions are
    /// lost, which it says when it is asked for.
    pub idle: Duration,
    /// Bytes of address space of a worker; none means enough for the limits.
    pub address_space: Option<u64>,
    /// What is started as a worker.
    pub executable: Executable,
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self {
            limits: Limits::default(),
            workers: cores.clamp(2, 4),
            sessions: 16,
            idle: Duration::from_secs(30 * 60),
            address_space: None,
            executable: Executable::Own,
        }
    }
}

/// Evaluates Lisp in worker processes. Clones share the workers; they end with the last clone.
#[derive(Clone)]
pub struct Evaluator {
    shared: Arc<Shared>,
}

impl std::fmt::Debug for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Evaluator")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}

struct Shared {
    settings: Settings,
    turns: Arc<Turns>,
    spare: Mutex<Vec<Worker>>,
    sessions: Mutex<Recent<Arc<Slot>>>,
}

/// A session's place. Its evaluations take turns.
struct Slot {
    turn: Semaphore,
    state: Mutex<SlotState>,
    used: Mutex<Instant>,
}

enum SlotState {
    Unused,
    Waiting(Box<Worker>),
    /// The worker is with an evaluation, or gone.
    Taken,
    /// It was not used for so long that its worker was ended.
    Rested,
}

/// Ends the worker of a session that is not used. The session itself stays, to say so.
async fn rest_when_idle(slot: Weak<Slot>, idle: Duration) {
    let mut due = Instant::now() + idle;
    loop {
        tokio::time::sleep_until(due).await;
        let Some(slot) = slot.upgrade() else { return };
        due = *slot.used.lock() + idle;
        if due > Instant::now() {
            continue;
        }
        let mut state = slot.state.lock();
        match &*state {
            SlotState::Waiting(_) => {
                *state = SlotState::Rested;
                return;
            }
            // An evaluation has it, and puts it back later.
            SlotState::Taken => due = Instant::now() + idle,
            SlotState::Unused | SlotState::Rested => return,
        }
    }
}

impl Slot {
    /// Takes the worker out, unless it ended while nobody looked.
    fn take(&self) -> SlotState {
        let state = std::mem::replace(&mut *self.state.lock(), SlotState::Taken);
        match state {
            SlotState::Waiting(mut worker) => {
                if worker.is_alive() {
                    SlotState::Waiting(worker)
                } else {
                    SlotState::Taken
                }
            }
            state => state,
        }
    }
}

impl Evaluator {
    /// An evaluator without workers yet; they start with the first requests.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        let mut settings = settings;
        // What does not fit into a message could not be answered.
        settings.limits.source = settings.limits.source.min(MAX_TEXT);
        settings.limits.output = settings.limits.output.min(MAX_TEXT);
        let shared = Shared {
            turns: Turns::new(settings.workers),
            spare: Mutex::new(Vec::new()),
            sessions: Mutex::new(Recent::new(settings.sessions)),
            settings,
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// The limits that requests can lower.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.shared.settings.limits
    }

    /// How long so many accepted requests of one owner take at most: each ends by its own limit.
    #[must_use]
    pub fn longest(&self, requests: usize) -> Duration {
        let each = self.limits().wall() + WALL_GRACE;
        let rounds = requests.div_ceil(self.shared.settings.workers.max(1));
        each.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX))
    }

    /// What the operating system lets workers do, as a worker that is started for this says itself.
    ///
    /// # Errors
    /// When no worker can be started.
    pub async fn confinement(&self) -> std::io::Result<Confinement> {
        let worker = self.shared.start().await?;
        let confinement = worker.confinement.clone();
        self.shared.put_back(worker);
        Ok(confinement)
    }

    /// Starts a worker ahead of the first request. A failure shows when a request needs it.
    pub async fn warm_up(&self) {
        if let Ok(worker) = self.shared.start().await {
            self.shared.put_back(worker);
        }
    }

    /// Evaluates a program. Dropping the future cancels the evaluation.
    ///
    /// # Errors
    /// [`RequestError`] when the request asks for what cannot be given; nothing ran then.
    pub async fn evaluate(
        &self,
        request: Request,
        mut on_progress: impl FnMut(Progress),
    ) -> Result<Answer, RequestError> {
        let limits = request.check(&self.shared.settings.limits)?;
        if request.code.len() as u64 > limits.source {
            let message = format!("more than {} bytes of source", limits.source);
            return Ok(Answer {
                result: Err(Failed::outside(ErrorKind::Memory, message)),
                session: None,
            });
        }
        let limit = limits.steps;
        let (cancel, cancelled) = oneshot::channel();
        let (progress, mut steps) = mpsc::channel(PROGRESS_WAITING);
        let shared = Arc::clone(&self.shared);
        // A task of its own, so that a dropped caller cannot leave a worker half used.
        let mut evaluation =
            tokio::spawn(
                async move { shared.evaluate(request, limits, cancelled, &progress).await },
            );
        let answer = loop {
            tokio::select! {
                Some(steps) = steps.recv() => on_progress(Progress { steps, limit }),
                answer = &mut evaluation => break answer,
            }
        };
        drop(cancel);
        Ok(answer.unwrap_or_else(|error| Answer {
            result: Err(Failed::outside(
                ErrorKind::Internal,
                format!("the evaluation was lost: {error}"),
            )),
            session: None,
        }))
    }

    /// Ends all workers that have nothing to do, forgets all sessions, and waits until the
    /// processes are gone: a server shall not leave before its workers.
    pub async fn close(&self) {
        let mut idle = std::mem::take(&mut *self.shared.spare.lock());
        let sessions = self.shared.sessions.lock().clear();
        for slot in sessions {
            if let SlotState::Waiting(worker) = slot.take() {
                idle.push(*worker);
            }
        }
        for worker in &mut idle {
            worker.start_end();
        }
        for worker in &mut idle {
            worker.ended().await;
        }
    }
}

impl Shared {
    async fn evaluate(
        &self,
        request: Request,
        limits: Limits,
        cancelled: oneshot::Receiver<()>,
        progress: &mpsc::Sender<u64>,
    ) -> Answer {
        match request.session {
            None => {
                let owner = &request.owner;
                self.without_session(owner, request.code, limits, cancelled, progress)
                    .await
            }
            Some(name) => {
                let owner = request.owner;
                let key = Key { owner, name };
                let Some(slot) = self.slot(&key) else {
                    let message = "this session made room for newer ones and its definitions are \
                                   lost; the next evaluation begins the session anew";
                    let failed = Failed::outside(ErrorKind::Internal, message);
                    return answer(Err(failed), Some(SessionState::Lost));
                };
                let mut answer = self
                    .in_session(&slot, &key.owner, request.code, limits, cancelled, progress)
                    .await;
                let is_meant = |known: &Arc<Slot>| Arc::ptr_eq(known, &slot);
                let mut sessions = self.sessions.lock();
                if answer.session == Some(SessionState::Lost) {
                    sessions.remove_if(&key, is_meant);
                } else if answer.session.is_some() && !sessions.has(&key, is_meant) {
                    // It made room for another while this ran, which is said here and only here.
                    sessions.forget_dropped(&key);
                    answer.session = Some(SessionState::Lost);
                }
                answer
            }
        }
    }

    async fn without_session(
        &self,
        owner: &str,
        code: String,
        limits: Limits,
        mut cancelled: oneshot::Receiver<()>,
        progress: &mpsc::Sender<u64>,
    ) -> Answer {
        let Some(_running) = unless(&mut cancelled, self.turns.take(owner)).await else {
            return cancelled_early();
        };
        let mut worker = match self.warm_worker().await {
            Ok(worker) => worker,
            Err(failed) => return answer(Err(failed), None),
        };
        let ending = worker
            .evaluate(code, limits, World::Fresh, cancelled, progress)
            .await;
        let result = match ending {
            Ending::Value(value) => Ok(value),
            Ending::Failure(failed, _) => Err(failed),
            Ending::Gone(failed) => return answer(Err(failed), None),
        };
        self.put_back(worker);
        answer(result, None)
    }

    async fn in_session(
        &self,
        slot: &Arc<Slot>,
        owner: &str,
        code: String,
        limits: Limits,
        mut cancelled: oneshot::Receiver<()>,
        progress: &mpsc::Sender<u64>,
    ) -> Answer {
        // First the session's turn: a request that waits for it shall not keep others waiting.
        let Some(Ok(_turn)) = unless(&mut cancelled, slot.turn.acquire()).await else {
            return cancelled_early();
        };
        let Some(_running) = unless(&mut cancelled, self.turns.take(owner)).await else {
            return cancelled_early();
        };
        let (mut worker, kept) = match slot.take() {
            SlotState::Unused => match self.warm_worker().await {
                Ok(worker) => (worker, SessionState::New),
                Err(failed) => {
                    *slot.state.lock() = SlotState::Unused;
                    return answer(Err(failed), None);
                }
            },
            SlotState::Waiting(worker) => (*worker, SessionState::Continued),
            SlotState::Rested => {
                let message = format!(
                    "this session was not used for {} minutes, so its process was ended and its \
                     definitions are lost; the next evaluation begins the session anew",
                    self.settings.idle.as_secs().div_ceil(60)
                );
                let failed = Failed::outside(ErrorKind::Internal, message);
                return answer(Err(failed), Some(SessionState::Lost));
            }
            SlotState::Taken => {
                let message = "the process of this session has ended and its definitions are \
                               lost; the next evaluation begins the session anew";
                let failed = Failed::outside(ErrorKind::Internal, message);
                return answer(Err(failed), Some(SessionState::Lost));
            }
        };
        let ending = worker
            .evaluate(code, limits, World::Kept, cancelled, progress)
            .await;
        let (result, state) = match ending {
            Ending::Value(value) => (Ok(value), kept),
            Ending::Failure(failed, WorkerState::Intact) => (Err(failed), kept),
            Ending::Failure(failed, WorkerState::Lost) | Ending::Gone(failed) => {
                return answer(Err(lost(failed)), Some(SessionState::Lost));
            }
        };
        *slot.used.lock() = Instant::now();
        *slot.state.lock() = SlotState::Waiting(Box::new(worker));
        if state == SessionState::New {
            tokio::spawn(rest_when_idle(Arc::downgrade(slot), self.settings.idle));
        }
        answer(result, Some(state))
    }

    /// The place of a session; none if it had to make room since it was used.
    fn slot(&self, key: &Key) -> Option<Arc<Slot>> {
        let make = || {
            Arc::new(Slot {
                turn: Semaphore::new(1),
                state: Mutex::new(SlotState::Unused),
                used: Mutex::new(Instant::now()),
            })
        };
        // A call that evaluates there, or waits for it, holds the place too.
        let is_busy = |slot: &Arc<Slot>| Arc::strong_count(slot) > 1;
        let found = self.sessions.lock().use_or_insert(key, make, is_busy);
        match found {
            // The worker of the one that had to go ends here, or with the evaluation it still has.
            Found::Here(slot, _gone) => Some(slot),
            Found::Dropped => None,
        }
    }

    /// A worker with no definitions of its own.
    async fn warm_worker(&self) -> Result<Worker, Failed> {
        while let Some(mut worker) = self.take_spare() {
            if worker.is_alive() {
                return Ok(worker);
            }
        }
        self.start().await.map_err(|error| {
            let message =
                format!("no worker process could be started: {error}; the next call tries again");
            Failed::outside(ErrorKind::Internal, message)
        })
    }

    fn take_spare(&self) -> Option<Worker> {
        self.spare.lock().pop()
    }

    async fn start(&self) -> std::io::Result<Worker> {
        let limits = &self.settings.limits;
        let enough = limits
            .heap
            .saturating_mul(SPACE_PER_BYTE)
            .saturating_add(limits.depth.saturating_mul(SPACE_PER_CALL))
            .saturating_add(MARGIN);
        let space = self.settings.address_space.unwrap_or(enough);
        Worker::start(&self.settings.executable, space).await
    }

    fn put_back(&self, worker: Worker) {
        let mut spare = self.spare.lock();
        if spare.len() < self.settings.workers {
            spare.push(worker);
        }
    }
}

/// Waits for something; nothing when the request was cancelled meanwhile.
async fn unless<T>(
    cancelled: &mut oneshot::Receiver<()>,
    awaited: impl Future<Output = T>,
) -> Option<T> {
    tokio::select! {
        awaited = awaited => Some(awaited),
        _ = cancelled => None,
    }
}

/// A panic elsewhere leaves the tables as they are, which is whole: they change in one step.
fn answer(result: Result<super::Evaluated, Failed>, session: Option<SessionState>) -> Answer {
    Answer { result, session }
}

fn cancelled_early() -> Answer {
    let message = "the evaluation was cancelled before it began";
    answer(Err(Failed::outside(ErrorKind::Time, message)), None)
}

fn lost(mut failed: Failed) -> Failed {
    failed.message.push_str(
        "; the definitions of the session are lost, and the next evaluation begins it anew",
    );
    failed
}
