//! What a handler can do besides answering: tell of progress, log, notice that it is no longer
//! wanted, and ask the client.
//!
//! A handler is written once and works in both eras. The eras differ in how questions travel; that
//! is `asking`'s business.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use attache_protocol::{
    ClientCapabilities, Era, Implementation, Json, LogLevel, LogMessage, LogMessageParams,
    Notification, Progress, ProgressParams, ProgressToken, RequestId, Revision, frame,
};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use tokio::sync::Notify;

use crate::asking::Asking;
use crate::kernel::Kernel;
use crate::service::{Outlet, Principal, Sent};
use crate::session::Session;
use crate::tasks::TaskEntry;

/// What a handler gets beside its arguments. Cheap to clone, good for as long as the call lasts.
#[derive(Clone)]
pub struct Context {
    pub(crate) call: Arc<Call>,
}

/// One request while it runs.
pub(crate) struct Call {
    pub(crate) id: RequestId,
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) session: Arc<Session>,
    pub(crate) outlet: Arc<dyn Outlet>,
    pub(crate) revision: Revision,
    pub(crate) capabilities: Arc<ClientCapabilities>,
    pub(crate) client: Option<Arc<Implementation>>,
    pub(crate) asking: Asking,
    /// The task that a modern call has become while it ran.
    pub(crate) task: OnceLock<Arc<TaskEntry>>,
    pub(crate) progress_token: Option<ProgressToken>,
    /// The least level this request wants to hear of; `None` wants nothing (S-LOG-04).
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) cancelled: AtomicBool,
    pub(crate) cancelling: Notify,
    pub(crate) state: Mutex<CallState>,
}

#[derive(Default)]
pub(crate) struct CallState {
    /// Wakes whoever drives the call, to notice a cancellation.
    pub(crate) driver: Option<Waker>,
    /// The answer is given: nothing may be sent any more (X-PROG-02).
    pub(crate) ended: bool,
    /// The last progress that was told.
    progress: Option<f64>,
    /// How many questions got a number instead of a name.
    pub(crate) numbered: usize,
    /// How many questions were sent as requests.
    pub(crate) asked: usize,
    /// Whether the call may become a task, and wants to.
    pub(crate) detaching: Detaching,
}

/// How far a call is on its way to become a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detaching {
    /// It stays a call.
    #[default]
    Never,
    /// It becomes a task when the handler says so.
    Possible,
    /// The handler has said so.
    Wanted,
}

impl Call {
    pub(crate) fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.cancelling.notify_waiters();
        let driver = self.lock().driver.take();
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    /// The answer is given or will never be: whoever still works on it may stop.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.cancelled.store(true, Ordering::Release);
        self.cancelling.notify_waiters();
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, CallState> {
        self.state.lock()
    }

    fn notify<N: Notification>(&self, params: &N::Params) {
        // What cannot be written or delivered is news that nobody can hear; the work goes on.
        if let Ok(frame) = frame::notification(N::NAME, params, &[]) {
            let _ = self.outlet.send(frame, Sent::Notice);
        }
    }
}

impl Context {
    pub(crate) fn new(call: Arc<Call>) -> Self {
        Self { call }
    }

    /// Tells how far the work has come. Does nothing unless the client asked for it. Values must
    /// rise; one that does not is left out (X-PROG-02).
    pub fn progress(&self, progress: f64, total: Option<f64>) {
        self.tell_progress(progress, total, None);
    }

    /// Tells how far the work has come, and what is being done.
    pub fn progress_with(&self, progress: f64, total: Option<f64>, message: &str) {
        self.tell_progress(progress, total, Some(message.to_owned()));
    }

    fn tell_progress(&self, progress: f64, total: Option<f64>, message: Option<String>) {
        let call = &self.call;
        // Progress never concerns a modern task (S-TSKE-16).
        let token = call
            .progress_token
            .clone()
            .filter(|_| call.task.get().is_none());
        let Some(token) = token else {
            return;
        };
        {
            let mut state = call.lock();
            let rises = state.progress.is_none_or(|last| progress > last);
            if !rises || !progress.is_finite() || state.ended || call.is_cancelled() {
                return;
            }
            state.progress = Some(progress);
        }
        let mut params = ProgressParams::new(token, progress);
        params.total = total.filter(|total| total.is_finite());
        if call.revision.features().progress_message {
            params.message = message;
        }
        call.notify::<Progress>(&params);
    }

    /// Sends a log message to the client, if it wants messages of that level.
    pub fn log(&self, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        self.log_as(None, level, data);
    }

    /// Sends a log message in the name of a part of the server.
    pub fn log_from(&self, logger: &str, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        self.log_as(Some(logger.to_owned()), level, data);
    }

    fn log_as(&self, logger: Option<String>, level: LogLevel, data: &(impl Serialize + ?Sized)) {
        let call = &self.call;
        if !call.kernel.offers_logging() || call.task.get().is_some() {
            return;
        }
        let wanted = match call.revision.era() {
            Era::Modern => call.log_level,
            Era::Legacy => Some(call.session.log_level()),
        };
        if wanted.is_none_or(|wanted| level < wanted) || call.lock().ended || call.is_cancelled() {
            return;
        }
        call.notify::<LogMessage>(&LogMessageParams {
            level: level.as_str().to_owned(),
            logger,
            data: Json::from_serialize(data).unwrap_or_default(),
            ..LogMessageParams::default()
        });
    }

    /// Whether the request is no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.call.is_cancelled()
    }

    /// Waits until the request is no longer wanted.
    ///
    /// A handler's future is dropped when that happens, so this is for work the handler has handed
    /// to others.
    pub async fn cancelled(&self) {
        let cancelling = self.call.cancelling.notified();
        if !self.call.is_cancelled() {
            cancelling.await;
        }
    }

    /// The revision the request is written in.
    pub fn revision(&self) -> Revision {
        self.call.revision
    }

    /// What the client can do.
    pub fn client_capabilities(&self) -> &ClientCapabilities {
        &self.call.capabilities
    }

    /// Who the client says it is; for logs and people, never for decisions (X-MOD-08).
    pub fn client(&self) -> Option<&Implementation> {
        self.call.client.as_deref()
    }

    /// Who is asking, as far as the face could authenticate.
    pub fn principal(&self) -> &Principal {
        &self.call.session.principal
    }

    /// Tells clients that something has changed.
    pub fn changes(&self) -> crate::changes::Changes {
        crate::changes::Changes::new(Arc::clone(&self.call.kernel))
    }

    /// Goes on as a task from here, if the tool is one of [`TaskStart::WhenDetached`] and the
    /// client knows tasks; otherwise nothing happens. The client is answered with the task, and
    /// the handler runs on.
    ///
    /// [`TaskStart::WhenDetached`]: crate::TaskStart::WhenDetached
    pub async fn detach(&self) {
        let call = &self.call;
        {
            let mut state = call.lock();
            if state.detaching == Detaching::Never {
                return;
            }
            state.detaching = Detaching::Wanted;
        }
        poll_fn(|_| match call.task.get() {
            Some(_) => Poll::Ready(()),
            // Whoever drives the call sees the wish, makes the task and polls again.
            None => Poll::Pending,
        })
        .await;
    }

    /// Asks the face to close the stream of this request while the work goes on; a legacy HTTP
    /// client comes back for the answer (X-SHL-11). Elsewhere nothing happens.
    pub fn interrupt_stream(&self) {
        // Before 2025-11-25 a stream ends with its answer (S-SHL-13).
        if self.call.revision.features().primed_streams {
            self.call.outlet.interrupt();
        }
    }
}
