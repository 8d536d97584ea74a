//! A command's use of the process in the background.
//!
//! Where it is looked for, and what its failures are here. A request that only asks for something
//! and does not succeed is none: the command then finds out by itself, and says what it would have
//! said. Only a call cannot be made twice.

use std::time::Duration;

use attache::host::Error as HostError;
use attache::host::trust::Loaded;
use attache::protocol::{Ending, Payload, ProgressParams};
use attache_attach::{CallUpdate, PendingCall, Place, RemoteError, RemoteFailure, RemoteHost};

use crate::ask::TerminalQuestions;
use crate::configuration::{Configuration, LOCK_FILE};
use crate::failure::{Exit, Failure, Kind};

/// How long the background process may take to write what it knows.
const FLUSH_PATIENCE: Duration = Duration::from_secs(2);

/// The place of a configuration's background process; none if it has no file that may be run, or
/// there is no folder to put a socket in.
pub(crate) fn place_of(configuration: &Configuration) -> Result<Option<Place>, Failure> {
    let loaded = configuration.load()?;
    Ok(loaded.and_then(|loaded| place_of_loaded(configuration, &loaded)))
}

fn place_of_loaded(configuration: &Configuration, loaded: &Loaded) -> Option<Place> {
    let lock = loaded.found.file.with_file_name(LOCK_FILE);
    let lock = std::fs::read_to_string(lock).ok();
    Place::of(loaded, &configuration.environment, lock.as_deref())
}

/// The same for a command that looks for a process: none before the first `attache up`.
pub(crate) fn place_of_running(configuration: &Configuration, loaded: &Loaded) -> Option<Place> {
    Place::folder_of(&configuration.environment).filter(|folder| folder.is_dir())?;
    let place = place_of_loaded(configuration, loaded)?;
    place.socket().exists().then_some(place)
}

/// Waits until the background process, if there is one, has written what it knows of calls.
pub(crate) async fn flushed(configuration: &Configuration) {
    if let Ok(Some(loaded)) = configuration.load()
        && let Some(place) = place_of_running(configuration, &loaded)
        && let Some((host, _)) = RemoteHost::connect_to_any(&place).await
    {
        // What a process has not written by then is not held against it.
        let _ = tokio::time::timeout(FLUSH_PATIENCE, host.flushed()).await;
    }
}

/// Waits for the end of a call, and puts questions about it to the person at the terminal.
pub(crate) async fn conclude(
    mut call: PendingCall,
    host: &RemoteHost,
    mut on_progress: Option<impl FnMut(ProgressParams)>,
    terminal: &TerminalQuestions,
) -> Result<Payload, RemoteError> {
    let mut next = None;
    loop {
        let update = match next.take() {
            Some(update) => update,
            None => call.next().await,
        };
        match update {
            CallUpdate::Progress(note) => {
                if let Some(listener) = &mut on_progress {
                    listener(note);
                }
            }
            CallUpdate::Question(question) => {
                let mut answering = std::pin::pin!(terminal.answer(&question));
                next = loop {
                    tokio::select! {
                        biased;
                        update = call.next() => match update {
                            // Another face was faster, or it was taken back.
                            CallUpdate::Closed(closed) if closed == question.id => break None,
                            CallUpdate::Ended(_) => break Some(update),
                            _ => {}
                        },
                        answer = &mut answering => {
                            // What became of it is told by the call itself.
                            let _ = host.answer(question.id, answer).await;
                            break None;
                        }
                    }
                };
            }
            CallUpdate::Ended(ended) => return ended,
            _ => {}
        }
    }
}

/// What a command says about a request that has failed and cannot be made by itself.
pub(crate) fn failure(error: RemoteError) -> Failure {
    match error {
        RemoteError::Failed(failure) => (*failure).into(),
        other => Failure::new(Kind::Connect, Exit::Unreachable, other.to_string()),
    }
}

/// What a command says about a call that has failed.
pub(crate) fn call_failure(error: RemoteError, server: &str) -> Failure {
    match error {
        RemoteError::Failed(failure) => (*failure).into(),
        RemoteError::NotSent => Failure::ended(Ending::NotSent, error.to_string())
            .hint("repeating it is safe")
            .of(server),
        other => Failure::ended(Ending::OutcomeUnknown, other.to_string())
            .hint("find out whether it took effect before you repeat it")
            .of(server),
    }
}

/// An error of the background process's host, in the words of commands.
pub(crate) fn explain(error: HostError) -> RemoteFailure {
    Failure::from(error).into()
}

const KINDS: [(&str, Kind); 9] = [
    ("tool_failed", Kind::ToolFailed),
    ("spawn", Kind::Spawn),
    ("connect", Kind::Connect),
    ("incompatible", Kind::Incompatible),
    ("config", Kind::Config),
    ("usage", Kind::Usage),
    ("refused", Kind::Refused),
    ("auth", Kind::Auth),
    ("unexpected", Kind::Unexpected),
];

impl From<Failure> for RemoteFailure {
    fn from(failure: Failure) -> Self {
        let ending = match failure.kind {
            Kind::Ended(ending) => Some(ending),
            _ => None,
        };
        let known = KINDS.iter().find(|(_, kind)| *kind == failure.kind);
        let word = match (known, ending) {
            (Some((word, _)), _) => word,
            (None, Some(ending)) => ending.name(),
            (None, None) => "unexpected",
        };
        Self {
            ending,
            hint: failure.hint,
            server: failure.server,
            code: failure.code,
            meaning: failure.meaning.map(|it| it.as_str().to_owned()),
            data: failure.data,
            details: failure.details,
            ..Self::new(word, failure.exit as u8, failure.message)
        }
    }
}

impl From<RemoteFailure> for Failure {
    fn from(remote: RemoteFailure) -> Self {
        let kind = match remote.ending {
            Some(ending) => Kind::Ended(ending),
            None => {
                let known = KINDS.iter().find(|(word, _)| *word == remote.kind);
                known.map_or(Kind::Unexpected, |(_, kind)| *kind)
            }
        };
        Self {
            kind,
            exit: Exit::of_code(remote.exit),
            message: remote.message,
            hint: remote.hint,
            server: remote.server,
            code: remote.code,
            meaning: remote.meaning.and_then(|it| attache::Meaning::of_word(&it)),
            data: remote.data,
            details: remote.details,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use attache::protocol::Json;

    #[test]
    fn a_failure_says_the_same_on_the_other_side() {
        for failure in [
            Failure::usage("what").hint("how").of("notes"),
            Failure::ended(Ending::OutcomeUnknown, "lost"),
            Failure {
                code: Some(-32_000),
                meaning: Some(attache::Meaning::InvalidParams),
                data: Some(Json::parse("[1]").unwrap()),
                details: vec!["stderr".to_owned()],
                ..Failure::tool_failed("no")
            },
        ] {
            let remote = serde_json::to_string(&RemoteFailure::from(failure.clone())).unwrap();
            let remote: RemoteFailure = serde_json::from_str(&remote).unwrap();
            assert_eq!(
                format!("{:?}", Failure::from(remote)),
                format!("{failure:?}")
            );
        }
    }
}
