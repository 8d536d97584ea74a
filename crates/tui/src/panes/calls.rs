//! Calls: those that run, those of this session, and those of the log.

use std::collections::BTreeSet;
use std::sync::Arc;

use attache::host::call_log::{CallEnding, CallRecord};
use attache::protocol::{CallToolResult, GetPromptResult, Json, ReadResourceResult};
use attache_view::document::Document;
use ratatui::Frame;
use ratatui::layout::Rect;

use super::catalog::Seen;
use crate::answer::AnswerView;
use crate::component::Waker;
use crate::cursor::Cursor;
use crate::draw;
use crate::filter::Filter;
use crate::jobs::{CallLine, Jobs};
use crate::message::{JobId, Work};
use crate::text;
use crate::theme::Role;

/// One line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CallKey {
    /// A request of this session.
    Job(JobId),
    /// One of the log, by its number there.
    Past(u64),
}

/// A call of the log.
#[derive(Debug)]
pub(crate) struct Past {
    pub(crate) record: CallRecord,
    view: Option<AnswerView>,
}

impl Past {
    /// The answer that was written down, if it was.
    pub(crate) fn view(&mut self, waker: &Waker) -> Option<&mut AnswerView> {
        if self.view.is_none() {
            let method = self.record.began.as_ref()?.method.as_ref();
            let result = self.record.ended.as_ref()?.result.as_ref()?;
            let document = document(method, result)?;
            let raw = result.clone().into();
            self.view = Some(AnswerView::new(Arc::new(document), raw, waker.clone()));
        }
        self.view.as_mut()
    }

    /// The same request again, if all of it is known.
    pub(crate) fn again(&self) -> Result<Work, String> {
        let Some(began) = &self.record.began else {
            return Err("its beginning is not in the log any more".to_owned());
        };
        if began.name_masked || !began.masked.is_empty() {
            return Err(format!(
                "a part of it was masked; attache history rerun {} takes it anew",
                self.record.number
            ));
        }
        let Some(server) = began.server.clone() else {
            return Err("the log does not tell its server".to_owned());
        };
        if began.arguments.is_none() && began.arguments_file.is_some() {
            return Err(format!(
                "its arguments are in a file; attache history rerun {} makes it again",
                self.record.number
            ));
        }
        let arguments = began.arguments.clone();
        match began.method.as_ref() {
            "tools/call" => Ok(Work::Call {
                server,
                tool: began.name.clone(),
                arguments: arguments.unwrap_or_default(),
                timeout: None,
                meta: Vec::new(),
                as_task: false,
                output_schema: None,
            }),
            "resources/read" => Ok(Work::Read {
                server,
                uri: began.name.clone(),
            }),
            "prompts/get" => Ok(Work::Prompt {
                server,
                name: began.name.clone(),
                arguments: super::rows::texts(arguments.as_ref()),
            }),
            other => Err(format!("a {other} cannot be made again")),
        }
    }
}

fn document(method: &str, result: &Json) -> Option<Document> {
    Some(match method {
        "resources/read" => Document::of_resource(&result.decode::<ReadResourceResult>().ok()?),
        "prompts/get" => Document::of_prompt(&result.decode::<GetPromptResult>().ok()?),
        _ => Document::of_call(&result.decode::<CallToolResult>().ok()?, None),
    })
}

/// The list of calls.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    past: Vec<Past>,
    problem: Option<String>,
    pub(crate) has_asked: bool,
    is_loaded: bool,
    pub(crate) filter: Filter,
    pub(crate) cursor: Cursor,
    shown: Vec<CallKey>,
    pub(crate) marked: BTreeSet<CallKey>,
    scope: Option<String>,
    area: Rect,
}

impl Calls {
    /// Takes the calls of the log; those of this very session are there already.
    pub(crate) fn loaded(&mut self, loaded: Result<Vec<CallRecord>, String>, began_ms: u64) {
        self.is_loaded = true;
        match loaded {
            Err(problem) => self.problem = Some(problem),
            Ok(records) => {
                let own = std::process::id();
                let is_own = |record: &CallRecord| {
                    let began = record.began.as_ref();
                    began.is_none_or(|it| it.process == own && it.at_ms >= began_ms)
                };
                let others = records.into_iter().filter(|record| !is_own(record));
                self.past = others.map(|record| Past { record, view: None }).collect();
            }
        }
    }

    pub(crate) fn past(&self, number: u64) -> Option<&Past> {
        let mut all = self.past.iter();
        all.find(|past| past.record.number == number)
    }

    pub(crate) fn past_mut(&mut self, number: u64) -> Option<&mut Past> {
        let mut all = self.past.iter_mut();
        all.find(|past| past.record.number == number)
    }

    pub(crate) fn set_scope(&mut self, scope: Option<&str>) {
        self.scope = scope.map(str::to_owned);
    }

