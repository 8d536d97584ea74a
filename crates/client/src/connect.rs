//! Connecting to a server: opening its transport, agreeing on a revision, and the second chances.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use attache_process::InputRead;
use attache_protocol::Era;
use tokio::io::AsyncWrite;

use crate::client::Client;
use crate::connection::{Link, Outlet, StreamWriter};
use crate::error::{ConnectError, Error};
use crate::frames::ConnectionFrames;
use crate::http::{
    HttpFlavor, HttpTarget, SseTransport, SseUnavailable, Streamable, WebSocket, Wire,
};
use crate::keep_alive::KeepAlive;
use crate::negotiate::{Negotiation, Opening, opening};
use crate::question_clock::QuestionClock;
use crate::server::Server;
use crate::settings::EraChoice;
use crate::transport::{HttpServer, Transport};

/// How often connecting is repeated for a server that answers that it fails, and the first pause.
const FAILURE_REPEATS: u32 = 2;
const FAILURE_PAUSE: Duration = Duration::from_millis(250);

impl Server {
    /// Starts the server and agrees with it on a revision. One deadline covers all of it, except
    /// for the time a person takes to log in; when it passes, everything that was started is
    /// stopped again (fault 33).
    pub async fn connect(&self) -> Result<Client, Error> {
        let after = self.settings.timeouts.start;
        let mut keep_alive = None;
        let connecting = self.connect_in_time(&mut keep_alive);
        let error = match self.asked().timeout(after, connecting).await {
            Some(Ok(client)) => return Ok(client),
            Some(Err(Error::Connect(ConnectError::TimedOut { after, strays, .. }))) => {
                let stderr = keep_alive.as_ref().map(KeepAlive::last_words);
                Error::Connect(ConnectError::TimedOut {
                    after,
                    strays,
                    stderr: stderr.unwrap_or_default(),
                })
            }
            Some(Err(error)) => error,
            None => {
                let stderr = keep_alive.as_ref().map(KeepAlive::last_words);
                let strays = keep_alive.as_ref().map(KeepAlive::first_strays);
                Error::Connect(ConnectError::TimedOut {
                    after,
                    strays: strays.unwrap_or_default(),
                    stderr: stderr.unwrap_or_default(),
                })
            }
        };
        // A failed attempt leaves nothing behind (fault 8).
        if let Some(keep_alive) = keep_alive {
            keep_alive.abandon().await;
        }
        Err(error)
    }

    /// `keep_alive` holds what was started, so that a time-out can still read its last words.
    async fn connect_in_time(&self, keep_alive: &mut Option<KeepAlive>) -> Result<Client, Error> {
        let transport = self.transport();
        if let Some(setting) = self.misplaced {
            let transport = transport.kind();
            return Err(ConnectError::Misplaced { setting, transport }.into());
        }
        if let Transport::Http(http) = transport
            && http.flavor == HttpFlavor::Sse
        {
            return self.connect_sse(self.endpoint(http), keep_alive).await;
        }
        let mut opening = self.opening();
        let mut again = self.may_restart();
        let mut failures = 0;
        loop {
            let opened = self.open(keep_alive).await?;
            let error = match self.agree(opened, keep_alive, opening).await {
                Ok(client) => return Ok(client),
                Err(error) => error,
            };
            match (transport, &error) {
                // Some legacy servers leave when the first message is not `initialize`; they get a
                // second start (fault 30).
                (_, ConnectError::Lost(_))
                    if again && opening == Opening::Probe && transport.is_one_stream() =>
                {
                    again = false;
                    self.probe_in_vain.store(true, Ordering::Relaxed);
                    opening = Opening::Initialize;
                }
                // What an earlier program found out holds no more.
                (
                    Transport::Stdio(_) | Transport::Http(_),
                    ConnectError::Refused(_) | ConnectError::NoCommonRevision { .. },
                ) if again && self.told_legacy.swap(false, Ordering::Relaxed) => {
                    again = false;
                    self.probe_in_vain.store(false, Ordering::Relaxed);
                    opening = Opening::Probe;
                }
                // A server that fails has not said what it speaks (eras.md 2.2).
                (Transport::Http(_), ConnectError::Http(http))
                    if http.is_failure() && failures < FAILURE_REPEATS =>
                {
                    pause_after(&mut failures).await;
                }
                (Transport::Http(http), _) if self.may_be_sse(http, &error) => {
                    let target = self.endpoint(http);
                    return self.fall_back_to_sse(target, keep_alive, error).await;
                }
                _ => return Err(self.no_session(error)),
            }
        }
    }

