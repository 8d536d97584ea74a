//! What actions do.

use std::sync::Arc;

use attache::host::snapshot::ServerState;
use attache::protocol::{LogLevel, Tool};

use super::detail::Detail;
use super::{App, Focus, Overlay, Tab};
use crate::component::Notice;
use crate::keys::Action;
use crate::message::{Effect, Order};
use crate::overlay::{Item, Menu};
use crate::panes::calls::CallKey;
use crate::panes::catalog::Row as _;
use crate::panes::rows::ResourceKind;
use crate::text;

/// What an item of a menu does.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Do(Action),
    SelectServer(Option<String>),
    OpenTool(String, Arc<Tool>),
    OpenResource(String, String),
    OpenPrompt(String, String),
    Copy {
        text: Arc<str>,
        label: String,
    },
    Order(String, Order),
    OpenQuestion(u64),
    Again(CallKey),
    AcceptPin(String, Arc<Tool>),
    /// Yes to what was asked before there is a host.
    SayYes,
    Quit,
    Nothing,
}

impl App {
    pub(super) fn act(&mut self, action: Action) {
        if self.focus != Focus::Detail && self.move_list(action) {
            return;
        }
        match action {
            Action::Back => self.back(),
            Action::NextPane => self.next_pane(1),
            Action::PreviousPane => self.next_pane(2),
            Action::TabTools => self.go_to(Tab::Tools),
            Action::TabResources => self.go_to(Tab::Resources),
            Action::TabPrompts => self.go_to(Tab::Prompts),
            Action::TabCalls => self.go_to(Tab::Calls),
            Action::TabActivity => self.go_to(Tab::Activity),
            Action::TabLog => self.go_to(Tab::Log),
            Action::TabSpecs => self.go_to(Tab::Specs),
            Action::Servers => self.go_to_servers(),
            Action::Palette => self.open_palette(),
            Action::Inbox => self.open_inbox(),
            Action::Help => self.open_help(),
            Action::Zoom => self.is_zoomed = !self.is_zoomed,
            Action::Mouse => self.switch_mouse(),
            Action::Quit => self.quit(),
            Action::Open => self.open(),
            Action::Right if self.focus != Focus::Detail => self.open(),
            Action::Left => self.back(),
            Action::Filter => self.begin_filter(),
            Action::NextMatch | Action::PreviousMatch => {
                let same = match action {
                    Action::NextMatch => Action::Down,
                    _ => Action::Up,
                };
                self.move_list(same);
            }
            Action::Copy => {
                let items = self.copies();
                self.copy_menu(items);
            }
            Action::StartStop
            | Action::Restart
            | Action::LogLevel
            | Action::Login
            | Action::Enable
            | Action::Details
            | Action::Trust => self.act_on_server(action),
            Action::Pin => self.show_pin(),
            Action::Reload => {
                self.ask_for_lists();
                self.tell(Notice::done("asking the servers again"));
            }
            Action::Watch => self.switch_watch(),
            Action::Cancel => match self.focused_job() {
                Some(id) => self.cancel(id),
                None => self.tell(Notice::warning("nothing runs")),
            },
            Action::Again => self.again(),
            Action::Mark => self.calls.mark(),
            Action::Compare => self.compare(),
            Action::PauseActivity => self.activity.pause(),
            Action::FollowActivity => self.activity.follow(),
            Action::PauseLog => self.log.pause(),
            Action::FollowLog => self.log.follow(),
            Action::LogLevelFilter => self.log.next_level(),
            Action::ServerOnly => {
                let scope = self.scope();
                let words = match scope {
                    Some(server) => format!("the log of {server}; choose all servers for the rest"),
                    None => "the log of all servers; choose one at the left for its own".to_owned(),
                };
                self.tell(Notice::done(words));
            }
            _ => {}
        }
    }

    /// What an item of a menu does.
    pub(super) fn perform(&mut self, act: Act) {
        match act {
            Act::Do(action) => self.act(action),
            Act::SelectServer(name) => {
                self.servers.select(&self.snapshot, name.as_deref());
                self.scope_changed();
                self.focus = Focus::List;
            }
            Act::OpenTool(server, tool) => {
                self.go_to(Tab::Tools);
                self.tools.select(&server, &text::safe_name(&tool.name));
                self.close_all(Tab::Tools);
                self.open_tool(server, tool);
            }
            Act::OpenResource(server, name) => {
                self.go_to(Tab::Resources);
                self.resources.select(&server, &name);
                self.close_all(Tab::Resources);
                self.open_selected();
            }
            Act::OpenPrompt(server, name) => {
                self.go_to(Tab::Prompts);
                self.prompts.select(&server, &name);
                self.close_all(Tab::Prompts);
                self.open_selected();
            }
            Act::Copy { text, label } => {
                let text = text.to_string();
                self.effects.push(Effect::Clipboard { text, label });
            }
            Act::Order(server, order) => self.effects.push(Effect::Server(server, order)),
            Act::OpenQuestion(id) => {
                let question = self.snapshot.questions.iter().find(|it| it.id == id);
                if let Some(question) = question.cloned() {
                    let dialog = self.dialog_of(question);
                    self.overlays.push(Overlay::Question(dialog));
                }
            }
            Act::Again(key) => self.run_again(key),
            Act::AcceptPin(server, tool) => {
                self.effects.push(Effect::AcceptPin { server, tool });
            }
            Act::SayYes => self.answer_first(true),
            Act::Quit => self.effects.push(Effect::Quit),
            Act::Nothing => {}
        }
    }

