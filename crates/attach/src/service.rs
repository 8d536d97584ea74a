//! The background process: accepts connections until it is told to end, or is idle.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache::Host;
use tokio::sync::Notify;
use tokio::task::JoinSet;

use crate::connection::{refuse, serve};
use crate::failure::Explain;
use crate::place::Place;
use crate::socket::Listener;
use crate::wire::Welcome;

/// How many clients are served at a time. A command that finds no room starts its servers itself.
const MOST_CLIENTS: usize = 128;
/// How many more are told so at a time; any further ones are closed without a word.
const MOST_REFUSALS: usize = 128;
/// How long to wait before accepting again after it has failed, as it does without descriptors.
const AFTER_FAILURE: Duration = Duration::from_millis(100);

/// A host and what all its clients share.
pub struct Service {
    pub(crate) host: Host,
    pub(crate) explain: Explain,
    pub(crate) key: String,
    pub(crate) welcome: Welcome,
    /// A client has asked for the end.
    pub(crate) end: Notify,
}

impl Service {
    /// The service of a host at a place. Errors of the host are told as `explain` puts them.
    pub fn new(host: Host, place: &Place, explain: Explain) -> Arc<Self> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let since_ms = now.map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
        Arc::new(Self {
            host,
            explain,
            key: place.key().to_owned(),
            welcome: Welcome {
                refused: None,
                version: env!("CARGO_PKG_VERSION").to_owned(),
                process: std::process::id(),
                file: place.file().display().to_string(),
                since_ms,
            },
            end: Notify::new(),
        })
    }

    /// Serves until it is asked to end, a signal comes, or no client was connected for `idle`.
    pub async fn run(
        self: &Arc<Self>,
        listener: &mut Listener,
        idle: Duration,
        signal: impl Future<Output = ()>,
    ) {
        let mut signal = std::pin::pin!(signal);
        let mut clients = JoinSet::new();
        let mut refusals = JoinSet::new();
        loop {
            let is_idle = clients.is_empty();
            tokio::select! {
                biased;
                () = &mut signal => return,
                () = self.end.notified() => return,
                Some(_) = clients.join_next(), if !is_idle => {}
                Some(_) = refusals.join_next(), if !refusals.is_empty() => {}
                accepted = listener.accept() => match accepted {
                    Ok(stream) if clients.len() < MOST_CLIENTS => {
                        clients.spawn(serve(stream, self.clone()));
                    }
                    Ok(stream) if refusals.len() < MOST_REFUSALS => {
                        refusals.spawn(refuse(stream, self.welcome.clone(), "busy"));
                    }
                    Ok(_) => {}
                    Err(_) => tokio::time::sleep(AFTER_FAILURE).await,
                },
                () = tokio::time::sleep(idle), if is_idle => return,
            }
        }
    }
}