    /// Negotiates over an open transport.
    async fn agree(
        &self,
        opened: Opened,
        keep_alive: &mut Option<KeepAlive>,
        opening: Opening,
    ) -> Result<Client, ConnectError> {
        let Opened { link, input_read } = opened;
        let Some(current) = keep_alive.as_ref() else {
            return Err(ConnectError::StreamsUsedUp);
        };
        let negotiation = Negotiation {
            link: &link,
            settings: &self.settings,
            capabilities: self.handlers.capabilities(),
        };
        let heard = current.heard(&link, input_read);
        let agreement = negotiation.run(opening, heard).await?;
        let legacy = agreement.revision.era() == Era::Legacy;
        self.known_legacy.store(legacy, Ordering::Relaxed);
        self.told_legacy.store(false, Ordering::Relaxed);
        if opening == Opening::Probe {
            self.probe_in_vain
                .store(agreement.was_silent, Ordering::Relaxed);
        }
        match keep_alive.take() {
            Some(keep_alive) => Ok(Client::new(link, keep_alive, agreement, &self.settings)),
            None => Err(ConnectError::StreamsUsedUp),
        }
    }

    fn no_session(&self, error: ConnectError) -> Error {
        self.known_legacy.store(false, Ordering::Relaxed);
        self.probe_in_vain.store(false, Ordering::Relaxed);
        Error::Connect(error)
    }

    /// Whether a refusal of both handshakes may come from a server of the oldest transport, which
    /// takes no message at this address (C-SHM-32).
    fn may_be_sse(&self, http: &HttpServer, error: &ConnectError) -> bool {
        let refused = match error {
            ConnectError::Http(http) => {
                matches!(http.status(), Some(200..=299 | 400 | 404..=406 | 415 | 501))
            }
            ConnectError::Refused(_) => true,
            _ => false,
        };
        refused
            && self.settings.era != EraChoice::Modern
            && http.flavor == HttpFlavor::Detect
            && !http.is_websocket()
    }

    /// HTTP+SSE and nothing else.
    async fn connect_sse(
        &self,
        target: &HttpTarget,
        keep_alive: &mut Option<KeepAlive>,
    ) -> Result<Client, Error> {
        if self.settings.era == EraChoice::Modern {
            let problem = "the transport HTTP+SSE is of the legacy era, and the era is fixed to \
                           modern; leave one of the two open";
            return Err(Error::Input(problem.to_owned()));
        }
        let mut failures = 0;
        loop {
            let wire = Wire::new(target, self.frames.open()).map_err(Error::Input)?;
            match SseTransport::open(wire, &self.settings)
                .await
                .map_err(Into::into)
            {
                Ok(older) => return self.agree_sse(older, keep_alive).await,
                Err(ConnectError::Http(http))
                    if http.is_failure() && failures < FAILURE_REPEATS =>
                {
                    pause_after(&mut failures).await;
                }
                Err(error) => return Err(self.no_session(error)),
            }
        }
    }

    /// The last resort: HTTP+SSE.
    async fn fall_back_to_sse(
        &self,
        target: &HttpTarget,
        keep_alive: &mut Option<KeepAlive>,
        refusal: ConnectError,
    ) -> Result<Client, Error> {
        let wire = Wire::new(target, self.frames.open()).map_err(Error::Input)?;
        match SseTransport::open(wire, &self.settings).await {
            Ok(older) => self.agree_sse(older, keep_alive).await,
            Err(answer) => Err(self.no_session(no_server(refusal, &answer, keep_alive))),
        }
    }

    async fn agree_sse(
        &self,
        older: SseTransport,
        keep_alive: &mut Option<KeepAlive>,
    ) -> Result<Client, Error> {
        let link = self.link(older.transport.clone(), older.transport.frames().clone());
        older.transport.attach(&link);
        let reading = tokio::spawn(older.stream.run(link.clone()));
        *keep_alive = Some(KeepAlive::of_message_transport(&link, vec![reading]));
        let agreed = self
            .agree(Opened::of(link), keep_alive, Opening::Initialize)
            .await;
        agreed.map_err(|error| self.no_session(error))
    }

    /// How many processes this server and its clones have started, or tried to. A connect may take
    /// two: some legacy servers leave when they are probed (fault 30).
    pub fn processes_started(&self) -> u64 {
        self.processes.load(Ordering::Relaxed)
    }

    /// How many processes the next connect may start at the most.
    pub fn max_processes_per_connect(&self) -> u64 {
        match (self.transport(), self.opening()) {
            (Transport::Stdio(_), Opening::Probe) if self.may_restart() => 2,
            (Transport::Stdio(_), _) if self.is_told_legacy() => 2,
            (Transport::Stdio(_), _) => 1,
            (Transport::Streams(_) | Transport::Http(_), _) => 0,
        }
    }

    /// Says what an earlier program found out about this server: that its probe was in vain. It is
    /// greeted with `initialize` then, and probed only if that is refused.
    #[must_use]
    pub fn unprobed(self) -> Self {
        self.told_legacy.store(true, Ordering::Relaxed);
        self.probe_in_vain.store(true, Ordering::Relaxed);
        self
    }

