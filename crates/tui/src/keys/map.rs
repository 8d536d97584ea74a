//! Which key means what, with the overrides of the configuration.

use std::collections::HashMap;
use std::fmt;

use ratatui::crossterm::event::KeyEvent;

use super::{Action, Binding, Chord, Context, TABLE};

/// The keys in force: the table with the configuration's overrides.
#[derive(Clone, Debug)]
pub struct KeyMap {
    meanings: HashMap<(Context, Chord), Action>,
    keys: HashMap<Action, Vec<Chord>>,
}

/// What is wrong with an override.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyProblem {
    /// No action has this name.
    NoSuchAction(String),
    /// This is not a key.
    NoSuchKey(String),
    /// Two actions of one context have the same key.
    Twice {
        /// The key.
        key: String,
        /// The action that has it.
        one: &'static str,
        /// The action that was to have it too.
        other: &'static str,
    },
}

impl fmt::Display for KeyProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchAction(name) => write!(
                formatter,
                "[ui.keys] names {name:?}, which is no action; ? in the UI lists them"
            ),
            Self::NoSuchKey(key) => write!(
                formatter,
                "[ui.keys] has {key:?}, which is no key; write it like x, G, f2, ctrl-p, alt-up"
            ),
            Self::Twice { key, one, other } => write!(
                formatter,
                "[ui.keys] gives {key} to {one:?} and to {other:?}; choose another key for one of \
                 them"
            ),
        }
    }
}

impl Default for KeyMap {
    fn default() -> Self {
        // The table itself is checked by a test.
        Self::new(&[]).0
    }
}

impl KeyMap {
    /// The table with overrides: the name of an action and all its keys. What is wrong with an
    /// override is told, and the default stays.
    pub fn new(overrides: &[(String, Vec<String>)]) -> (Self, Vec<KeyProblem>) {
        let mut problems = Vec::new();
        let mut map = Self {
            meanings: HashMap::new(),
            keys: HashMap::new(),
        };
        // What a person chose comes first, so that a default gives way to it.
        for (name, keys) in overrides {
            let Some(binding) = TABLE.iter().find(|binding| binding.name == name) else {
                problems.push(KeyProblem::NoSuchAction(name.clone()));
                continue;
            };
            for key in keys {
                match Chord::parse(key) {
                    None => problems.push(KeyProblem::NoSuchKey(key.clone())),
                    Some(chord) => {
                        if let Some(one) = map.give(binding, chord) {
                            problems.push(KeyProblem::Twice {
                                key: key.clone(),
                                one,
                                other: binding.name,
                            });
                        }
                    }
                }
            }
        }
        for binding in TABLE {
            if map.keys.contains_key(&binding.action) {
                continue;
            }
            for chord in binding.keys.iter().filter_map(|key| Chord::parse(key)) {
                map.give(binding, chord);
            }
        }
        (map, problems)
    }

    /// Gives a key to an action; the name of the one that has it already, if there is one.
    fn give(&mut self, binding: &Binding, chord: Chord) -> Option<&'static str> {
        let place = (binding.context, chord);
        if let Some(other) = self.meanings.get(&place) {
            return other.binding().map(|binding| binding.name);
        }
        self.meanings.insert(place, binding.action);
        self.keys.entry(binding.action).or_default().push(chord);
        None
    }

    /// What a key means in these contexts, innermost first.
    pub fn action(&self, contexts: &[Context], event: KeyEvent) -> Option<Action> {
        let chord = Chord::of(event);
        if contexts.contains(&Context::Text) && chord.is_typed() {
            return None;
        }
        let mut found = contexts
            .iter()
            .map(|context| self.meanings.get(&(*context, chord)));
        found.find_map(|action| action.copied())
    }

    /// The key that hints name for an action.
    pub fn key(&self, action: Action) -> Option<Chord> {
        self.keys.get(&action)?.first().copied()
    }

    /// All keys of an action.
    pub fn keys(&self, action: Action) -> &[Chord] {
        self.keys.get(&action).map_or(&[], Vec::as_slice)
    }
}
