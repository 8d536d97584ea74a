//! What the host tells, and what changes with it.

use std::sync::Arc;

use attache::host::call_log::call_log_folder;
use attache::host::catalog::ListKind;
use attache::host::config::UiTheme;
use attache::host::events::{Event, EventKind};
use attache::host::questions::Question;
use attache::host::snapshot::{Applied, ServerState};
use attache::protocol::Tool;
use attache_view::safe_text;

use super::detail::Detail;
use super::{App, Overlay};
use crate::component::{CallNews, Notice};
use crate::dialog;
use crate::keys::KeyMap;
use crate::message::{
    Connected, Effect, Failed, JobEnd, JobId, JobNews, Listed, WatchNews, Wishes, Work,
};
use crate::panes::catalog::Row as _;
use crate::panes::rows::{PromptRow, ResourceKind, ResourceRow, WatchState};
use crate::text;
use crate::theme::ColorMode;

/// How long a notice stays that holds until the end.
const LASTING_MS: u64 = 24 * 60 * 60 * 1_000;

impl App {
    pub(super) fn on_connected(&mut self, connected: Connected) {
        self.snapshot = connected.snapshot;
        if let Some(logs) = &connected.about.logs {
            self.specs.set_log(call_log_folder(logs));
        }
        if let Some(folder) = &connected.about.specs_directory {
            self.specs.set_specs_directory(folder.clone());
        }
        if let Some(wishes) = &connected.about.wishes {
            self.set_up(wishes);
        }
        for notice in &connected.about.notices {
            self.tell(Notice::warning(text::safe(notice)));
        }
        self.about = Some(connected.about);
        self.effects.push(Effect::Frames);
        self.ask_for_lists();
        self.questions_changed();
    }

    /// Nothing that is shown is so any more, and nothing can be done here.
    pub(super) fn on_host_ended(&mut self) {
        for server in &mut self.snapshot.servers {
            server.state = ServerState::Stopped;
        }
        // No answer would reach the servers that asked.
        self.snapshot.questions.clear();
        self.forget_closed_questions();
        let words = match self.about.as_ref().is_some_and(|about| about.is_attached) {
            true => "the background host has ended, and its servers with it",
            false => "the host has ended",
        };
        let key = self.key_name(crate::keys::Action::Quit);
        self.tell(Notice::failed(format!(
            "{words}; {key} leaves, and attache ui starts anew"
        )));
        if let Some((_, until)) = &mut self.notice {
            *until = self.now_ms + LASTING_MS;
        }
    }

    /// What the configuration says about the UI, which is read after the first frame.
    fn set_up(&mut self, wishes: &Wishes) {
        let (keys, problems) = KeyMap::new(&wishes.keys);
        self.settings.keys = keys;
        for problem in &problems {
            self.tell(Notice::warning(problem.to_string()));
        }
        if wishes.ascii {
            self.settings.theme = self.settings.theme.in_ascii();
        }
        match wishes.theme {
            UiTheme::Light => self.set_background(true),
            UiTheme::Dark => self.set_background(false),
            // Without colours both look the same.
            UiTheme::Auto if self.settings.theme.colors() == ColorMode::Never => {}
            UiTheme::Auto => self.effects.push(Effect::AskBackground),
        }
        if !wishes.mouse && self.settings.has_mouse {
            self.settings.has_mouse = false;
            self.effects.push(Effect::Mouse(false));
        }
    }

    pub(super) fn set_background(&mut self, is_light: bool) {
        self.settings.theme = self.settings.theme.on_light(is_light);
        // They are kept as they were drawn.
        self.tool_fields = None;
    }

    pub(super) fn on_event(&mut self, event: &Arc<Event>) {
        if event.server.is_none() {
            // The stream tells of a gap; the new snapshot is on its way.
            return;
        }
        if self.snapshot.apply(event) != Applied::Now {
            return;
        }
        self.log.on_event(event);
        self.specs.on_event(event);
        match &event.kind {
            EventKind::ListChanged { list } => self.effects.push(Effect::List(*list)),
            // A server that came back may offer something else; a first start is waited for anyway.
            EventKind::State(change) if change.state == ServerState::Ready && change.starts > 1 => {
                self.ask_for_lists();
            }
            EventKind::Added { .. } => self.ask_for_lists(),
            EventKind::Removed => {
                let is_there = |name: &str| {
                    let mut servers = self.snapshot.servers.iter();
                    servers.any(|server| server.name.as_str() == name)
                };
                self.tools.keep_servers(is_there);
                self.resources.keep_servers(is_there);
                self.prompts.keep_servers(is_there);
            }
            EventKind::Asked { .. } => self.questions_changed(),
            EventKind::Answered { question, .. } | EventKind::Withdrawn { question, .. } => {
                self.close_question(*question);
            }
            EventKind::ResourceUpdated { uri } => {
                let server = event.server.as_ref().map_or("", |server| server.as_str());
                self.resource_changed(server, uri);
            }
            EventKind::NotStored { problem } => {
                self.tell(Notice::warning(format!(
                    "not written down: {}",
                    text::safe(problem)
                )));
            }
            _ => {}
        }
    }

