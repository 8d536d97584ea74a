//! The state of the UI, as a function of messages.
//!
//! A message goes in, the state changes, effects come out; drawing reads the state. Nothing in here
//! waits, reads a clock or touches a terminal.

mod act;
mod copying;
mod detail;
mod drafts;
mod input;
mod render;
mod sheets;

use std::path::PathBuf;
use std::sync::Arc;

use attache::host::call_log::call_log_folder;
use attache::host::catalog::ListKind;
use attache::host::config::UiTheme;
use attache::host::events::{Event, EventKind};
use attache::host::questions::Question;
use attache::host::snapshot::{Applied, ServerState, Snapshot};
use attache::protocol::Tool;
use attache_view::safe_text;
use ratatui::layout::Rect;
use ratatui::text::Line;

use self::act::Act;
use self::detail::Detail;
pub(crate) use self::detail::FormKey;
use self::drafts::Drafts;
use crate::component::{CallNews, Component as _, Notice, Tone, Waker};
use crate::dialog::{self, QuestionDialog};
use crate::jobs::{JobState, Jobs};
use crate::keys::{Context, KeyMap};
use crate::message::{
    About, Connected, Effect, Failed, FirstQuestion, JobEnd, JobId, JobNews, Listed, Message,
    WatchNews, Wishes, Work,
};
use crate::overlay::{Ask, Menu, Sheet};
use crate::panes::activity::Activity;
use crate::panes::calls::Calls;
use crate::panes::catalog::{Catalog, Row as _};
use crate::panes::log::Log;
use crate::panes::rows::{PromptRow, ResourceKind, ResourceRow, ToolRow, WatchState};
use crate::panes::servers::{self, Servers};
use crate::specs::SpecsPane;
use crate::text;
use crate::theme::{ColorMode, Theme};

/// How long a notice stays.
const NOTICE_MS: u64 = 4_000;
/// How long a notice of a failure stays.
const FAILURE_MS: u64 = 10_000;
/// How long a notice stays that holds until the end.
const LASTING_MS: u64 = 24 * 60 * 60 * 1_000;
/// How often something that moves is drawn.
const MOVING_MS: u64 = 100;

/// The seven tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tab {
    Tools,
    Resources,
    Prompts,
    Calls,
    Activity,
    Log,
    Specs,
}

impl Tab {
    pub(crate) const ALL: [Self; 7] = [
        Self::Tools,
        Self::Resources,
        Self::Prompts,
        Self::Calls,
        Self::Activity,
        Self::Log,
        Self::Specs,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Tools => "Tools",
            Self::Resources => "Resources",
            Self::Prompts => "Prompts",
            Self::Calls => "Calls",
            Self::Activity => "Activity",
            Self::Log => "Log",
            Self::Specs => "Specs",
        }
    }

    fn context(self) -> Context {
        match self {
            Self::Tools => Context::Tools,
            Self::Resources => Context::Resources,
            Self::Prompts => Context::Prompts,
            Self::Calls => Context::Calls,
            Self::Activity => Context::Activity,
            Self::Log => Context::Log,
            Self::Specs => Context::Specs,
        }
    }
}

/// Where keys go when nothing lies over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Focus {
    Servers,
    List,
    Detail,
}

/// What lies over everything else.
#[derive(Debug)]
pub(crate) enum Overlay {
    Menu(Menu<Act>),
    Sheet(Sheet<Act>),
    Question(Box<QuestionDialog>),
    /// A file name for these bytes.
    Save(Ask, Arc<[u8]>),
}

/// How the UI is set up.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) theme: Theme,
    pub(crate) keys: KeyMap,
    pub(crate) has_mouse: bool,
    /// The folder that tab 7 is about, and where files are saved.
    pub(crate) folder: PathBuf,
    /// Falls over on a hidden key, to prove that the terminal is restored.
    pub(crate) can_panic: bool,
}

