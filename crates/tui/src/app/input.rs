//! What keys, pastes and the mouse do.

use std::sync::Arc;

use ratatui::crossterm::event::{
    Event as TerminalEvent, KeyCode, KeyEvent, KeyEventKind, KeyModifiers,
};

use super::act::Act;
use super::detail::Detail;
use super::{App, Focus, Overlay, Tab};
use crate::component::{Component as _, CopyItem, Input, Notice, Outcome, Request};
use crate::filter::Filter;
use crate::keys::{Action, Context};
use crate::message::{Effect, OpenWhat, Work};
use crate::overlay::{Ask, Menu, Sheet, Taken};
use crate::panes::servers::Servers;
use crate::text;
/// Within which time a second Ctrl-C leaves.
const TWICE_MS: u64 = 1_000;

impl App {
    pub(super) fn on_terminal(&mut self, event: TerminalEvent) {
        match event {
            TerminalEvent::Key(key) if key.kind != KeyEventKind::Release => self.on_key(key),
            TerminalEvent::Paste(text) => self.on_paste(&text),
            TerminalEvent::Mouse(mouse) => self.on_mouse(mouse),
            _ => {}
        }
    }

    /// The contexts in force, innermost first.
    pub(super) fn contexts(&mut self) -> Vec<Context> {
        let is_typing = self.filter().is_some_and(|filter| filter.is_typing);
        let mut contexts = match self.overlays.last() {
            Some(Overlay::Menu(_)) => return Menu::<Act>::contexts(),
            Some(Overlay::Sheet(_)) => return Sheet::<Act>::contexts(),
            Some(Overlay::Save(..)) => return Ask::contexts(),
            Some(Overlay::Question(dialog)) => dialog.contexts(),
            None => match self.focus {
                Focus::Servers => vec![Context::Servers, Context::Move],
                Focus::List if self.tab == Tab::Specs => self.specs.contexts(),
                Focus::List if is_typing => {
                    vec![Context::Filter, Context::Text]
                }
                Focus::List => vec![self.tab.context(), Context::Move],
                Focus::Detail => self.detail_contexts(),
            },
        };
        contexts.push(Context::Global);
        contexts
    }

    fn detail_contexts(&mut self) -> Vec<Context> {
        let is_call = matches!(self.detail(), Some(Detail::Job(_) | Detail::Past(_)));
        let mut contexts = match self.component() {
            Some(component) => component.contexts(),
            None => vec![Context::Move],
        };
        if is_call {
            contexts.push(Context::Calls);
        }
        contexts
    }

    fn on_key(&mut self, event: KeyEvent) {
        if self.settings.can_panic && event.code == KeyCode::F(12) {
            return self.effects.push(Effect::Panic);
        }
        let contexts = self.contexts();
        let action = self.settings.keys.action(&contexts, event);
        // Esc and a letter that arrive together, as over a slow line, look like Alt and the letter.
        if action.is_none()
            && event.modifiers == KeyModifiers::ALT
            && matches!(event.code, KeyCode::Char(_))
            && !contexts.contains(&Context::Text)
        {
            self.on_key(KeyEvent::new(KeyCode::Esc, KeyModifiers::NONE));
            return self.on_key(KeyEvent::new(event.code, KeyModifiers::NONE));
        }
        match action {
            // These mean the same wherever the person is.
            Some(Action::Interrupt) => return self.interrupt(),
            Some(Action::Suspend) => return self.effects.push(Effect::Suspend),
            Some(Action::Redraw) => return self.effects.push(Effect::Redraw),
            _ => {}
        }
        if self.overlays.last().is_some() {
            return self.overlay_key(event, action);
        }
        if self.filter_key(event, action) {
            return;
        }
        if self.component_key(event, action) {
            return;
        }
        if let Some(action) = action {
            self.act(action);
        }
    }

    /// A component that has the focus gets the key first; true if it used it.
    fn component_key(&mut self, event: KeyEvent, action: Option<Action>) -> bool {
        let has_focus =
            self.focus == Focus::Detail || self.focus == Focus::List && self.tab == Tab::Specs;
        if !has_focus {
            return false;
        }
        let Some(component) = self.component() else {
            return false;
        };
        let outcome = component.input(Input::Key { event, action });
        self.on_outcome(outcome)
    }

    /// What a component made of an input; false if nothing.
    pub(super) fn on_outcome(&mut self, outcome: Outcome) -> bool {
        match outcome {
            Outcome::Ignored => return false,
            Outcome::Used => {}
            Outcome::Close => {
                self.close_detail();
            }
            Outcome::Submit => self.submit_form(),
            Outcome::Request(request) => self.on_request(request),
        }
        true
    }

