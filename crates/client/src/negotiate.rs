//! Finding out what a server speaks: probe, fall back, agree (eras.md section 2.1).
//!
//! The decisions are pure functions over what came back; the rest is waiting.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use attache_protocol::frame::{MetaFields, Params};
use attache_protocol::{
    ClientCapabilities, Discover, DiscoverResult, Era, ErrorObject, Implementation, Initialize,
    InitializeParams, InitializeResult, Initialized, Json, Method, NoParams, Payload, Revision,
    ServerCapabilities, UnsupportedVersionData, codes, meta, shortened,
};

use crate::connection::{
    FOR_EVER, Failure, Link, Patience, PendingRequest, ProgressWish, TimeLeft,
};
use crate::error::{ConnectError, Meaning, ServerError};
use crate::http::HttpError;
use crate::settings::{EraChoice, InitializedNotice, Settings, TasksExtension};

/// How long a server on a pipe may be silent once it has heard the probe, before `initialize` goes
/// out beside it. Every known server of the modern era answers within a few milliseconds. One that
/// is given both takes the second for its choice of the legacy era (S-MOD-17), so the wait begins
/// when the probe was heard, and not before.
const QUIET: Duration = Duration::from_millis(300);

/// What the two sides agreed on.
#[derive(Clone, Debug)]
pub(crate) struct Agreement {
    /// Whether the server said nothing to the probe.
    pub(crate) was_silent: bool,
    pub(crate) revision: Revision,
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) server: Option<Implementation>,
    pub(crate) instructions: Option<String>,
}

/// How to open the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// With `server/discover`.
    Probe,
    /// With `initialize`.
    Initialize,
}

/// The first message to send.
pub(crate) fn opening(settings: &Settings) -> Opening {
    let pinned_legacy = settings
        .protocol
        .is_some_and(|revision| revision.era() == Era::Legacy);
    if settings.era == EraChoice::Legacy || (pinned_legacy && settings.era == EraChoice::Auto) {
        Opening::Initialize
    } else {
        Opening::Probe
    }
}

/// One attempt to agree over one connection.
pub(crate) struct Negotiation<'a> {
    pub(crate) link: &'a Arc<Link>,
    pub(crate) settings: &'a Settings,
    pub(crate) capabilities: ClientCapabilities,
}

/// What the answer to a probe shows.
#[derive(Debug)]
enum Verdict {
    /// A modern server.
    Modern(Box<DiscoverResult>),
    /// A modern server that wants one of these revisions.
    OtherVersion(Vec<String>),
    /// A modern server that refuses for another reason.
    ModernRefusal(ErrorObject),
    /// Anything that no modern server says.
    Legacy,
    /// The connection ended.
    Left(ConnectError),
}

/// Exactly this is evidence of a modern server: a discover result, or a modern error code.
/// Nothing else is, whatever the code (C-MOD-14, C-MOD-15, fault 32).
fn judge(answer: Result<Payload, Failure>) -> Verdict {
    match answer {
        Ok(payload) => match payload.decode() {
            Ok(result) => Verdict::Modern(Box::new(result)),
            Err(_) => Verdict::Legacy,
        },
        Err(Failure::Server(error)) => judge_error(error),
        Err(Failure::NotSent(reason) | Failure::OutcomeUnknown(reason)) => {
            Verdict::Left(ConnectError::Lost(reason))
        }
        Err(Failure::Http(error)) => judge_http(error),
        Err(Failure::Protocol(_) | Failure::Unwritable(_) | Failure::TimedOut(_)) => {
            Verdict::Legacy
        }
    }
}

fn judge_error(error: ErrorObject) -> Verdict {
    /// Codes of drafts before 2026-07-28, told apart by their data (contradiction 2).
    const DRAFT_UNSUPPORTED_VERSION: i64 = -32004;
    const DRAFT_MISSING_CAPABILITY: i64 = -32003;
    let supported = supported_versions(&error);
    let has = |member: &str| {
        let data = error.data.as_ref().and_then(|data| data.to_value().ok());
        data.is_some_and(|data| data.get(member).is_some())
    };
    match error.code {
        codes::UNSUPPORTED_VERSION => Verdict::OtherVersion(supported),
        DRAFT_UNSUPPORTED_VERSION if !supported.is_empty() => Verdict::OtherVersion(supported),
        codes::HEADER_MISMATCH | codes::MISSING_CAPABILITY => Verdict::ModernRefusal(error),
        DRAFT_MISSING_CAPABILITY if has("requiredCapabilities") => Verdict::ModernRefusal(error),
        _ => Verdict::Legacy,
    }
}

