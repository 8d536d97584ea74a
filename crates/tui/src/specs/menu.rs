//! What opens over the tab: the menu of commands, and the questions for a description, a name or a
//! filter.

use attache_speckit::{Command, Spec};
use attache_view::safe_text;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::keys::Action;

/// What is open.
#[derive(Debug)]
pub(super) enum Popup {
    /// The commands.
    Run(Menu),
    /// A new spec: what it is about, then what it is called.
    New {
        description: Field,
        /// Asked for once there is a description.
        name: Option<Field>,
    },
    /// What a spec is about, to specify it again.
    Describe(Field),
    /// Which tasks to do.
    Filter(Field),
}

/// What became of a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// It is still open.
    Nothing,
    /// It is to be closed.
    Left,
    /// A command, with all its arguments or none.
    Command(Command),
    /// Implement some of the tasks; which has to be asked.
    Some,
    /// Another server.
    NextServer,
    /// A field is filled in.
    Filled,
}

/// One line of text that is typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Field {
    text: String,
    /// The place of the cursor, in characters.
    at: usize,
}

/// The longest description.
const LONGEST: usize = 4000;

impl Field {
    pub(super) fn with(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            at: text.chars().count(),
            text,
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text before and behind the cursor.
    pub(super) fn parts(&self) -> (&str, &str) {
        self.text.split_at(self.byte(self.at))
    }

    fn byte(&self, character: usize) -> usize {
        let found = self.text.char_indices().nth(character);
        found.map_or(self.text.len(), |(byte, _)| byte)
    }

    pub(super) fn paste(&mut self, text: &str) {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = safe_text::one_line(&text);
        for character in text.chars() {
            self.insert(character);
        }
    }

    fn insert(&mut self, character: char) {
        if self.text.len() < LONGEST {
            self.text.insert(self.byte(self.at), character);
            self.at += 1;
        }
    }

    fn remove(&mut self, character: usize) {
        let byte = self.byte(character);
        if byte < self.text.len() {
            self.text.remove(byte);
        }
    }

    fn key(&mut self, event: KeyEvent) {
        let is_plain = !event
            .modifiers
            .intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        match event.code {
            KeyCode::Char(character) if is_plain => self.insert(character),
            KeyCode::Backspace if self.at > 0 => {
                self.at -= 1;
                self.remove(self.at);
            }
            KeyCode::Delete => self.remove(self.at),
            KeyCode::Left => self.at = self.at.saturating_sub(1),
            KeyCode::Right => self.at = (self.at + 1).min(self.text.chars().count()),
            KeyCode::Home => self.at = 0,
            KeyCode::End => self.at = self.text.chars().count(),
            _ => {}
        }
    }
}

/// The commands, what they are called by, and why one cannot run.
#[derive(Debug)]
pub(super) struct Menu {
    pub(super) items: Vec<Item>,
    pub(super) selected: usize,
    /// Who runs them, and how many others could.
    pub(super) server: Option<(String, usize)>,
}

/// A command in the menu.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The key that runs it.
    pub(super) key: char,
    pub(super) words: &'static str,
    pub(super) chosen: Chosen,
    /// Why it cannot run now.
    pub(super) hindrance: Option<String>,
}

impl Menu {
    /// The menu for a spec. `offers` are the commands that the server has, `hindrance` what keeps
    /// any of them from running.
    pub(super) fn new(
        spec: Option<&Spec>,
        server: Option<(String, usize)>,
        offers: &[Command],
        hindrance: Option<&str>,
    ) -> Self {
        let why = |command: Command| -> Option<String> {
            if let Some(hindrance) = hindrance {
                return Some(hindrance.to_owned());
            }
            let Some(spec) = spec else {
                return Some("there is no spec; n begins one".to_owned());
            };
            if !offers.contains(&command) {
                return Some(format!("the server does not offer {}", command.tool()));
            }
            command.check(spec).err().map(|unmet| unmet.to_string())
        };
        let item = |key, words, command| Item {
            key,
            words,
            chosen: Chosen::Command(command),
            hindrance: why(command),
        };
        let items = vec![
            item('s', "specify: write the specification", Command::Specify),
            item('c', "clarify: answer open questions", Command::Clarify),
            item('p', "plan: write the plan", Command::Plan),
            item('t', "tasks: write the tasks", Command::Tasks),
            item('i', "implement: do the open tasks", Command::Implement),
            Item {
                chosen: Chosen::Some,
                ..item('f', "implement some of the tasks", Command::Implement)
            },
        ];
        // What comes next is what most people want.
        let next = spec.map(|it| match it.phase {
            attache_speckit::Phase::Specify => 0,
            attache_speckit::Phase::Plan if it.questions > 0 => 1,
            attache_speckit::Phase::Plan => 2,
            attache_speckit::Phase::Tasks => 3,
            attache_speckit::Phase::Implement | attache_speckit::Phase::Done => 4,
        });
        Self {
            items,
            selected: next.unwrap_or(0),
            server,
        }
    }

    fn choose(&mut self, at: usize) -> Chosen {
        self.selected = at;
        match self.items.get_mut(at) {
            Some(item) if item.hindrance.is_none() => {
                std::mem::replace(&mut item.chosen, Chosen::Nothing)
            }
            _ => Chosen::Nothing,
        }
    }

    fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Chosen {
        match (action, event.code) {
            (Some(Action::PickUp), _) => self.selected = self.selected.saturating_sub(1),
            (Some(Action::PickDown), _) => {
                self.selected = (self.selected + 1).min(self.items.len().saturating_sub(1));
            }
            (Some(Action::Pick), _) => return self.choose(self.selected),
            (_, KeyCode::Tab) => return Chosen::NextServer,
            (_, KeyCode::Char(key)) => {
                if let Some(at) = self.items.iter().position(|it| it.key == key) {
                    return self.choose(at);
                }
            }
            _ => {}
        }
        Chosen::Nothing
    }
}

impl Popup {
    /// Takes a key.
    pub(super) fn key(&mut self, event: KeyEvent, action: Option<Action>) -> Chosen {
        if action == Some(Action::Back) || event.code == KeyCode::Esc {
            return Chosen::Left;
        }
        if let Self::Run(menu) = self {
            return menu.key(event, action);
        }
        if event.code == KeyCode::Enter {
            return Chosen::Filled;
        }
        if let Some(field) = self.field() {
            field.key(event);
        }
        Chosen::Nothing
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = self.field() {
            field.paste(text);
        }
    }

    fn field(&mut self) -> Option<&mut Field> {
        match self {
            Self::Run(_) => None,
            Self::New {
                name: Some(name), ..
            } => Some(name),
            Self::New { description, .. } => Some(description),
            Self::Describe(field) | Self::Filter(field) => Some(field),
        }
    }
}