    /// Out of what is open, then out of the filter; never out of the program.
    fn back(&mut self) {
        if self.focus == Focus::Detail {
            self.close_detail();
            return;
        }
        if self.focus == Focus::Servers {
            self.focus = Focus::List;
            return;
        }
        let has_filter = self.filter().is_some_and(|filter| !filter.is_empty());
        if has_filter {
            if let Some(filter) = self.filter() {
                filter.input.clear();
            }
            return self.filter_changed();
        }
        if self.detail().is_some() {
            self.close_detail();
        } else if self.is_zoomed {
            self.is_zoomed = false;
        } else if self.servers.cursor.at != 0 {
            self.servers.cursor.at = 0;
            self.scope_changed();
        } else {
            self.focus = Focus::Servers;
        }
    }

    fn next_pane(&mut self, steps: usize) {
        let has_detail = self.detail().is_some() && self.tab != Tab::Specs;
        let panes: &[Focus] = match has_detail {
            true => &[Focus::Servers, Focus::List, Focus::Detail],
            false => &[Focus::Servers, Focus::List],
        };
        let at = panes
            .iter()
            .position(|pane| *pane == self.focus)
            .unwrap_or(0);
        let steps = if steps == 1 { 1 } else { panes.len() - 1 };
        self.focus = panes[(at + steps) % panes.len()];
    }

    pub(super) fn go_to(&mut self, tab: Tab) {
        self.tab = tab;
        self.focus = match self.detail() {
            Some(_) if tab != Tab::Specs => Focus::Detail,
            _ => Focus::List,
        };
        match tab {
            Tab::Calls if !self.calls.has_asked => {
                self.calls.has_asked = true;
                self.effects.push(Effect::History);
            }
            Tab::Specs => self.specs.shown(),
            _ => {}
        }
    }

    fn go_to_servers(&mut self) {
        // Where there is no room for the list of servers, they are chosen from a menu.
        if self.places.servers.is_empty() {
            let mut items = vec![Item::new("all servers", "", Act::SelectServer(None))];
            for server in &self.snapshot.servers {
                let name = server.name.as_str().to_owned();
                let note = server.state.as_str();
                items.push(Item::new(name.clone(), note, Act::SelectServer(Some(name))));
            }
            return self
                .overlays
                .push(Overlay::Menu(Menu::new("servers", items)));
        }
        self.focus = Focus::Servers;
    }

    fn open(&mut self) {
        match self.focus {
            Focus::Servers => self.show_server(),
            Focus::List => self.open_selected(),
            Focus::Detail => {}
        }
    }

    fn begin_filter(&mut self) {
        self.focus = Focus::List;
        if let Some(filter) = self.filter() {
            filter.is_typing = true;
        }
    }

    fn switch_mouse(&mut self) {
        self.settings.has_mouse = !self.settings.has_mouse;
        let is_on = self.settings.has_mouse;
        self.effects.push(Effect::Mouse(is_on));
        self.tell(Notice::done(match is_on {
            true => "the mouse works here",
            false => "the mouse is the terminal's: select text with it",
        }));
    }

    fn quit(&mut self) {
        let running = self.jobs.running().count();
        if running == 0 {
            return self.effects.push(Effect::Quit);
        }
        let title = match running {
            1 => "a call runs; leaving cancels it".to_owned(),
            count => format!("{count} calls run; leaving cancels them"),
        };
        let items = vec![
            Item::new("stay", "", Act::Nothing),
            Item::new("cancel and leave", "", Act::Quit),
        ];
        self.overlays.push(Overlay::Menu(Menu::new(title, items)));
    }