    fn overlay_key(&mut self, event: KeyEvent, action: Option<Action>) {
        let Some(mut overlay) = self.overlays.pop() else {
            return;
        };
        let taken = match &mut overlay {
            Overlay::Menu(menu) => menu.key(event, action),
            Overlay::Sheet(sheet) => match action {
                Some(Action::Copy) => {
                    let text = sheet.text();
                    let label = "text".to_owned();
                    self.effects.push(Effect::Clipboard { text, label });
                    Taken::Used
                }
                action => sheet.key(action),
            },
            Overlay::Save(ask, bytes) => match ask.key(event, action) {
                Taken::Chosen(name) => {
                    let path = self.settings.folder.join(name);
                    let bytes = bytes.clone();
                    self.effects.push(Effect::Save { path, bytes });
                    Taken::Closed
                }
                Taken::Closed => Taken::Closed,
                Taken::Used => Taken::Used,
                Taken::Ignored => Taken::Ignored,
            },
            Overlay::Question(dialog) => {
                let outcome = dialog.input(Input::Key { event, action });
                return self.on_dialog(overlay, outcome, action);
            }
        };
        self.after_overlay(overlay, taken);
    }

    pub(super) fn after_overlay(&mut self, overlay: Overlay, taken: Taken<Act>) {
        match taken {
            Taken::Used | Taken::Ignored => self.overlays.push(overlay),
            Taken::Closed => {
                self.answer_first(false);
                self.questions_changed();
            }
            Taken::Chosen(act) => self.perform(act),
        }
    }

    pub(super) fn on_dialog(&mut self, overlay: Overlay, outcome: Outcome, action: Option<Action>) {
        let Overlay::Question(dialog) = overlay else {
            return;
        };
        match outcome {
            Outcome::Submit => {
                let answer = dialog.answer();
                let question = dialog.question().id;
                self.effects.push(Effect::Answer(question, answer));
                // If the answer is refused, what was typed comes back.
                self.drafts.keep_dialog(dialog);
            }
            Outcome::Close => {
                self.drafts.keep_dialog(dialog);
                let key = self.key_name(Action::Inbox);
                self.tell(Notice::warning(format!(
                    "the question stays open; {key} answers it"
                )));
            }
            Outcome::Ignored if matches!(action, Some(Action::Back | Action::Later)) => {
                self.drafts.keep_dialog(dialog);
            }
            Outcome::Used | Outcome::Ignored => self.overlays.push(Overlay::Question(dialog)),
            Outcome::Request(request) => {
                self.overlays.push(Overlay::Question(dialog));
                self.on_request(request);
            }
        }
    }

    /// The filter of the list in the current tab.
    pub(super) fn filter(&mut self) -> Option<&mut Filter> {
        match self.tab {
            Tab::Tools => Some(&mut self.tools.filter),
            Tab::Resources => Some(&mut self.resources.filter),
            Tab::Prompts => Some(&mut self.prompts.filter),
            Tab::Calls => Some(&mut self.calls.filter),
            Tab::Activity => Some(&mut self.activity.filter),
            Tab::Log => Some(&mut self.log.filter),
            Tab::Specs => None,
        }
    }

    pub(super) fn filter_changed(&mut self) {
        match self.tab {
            Tab::Tools => self.tools.filter_changed(),
            Tab::Resources => self.resources.filter_changed(),
            Tab::Prompts => self.prompts.filter_changed(),
            Tab::Calls => self.calls.refresh(&self.jobs),
            Tab::Activity => self.activity.filter_changed(),
            Tab::Log => self.log.filter_changed(),
            Tab::Specs => {}
        }
    }

    /// A key while a filter is typed; true if it was for the filter.
    fn filter_key(&mut self, event: KeyEvent, action: Option<Action>) -> bool {
        if self.focus != Focus::List || self.tab == Tab::Specs {
            return false;
        }
        let Some(filter) = self.filter().filter(|filter| filter.is_typing) else {
            return false;
        };
        match action {
            Some(Action::FilterDone) => filter.is_typing = false,
            Some(Action::FilterClear | Action::Back) => {
                filter.is_typing = false;
                filter.input.clear();
                self.filter_changed();
            }
            Some(action @ (Action::FilterUp | Action::FilterDown)) => {
                self.move_list(action);
            }
            Some(_) => {
                filter.is_typing = false;
                return false;
            }
            None => {
                if filter.input.key(event) {
                    self.filter_changed();
                }
            }
        }
        true
    }

    /// Moves the cursor of the list that has the focus; false if the action does not move.
    pub(super) fn move_list(&mut self, action: Action) -> bool {
        if self.focus == Focus::Servers {
            let about = self.about.clone().unwrap_or_default();
            let count = Servers::count(&self.snapshot, &about);
            let moved = self.servers.cursor.act(action, count);
            if moved {
                self.scope_changed();
            }
            return moved;
        }
        match self.tab {
            Tab::Tools => self.tools.cursor.act(action, self.tools.count()),
            Tab::Resources => self.resources.cursor.act(action, self.resources.count()),
            Tab::Prompts => self.prompts.cursor.act(action, self.prompts.count()),
            Tab::Calls => self.calls.cursor.act(action, self.calls.count()),
            Tab::Activity => {
                let moved = self.activity.cursor.act(action, self.activity.count());
                if moved {
                    self.activity.moved();
                }
                moved
            }
            Tab::Log => {
                let moved = self.log.cursor.act(action, self.log.count());
                if moved {
                    self.log.moved();
                }
                moved
            }
            Tab::Specs => false,
        }
    }

