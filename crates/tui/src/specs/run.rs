//! One command on its way: its call, its output, its end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use attache::host::events::{Event, EventKind};
use attache::protocol::{CallToolResult, Content};
use attache_speckit::Command;
use attache_view::safe_text;

use crate::component::{CallNews, ToolCall};

/// The most lines of output that are kept; the call log has all.
pub(super) const MOST_LINES: usize = 5000;

/// Where a line of output comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// What this pane says.
    Pane,
    /// A message of progress.
    Progress,
    /// Standard output of what the server runs, or its log.
    Stdout,
    /// Standard error.
    Stderr,
    /// The answer.
    Answer,
    /// A failure.
    Failure,
}

impl Source {
    /// The word before a line.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Pane => "",
            Self::Progress => "progress",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Answer => "answer",
            Self::Failure => "failed",
        }
    }
}

/// A line of output, safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) source: Source,
    pub(super) text: String,
}

/// What was said by commands, the newest last.
#[derive(Debug, Default)]
pub(super) struct Output {
    pub(super) lines: VecDeque<Line>,
    /// How many were dropped at the beginning.
    pub(super) dropped: usize,
    /// How many lines from the end the view is; 0 follows.
    pub(super) behind: usize,
}

impl Output {
    pub(super) fn add(&mut self, source: Source, text: &str) {
        for line in text.lines() {
            if self.lines.len() == MOST_LINES {
                self.lines.pop_front();
                self.dropped += 1;
            }
            self.lines.push_back(Line {
                source,
                text: safe_text::one_line(line).into_owned(),
            });
            if self.behind > 0 {
                self.behind = (self.behind + 1).min(self.lines.len());
            }
        }
    }

    pub(super) fn scroll(&mut self, lines: isize) {
        let most = self.lines.len().saturating_sub(1);
        self.behind = self.behind.saturating_add_signed(-lines).min(most);
    }
}

/// How far a command is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum State {
    Running,
    /// The server was told to stop.
    Cancelling,
    Done,
    Cancelled,
    Failed {
        can_retry: bool,
    },
}

/// A command that was started.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) command: Command,
    /// The folder of its spec, from the project on.
    pub(super) spec: String,
    pub(super) call: ToolCall,
    pub(super) state: State,
    pub(super) progress: Option<(f64, Option<f64>)>,
    pub(super) message: Option<String>,
    began: Instant,
    took: Option<Duration>,
}

impl Run {
    pub(super) fn new(command: Command, spec: String, call: ToolCall) -> Self {
        Self {
            command,
            spec,
            call,
            state: State::Running,
            progress: None,
            message: None,
            began: Instant::now(),
            took: None,
        }
    }

    pub(super) fn is_running(&self) -> bool {
        matches!(self.state, State::Running | State::Cancelling)
    }

    pub(super) fn elapsed(&self) -> Duration {
        self.took.unwrap_or_else(|| self.began.elapsed())
    }

    /// The share that is done, if the server says of how much.
    pub(super) fn share(&self) -> Option<f64> {
        let (progress, total) = self.progress?;
        let total = total.filter(|it| *it > 0.0)?;
        Some((progress / total).clamp(0.0, 1.0))
    }

    /// Takes news of its call; whether files may have changed.
    pub(super) fn on_news(&mut self, news: &CallNews, output: &mut Output) -> bool {
        match news {
            CallNews::Started { .. } => false,
            CallNews::Progress {
                progress,
                total,
                message,
            } => {
                self.progress = Some((*progress, *total));
                let message = message.as_deref().map(safe_text::one_line);
                if let Some(message) = message
                    && self.message.as_deref() != Some(&*message)
                {
                    output.add(Source::Progress, &message);
                    self.message = Some(message.into_owned());
                }
                true
            }
            CallNews::Answered(result) => {
                self.answered(result, output);
                true
            }
            CallNews::Failed {
                cause,
                code,
                is_cancelled,
                can_retry,
            } => {
                self.failed(cause, *code, *is_cancelled, *can_retry, output);
                true
            }
        }
    }

    fn answered(&mut self, result: &CallToolResult, output: &mut Output) {
        self.took = Some(self.began.elapsed());
        let source = match result.is_error {
            true => Source::Failure,
            false => Source::Answer,
        };
        for text in result.content.iter().filter_map(Content::as_text) {
            output.add(source, text);
        }
        self.state = match result.is_error {
            // What a tool says it could not do may be possible after a change.
            true => State::Failed { can_retry: true },
            false => State::Done,
        };
    }

    fn failed(
        &mut self,
        cause: &str,
        code: Option<i64>,
        is_cancelled: bool,
        can_retry: bool,
        output: &mut Output,
    ) {
        self.took = Some(self.began.elapsed());
        if is_cancelled || (self.state == State::Cancelling && code == Some(CANCELLED)) {
            self.state = State::Cancelled;
            output.add(Source::Pane, "cancelled; what was said so far is kept");
            return;
        }
        let named = code.and_then(|code| Some((code_name(code)?, code)));
        match named {
            Some((name, code)) => {
                output.add(Source::Failure, &format!("{name} ({code}): {cause}"));
            }
            None => output.add(Source::Failure, cause),
        }
        let is_recoverable = matches!(code, Some(TOOL_FAILED | TIMED_OUT));
        self.state = State::Failed {
            can_retry: can_retry || is_recoverable,
        };
    }

    /// Takes an event of the host: lines that the server says while it runs.
    pub(super) fn on_event(&self, event: &Event, output: &mut Output) {
        let is_ours = event
            .server
            .as_ref()
            .is_some_and(|it| it.as_str() == self.call.server);
        if !is_ours || !self.is_running() {
            return;
        }
        match &event.kind {
            EventKind::Stderr { line } => output.add(Source::Stderr, line),
            EventKind::Log { logger, data, .. } => {
                let source = match logger.as_deref() {
                    Some("stderr") => Source::Stderr,
                    _ => Source::Stdout,
                };
                match serde_json::from_str::<String>(data.as_str()) {
                    Ok(text) => output.add(source, &text),
                    Err(_) => output.add(source, data.as_str()),
                }
            }
            _ => {}
        }
    }
}

/// Codes of seed 003 that MCP gives no meaning, or another one.
const TOOL_FAILED: i64 = -32000;
const TIMED_OUT: i64 = -32001;
const CANCELLED: i64 = -32002;

/// The name that seed 003 has for a code.
fn code_name(code: i64) -> Option<&'static str> {
    Some(match code {
        -32700 => "Parse error",
        -32600 => "Invalid Request",
        -32601 => "Method not found",
        -32602 => "Invalid params",
        -32603 => "Internal error",
        TOOL_FAILED => "Tool execution error",
        TIMED_OUT => "Timeout",
        CANCELLED => "Cancelled",
        _ => return None,
    })
}
