//! The workflow from idea to implementation: tab 7.
//!
//! Drives any server that offers `speckit.*` tools. What there is to do is read from the files; the
//! file conventions are those of `attache-speckit`, which the server inside this program stands on
//! too. Files are read and written on threads, calls are the app's: nothing here waits.

mod commands;
mod document;
mod draw;
mod editing;
mod files;
mod menu;
mod run;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use attache::host::events::Event;
use attache::protocol::Tool;
use attache_speckit::{Command, DOCUMENTS, SPECS_FOLDER, Spec};
use ratatui::Frame;
use ratatui::layout::Rect;

use self::document::Opened;
use self::files::{Brought, Files, Place};
use self::menu::Popup;
use self::run::{Output, Run, Source, State};
use crate::component::{CallNews, Component, Input, Notice, Outcome, Request, Waker};
use crate::keys::{Action, Context};
use crate::theme::Theme;

/// The part that keys go to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Focus {
    #[default]
    List,
    Document,
    Output,
}

/// A server and the commands it offers.
#[derive(Debug)]
struct Offer {
    server: String,
    commands: Vec<Command>,
}

/// The whole content of tab 7. It asks for calls with `Request::Call` and hears of them by
/// `on_call`. Files are read and written on threads of its own, never while drawing.
#[derive(Debug)]
pub struct SpecsPane {
    files: Files,
    waker: Waker,
    /// The project that was found, once it was listed.
    root: Option<PathBuf>,
    specs: Vec<Spec>,
    /// More are there than are listed.
    is_cut: bool,
    /// Why there is no list.
    problem: Option<String>,
    is_listed: bool,
    is_shown: bool,
    selected: usize,
    /// The spec to select when it is there.
    wanted: Option<String>,
    focus: Focus,
    /// Which of the documents is looked at.
    file: usize,
    opened: Option<Opened>,
    popup: Option<Popup>,
    offers: Vec<Offer>,
    /// Which of the servers runs commands.
    chosen: usize,
    run: Option<Run>,
    output: Output,
    last_tag: u64,
    log: Option<PathBuf>,
    drawn: draw::Drawn,
}

impl SpecsPane {
    /// A pane for a project folder. Nothing is read until the tab is shown for the first time.
    pub fn new(project: PathBuf, waker: Waker) -> Self {
        Self {
            files: Files::new(project, SPECS_FOLDER.to_owned(), waker.clone()),
            waker,
            root: None,
            specs: Vec::new(),
            is_cut: false,
            problem: None,
            is_listed: false,
            is_shown: false,
            selected: 0,
            wanted: None,
            focus: Focus::List,
            file: 0,
            opened: None,
            popup: None,
            offers: Vec::new(),
            chosen: 0,
            run: None,
            output: Output::default(),
            last_tag: 0,
            log: None,
            drawn: draw::Drawn::default(),
        }
    }

    /// The folder of specs in the project, where the configuration names one.
    pub fn set_specs_directory(&mut self, folder: String) {
        self.files.set_specs_directory(folder);
        self.refresh();
    }

    /// Where calls are written down, to be shown beside the output.
    pub fn set_log(&mut self, path: PathBuf) {
        self.log = Some(path);
    }

    /// The tab is shown: read, if that was not done yet; later look for what others changed.
    pub fn shown(&mut self) {
        self.is_shown = true;
        self.refresh();
    }

    /// All `speckit.*` tools that servers offer now, with their server's name.
    pub fn offered(&mut self, tools: Vec<(String, Tool)>) {
        let chosen = self.offers.get(self.chosen).map(|it| it.server.clone());
        self.offers.clear();
        for (server, tool) in tools {
            let Some(command) = Command::of_tool(&tool.name) else {
                continue;
            };
            match self.offers.iter_mut().find(|it| it.server == server) {
                Some(offer) => offer.commands.push(command),
                None => self.offers.push(Offer {
                    server,
                    commands: vec![command],
                }),
            }
        }
        let at = self
            .offers
            .iter()
            .position(|it| Some(&it.server) == chosen.as_ref());
        self.chosen = at.unwrap_or(0);
    }

    /// News of a call that it asked for.
    pub fn on_call(&mut self, tag: u64, news: CallNews) {
        let Some(run) = self.run.as_mut().filter(|it| it.call.tag == tag) else {
            return;
        };
        let was_running = run.is_running();
        let may_have_written = run.on_news(&news, &mut self.output);
        if was_running && run.state == State::Done {
            self.wanted = Some(run.spec.clone());
            self.file = match run.command {
                Command::Specify | Command::Clarify => 0,
                Command::Plan => 1,
                Command::Tasks | Command::Implement => 2,
            };
        }
        if may_have_written {
            self.refresh();
        }
    }

    /// Any event of the host, for streamed output: log messages and stderr of a server that runs
    /// one of its calls.
    pub fn on_event(&mut self, event: &Event) {
        if let Some(run) = &self.run {
            run.on_event(event, &mut self.output);
        }
    }