    pub(super) fn on_listed(&mut self, listed: Listed) {
        let all = |_: &_| true;
        match listed {
            Listed::Tools(rows, servers) => {
                self.tools.answered(rows, servers, all);
                self.tell_specs();
            }
            Listed::Resources(whole) => {
                let (mut rows, servers) = ResourceRow::all(*whole);
                // What is watched stays watched.
                for row in &mut rows {
                    let former = self.resources.rows().iter();
                    let mut former = former.filter(|it| it.name() == row.name());
                    row.watch = former.find_map(|it| it.watch);
                }
                let is_resource =
                    |row: &ResourceRow| matches!(row.kind, ResourceKind::Resource { .. });
                self.resources.answered(rows, servers, is_resource);
            }
            Listed::Templates(whole) => {
                let (rows, servers) = ResourceRow::templates(*whole);
                let is_template =
                    |row: &ResourceRow| matches!(row.kind, ResourceKind::Template { .. });
                self.resources.answered(rows, servers, is_template);
            }
            Listed::Prompts(whole) => {
                let (rows, servers) = PromptRow::all(*whole);
                self.prompts.answered(rows, servers, |_| true);
            }
            Listed::Failed(kind, problem) => match kind {
                ListKind::Tools => self.tools.could_not_be_had(problem),
                ListKind::Resources => self.resources.could_not_be_had(problem),
                ListKind::Prompts => self.prompts.could_not_be_had(problem),
                ListKind::Templates => {}
            },
        }
    }

    fn tell_specs(&mut self) {
        let tools = self.tools.rows().iter();
        let tools = tools.filter(|row| row.tool.name.starts_with("speckit."));
        let tools = tools.map(|row| (row.server().to_owned(), (*row.tool).clone()));
        self.specs.offered(tools.collect());
    }

    pub(super) fn on_pins(&mut self, pins: &[(String, Arc<Tool>, crate::message::PinWord)]) {
        let pins: std::collections::HashMap<(&str, &str), _> = pins
            .iter()
            .map(|(server, tool, word)| ((server.as_str(), tool.name.as_str()), *word))
            .collect();
        for row in self.tools.rows_mut() {
            if let Some(word) = pins.get(&(row.server(), row.tool.name.as_str())) {
                row.pin = Some(*word);
            }
        }
    }

    pub(super) fn on_job(&mut self, id: JobId, news: JobNews) {
        let tag = self.jobs.get(id).and_then(|job| job.tag);
        if let Some(tag) = tag {
            self.specs.on_call(tag, call_news(&news));
        }
        let is_numbered = matches!(news, JobNews::Numbered(_));
        let has_ended = self.jobs.on_news(id, news, self.now_ms);
        if is_numbered {
            self.questions_changed();
        }
        if !has_ended || tag.is_some() || self.shown_job() == Some(id) {
            return;
        }
        // Who looks elsewhere is told.
        if let Some(job) = self.jobs.get(id) {
            let took = text::duration(job.elapsed(self.now_ms));
            let (word, _) = job.word();
            let words = format!("#{id} {}: {word} after {took}", job.title());
            self.tell(match word {
                "done" => Notice::done(words),
                "cancelled" => Notice::warning(words),
                _ => Notice::failed(words),
            });
        }
    }

