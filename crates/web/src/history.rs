//! What was called before: the call log, and the log files of servers.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use attache::host::call_log::{
    Began, CallEnding, CallError, CallRecord, CalledServer, Ended, Filter, ProgressNote, find,
    history, stored,
};
use attache::host::log_files::{FILE_BYTES, log_path};
use attache::protocol::{CallToolResult, Json, safe_text};
use attache_view::document::Document;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Serialize;

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;
use crate::routes::Query;

/// How many calls are told unless said, and at most.
const USUAL: u64 = 100;
const MOST: u64 = 1000;
/// How many lines of a log file are told unless said, and at most.
const USUAL_LINES: u64 = 200;
const MOST_LINES: u64 = 10_000;

pub(crate) const QUERY: &[Query] = &[
    Query {
        name: "server",
        about: "Of this server only.",
    },
    Query {
        name: "name",
        about: "Of this tool, prompt or URI only.",
    },
    Query {
        name: "since_ms",
        about: "Begun at this time or later, in milliseconds since 1970.",
    },
    Query {
        name: "limit",
        about: "How many, the latest: 100 unless said, 1,000 at most.",
    },
    Query {
        name: "actions",
        about: "`true`: also what was answered, approved and switched.",
    },
];

pub(crate) const LOGS_QUERY: &[Query] = &[
    Query {
        name: "server",
        about: "The server.",
    },
    Query {
        name: "lines",
        about: "How many lines, the last: 200 unless said.",
    },
];

#[derive(Serialize)]
struct HistoryView {
    calls: Vec<PastCall>,
    damaged: usize,
    lost: u64,
}

#[derive(Serialize)]
struct PastCall {
    number: u64,
    began: Option<BeganView>,
    ended: Option<EndedView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Document>,
}

/// [`Began`], with arguments as text.
#[derive(Serialize)]
struct BeganView {
    at_ms: u64,
    method: String,
    server: Option<String>,
    name: String,
    arguments_json: Option<String>,
    masked: Vec<String>,
    origin: Option<String>,
    claims_read_only: bool,
    process: u32,
    target: Option<CalledServer>,
}

/// [`Ended`], with the result as text.
#[derive(Serialize)]
struct EndedView {
    at_ms: u64,
    took_ms: u64,
    ending: CallEnding,
    result_json: Option<String>,
    /// The result has a file of its own, which the single call brings.
    result_in_file: bool,
    result_omitted: Option<String>,
    result_bytes: u64,
    cached: bool,
    progress: Vec<ProgressNote>,
    progress_omitted: u64,
    error: Option<CallError>,
}

pub(crate) async fn list(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let most = asked.query_number("limit")?.unwrap_or(USUAL).clamp(1, MOST);
    let filter = Filter {
        server: asked.query("server").map(str::to_owned),
        name: asked.query("name").map(str::to_owned),
        since_ms: asked.query_number("since_ms")?.unwrap_or(0),
        most: usize::try_from(most).unwrap_or(usize::MAX),
        actions: asked.query("actions") == Some("true"),
    };
    let folder = folder(&console)?;
    // What has just ended is written by then.
    console.host.flushed().await;
    let read = move || history(&folder, &filter);
    let read = blocking(read).await?;
    Ok(ok(&HistoryView {
        calls: read.calls.into_iter().map(PastCall::of).collect(),
        damaged: read.damaged,
        lost: read.lost,
    }))
}

pub(crate) async fn show(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let number = asked.number("number")?;
    let folder = folder(&console)?;
    console.host.flushed().await;
    let read = move || {
        let Some(mut call) = find(&folder, Some(number))? else {
            return Ok(None);
        };
        read_in(&folder, &mut call);
        Ok(Some(call))
    };
    let Some(call) = blocking(read).await? else {
        return Err(ApiError::not_found(&format!(
            "the call log has no call {number}"
        )));
    };
    let result = call.ended.as_ref().and_then(|ended| ended.result.as_ref());
    let is_tool = call
        .began
        .as_ref()
        .is_some_and(|it| it.method == "tools/call");
    let result = result
        .filter(|_| is_tool)
        .and_then(|it| it.decode::<CallToolResult>().ok());
    let mut past = PastCall::of(call);
    past.document = result.map(|result| Document::of_call(&result, None));
    Ok(ok(&past))
}