    fn refresh(&mut self) {
        if self.is_shown {
            self.files.list();
            self.read_document();
        }
    }

    fn spec(&self) -> Option<&Spec> {
        self.specs.get(self.selected)
    }

    /// The document that is chosen.
    fn place(&self) -> Option<Place> {
        let spec = self.spec()?;
        Some(Place {
            spec: spec.shown.clone(),
            file: DOCUMENTS.get(self.file).copied()?.to_owned(),
        })
    }

    fn read_document(&mut self) {
        let Some(place) = self.place() else {
            self.opened = None;
            return;
        };
        // What is being edited stays open until it is saved or dropped.
        let is_kept = self.opened.as_ref().is_some_and(Opened::is_modified);
        match &self.opened {
            Some(opened) if is_kept => self.files.read(opened.place.clone()),
            _ => self.files.read(place),
        }
    }

    fn on_list(&mut self, listed: Result<(PathBuf, attache_speckit::SpecList), String>) {
        self.is_listed = true;
        let (root, list) = match listed {
            Ok(listed) => listed,
            Err(problem) => {
                self.problem = Some(problem);
                return;
            }
        };
        let selected = self
            .wanted
            .clone()
            .or_else(|| self.spec().map(|it| it.shown.clone()));
        self.problem = None;
        self.root = Some(root);
        self.specs = list.specs;
        self.is_cut = list.is_cut;
        let at = self
            .specs
            .iter()
            .position(|it| Some(&it.shown) == selected.as_ref());
        if at.is_some() {
            self.wanted = None;
        }
        let last = self.specs.len().saturating_sub(1);
        self.selected = at.unwrap_or(self.selected).min(last);
        self.read_document();
    }

    fn on_document(&mut self, place: Place, read: Result<Option<files::Read>, String>) {
        let is_open = self.opened.as_ref().is_some_and(|it| it.place == place);
        match read {
            Ok(Some(read)) if is_open => {
                if let Some(opened) = &mut self.opened {
                    opened.refresh(read);
                }
            }
            Ok(Some(read)) if self.place().as_ref() == Some(&place) => {
                self.opened = Some(Opened::new(place, read, self.waker.clone()));
            }
            Ok(None) if self.place().as_ref() == Some(&place) => {
                let is_modified = self.opened.as_ref().is_some_and(Opened::is_modified);
                if !is_modified {
                    self.opened = None;
                }
            }
            Err(problem) => self.output.add(Source::Failure, &problem),
            Ok(_) => {}
        }
    }

    fn on_key(&mut self, input: Input<'_>, action: Option<Action>) -> Outcome {
        match action {
            Some(Action::SpecNew) => self.new_spec(),
            Some(Action::SpecRun) => {
                self.open_menu();
                Outcome::Used
            }
            Some(Action::SpecEdit) => self.edit(),
            Some(Action::SpecView) => self.focus_on(Focus::Document),
            Some(Action::SpecCancel | Action::Interrupt) => self.cancel(),
            Some(Action::SpecRetry) => self.retry(),
            Some(Action::NextPane) => self.move_focus(1),
            Some(Action::PreviousPane) => self.move_focus(-1),
            Some(Action::Back) if self.focus != Focus::List => self.focus_on(Focus::List),
            action => match self.focus {
                Focus::List => self.list_key(action),
                Focus::Document => self.document_key(input, action),
                Focus::Output => self.output_key(action),
            },
        }
    }

    fn focus_on(&mut self, focus: Focus) -> Outcome {
        self.focus = focus;
        Outcome::Used
    }

    /// Goes to the next part, and out of the tab behind the last.
    fn move_focus(&mut self, by: isize) -> Outcome {
        let parts = match self.output.lines.is_empty() {
            true => &[Focus::List, Focus::Document][..],
            false => &[Focus::List, Focus::Document, Focus::Output],
        };
        let at = parts.iter().position(|it| *it == self.focus).unwrap_or(0);
        match at.checked_add_signed(by).and_then(|at| parts.get(at)) {
            Some(focus) => self.focus_on(*focus),
            None => {
                self.focus = Focus::List;
                Outcome::Ignored
            }
        }
    }

    fn list_key(&mut self, action: Option<Action>) -> Outcome {
        let last = self.specs.len().saturating_sub(1);
        let page = self.drawn.page();
        let at = match action {
            Some(Action::Up) => self.selected.saturating_sub(1),
            Some(Action::Down) => self.selected + 1,
            Some(Action::PageUp | Action::HalfUp) => self.selected.saturating_sub(page),
            Some(Action::PageDown | Action::HalfDown) => self.selected + page,
            Some(Action::Top) => 0,
            Some(Action::Bottom) => last,
            Some(Action::Open | Action::Right) => return self.focus_on(Focus::Document),
            _ => return Outcome::Ignored,
        };
        self.select(at.min(last))
    }

