//! Sheets and menus about servers, pins, differences, keys, and the palette.

use attache::host::policy::{DiffLine, Drift};
use ratatui::text::{Line, Span};
use similar::{ChangeTag, TextDiff};

use super::act::Act;
use super::{App, Overlay, Tab};
use crate::component::Notice;
use crate::dialog;
use crate::keys::{Action, Binding, Context, TABLE};
use crate::measure;
use crate::overlay::{Item, Menu, Sheet};
use crate::panes::catalog::Row as _;
use crate::panes::servers::state_look;
use crate::text;
use crate::theme::{Role, Theme};

/// The widest text in a sheet.
const WIDE: usize = 100;
/// Answers larger than this are not compared line by line.
const MOST_COMPARED: usize = 1024 * 1024;

impl App {
    /// The name of the key of an action.
    pub(super) fn key_name(&self, action: Action) -> String {
        let key = self.settings.keys.key(action);
        key.map_or_else(|| "(no key)".to_owned(), |key| key.to_string())
    }

    fn sheet(&mut self, title: impl Into<String>, lines: Vec<Line<'static>>) {
        let sheet = Sheet::new(title, lines);
        self.overlays.push(Overlay::Sheet(sheet));
    }

    /// All there is to know about the selected server.
    pub(super) fn show_server(&mut self) {
        let theme = self.settings.theme;
        let about = self.about.clone().unwrap_or_default();
        if let Some((name, problem)) = self.servers.misconfigured(&self.snapshot, &about).cloned() {
            let lines = measure::wrapped(&text::safe(&problem), WIDE).into_iter();
            return self.sheet(name, lines.map(Line::raw).collect());
        }
        let Some(server) = self.servers.selected(&self.snapshot) else {
            self.focus = super::Focus::List;
            return;
        };
        let name = server.name.as_str().to_owned();
        let (glyph, word, role) = state_look(server.state, &theme, self.now_ms);
        let since = text::ago(server.since_ms, self.now_ms);
        let mut lines = vec![Line::from(vec![
            Span::styled(format!("{glyph} {word}"), theme.style(role)),
            Span::styled(format!("  since {since}"), theme.style(Role::Secondary)),
        ])];
        let mut fact = |label: &str, value: Option<String>| {
            if let Some(value) = value {
                for (at, part) in measure::wrapped(&text::safe(&value), WIDE - 16)
                    .iter()
                    .enumerate()
                {
                    let label = if at == 0 { label } else { "" };
                    let label = Span::styled(format!("{label:<15} "), theme.style(Role::Secondary));
                    lines.push(Line::from(vec![label, Span::raw(part.clone())]));
                }
            }
        };
        fact("target", Some(server.target.clone()));
        fact("calls itself", server.calls_itself.clone());
        let revision = server.revision.clone();
        let era = server.era.clone().map(|era| format!("{era} era"));
        let speaks: Vec<String> = revision.into_iter().chain(era).collect();
        fact("speaks", (!speaks.is_empty()).then(|| speaks.join(", ")));
        fact("process", server.process_id.map(|id| id.to_string()));
        fact("starts", Some(server.starts.to_string()));
        let offers = [
            ("tools", server.offers.tools),
            ("resources", server.offers.resources),
            ("templates", server.offers.templates),
            ("prompts", server.offers.prompts),
        ];
        let offers = offers
            .iter()
            .filter_map(|(what, count)| Some(format!("{} {what}", (*count)?)));
        let offers: Vec<String> = offers.collect();
        fact("offers", (!offers.is_empty()).then(|| offers.join(", ")));
        let requests = server
            .requests
            .map(|it| format!("{}, {} open", it.issued, it.open));
        fact("requests", requests);
        let cache = &self.snapshot.cache;
        let cache = format!(
            "{} hits, {} misses, {} stale",
            cache.hits, cache.misses, cache.stale
        );
        fact("cache (all)", Some(cache));
        let log = about
            .logs
            .as_ref()
            .map(|logs| logs.join(format!("{name}.log")));
        fact("log file", log.map(|path| path.display().to_string()));
        if let Some(failure) = &server.last_failure {
            lines.push(Line::default());
            for part in measure::wrapped(&text::safe(&failure.cause), WIDE) {
                lines.push(Line::styled(part, theme.style(Role::Bad)));
            }
            for line in &failure.stderr {
                let line = text::safe(line);
                let line = format!("  {}", text::cut(&line, WIDE, theme.glyphs().ellipsis));
                lines.push(Line::styled(line, theme.style(Role::Secondary)));
            }
            lines.push(Line::default());
            lines.push(Line::styled(
                format!("attache doctor {name} looks further"),
                theme.style(Role::Secondary),
            ));
        }
        self.sheet(name, lines);
    }

