//! The state of the UI, as a function of messages.
//!
//! A message goes in, the state changes, effects come out; drawing reads the state. Nothing in here
//! waits, reads a clock or touches a terminal.

mod act;
mod copying;
mod detail;
mod drafts;
mod info;
mod input;
mod mouse;
mod news;
mod render;
mod sheets;
mod status;

use std::path::PathBuf;
use std::sync::Arc;

use attache::host::catalog::ListKind;
use attache::host::snapshot::Snapshot;
use attache::protocol::Tool;
use attache_view::safe_text;
use ratatui::layout::Rect;
use ratatui::text::Line;

use self::act::Act;
use self::detail::Detail;
pub(crate) use self::detail::FormKey;
use self::drafts::Drafts;
use crate::component::{Component as _, Notice, Tone, Waker};
use crate::dialog::QuestionDialog;
use crate::jobs::{JobState, Jobs};
use crate::keys::{Context, KeyMap};
use crate::message::{About, Effect, FirstQuestion, JobId, Message, Work};
use crate::overlay::{Ask, Menu, Sheet};
use crate::panes::activity::Activity;
use crate::panes::calls::Calls;
use crate::panes::catalog::Catalog;
use crate::panes::log::Log;
use crate::panes::rows::{PromptRow, ResourceRow, ToolRow};
use crate::panes::servers::{self, Servers};
use crate::specs::SpecsPane;
use crate::text;
use crate::theme::Theme;

/// How long a notice stays.
const NOTICE_MS: u64 = 4_000;
/// How long a notice of a failure stays.
const FAILURE_MS: u64 = 10_000;
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
            Message::Resynced(snapshot) => {
                // Also those that came after the gap: nothing takes them without what was before.
                let missed = snapshot.seq.saturating_sub(self.snapshot.seq);
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

#[cfg(test)]
#[path = "../app_tests.rs"]
mod tests;