    /// Whether the last connect found that probing this server costs time and brings nothing: it
    /// is of the legacy era and stays silent, or leaves. Worth remembering for
    /// [`unprobed`](Self::unprobed).
    pub fn is_probed_in_vain(&self) -> bool {
        self.probe_in_vain.load(Ordering::Relaxed)
    }

    fn is_told_legacy(&self) -> bool {
        self.settings.era == EraChoice::Auto && self.told_legacy.load(Ordering::Relaxed)
    }

    fn may_restart(&self) -> bool {
        self.settings.era == EraChoice::Auto
    }

    fn opening(&self) -> Opening {
        let known =
            self.settings.era == EraChoice::Auto && self.known_legacy.load(Ordering::Relaxed);
        if known || self.is_told_legacy() {
            Opening::Initialize
        } else {
            opening(&self.settings)
        }
    }

    /// Opens the streams, starting the process if there is one, and sets the tasks to work.
    async fn open(&self, keep_alive: &mut Option<KeepAlive>) -> Result<Opened, Error> {
        match self.transport() {
            Transport::Stdio(launch) => {
                // A former attempt ends before the next one begins (fault 8).
                if let Some(former) = keep_alive.take() {
                    former.abandon().await;
                }
                self.processes.fetch_add(1, Ordering::Relaxed);
                let spawned = attache_process::spawn(launch).await?;
                let input_read = spawned.input_read();
                let link = self.stream_link(Box::new(spawned.stdin), self.frames.open());
                *keep_alive = Some(KeepAlive::of_process(
                    &link,
                    spawned.stdout,
                    spawned.stderr,
                    spawned.child,
                ));
                Ok(Opened { link, input_read })
            }
            Transport::Streams(streams) => {
                let (read, write) = streams.take().ok_or(ConnectError::StreamsUsedUp)?;
                let link = self.stream_link(write, self.frames.open());
                *keep_alive = Some(KeepAlive::of_streams(&link, read));
                Ok(Opened::of(link))
            }
            Transport::Http(http) if http.is_websocket() => {
                let frames = self.frames.open();
                let target = self.endpoint(http);
                let wire = Wire::new(target, frames.clone()).map_err(Error::Input)?;
                let socket = WebSocket::open(&wire, self.settings.limits.frame).await;
                let (read, write) = tokio::io::split(socket.map_err(|it| self.no_session(it))?);
                let link = self.stream_link(Box::new(write), frames);
                *keep_alive = Some(KeepAlive::of_streams(&link, read));
                Ok(Opened::of(link))
            }
            Transport::Http(http) => {
                let target = self.endpoint(http);
                let frames = self.frames.open();
                let wire = Wire::new(target, frames.clone()).map_err(Error::Input)?;
                let transport = Streamable::new(wire, &self.settings);
                let link = self.link(transport.clone(), frames);
                transport.attach(&link);
                *keep_alive = Some(KeepAlive::of_message_transport(&link, Vec::new()));
                Ok(Opened::of(link))
            }
        }
    }

    fn stream_link(
        &self,
        half: Box<dyn AsyncWrite + Send + Unpin>,
        frames: ConnectionFrames,
    ) -> Arc<Link> {
        let queue_limit = self.settings.limits.write_queue;
        self.link(StreamWriter::new(half, queue_limit, frames.clone()), frames)
    }

    fn link(&self, outlet: impl Outlet + 'static, frames: ConnectionFrames) -> Arc<Link> {
        let handlers = self.handlers.clone();
        Link::new(outlet, &self.settings, handlers, self.asked(), frames)
    }

    /// The time in which a person is being asked. A login concerns every connection to its server.
    fn asked(&self) -> QuestionClock {
        match self.transport() {
            Transport::Http(http) => self.endpoint(http).asked.clone(),
            Transport::Stdio(_) | Transport::Streams(_) => QuestionClock::default(),
        }
    }
}

/// A transport that is open.
struct Opened {
    link: Arc<Link>,
    /// What tells that the server has read what was sent, if anything does.
    input_read: Option<InputRead>,
}

impl Opened {
    fn of(link: Arc<Link>) -> Self {
        Self {
            link,
            input_read: None,
        }
    }
}

/// Leaves a server that fails in peace for a moment, for longer each time.
async fn pause_after(failures: &mut u32) {
    tokio::time::sleep(FAILURE_PAUSE * 2_u32.pow(*failures)).await;
    *failures += 1;
}

/// What to report when nothing at the address speaks MCP: all that was answered. A server that
/// refused in terms of MCP has said it better itself.
fn no_server(
    refusal: ConnectError,
    answer: &SseUnavailable,
    keep_alive: &Option<KeepAlive>,
) -> ConnectError {
    match refusal {
        ConnectError::Http(_) => {
            let mut answers = keep_alive
                .as_ref()
                .map(KeepAlive::answers)
                .unwrap_or_default();
            answers.push(answer.told());
            ConnectError::NoServer { answers }
        }
        refusal => refusal,
    }
}