    /// How to log in. The login itself needs a browser and a terminal of its own.
    pub(super) fn show_login(&mut self, server: &str) {
        let snapshot = self.snapshot.servers.iter();
        let mut found = snapshot.filter(|it| it.name.as_str() == server);
        let is_remote = found.any(|it| it.target.starts_with("http"));
        let words = match is_remote {
            true => format!("attache auth login {server}"),
            false => {
                return self.tell(Notice::done(format!(
                    "{server} is a program; it needs no login"
                )));
            }
        };
        let copy = Act::Copy {
            text: words.as_str().into(),
            label: "command".to_owned(),
        };
        let lines = vec![
            Line::raw("A login opens a browser and asks at a terminal of its own."),
            Line::raw("Run this in another terminal, then restart the server here:"),
            Line::default(),
            Line::raw(format!("  {words}")),
        ];
        let sheet =
            Sheet::new(format!("login of {server}"), lines).with("copies the command", copy);
        self.overlays.push(Overlay::Sheet(sheet));
    }

    /// How a tool differs from what was approved; Enter approves it.
    pub(super) fn show_drift(&mut self, server: &str, tool: &str, drift: Option<&Drift>) {
        let Some(drift) = drift else {
            let words = format!("{} is what was approved, or new", text::safe(tool));
            return self.tell(Notice::done(words));
        };
        let theme = self.settings.theme;
        let mut lines = vec![
            Line::raw(format!(
                "{server}/{} is not what was approved. It differs in:",
                text::safe(tool)
            )),
            Line::default(),
        ];
        for path in &drift.paths {
            let path = text::safe(path).into_owned();
            lines.push(Line::styled(
                format!("  {path}"),
                theme.style(Role::Warning),
            ));
        }
        lines.push(Line::default());
        lines.extend(drift.lines.iter().map(|line| diff_line(line, &theme)));
        let rows = self.tools.rows().iter();
        let mut rows = rows.filter(|row| row.server() == server && row.tool.name == tool);
        let sheet = Sheet::new("drifted", lines);
        let sheet = match (rows.next(), &drift.lock) {
            (Some(row), None) => {
                let act = Act::AcceptPin(server.to_owned(), row.tool.clone());
                sheet.with("approves it as it is now", act)
            }
            // A lock file belongs to the project; it is changed there.
            _ => sheet,
        };
        self.overlays.push(Overlay::Sheet(sheet));
    }