/// The state of the UI.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) settings: Settings,
    /// Milliseconds since 1970.
    now_ms: u64,
    began_ms: u64,
    about: Option<About>,
    snapshot: Snapshot,
    servers: Servers,
    tools: Catalog<ToolRow>,
    resources: Catalog<ResourceRow>,
    prompts: Catalog<PromptRow>,
    calls: Calls,
    activity: Activity,
    log: Log,
    specs: SpecsPane,
    jobs: Jobs,
    tab: Tab,
    focus: Focus,
    is_zoomed: bool,
    /// What is open in each tab, one over the other.
    details: [Vec<Detail>; 7],
    overlays: Vec<Overlay>,
    drafts: Drafts,
    notice: Option<(Notice, u64)>,
    /// When Ctrl-C was pressed last.
    interrupted_ms: Option<u64>,
    /// The user was told of these questions.
    told_questions: u64,
    waker: Waker,
    effects: Vec<Effect>,
    /// Where things were drawn, for the mouse.
    places: Places,
    /// The fields of the tool that is selected, as lines of this width.
    tool_fields: Option<(Arc<Tool>, usize, Vec<Line<'static>>)>,
    /// Who waits for what was asked before there is a host.
    first_question: Option<tokio::sync::oneshot::Sender<bool>>,
}

/// Where things were drawn.
#[derive(Clone, Debug, Default)]
struct Places {
    screen: Rect,
    servers: Rect,
    list: Rect,
    detail: Rect,
    tabs: Vec<(Rect, Tab)>,
}

impl App {
    pub(crate) fn new(settings: Settings, waker: Waker, now_ms: u64) -> Self {
        let specs = SpecsPane::new(settings.folder.clone(), waker.clone());
        Self {
            settings,
            now_ms,
            began_ms: now_ms,
            about: None,
            snapshot: Snapshot::default(),
            servers: Servers::default(),
            tools: Catalog::default(),
            resources: Catalog::default(),
            prompts: Catalog::default(),
            calls: Calls::default(),
            activity: Activity::default(),
            log: Log::default(),
            specs,
            jobs: Jobs::default(),
            tab: Tab::Tools,
            focus: Focus::List,
            is_zoomed: false,
            details: std::array::from_fn(|_| Vec::new()),
            overlays: Vec::new(),
            drafts: Drafts::default(),
            notice: None,
            interrupted_ms: None,
            told_questions: 0,
            waker,
            effects: Vec::new(),
            places: Places::default(),
            tool_fields: None,
            first_question: None,
        }
    }

    /// What is to be done outside, since it was asked last.
    pub(crate) fn take_effects(&mut self) -> Vec<Effect> {
        std::mem::take(&mut self.effects)
    }

    /// After how long the screen has to be drawn again although nothing happens.
    pub(crate) fn wakes_after(&self) -> Option<u64> {
        if self.is_looking() {
            return Some(0);
        }
        if self.is_moving() {
            return Some(MOVING_MS);
        }
        let (_, until) = self.notice.as_ref()?;
        Some(until.saturating_sub(self.now_ms))
    }

    /// Time has passed.
    pub(crate) fn at(&mut self, now_ms: u64) {
        self.now_ms = now_ms;
        if let Some((_, until)) = &self.notice
            && *until <= self.now_ms
        {
            self.notice = None;
        }
    }

    /// Whether a search goes on.
    pub(crate) fn is_looking(&self) -> bool {
        self.tab == Tab::Log && self.log.is_looking()
    }

    /// Goes on with the search for some milliseconds.
    pub(crate) fn look_on(&mut self) {
        self.log.look();
    }

    /// Whether something on the screen moves by itself.
    fn is_moving(&self) -> bool {
        let mut servers = self.snapshot.servers.iter();
        self.about.is_none()
            || self.jobs.running().next().is_some()
            || servers.any(|server| servers::is_moving(server.state))
            || (self.tab == Tab::Specs && self.specs.is_moving())
            || self.is_detail_moving()
            || matches!(self.overlays.last(), Some(Overlay::Question(it)) if it.is_moving())
    }

    /// Takes a message.
    pub(crate) fn on(&mut self, message: Message) {
        match message {
            Message::Terminal(event) => self.on_terminal(event),
            Message::Background { is_light } => self.set_background(is_light),
            Message::Continued => self.effects.push(Effect::Redraw),
            Message::EndAsked | Message::Refused => self.effects.push(Effect::Quit),
            Message::Connected(connected) => self.on_connected(*connected),
            Message::AskFirst(question) => self.ask_first(*question),
            Message::Events(events) => events.iter().for_each(|event| self.on_event(event)),
            Message::Resynced { snapshot, missed } => {
                self.snapshot = *snapshot;
                self.forget_closed_questions();
                self.log.missed(missed, self.now_ms);
                self.ask_for_lists();
                let words = format!("{missed} events came too fast and were dropped");
                self.tell(Notice::warning(words));
            }
            Message::Listed(listed) => self.on_listed(listed),
            Message::Pins(pins) => self.on_pins(&pins),
            Message::Drift {
                server,
                tool,
                drift,
            } => self.show_drift(&server, &tool, drift.as_deref()),
            Message::Job(id, news) => self.on_job(id, news),
            Message::History(loaded) => self.calls.loaded(loaded, self.began_ms),
            Message::Frames(frames) => self.activity.on_frames(frames),
            Message::Completions { serial, values } => self.on_completions(serial, &values),
            Message::NotAnswered { question, problem } => self.on_not_answered(question, &problem),
            Message::Watched { server, uri, news } => self.on_watched(&server, &uri, news),
            Message::Notice(notice) => self.tell(notice),
            Message::HostEnded => self.on_host_ended(),
            Message::Wake => self.poll_components(),
        }
    }

