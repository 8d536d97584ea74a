//! How the terminal UI looks and which keys it has.
//!
//! A file that came with a folder has no say in it: a key that suddenly does something else would
//! be a trap.

use std::collections::BTreeMap;

use super::section::{Complaint, Section};
use super::{Origin, choices};

/// What a person wants of the terminal UI.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UiConfig {
    /// What the background of the terminal is taken for.
    pub theme: UiTheme,
    /// Only ASCII is drawn.
    pub ascii: bool,
    /// Whether the mouse is the UI's at the beginning.
    pub mouse: Option<bool>,
    /// Keys by the name of their action.
    pub keys: BTreeMap<String, Vec<String>>,
}

/// What the background of the terminal is taken for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UiTheme {
    /// What the terminal says, or what works on both.
    #[default]
    Auto,
    /// A light one.
    Light,
    /// A dark one.
    Dark,
}

/// Reads the `[ui]` table.
pub(super) fn read_ui(section: &Section<'_>, origin: Origin) -> UiConfig {
    if origin == Origin::Project {
        let complaint = Complaint::new("a file that came with a folder cannot set up the UI");
        section.warn(
            "",
            complaint.hint("write this table in your own attache.toml"),
        );
        return UiConfig::default();
    }
    let keys = section.text_map("keys").unwrap_or_default().into_iter();
    let keys = keys.map(|(action, keys)| {
        let keys = keys.expose().split_whitespace().map(str::to_owned);
        (action, keys.collect())
    });
    UiConfig {
        theme: section
            .choice("theme", &choices::UI_THEMES)
            .unwrap_or_default(),
        ascii: section.truth("ascii").unwrap_or_default(),
        mouse: section.truth("mouse"),
        keys: keys.collect(),
    }
}
