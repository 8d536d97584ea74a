//! What a request to a server may be told besides what it asks for: its time, and who hears of its
//! progress. Knows nothing of what the request is.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use attache_client::Request;
use attache_client::protocol::{Json, Method, ProgressParams};
use parking_lot::Mutex;

use super::server_handle::ServerHandle;
use crate::call_log::{ProgressLog, Recording};
use crate::events::EventKind;
use crate::redact::Redactor;

type ProgressListener = Arc<Mutex<dyn FnMut(ProgressParams) + Send>>;

/// The options of one request. They hold for each attempt of it.
#[derive(Clone, Default)]
pub(crate) struct RequestOptions {
    /// How long to wait without a sign of progress.
    pub(crate) timeout: Option<Duration>,
    /// How long to wait altogether, however much progress there is.
    pub(crate) maximum: Option<Duration>,
    /// Metadata to send along.
    pub(crate) meta: Vec<(String, Json)>,
    on_progress: Option<ProgressListener>,
    /// Where progress is written down, if anybody listens to it.
    progress_log: Option<ProgressLog>,
}

impl RequestOptions {
    /// Has the server asked for progress.
    pub(crate) fn listen(&mut self, listener: impl FnMut(ProgressParams) + Send + 'static) {
        self.on_progress = Some(Arc::new(Mutex::new(listener)));
    }

    /// Has progress written down that the caller or a face listens to.
    pub(crate) fn record(&mut self, recording: &mut Recording, server_handle: &ServerHandle) {
        if self.is_heard(server_handle) {
            self.progress_log = recording.progress();
        }
    }

    /// A face that follows what happens wants to see how far everything is.
    fn is_heard(&self, server_handle: &ServerHandle) -> bool {
        self.on_progress.is_some() || server_handle.shared.events.is_heard()
    }

    /// Puts them on a request. Progress is also told in events, under the request's number.
    pub(crate) fn apply<M: Method>(
        &self,
        mut request: Request<M>,
        server_handle: &ServerHandle,
        number: u64,
    ) -> Request<M> {
        if let Some(timeout) = self.timeout {
            request = request.timeout(timeout);
        }
        if let Some(maximum) = self.maximum {
            request = request.maximum(maximum);
        }
        for (key, value) in &self.meta {
            request = request.meta(key, value);
        }
        if self.is_heard(server_handle) {
            let listener = self.on_progress.clone();
            let (shared, server) = (server_handle.shared.clone(), server_handle.name().clone());
            let log = self.progress_log.clone();
            let config = server_handle.config();
            let redactor = LazyLock::new(move || Redactor::for_servers([&*config]));
            request = request.on_progress(move |note| {
                if let Some(log) = &log {
                    log.note(&note);
                }
                let progress = EventKind::Progress {
                    request: number,
                    progress: note.progress,
                    total: note.total,
                    message: note
                        .message
                        .as_deref()
                        .map(|it| redactor.redact(it).into_owned()),
                };
                shared.events.record(&server, progress);
                if let Some(listener) = &listener {
                    let mut listener = listener.lock();
                    listener(note);
                }
            });
        }
        request
    }
}