    /// Questions came or their calls became known: one that belongs to what the person looks at
    /// opens by itself, others are told of.
    pub(super) fn questions_changed(&mut self) {
        let open: Vec<Arc<Question>> = self.snapshot.questions.iter().cloned().collect();
        let shown = self.shown_job().and_then(|id| self.jobs.get(id)?.number);
        let is_busy = matches!(self.overlays.last(), Some(Overlay::Question(_)));
        for question in open {
            let is_new = question.id > self.told_questions;
            let belongs = shown.is_some() && question.request == shown;
            // What was put off waits in the inbox; what was sent waits for its answer to be taken.
            let is_aside = self.drafts.has_dialog(question.id);
            if belongs && !is_aside && !is_busy && self.overlays.is_empty() {
                self.told_questions = self.told_questions.max(question.id);
                let dialog = self.dialog_of(question);
                return self.overlays.push(Overlay::Question(dialog));
            }
            if is_new {
                self.told_questions = question.id;
                let key = self.key_name(crate::keys::Action::Inbox);
                let words = format!("{}; {key} answers", dialog::headline(&question));
                self.tell(Notice::warning(words));
            }
        }
    }

    pub(super) fn close_question(&mut self, id: u64) {
        self.drafts.forget_dialog(id);
        self.overlays.retain(|overlay| match overlay {
            Overlay::Question(dialog) => dialog.question().id != id,
            _ => true,
        });
    }

    pub(super) fn on_not_answered(&mut self, question: u64, problem: &str) {
        let problem = text::safe(problem).into_owned();
        let open = self.snapshot.questions.iter().find(|it| it.id == question);
        match open.cloned() {
            Some(question) => {
                let mut dialog = self.dialog_of(question);
                dialog.refused(&problem);
                self.overlays.push(Overlay::Question(dialog));
            }
            None => {
                self.drafts.forget_dialog(question);
                self.tell(Notice::warning(problem));
            }
        }
    }

    pub(super) fn on_watched(&mut self, server: &str, uri: &str, news: WatchNews) {
        let now_ms = self.now_ms;
        let rows = self.resources.rows_mut().iter_mut();
        let mut rows = rows.filter(|row| row.server() == server);
        let row =
            rows.find(|row| matches!(&row.kind, ResourceKind::Resource { uri: it } if it == uri));
        let Some(row) = row else { return };
        match news {
            WatchNews::Began => row.watch = Some(WatchState::default()),
            WatchNews::Changed => self.resource_changed(server, uri),
            WatchNews::Gap => {
                let watch = row.watch.get_or_insert_default();
                watch.has_gap = true;
                watch.changed_ms = Some(now_ms);
            }
            WatchNews::Ended(problem) => {
                row.watch = None;
                let problem = text::safe(&problem).into_owned();
                self.tell(Notice::failed(format!("the watch ended: {problem}")));
            }
        }
    }

    /// A resource changed: its line says so, and if it is looked at, it is read again.
    fn resource_changed(&mut self, server: &str, uri: &str) {
        let now_ms = self.now_ms;
        for row in self.resources.rows_mut() {
            if row.server() == server
                && matches!(&row.kind, ResourceKind::Resource { uri: it } if it == uri)
                && let Some(watch) = &mut row.watch
            {
                watch.changed_ms = Some(now_ms);
                watch.changes += 1;
            }
        }
        let shown = self.shown_job().and_then(|id| self.jobs.get(id));
        let is_shown = shown.is_some_and(|job| {
            !job.is_running()
                && matches!(&job.work, Work::Read { server: s, uri: u } if s == server && u == uri)
        });
        if is_shown && let Some(job) = shown {
            let work = job.work.clone();
            let id = self.begin(work, true);
            if let Some(top) = self.details[self.tab as usize].last_mut() {
                *top = Detail::Job(id);
            }
        }
    }
}

/// News of a request in the words of components.
fn call_news(news: &JobNews) -> CallNews {
    match news {
        JobNews::Numbered(request) => CallNews::Started { request: *request },
        JobNews::Progress {
            progress,
            total,
            message,
        } => CallNews::Progress {
            progress: *progress,
            total: *total,
            message: message.clone(),
        },
        JobNews::Ended(JobEnd::Answered { raw, .. }) => match raw.decode() {
            Ok(result) => CallNews::Answered(result),
            Err(_) => CallNews::Failed {
                cause: "the answer is not one of a tool".to_owned(),
                code: None,
                is_cancelled: false,
                can_retry: false,
            },
        },
        JobNews::Ended(JobEnd::Failed(failed)) => CallNews::Failed {
            cause: safe_text::block(&failed.cause).into_owned(),
            code: failed.code,
            is_cancelled: failed.word == "cancelled",
            can_retry: can_retry(failed),
        },
    }
}

fn can_retry(failed: &Failed) -> bool {
    !matches!(failed.word, "refused" | "protocol error")
}