    /// Two answers side by side, as a difference.
    pub(super) fn show_difference(&mut self, one: &str, other: &str) {
        if one.len() + other.len() > MOST_COMPARED {
            let words =
                "the answers are too large to be compared here; attache diff compares files";
            return self.tell(Notice::warning(words));
        }
        let theme = self.settings.theme;
        let (one, other) = (pretty(one), pretty(other));
        let mut lines = Vec::new();
        let diff = TextDiff::from_lines(&one, &other);
        for group in diff.grouped_ops(3) {
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let (sign, role) = match change.tag() {
                    ChangeTag::Delete => ("-", Role::Bad),
                    ChangeTag::Insert => ("+", Role::Good),
                    ChangeTag::Equal => (" ", Role::Secondary),
                };
                let words = text::safe(change.value().trim_end_matches('\n'));
                lines.push(Line::styled(format!("{sign} {words}"), theme.style(role)));
            }
            lines.push(Line::default());
        }
        if lines.is_empty() {
            lines.push(Line::raw("the answers are the same"));
        }
        self.sheet("difference of the two marked answers", lines);
    }

    /// Every key, those that are in force first.
    pub(super) fn open_help(&mut self) {
        let theme = self.settings.theme;
        let mut contexts = self.contexts();
        for binding in TABLE {
            if !contexts.contains(&binding.context) {
                contexts.push(binding.context);
            }
        }
        let mut lines = Vec::new();
        for context in contexts {
            let rows: Vec<&Binding> = TABLE
                .iter()
                .filter(|binding| binding.context == context)
                .collect();
            if rows.is_empty() {
                continue;
            }
            lines.push(Line::styled(title_of(context), theme.style(Role::Title)));
            for binding in rows {
                let keys = self.settings.keys.keys(binding.action).iter();
                let keys: Vec<String> = keys.map(ToString::to_string).collect();
                lines.push(Line::from(vec![
                    Span::styled(format!("  {:<22}", keys.join(" ")), theme.style(Role::Key)),
                    Span::raw(format!("{:<52}", binding.help)),
                    Span::styled(binding.name, theme.style(Role::Secondary)),
                ]));
            }
            lines.push(Line::default());
        }
        let own = "  names at the right are those of [ui.keys] in attache.toml";
        lines.push(Line::styled(own, theme.style(Role::Secondary)));
        self.sheet("keys", lines);
    }

    /// All open questions.
    pub(super) fn open_inbox(&mut self) {
        let items: Vec<Item<Act>> = self
            .snapshot
            .questions
            .iter()
            .map(|question| {
                let ago = text::ago(question.since_ms, self.now_ms);
                Item::new(
                    dialog::headline(question),
                    ago,
                    Act::OpenQuestion(question.id),
                )
            })
            .collect();
        match items.is_empty() {
            true => self.tell(Notice::done("no question is open")),
            false => self
                .overlays
                .push(Overlay::Menu(Menu::new("open questions", items))),
        }
    }

    /// Anything by some of its letters.
    pub(super) fn open_palette(&mut self) {
        let mut items = Vec::new();
        for tab in Tab::ALL {
            let action = match tab {
                Tab::Tools => Action::TabTools,
                Tab::Resources => Action::TabResources,
                Tab::Prompts => Action::TabPrompts,
                Tab::Calls => Action::TabCalls,
                Tab::Activity => Action::TabActivity,
                Tab::Log => Action::TabLog,
                Tab::Specs => Action::TabSpecs,
            };
            let note = format!("tab {}", self.key_name(action));
            items.push(Item::new(tab.name(), note, Act::Do(action)));
        }
        items.push(Item::new("all servers", "server", Act::SelectServer(None)));
        for server in &self.snapshot.servers {
            let name = server.name.as_str().to_owned();
            let note = format!("server, {}", server.state.as_str());
            items.push(Item::new(name.clone(), note, Act::SelectServer(Some(name))));
        }
        for action in [
            Action::Inbox,
            Action::Help,
            Action::Zoom,
            Action::Mouse,
            Action::Reload,
            Action::Redraw,
            Action::Quit,
        ] {
            if let Some(binding) = action.binding() {
                let note = format!("command {}", self.key_name(action));
                items.push(Item::new(binding.help, note, Act::Do(action)));
            }
        }
        for row in self.tools.rows() {
            let act = Act::OpenTool(row.server().to_owned(), row.tool.clone());
            items.push(Item::new(
                row.name(),
                format!("tool of {}", row.server()),
                act,
            ));
        }
        for row in self.resources.rows() {
            let act = Act::OpenResource(row.server().to_owned(), row.name().to_owned());
            items.push(Item::new(
                row.name(),
                format!("resource of {}", row.server()),
                act,
            ));
        }
        for row in self.prompts.rows() {
            let act = Act::OpenPrompt(row.server().to_owned(), row.name().to_owned());
            items.push(Item::new(
                row.name(),
                format!("prompt of {}", row.server()),
                act,
            ));
        }
        self.overlays.push(Overlay::Menu(Menu::new("go to", items)));
    }
}

fn title_of(context: Context) -> String {
    context.name().to_owned()
}

fn diff_line(line: &DiffLine, theme: &Theme) -> Line<'static> {
    let (sign, role, words) = match line {
        DiffLine::Kept(words) => (" ", Role::Secondary, words.as_str()),
        DiffLine::Removed(words) => ("-", Role::Bad, words.as_str()),
        DiffLine::Added(words) => ("+", Role::Good, words.as_str()),
        DiffLine::Gap => (" ", Role::Secondary, theme.glyphs().ellipsis),
    };
    let words = text::safe(words);
    Line::styled(format!("{sign} {words}"), theme.style(role))
}

/// JSON with a member on each line, as it is if it is none.
fn pretty(raw: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(raw);
    let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
    pretty.unwrap_or_else(|_| raw.to_owned())
}