/// Whether only a server of the modern era answers so.
fn is_modern(error: &ErrorObject) -> bool {
    !matches!(judge_error(error.clone()), Verdict::Legacy)
}

/// A server that failed, moved or wants credentials has not said what it speaks; any other refusal
/// without a modern body is what legacy servers do (C-SHM-31).
fn judge_http(error: HttpError) -> Verdict {
    match &error {
        HttpError::Redirected { .. } | HttpError::Authorization(_) => {
            Verdict::Left(ConnectError::Http(error))
        }
        _ if error.is_failure() => Verdict::Left(ConnectError::Http(error)),
        HttpError::Status { .. } | HttpError::ContentType { .. } => Verdict::Legacy,
    }
}

fn supported_versions(error: &ErrorObject) -> Vec<String> {
    let data = error.data.as_ref();
    data.and_then(|data| data.decode::<UnsupportedVersionData>().ok())
        .map(|data| data.supported)
        .unwrap_or_default()
}

impl Negotiation<'_> {
    /// Runs the attempt. `heard` resolves when the server can be taken to have heard the probe.
    pub(crate) async fn run(
        &self,
        opening: Opening,
        heard: impl Future<Output = ()>,
    ) -> Result<Agreement, ConnectError> {
        match opening {
            Opening::Initialize => self.initialize(self.newest_legacy()).await,
            Opening::Probe => self.probe(heard).await,
        }
    }

    async fn probe(&self, heard: impl Future<Output = ()>) -> Result<Agreement, ConnectError> {
        let revision = Revision::NEWEST_FIRST[0];
        let mut probe = self.begin_discover(revision)?;
        let answer = tokio::select! {
            answer = probe.answered() => Some(answer),
            () = self.silence(heard) => None,
        };
        match answer.map(judge) {
            Some(verdict) => self.follow(verdict).await,
            None => self.initialize_beside(probe).await,
        }
    }

    /// Resolves when the server was silent for so long that it may be legacy. Where it may not be
    /// legacy there is nothing to fall back to, and only the deadline of connecting ends the wait.
    async fn silence(&self, heard: impl Future<Output = ()>) {
        match self.settings.era {
            EraChoice::Modern => std::future::pending().await,
            EraChoice::Auto | EraChoice::Legacy => {
                let patience = self.probe_patience(heard);
                self.link
                    .server_requests
                    .asked
                    .without_asking(patience)
                    .await;
            }
        }
    }

    /// The time for an answer. Over HTTP nothing shows that a request was heard, a server may be
    /// woken by it, and an early `initialize` would leave a session behind; so that takes longer.
    async fn probe_patience(&self, heard: impl Future<Output = ()>) {
        let timeouts = &self.settings.timeouts;
        let quiet = if self.link.is_http() {
            timeouts.start_grace.saturating_add(timeouts.probe)
        } else {
            heard.await;
            timeouts.probe.min(QUIET)
        };
        tokio::time::sleep(quiet.min(FOR_EVER)).await;
    }

    async fn follow(&self, verdict: Verdict) -> Result<Agreement, ConnectError> {
        match verdict {
            Verdict::Modern(result) => self.agree_modern(*result).await,
            Verdict::OtherVersion(supported) => self.change_version(supported).await,
            Verdict::ModernRefusal(error) => Err(self.refused(Discover::NAME, error)),
            Verdict::Left(error) => Err(error),
            Verdict::Legacy if self.settings.era == EraChoice::Modern => {
                Err(self.no_common_revision(Vec::new()))
            }
            Verdict::Legacy => self.initialize(self.newest_legacy()).await,
        }
    }

    /// A modern server named other revisions: ask once more with one of those.
    async fn change_version(&self, supported: Vec<String>) -> Result<Agreement, ConnectError> {
        let offered = || supported.iter().map(String::as_str);
        if let Some(revision) = Revision::newest_of(Era::Modern, offered()) {
            let mut again = self.begin_discover(revision)?;
            // It is modern by its own words, so silence could not make it legacy any more.
            match judge(again.answered().await) {
                Verdict::Modern(result) => self.agree_modern(*result).await,
                Verdict::ModernRefusal(error) => Err(self.refused(Discover::NAME, error)),
                Verdict::Left(error) => Err(error),
                Verdict::OtherVersion(_) | Verdict::Legacy => {
                    Err(self.no_common_revision(supported))
                }
            }
        } else {
            self.fall_back_to(supported).await
        }
    }

    async fn agree_modern(&self, result: DiscoverResult) -> Result<Agreement, ConnectError> {
        let offered = result.supported_versions.iter().map(String::as_str);
        let Some(revision) = Revision::newest_of(Era::Modern, offered) else {
            return self.fall_back_to(result.supported_versions).await;
        };
        let session_meta = self.modern_meta(revision)?;
        self.link.settle(revision, session_meta);
        Ok(Agreement {
            was_silent: false,
            revision,
            capabilities: result.capabilities,
            server: result.meta.as_ref().and_then(server_identity),
            instructions: result.instructions,
        })
    }

    /// A modern server without a common modern revision may still list a legacy one.
    async fn fall_back_to(&self, supported: Vec<String>) -> Result<Agreement, ConnectError> {
        let offered = supported.iter().map(String::as_str);
        match Revision::newest_of(Era::Legacy, offered) {
            Some(revision) if self.settings.era != EraChoice::Modern => {
                self.initialize(revision).await
            }
            _ => Err(self.no_common_revision(supported)),
        }
    }

    async fn initialize(&self, revision: Revision) -> Result<Agreement, ConnectError> {
        let mut pending = self.begin_initialize(revision)?;
        let answer = pending.answered().await;
        self.agree_legacy(answer).await
    }

    /// The probe found silence: `initialize` goes out beside it, and whichever is answered first
    /// decides (faults 31 and 67).
    async fn initialize_beside(
        &self,
        mut probe: PendingRequest,
    ) -> Result<Agreement, ConnectError> {
        let mut initialize = self.begin_initialize(self.newest_legacy())?;
        let mut initialized = std::pin::pin!(initialize.answered());
        let answer = tokio::select! {
            biased;
            late = probe.answered() => return match judge(late) {
                Verdict::Legacy => self.agree_legacy(initialized.await).await,
                Verdict::Modern(result) => {
                    match tokio::time::timeout(QUIET, initialized).await {
                        Ok(Ok(accepted)) => self.ask_once_more(accepted).await,
                        _ => self.agree_modern(*result).await,
                    }
                }
                verdict => self.follow(verdict).await,
            },
            answer = &mut initialized => answer,
        };
        match answer {
            // Only a server that has chosen the modern era refuses so.
            Err(Failure::Server(error)) if is_modern(&error) => {
                self.follow(judge(probe.answered().await)).await
            }
            answer => Ok(Agreement {
                was_silent: true,
                ..self.agree_legacy(answer).await?
            }),
        }
    }

    /// The server has accepted both greetings. Some go on in either era; others take `initialize`
    /// for the choice of the legacy one (S-MOD-17), and the probe is a method unknown to them now.
    async fn ask_once_more(&self, accepted: Payload) -> Result<Agreement, ConnectError> {
        let mut again = self.begin_discover(Revision::NEWEST_FIRST[0])?;
        match tokio::time::timeout(QUIET, again.answered())
            .await
            .map(judge)
        {
            Ok(Verdict::Modern(result)) => self.agree_modern(*result).await,
            Ok(Verdict::Left(error)) => Err(error),
            _ => self.agree_legacy(Ok(accepted)).await,
        }
    }

    async fn agree_legacy(
        &self,
        answer: Result<Payload, Failure>,
    ) -> Result<Agreement, ConnectError> {
        let first = match self.read_initialized(answer) {
            Ok(result) => result,
            Err(Refused(error)) => match self.other_legacy_version(&error) {
                // A refused version is named in the error; ask once more (S-INIT-19).
                Some(revision) => {
                    let mut pending = self.begin_initialize(revision)?;
                    let answer = pending.answered().await;
                    self.read_initialized(answer)
                        .map_err(|Refused(error)| self.refused(Initialize::NAME, error))?
                }
                None => return Err(self.refused(Initialize::NAME, error)),
            },
        }?;
        let offered = [first.protocol_version.as_str()];
        let Some(revision) = Revision::newest_of(Era::Legacy, offered) else {
            return Err(self.no_common_revision(vec![first.protocol_version]));
        };
        self.link.settle(revision, MetaFields::default());
        if self.settings.quirks.initialized == InitializedNotice::Send {
            self.link.notify::<Initialized>(&NoParams::default());
        }
        Ok(Agreement {
            was_silent: false,
            revision,
            capabilities: first.capabilities,
            server: first.server_info,
            instructions: first.instructions,
        })
    }

    /// The result of `initialize`; the outer error is a refusal that may name other versions.
    fn read_initialized(
        &self,
        answer: Result<Payload, Failure>,
    ) -> Result<Result<InitializeResult, ConnectError>, Refused> {
        let problem = match answer {
            Ok(payload) => match payload.decode() {
                Ok(result) => return Ok(Ok(result)),
                Err(error) => {
                    ConnectError::Protocol(shortened(format_args!("initialize: {error}")))
                }
            },
            Err(Failure::Server(error)) => return Err(Refused(error)),
            Err(Failure::NotSent(reason) | Failure::OutcomeUnknown(reason)) => {
                ConnectError::Lost(reason)
            }
            Err(Failure::Http(error)) => ConnectError::Http(error),
            Err(Failure::TimedOut(after)) => ConnectError::TimedOut {
                after,
                strays: self.link.first_strays(),
                stderr: Vec::new(),
            },
            Err(Failure::Protocol(problem) | Failure::Unwritable(problem)) => {
                ConnectError::Protocol(format!("initialize: {problem}"))
            }
        };
        Ok(Err(problem))
    }

    fn other_legacy_version(&self, error: &ErrorObject) -> Option<Revision> {
        let supported = supported_versions(error);
        Revision::newest_of(Era::Legacy, supported.iter().map(String::as_str))
    }

    fn begin_discover(&self, revision: Revision) -> Result<PendingRequest, ConnectError> {
        let request_meta = self.modern_meta(revision)?;
        let patience = Patience::Endless;
        self.begin(
            Discover::NAME,
            &NoParams::default(),
            &request_meta,
            patience,
        )
    }

    fn begin_initialize(&self, revision: Revision) -> Result<PendingRequest, ConnectError> {
        let params = InitializeParams::new(revision, &self.capabilities, &self.settings.identity);
        // The whole of connecting has a deadline of its own, so one step may take all of it.
        let whole = self.settings.timeouts.start;
        let patience = Patience::While(TimeLeft::new(self.link, whole, whole, None));
        self.begin(Initialize::NAME, &params, &MetaFields::default(), patience)
    }

    fn begin<P: serde::Serialize>(
        &self,
        method: &str,
        params: &P,
        request_meta: &MetaFields,
        patience: Patience,
    ) -> Result<PendingRequest, ConnectError> {
        let params = Params::write(params).map_err(own_fault)?;
        self.link
            .begin(method, &params, request_meta, ProgressWish::None, patience)
            .map(PendingRequest::unattended)
            .map_err(|failure| match judge(Err(failure)) {
                Verdict::Left(error) => error,
                verdict => ConnectError::Protocol(format!("{verdict:?}")),
            })
    }

    /// What every request to a modern server carries (C-MOD-01 to C-MOD-03).
    fn modern_meta(&self, revision: Revision) -> Result<MetaFields, ConnectError> {
        let mut capabilities = self.capabilities.for_revision(revision);
        if self.settings.tasks_extension == TasksExtension::On {
            let extensions = serde_json::json!({ meta::TASKS_EXTENSION: {} });
            capabilities.extensions = Some(extensions.into());
        }
        let identity = self.settings.identity.for_revision(revision);
        let mut fields = MetaFields::default();
        fields
            .add(meta::PROTOCOL_VERSION, &revision)
            .and_then(|()| fields.add(meta::CLIENT_INFO, &identity))
            .and_then(|()| fields.add(meta::CLIENT_CAPABILITIES, &capabilities))
            .map_err(own_fault)?;
        Ok(fields)
    }

    fn newest_legacy(&self) -> Revision {
        self.settings
            .protocol
            .filter(|revision| revision.era() == Era::Legacy)
            .unwrap_or(Revision::V2025_11_25)
    }

    fn no_common_revision(&self, offered: Vec<String>) -> ConnectError {
        let wanted = Revision::NEWEST_FIRST
            .into_iter()
            .filter(|revision| match self.settings.era {
                EraChoice::Auto => true,
                EraChoice::Modern => revision.era() == Era::Modern,
                EraChoice::Legacy => revision.era() == Era::Legacy,
            })
            .collect();
        ConnectError::NoCommonRevision { offered, wanted }
    }

    fn refused(&self, method: &str, error: ErrorObject) -> ConnectError {
        ConnectError::Refused(ServerError::new(method, error, Meaning::Other))
    }
}

/// A server's refusal of the handshake.
struct Refused(ErrorObject);

fn own_fault(error: serde_json::Error) -> ConnectError {
    ConnectError::Protocol(format!("this client cannot write its handshake: {error}"))
}

/// A modern server names itself in the metadata of its results (S-MOD-07).
fn server_identity(result_meta: &Json) -> Option<Implementation> {
    let value = result_meta.to_value().ok()?;
    Json::from(value.get(meta::SERVER_INFO)?.clone())
        .decode()
        .ok()
}