    fn on_paste(&mut self, text: &str) {
        match self.overlays.pop() {
            Some(mut overlay) => {
                match &mut overlay {
                    Overlay::Menu(menu) => menu.paste(text),
                    Overlay::Save(ask, _) => ask.paste(text),
                    Overlay::Sheet(_) => {}
                    Overlay::Question(dialog) => {
                        let outcome = dialog.input(Input::Paste(text));
                        return self.on_dialog(overlay, outcome, None);
                    }
                }
                self.overlays.push(overlay);
            }
            None => {
                if self.focus == Focus::List
                    && let Some(filter) = self.filter().filter(|filter| filter.is_typing)
                {
                    filter.input.insert(text);
                    return self.filter_changed();
                }
                if self.focus != Focus::Servers
                    && let Some(component) = self.component()
                {
                    let outcome = component.input(Input::Paste(text));
                    self.on_outcome(outcome);
                }
            }
        }
    }

    /// The text comes back from the editor.
    pub(crate) fn edited(&mut self, text: &str) {
        if let Some(Overlay::Question(_)) = self.overlays.last()
            && let Some(Overlay::Question(mut dialog)) = self.overlays.pop()
        {
            let outcome = dialog.input(Input::Edited(text));
            return self.on_dialog(Overlay::Question(dialog), outcome, None);
        }
        if let Some(component) = self.component() {
            let outcome = component.input(Input::Edited(text));
            self.on_outcome(outcome);
        }
    }

    /// What only the app can do for a component.
    pub(super) fn on_request(&mut self, request: Request) {
        match request {
            Request::Copy { text, label } => self.effects.push(Effect::Clipboard { text, label }),
            Request::CopyMenu(items) => {
                let mut items = items;
                items.extend(self.copies_of_detail());
                self.copy_menu(items);
            }
            Request::Save { name, bytes } => {
                let name = text::safe(&name).into_owned();
                let ask = Ask::new("save as", &name);
                self.overlays.push(Overlay::Save(ask, bytes));
            }
            Request::Page { text } => self.effects.push(Effect::Page(text)),
            Request::Edit { text, extension } => {
                self.effects.push(Effect::Edit { text, extension });
            }
            Request::OpenBytes { extension, bytes } => {
                let what = OpenWhat::Bytes(bytes, extension);
                self.effects.push(Effect::Open { what });
            }
            Request::OpenUrl(url) => {
                let what = OpenWhat::Url(url);
                self.effects.push(Effect::Open { what });
            }
            Request::Read { uri } => {
                if let Some(server) = self.detail_server() {
                    let id = self.begin(Work::Read { server, uri }, true);
                    self.open_detail(Detail::Job(id));
                }
            }
            Request::Complete(question) => self.complete(question),
            Request::Call(call) => {
                let work = Work::Call {
                    server: call.server,
                    tool: call.tool,
                    arguments: call.arguments,
                    timeout: None,
                    meta: Vec::new(),
                    as_task: false,
                    output_schema: None,
                };
                let id = self.begin(work, false);
                if let Some(job) = self.jobs.get_mut(id) {
                    job.tag = Some(call.tag);
                }
            }
            Request::Cancel { tag } => {
                let job = self.jobs.running().find(|job| job.tag == Some(tag));
                let id = job.map(|job| job.id);
                if let Some(id) = id {
                    self.cancel(id);
                }
            }
            Request::Notice(notice) => self.tell(notice),
        }
    }

    pub(super) fn copy_menu(&mut self, items: Vec<CopyItem>) {
        if items.is_empty() {
            return self.tell(Notice::warning("there is nothing to copy here"));
        }
        let items = items.into_iter().map(|item| {
            let note = text::bytes(item.text.len());
            let does = Act::Copy {
                text: Arc::from(item.text),
                label: item.label.clone(),
            };
            crate::overlay::Item::new(item.label, note, does)
        });
        let menu = Menu::new("copy", items.collect());
        self.overlays.push(Overlay::Menu(menu));
    }

    /// Ctrl-C: cancels what runs; pressed twice it leaves.
    fn interrupt(&mut self) {
        let now = self.now_ms;
        let former = self.interrupted_ms.replace(now);
        if former.is_some_and(|former| now.saturating_sub(former) <= TWICE_MS) {
            return self.effects.push(Effect::Quit);
        }
        match self.focused_job() {
            Some(id) => {
                self.cancel(id);
                let words = format!("cancelling #{id}; Ctrl-C again leaves");
                self.tell(Notice::warning(words));
            }
            None => self.tell(Notice::warning("nothing runs; Ctrl-C again leaves")),
        }
    }
}