    fn select(&mut self, at: usize) -> Outcome {
        if self.opened.as_ref().is_some_and(Opened::is_modified) {
            return notice(Notice::warning(
                "the open document is not saved; ctrl-s saves it",
            ));
        }
        if at != self.selected {
            self.selected = at;
            self.wanted = None;
            self.opened = None;
            // The document that tells most about where the spec is.
            self.file = match self.spec().map(|it| (it.has_plan, it.tasks)) {
                Some((_, Some(_))) => 2,
                Some((true, None)) => 1,
                _ => 0,
            };
            self.read_document();
        }
        Outcome::Used
    }

    fn document_key(&mut self, input: Input<'_>, action: Option<Action>) -> Outcome {
        let by = match action {
            Some(Action::Left) => -1,
            Some(Action::Right) => 1,
            _ => {
                return match &mut self.opened {
                    Some(opened) => opened.view.input(input),
                    None => Outcome::Ignored,
                };
            }
        };
        self.file = self.file.saturating_add_signed(by).min(DOCUMENTS.len() - 1);
        self.opened = None;
        self.read_document();
        Outcome::Used
    }

    fn output_key(&mut self, action: Option<Action>) -> Outcome {
        let by = match action {
            Some(Action::Up) => -1,
            Some(Action::Down) => 1,
            Some(Action::PageUp | Action::HalfUp) => -10,
            Some(Action::PageDown | Action::HalfDown) => 10,
            Some(Action::Top) => isize::MIN + 1,
            Some(Action::Bottom) => isize::MAX,
            Some(Action::Copy) => {
                let lines: Vec<&str> = self
                    .output
                    .lines
                    .iter()
                    .map(|it| it.text.as_str())
                    .collect();
                return Outcome::Request(Request::Copy {
                    text: lines.join("\n"),
                    label: "output".to_owned(),
                });
            }
            _ => return Outcome::Ignored,
        };
        self.output.scroll(by);
        Outcome::Used
    }
}

fn notice(notice: Notice) -> Outcome {
    Outcome::Request(Request::Notice(notice))
}

impl Component for SpecsPane {
    fn contexts(&self) -> Vec<Context> {
        match &self.popup {
            Some(Popup::Run(_)) => return vec![Context::Text, Context::Picker],
            Some(_) => return vec![Context::Text],
            None => {}
        }
        match (self.focus, &self.opened) {
            (Focus::Document, Some(opened)) if opened.editor.is_some() => {
                vec![Context::Text, Context::Specs]
            }
            (Focus::Document, Some(opened)) => {
                let mut contexts = opened.view.contexts();
                contexts.push(Context::Specs);
                contexts
            }
            _ => vec![Context::Specs, Context::Move],
        }
    }

    fn input(&mut self, input: Input<'_>) -> Outcome {
        if let Some(popup) = &mut self.popup {
            return match input {
                Input::Key { event, action } => {
                    let chosen = popup.key(event, action);
                    self.on_chosen(chosen)
                }
                Input::Paste(text) => {
                    popup.paste(text);
                    Outcome::Used
                }
                Input::Mouse(_) | Input::Edited(_) => Outcome::Used,
            };
        }
        if self.focus == Focus::Document && self.is_editing() {
            return self.editor_input(input);
        }
        match input {
            Input::Key { action, .. } => self.on_key(input, action),
            Input::Mouse(event) => self.on_mouse(event),
            Input::Paste(_) | Input::Edited(_) => Outcome::Ignored,
        }
    }

    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        self.draw_all(frame, area, theme);
    }

    fn hints(&self) -> Vec<Action> {
        if self.popup.is_some() {
            return vec![Action::Pick, Action::Back];
        }
        if self.is_editing() {
            return vec![Action::SpecSave, Action::Back];
        }
        let mut hints = vec![Action::SpecRun, Action::SpecNew, Action::SpecEdit];
        match self.run.as_ref().map(|it| &it.state) {
            Some(State::Running | State::Cancelling) => hints.insert(0, Action::SpecCancel),
            Some(State::Failed { can_retry: true }) => hints.insert(0, Action::SpecRetry),
            _ => {}
        }
        hints
    }

    fn poll(&mut self) -> Outcome {
        let mut outcome = match &mut self.opened {
            Some(opened) => opened.view.poll(),
            None => Outcome::Ignored,
        };
        while let Some(brought) = self.files.next() {
            let after = match brought {
                Brought::List(listed) => {
                    self.on_list(listed);
                    Outcome::Used
                }
                Brought::Document(place, read) => {
                    self.on_document(place, read);
                    Outcome::Used
                }
                Brought::Saved(place, saved) => self.on_saved(&place, saved),
            };
            // A request must not be lost behind what is merely drawn.
            if !matches!(outcome, Outcome::Request(_)) {
                outcome = after;
            }
        }
        outcome
    }

    fn is_moving(&self) -> bool {
        self.run.as_ref().is_some_and(Run::is_running)
    }
}
