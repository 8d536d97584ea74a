//! How things look: one table from what a text means to a style, and the glyphs that go with it.
//!
//! The terminal's own palette is used and attributes come first, so that a person's colours stay
//! theirs. Without colours bold, dim, reverse and underline carry the same meanings; no meaning is
//! ever in a colour alone, a word stands beside it.

use ratatui::style::{Color, Modifier, Style};
use ratatui::symbols::border;

/// What a text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Ordinary text: the terminal's own foreground.
    Text,
    /// What is beside the point: times, sizes, explanations.
    Secondary,
    /// The title of a pane, a heading.
    Title,
    /// The title of the pane that has the focus.
    TitleFocused,
    /// The border of a pane.
    Border,
    /// The border of the pane that has the focus.
    BorderFocused,
    /// The selected line of the list that has the focus.
    Selected,
    /// The selected line of a list that does not have the focus.
    SelectedAside,
    /// What went well: ready, succeeded, same.
    Good,
    /// What wants attention: starting, drifted, slow, a claim that is not proven.
    Warning,
    /// What failed.
    Bad,
    /// What can be acted on: the current tab, a link, a button.
    Accent,
    /// The name of a key in a hint.
    Key,
    /// The letters of a line that a filter or a search found.
    Match,
    /// Names of members in JSON, fields of a form.
    Name,
    /// Strings in JSON, code.
    Code,
    /// Numbers, booleans and null in JSON.
    Number,
    /// The field that is being edited.
    Input,
    /// Text that stands for nothing yet: an unset value, a placeholder.
    Placeholder,
}

/// Whether colours may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColorMode {
    /// The sixteen colours of the terminal's palette.
    #[default]
    Palette,
    /// Attributes only: `NO_COLOR`, `--color never`, `TERM=dumb`.
    Never,
}

/// The signs that stand beside words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Glyphs {
    /// Running and well.
    pub ready: &'static str,
    /// On the way.
    pub starting: &'static str,
    /// Not running, and nothing is wrong.
    pub idle: &'static str,
    /// Failed.
    pub failed: &'static str,
    /// Wants attention.
    pub warning: &'static str,
    /// Done.
    pub done: &'static str,
    /// What stands for the rest of a text that does not fit; one column wide.
    pub ellipsis: &'static str,
    /// The mark of the selected line; two columns wide.
    pub cursor: &'static str,
    /// A part that can be opened, closed now.
    pub closed: &'static str,
    /// A part that can be closed, open now.
    pub open: &'static str,
    /// A box with a tick.
    pub checked: &'static str,
    /// A box without.
    pub unchecked: &'static str,
    /// The chosen one of several.
    pub chosen: &'static str,
    /// One that is not chosen.
    pub not_chosen: &'static str,
    /// A bullet of a list.
    pub bullet: &'static str,
    /// Between two things on one line; one column wide.
    pub separator: &'static str,
    /// Something was sent.
    pub sent: &'static str,
    /// Something was received.
    pub received: &'static str,
    /// A horizontal line.
    pub rule: &'static str,
    /// A vertical line, as between columns or before a quotation.
    pub bar: &'static str,
    /// A full cell of a progress bar.
    pub bar_full: &'static str,
    /// An empty cell of a progress bar.
    pub bar_empty: &'static str,
    /// The parts of a cell of a progress bar, from less to more; empty where there are none.
    pub bar_parts: &'static [&'static str],
    /// A place on a scroll bar.
    pub thumb: &'static str,
    /// What turns while something is awaited.
    pub spinner: &'static [&'static str],
}

const UNICODE: Glyphs = Glyphs {
    ready: "●",
    starting: "◐",
    idle: "○",
    failed: "✗",
    warning: "▲",
    done: "✓",
    ellipsis: "…",
    cursor: "▌ ",
    closed: "▸",
    open: "▾",
    checked: "☑",
    unchecked: "☐",
    chosen: "◉",
    not_chosen: "○",
    bullet: "•",
    separator: "·",
    sent: "→",
    received: "←",
    rule: "─",
    bar: "│",
    bar_full: "█",
    bar_empty: "░",
    bar_parts: &["▏", "▎", "▍", "▌", "▋", "▊", "▉"],
    thumb: "┃",
    spinner: &["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"],
};