    fn on_connected(&mut self, connected: Connected) {
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
    fn on_host_ended(&mut self) {
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

    /// Something has to be decided before there is a host; leaving the sheet is a no.
    fn ask_first(&mut self, question: FirstQuestion) {
        let lines = question.lines.iter();
        let lines = lines.map(|line| Line::raw(text::safe(line).into_owned()));
        let sheet = Sheet::new(question.title, lines.collect()).with(question.yes, Act::SayYes);
        self.first_question = Some(question.answer);
        self.overlays.push(Overlay::Sheet(sheet));
    }

    /// Answers what was asked before there is a host.
    fn answer_first(&mut self, is_yes: bool) {
        if let Some(answer) = self.first_question.take() {
            let _ = answer.send(is_yes);
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

    fn set_background(&mut self, is_light: bool) {
        self.settings.theme = self.settings.theme.on_light(is_light);
        // They are kept as they were drawn.
        self.tool_fields = None;
    }

    /// Asks for all lists.
    pub(crate) fn ask_for_lists(&mut self) {
        for kind in [
            ListKind::Tools,
            ListKind::Resources,
            ListKind::Templates,
            ListKind::Prompts,
        ] {
            self.effects.push(Effect::List(kind));
        }
    }

    fn on_event(&mut self, event: &Arc<Event>) {
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

    fn on_listed(&mut self, listed: Listed) {
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

    fn on_pins(&mut self, pins: &[(String, Arc<Tool>, crate::message::PinWord)]) {
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

    fn on_job(&mut self, id: JobId, news: JobNews) {
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
    fn questions_changed(&mut self) {
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

    fn close_question(&mut self, id: u64) {
        self.drafts.forget_dialog(id);
        self.overlays.retain(|overlay| match overlay {
            Overlay::Question(dialog) => dialog.question().id != id,
            _ => true,
        });
    }

    fn on_not_answered(&mut self, question: u64, problem: &str) {
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

    fn on_watched(&mut self, server: &str, uri: &str, news: WatchNews) {
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

    /// Begins a request.
    fn begin(&mut self, work: Work, is_harmless: bool) -> JobId {
        let id = self.jobs.begin(work.clone(), self.now_ms, is_harmless);
        self.effects.push(Effect::Begin(id, work));
        id
    }

    /// Cancels a request; the server is told.
    fn cancel(&mut self, id: JobId) {
        if let Some(job) = self.jobs.get_mut(id)
            && let JobState::Running(progress) = &mut job.state
            && !progress.is_cancelled
        {
            progress.is_cancelled = true;
            self.effects.push(Effect::Cancel(id));
        }
    }

    /// Says something in passing. The text has to be safe.
    pub(crate) fn tell(&mut self, notice: Notice) {
        let stays = match notice.tone {
            Tone::Failed => FAILURE_MS,
            _ => NOTICE_MS,
        };
        let text = safe_text::one_line(&notice.text).into_owned();
        self.notice = Some((Notice { text, ..notice }, self.now_ms + stays));
    }

    /// The server whose things are shown; none for all.
    fn scope(&self) -> Option<String> {
        let selected = self.servers.selected(&self.snapshot)?;
        Some(selected.name.as_str().to_owned())
    }

    /// Every pane shows what belongs to the selected server.
    fn scope_changed(&mut self) {
        let scope = self.scope();
        let scope = scope.as_deref();
        self.tools.set_scope(scope);
        self.resources.set_scope(scope);
        self.prompts.set_scope(scope);
        self.calls.set_scope(scope);
        self.activity.set_scope(scope);
        self.log.set_scope(scope);
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

#[cfg(test)]
#[path = "../app_tests.rs"]
mod tests;