    fn act_on_server(&mut self, action: Action) {
        let about = self.about.clone().unwrap_or_default();
        if self.servers.misconfigured(&self.snapshot, &about).is_some() {
            return self.show_server();
        }
        let Some(server) = self.servers.selected(&self.snapshot) else {
            return self.tell(Notice::warning("choose a server first"));
        };
        let (name, state) = (server.name.as_str().to_owned(), server.state);
        let order = match action {
            Action::StartStop => match state {
                ServerState::Ready | ServerState::Starting | ServerState::BackingOff => Order::Stop,
                ServerState::Parked => Order::Restart,
                _ => Order::Start,
            },
            Action::Restart => Order::Restart,
            Action::Enable => Order::Enable(state == ServerState::Disabled),
            Action::LogLevel => {
                let item = |level: LogLevel| {
                    let act = Act::Order(name.clone(), Order::LogLevel(level));
                    Item::new(level.as_str(), "", act)
                };
                let items = LogLevel::ALL.into_iter().map(item).collect();
                let menu = Menu::new(format!("log level of {name}"), items);
                return self.overlays.push(Overlay::Menu(menu));
            }
            Action::Login => return self.show_login(&name),
            _ => return self.show_server(),
        };
        self.effects.push(Effect::Server(name, order));
    }

    fn show_pin(&mut self) {
        let Some(row) = self.tools.selected() else {
            return;
        };
        let (server, tool) = (row.server().to_owned(), row.tool.clone());
        self.effects.push(Effect::Drift { server, tool });
    }

    fn switch_watch(&mut self) {
        let Some(row) = self.resources.selected() else {
            return;
        };
        let ResourceKind::Resource { uri } = row.kind.clone() else {
            return self.tell(Notice::warning(
                "a template cannot be watched; read it first",
            ));
        };
        let (server, is_wanted) = (row.server().to_owned(), row.watch.is_none());
        if !is_wanted {
            let name = row.name().to_owned();
            let mut rows = self.resources.rows_mut().iter_mut();
            if let Some(row) = rows.find(|it| it.server() == server && it.name() == name) {
                row.watch = None;
            }
        }
        self.effects.push(Effect::Watch {
            server,
            uri,
            is_wanted,
        });
    }

    /// The call that is open or selected.
    pub(super) fn current_call(&self) -> Option<CallKey> {
        match self.detail() {
            Some(Detail::Job(id)) => Some(CallKey::Job(*id)),
            Some(Detail::Past(number)) => Some(CallKey::Past(*number)),
            _ if self.tab == Tab::Calls => self.calls.selected(),
            _ => None,
        }
    }

    /// Runs a call again; asks first if it may have had an effect.
    fn again(&mut self) {
        let Some(key) = self.current_call() else {
            return self.tell(Notice::warning("choose a call first"));
        };
        let has_effect = match key {
            CallKey::Job(id) => self
                .jobs
                .get(id)
                .is_some_and(|job| job.may_have_had_an_effect()),
            CallKey::Past(number) => {
                let past = self.calls.past(number);
                past.is_some_and(|past| past.record.may_have_had_an_effect())
            }
        };
        if !has_effect {
            return self.run_again(key);
        }
        let items = vec![
            Item::new("no", "", Act::Nothing),
            Item::new(
                "run it again",
                "it may have its effect twice",
                Act::Again(key),
            ),
        ];
        let menu = Menu::new("it may have had an effect: run it again?", items);
        self.overlays.push(Overlay::Menu(menu));
    }

    fn run_again(&mut self, key: CallKey) {
        let work = match key {
            CallKey::Job(id) => match self.jobs.get(id) {
                Some(job) => Ok((job.work.clone(), job.is_harmless)),
                None => return,
            },
            CallKey::Past(number) => match self.calls.past(number) {
                Some(past) => past
                    .again()
                    .map(|work| (work, !past.record.may_have_had_an_effect())),
                None => return,
            },
        };
        match work {
            Err(problem) => self.tell(Notice::failed(problem)),
            Ok((work, is_harmless)) => {
                let id = self.begin(work, is_harmless);
                self.calls.refresh(&self.jobs);
                self.calls.select(CallKey::Job(id));
                if let Some(top @ (Detail::Job(_) | Detail::Past(_))) = self.detail_mut() {
                    *top = Detail::Job(id);
                } else {
                    self.open_detail(Detail::Job(id));
                }
            }
        }
    }

    fn compare(&mut self) {
        let marked: Vec<CallKey> = self.calls.marked.iter().copied().collect();
        let [one, other] = marked.as_slice() else {
            let key = self.key_name(Action::Mark);
            let words = format!("mark two calls with {key} to compare their answers");
            return self.tell(Notice::warning(words));
        };
        let raw = |key: &CallKey| match key {
            CallKey::Job(id) => self.jobs.get(*id)?.raw().map(|it| it.text().into_owned()),
            CallKey::Past(number) => {
                let ended = self.calls.past(*number)?.record.ended.as_ref()?;
                Some(ended.result.as_ref()?.as_str().to_owned())
            }
        };
        match (raw(one), raw(other)) {
            (Some(one), Some(other)) => self.show_difference(&one, &other),
            _ => self.tell(Notice::warning("one of the two has no answer to compare")),
        }
    }
}