const ASCII: Glyphs = Glyphs {
    ready: "*",
    starting: "~",
    idle: "-",
    failed: "x",
    warning: "!",
    done: "+",
    ellipsis: "~",
    cursor: "> ",
    closed: ">",
    open: "v",
    checked: "[x]",
    unchecked: "[ ]",
    chosen: "(*)",
    not_chosen: "( )",
    bullet: "-",
    separator: "|",
    sent: ">",
    received: "<",
    rule: "-",
    bar: "|",
    bar_full: "#",
    bar_empty: ".",
    bar_parts: &[],
    thumb: "#",
    spinner: &["|", "/", "-", "\\"],
};

const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Styles and glyphs for one terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    colors: ColorMode,
    is_ascii: bool,
    is_light: bool,
}

impl Theme {
    /// A theme with the given colours, for a terminal with or without Unicode.
    pub fn new(colors: ColorMode, ascii: bool) -> Self {
        Self {
            colors,
            is_ascii: ascii,
            is_light: false,
        }
    }

    /// The same for a light background or a dark one: faint text is grey on a light one.
    #[must_use]
    pub fn on_light(mut self, is_light: bool) -> Self {
        self.is_light = is_light;
        self
    }

    /// The same in ASCII only.
    #[must_use]
    pub fn in_ascii(mut self) -> Self {
        self.is_ascii = true;
        self
    }

    /// Whether colours may be used; without them meanings need an attribute or a word.
    pub fn colors(&self) -> ColorMode {
        self.colors
    }

    /// Whether only ASCII may be drawn by the UI itself.
    pub fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    /// The signs that stand beside words.
    pub fn glyphs(&self) -> &'static Glyphs {
        if self.is_ascii { &ASCII } else { &UNICODE }
    }

    /// The lines of boxes.
    pub fn border(&self) -> border::Set<'static> {
        if self.is_ascii {
            ASCII_BORDER
        } else {
            border::ROUNDED
        }
    }

    /// The style of a meaning.
    pub fn style(&self, role: Role) -> Style {
        match self.colors {
            ColorMode::Palette => self.palette(role),
            ColorMode::Never => plain(role),
        }
    }

    fn palette(&self, role: Role) -> Style {
        let style = Style::new();
        match role {
            Role::Text => style,
            // Some terminals draw faint text on white almost invisibly.
            Role::Secondary | Role::Border | Role::Placeholder if self.is_light => {
                style.fg(Color::DarkGray)
            }
            Role::Secondary | Role::Border | Role::Placeholder => style.add_modifier(Modifier::DIM),
            Role::Title => style.add_modifier(Modifier::BOLD),
            Role::TitleFocused => style.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            Role::BorderFocused | Role::Accent | Role::Name => style.fg(Color::Cyan),
            Role::Selected => style.add_modifier(Modifier::REVERSED),
            Role::SelectedAside | Role::Key => style.add_modifier(Modifier::BOLD),
            Role::Good | Role::Code => style.fg(Color::Green),
            Role::Warning | Role::Number => style.fg(Color::Magenta),
            Role::Bad => style.fg(Color::Red).add_modifier(Modifier::BOLD),
            Role::Match => style
                .fg(Color::Cyan)
                .add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
            Role::Input => style.add_modifier(Modifier::UNDERLINED),
        }
    }
}

/// The same meanings by attributes alone.
fn plain(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Text | Role::Good | Role::Code | Role::Number | Role::Name => style,
        Role::Secondary | Role::Border | Role::Placeholder => style.add_modifier(Modifier::DIM),
        Role::Title | Role::BorderFocused | Role::SelectedAside | Role::Key | Role::Warning => {
            style.add_modifier(Modifier::BOLD)
        }
        Role::TitleFocused | Role::Accent | Role::Match | Role::Input => {
            style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED)
        }
        Role::Selected => style.add_modifier(Modifier::REVERSED),
        Role::Bad => style.add_modifier(Modifier::BOLD | Modifier::UNDERLINED),
    }
}