/// Takes in what has a file of its own. A file that is gone leaves its place empty.
fn read_in(folder: &Path, call: &mut CallRecord) {
    if let Some(began) = &mut call.began
        && let Some(file) = &began.arguments_file
    {
        began.arguments = stored(folder, file).ok();
    }
    if let Some(ended) = &mut call.ended
        && let Some(file) = &ended.result_file
    {
        ended.result = stored(folder, file).ok();
    }
}

#[derive(Serialize)]
struct LogView {
    file: String,
    lines: Vec<String>,
}

pub(crate) async fn logs(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let Some(server) = asked.query("server") else {
        return Err(ApiError::bad("say which server, with ?server="));
    };
    let server = known_server(&console, server)?;
    let most = asked
        .query_number("lines")?
        .unwrap_or(USUAL_LINES)
        .min(MOST_LINES);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let folder = folder(&console)?;
    // The call log stands below the folder of log files.
    let Some(folder) = folder.parent() else {
        return Err(not_kept());
    };
    console.host.flushed().await;
    let file = log_path(folder, &server);
    let path = file.clone();
    let text = blocking(move || last_bytes(&path))
        .await
        .map_err(|_| not_kept())?;
    let lines: Vec<&str> = text.lines().collect();
    let skipped = lines.len().saturating_sub(most);
    let safe = |line: &&str| safe_text::one_line(line).into_owned();
    Ok(ok(&LogView {
        file: file.display().to_string(),
        lines: lines[skipped..].iter().map(safe).collect(),
    }))
}

/// The end of a file, from the beginning of a line.
fn last_bytes(path: &Path) -> std::io::Result<String> {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let mut file = std::fs::File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(FILE_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(FILE_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match text.split_once('\n') {
        Some((_, whole)) if length > FILE_BYTES => Ok(whole.to_owned()),
        _ => Ok(text),
    }
}

fn folder(console: &Console) -> Result<std::path::PathBuf, ApiError> {
    let log = console.host.call_log().ok_or_else(not_kept)?;
    Ok(log.folder().to_path_buf())
}

fn not_kept() -> ApiError {
    ApiError::console(
        StatusCode::NOT_FOUND,
        "not_kept",
        "nothing of this is written down here",
    )
    .hint("calls are written down unless the configuration says `log.calls = \"off\"`")
}

/// Reads files on a thread where no request waits for them.
async fn blocking<T: Send + 'static>(
    read: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |error: &dyn std::fmt::Display| {
        let message = format!("the log cannot be read: {error}");
        ApiError::console(StatusCode::INTERNAL_SERVER_ERROR, "internal", &message)
    };
    match tokio::task::spawn_blocking(read).await {
        Ok(read) => read.map_err(|error| failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

impl PastCall {
    fn of(call: CallRecord) -> Self {
        Self {
            number: call.number,
            began: call.began.map(BeganView::of),
            ended: call.ended.map(EndedView::of),
            document: None,
        }
    }
}

fn text(json: Option<Json>) -> Option<String> {
    json.map(|json| json.as_str().to_owned())
}

impl BeganView {
    fn of(began: Began) -> Self {
        Self {
            at_ms: began.at_ms,
            method: began.method.into_owned(),
            server: began.server,
            name: began.name,
            arguments_json: text(began.arguments),
            masked: began.masked,
            origin: began.origin.map(Cow::into_owned),
            claims_read_only: began.claims_read_only,
            process: began.process,
            target: began.target.map(Arc::unwrap_or_clone),
        }
    }
}

impl EndedView {
    fn of(ended: Ended) -> Self {
        Self {
            at_ms: ended.at_ms,
            took_ms: ended.took_ms,
            ending: ended.ending,
            result_in_file: ended.result_file.is_some(),
            result_json: text(ended.result),
            result_omitted: ended.result_omitted,
            result_bytes: ended.result_bytes,
            cached: ended.cached,
            progress: ended.progress,
            progress_omitted: ended.progress_omitted,
            error: ended.error,
        }
    }
}
