//! Does a request, and tells how it ended.

use std::sync::Arc;

use attache::protocol::{CallToolResult, Json, Payload, ProgressParams};
use attache_view::document::Document;

use crate::backend::{Backend, CallWith, OnProgress, Problem};
use crate::mailbox::Mailbox;
use crate::message::{Failed, JobEnd, JobId, JobNews, Message, Work};

/// Answers larger than this are made into documents on a thread of their own.
const LARGE: usize = 64 * 1024;

pub(super) async fn begin(id: JobId, work: Work, backend: Backend, mailbox: Mailbox) {
    let progress = mailbox.clone();
    let on_progress: OnProgress = Box::new(move |params: ProgressParams| {
        let news = JobNews::Progress {
            progress: params.progress,
            total: params.total,
            message: params.message,
        };
        progress.send_progress(id, news);
    });
    let end = match work {
        Work::Call {
            server,
            tool,
            arguments,
            timeout,
            meta,
            as_task,
            output_schema,
        } => {
            let numbers = mailbox.clone();
            let call = CallWith {
                server,
                tool,
                arguments,
                timeout,
                meta,
                as_task,
                on_number: Box::new(move |number| {
                    numbers.send(Message::Job(id, JobNews::Numbered(number)));
                }),
            };
            match backend.call(call, on_progress).await {
                Ok(payload) => of_call(payload, output_schema).await,
                Err(problem) => JobEnd::Failed(failed(&problem)),
            }
        }
        Work::Read { server, uri } => match backend.read(&server, &uri, on_progress).await {
            Ok(contents) => {
                let document = move || {
                    let raw = Json::from_serialize(&*contents).unwrap_or_default();
                    (Document::of_resource(&contents), raw)
                };
                answered(document).await
            }
            Err(problem) => JobEnd::Failed(failed(&problem)),
        },
        Work::Prompt {
            server,
            name,
            arguments,
        } => match backend.prompt(&server, &name, arguments, on_progress).await {
            Ok(result) => {
                let document = move || {
                    let raw = Json::from_serialize(&result).unwrap_or_default();
                    (Document::of_prompt(&result), raw)
                };
                answered(document).await
            }
            Err(problem) => JobEnd::Failed(failed(&problem)),
        },
    };
    mailbox.send(Message::Job(id, JobNews::Ended(end)));
}

async fn of_call(payload: Payload, output_schema: Option<Json>) -> JobEnd {
    let is_large = payload.as_bytes().len() > LARGE;
    let make = move || -> Result<JobEnd, serde_json::Error> {
        let result: CallToolResult = payload.decode()?;
        let document = Document::of_own_call(result, output_schema.as_ref());
        Ok(JobEnd::Answered {
            document: Arc::new(document),
            raw: payload,
        })
    };
    let made = match is_large {
        true => tokio::task::spawn_blocking(make).await,
        false => Ok(make()),
    };
    match made {
        Ok(Ok(end)) => end,
        Ok(Err(error)) => broken(&error.to_string()),
        Err(error) => broken(&error.to_string()),
    }
}

fn broken(cause: &str) -> JobEnd {
    JobEnd::Failed(Failed {
        cause: format!("the answer cannot be read: {cause}"),
        word: "protocol error",
        ..Failed::default()
    })
}

async fn answered(make: impl FnOnce() -> (Document, Json) + Send + 'static) -> JobEnd {
    match tokio::task::spawn_blocking(make).await {
        Ok((document, raw)) => JobEnd::Answered {
            document: Arc::new(document),
            raw: raw.into(),
        },
        Err(error) => broken(&error.to_string()),
    }
}

pub(super) fn failed(problem: &Problem) -> Failed {
    let cause = problem.to_string();
    let Problem::Host(error) = problem else {
        return Failed {
            cause,
            word: "failed",
            ..Failed::default()
        };
    };
    let code = match error.client_error() {
        Some(attache::Error::Server(server)) => Some(server.code),
        _ => None,
    };
    let ending = error.ending();
    let word = match (error, ending) {
        (attache::host::Error::Refused { .. }, _) => "refused",
        (_, Some(attache::protocol::Ending::ServerError)) => "server error",
        (_, Some(attache::protocol::Ending::TimedOut)) => "timed out",
        (_, Some(attache::protocol::Ending::Cancelled)) => "cancelled",
        (_, Some(attache::protocol::Ending::NotSent)) => "not sent",
        (_, Some(attache::protocol::Ending::OutcomeUnknown)) => "outcome unknown",
        (_, Some(attache::protocol::Ending::ProtocolError)) => "protocol error",
        _ => "failed",
    };
    Failed {
        cause,
        word,
        code,
        is_unknown: ending == Some(attache::protocol::Ending::OutcomeUnknown),
    }
}