    /// Which calls are shown, the newest first.
    pub(crate) fn refresh(&mut self, jobs: &Jobs) {
        let query = self.filter.query(&["server", "status"]);
        let fits = |server: &str, name: &str, status: &str| {
            self.scope.as_deref().is_none_or(|scope| scope == server)
                && query.pattern.score(name).is_some()
                && query.tokens_fit(|key, value| match key {
                    "server" => server.contains(value),
                    _ => status.replace(' ', "-").contains(value),
                })
        };
        let own = jobs
            .newest_first()
            .filter(|job| fits(job.work.server(), job.work.about(), job.word().0));
        let own = own.map(|job| CallKey::Job(job.id));
        let past = self.past.iter().rev().filter(|past| {
            let Some(began) = &past.record.began else {
                return false;
            };
            let server = began.server.as_deref().unwrap_or_default();
            fits(server, &began.name, ending(&past.record).0)
        });
        let past = past.map(|past| CallKey::Past(past.record.number));
        self.shown = own.chain(past).collect();
    }

    pub(crate) fn count(&self) -> usize {
        self.shown.len()
    }

    pub(crate) fn selected(&self) -> Option<CallKey> {
        self.shown.get(self.cursor.at).copied()
    }

    pub(crate) fn select(&mut self, key: CallKey) {
        let place = self.shown.iter().position(|it| *it == key);
        self.cursor.at = place.unwrap_or(0);
    }

    pub(crate) fn mark(&mut self) {
        if let Some(key) = self.selected()
            && !self.marked.remove(&key)
        {
            self.marked.insert(key);
        }
    }

    pub(crate) fn click(&mut self, column: u16, row: u16) -> bool {
        self.cursor.click(self.area, column, row, self.count())
    }

    pub(crate) fn draw(
        &mut self,
        frame: &mut Frame<'_>,
        mut area: Rect,
        seen: &Seen<'_>,
        jobs: &Jobs,
        is_focused: bool,
    ) {
        self.refresh(jobs);
        let theme = seen.theme;
        let count = self.count();
        let of = format!("{count} calls");
        if area.height > 2 && draw::filter_line(frame, area, &self.filter, &of, theme) {
            area.y += 1;
            area.height -= 1;
        }
        self.area = area;
        if count == 0 {
            let (title, detail) = match (&self.problem, self.filter.is_empty(), self.is_loaded) {
                (_, false, _) => (
                    "no call matches".to_owned(),
                    "Esc drops the filter".to_owned(),
                ),
                (Some(problem), true, _) => (
                    "no call in this session".to_owned(),
                    text::safe(problem).into_owned(),
                ),
                (None, true, false) => {
                    let title = format!("{} reading the log of calls", seen.spinner());
                    (title, String::new())
                }
                (None, true, true) => {
                    let detail = "Enter on a tool opens its form, F2 runs it".to_owned();
                    ("nothing was called yet".to_owned(), detail)
                }
            };
            return draw::message(frame, area, &title, &detail, theme);
        }
        let mut cursor = self.cursor;
        draw::rows(
            frame,
            area,
            &mut cursor,
            count,
            is_focused,
            theme,
            |index, width| {
                let key = self.shown[index];
                let mark = self.marked.contains(&key);
                match key {
                    CallKey::Job(id) => jobs.get(id).map(|job| {
                        let arguments = match &job.work {
                            Work::Call { arguments, .. } => {
                                text::safe(arguments.as_str()).into_owned()
                            }
                            _ => String::new(),
                        };
                        let line = CallLine {
                            at_ms: job.began_ms,
                            mark,
                            server: job.work.server(),
                            name: &job.title(),
                            arguments: &arguments,
                            word: job.word(),
                            took_ms: Some(job.elapsed(seen.now_ms)),
                            bytes: job.raw().map(|it| it.as_bytes().len()),
                        };
                        line.line(usize::from(width), theme)
                    }),
                    CallKey::Past(number) => self
                        .past(number)
                        .map(|past| past_line(&past.record, mark, usize::from(width), seen)),
                }
                .unwrap_or_default()
            },
        );
        self.cursor = cursor;
    }
}

/// The word and the meaning of how a call of the log ended.
pub(crate) fn ending(record: &CallRecord) -> (&'static str, Role) {
    match record.ended.as_ref().map(|ended| ended.ending) {
        None => ("no ending", Role::Warning),
        Some(CallEnding::Result) => ("done", Role::Secondary),
        Some(CallEnding::Task) => ("task", Role::Secondary),
        Some(CallEnding::Cancelled) => ("cancelled", Role::Warning),
        Some(other) => (other.as_str(), Role::Bad),
    }
}

fn past_line(
    record: &CallRecord,
    mark: bool,
    width: usize,
    seen: &Seen<'_>,
) -> ratatui::text::Line<'static> {
    let Some(began) = &record.began else {
        return ratatui::text::Line::default();
    };
    let ended = record.ended.as_ref();
    let arguments = began
        .arguments
        .as_ref()
        .map(|it| text::safe(it.as_str()).into_owned());
    let line = CallLine {
        at_ms: began.at_ms,
        mark,
        server: began.server.as_deref().unwrap_or("?"),
        name: &text::safe(&began.name),
        arguments: arguments.as_deref().unwrap_or_default(),
        word: ending(record),
        took_ms: ended.map(|ended| ended.took_ms),
        bytes: ended.and_then(|ended| usize::try_from(ended.result_bytes).ok()),
    };
    line.line(width, seen.theme)
}
