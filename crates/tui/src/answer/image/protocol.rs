//! Which graphics the terminal has.
//!
//! The terminal's environment names it. Asking it by escape sequences would put the answer among the
//! keys that a person types, which another thread is reading.

/// How pixels reach a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// kitty's, with placeholders in the text.
    Kitty,
    /// iTerm2's inline images.
    Iterm,
    /// Sixels, as of a VT340.
    Sixel,
    /// None: two colours in each cell.
    HalfBlocks,
}

impl Protocol {
    /// What the terminal of this process can do.
    pub(super) fn of_terminal() -> Self {
        Self::of(|name| std::env::var(name).ok())
    }

    /// What the terminal with this environment can do.
    fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let is = |name: &str, words: &[&str]| {
            let value = variable(name).unwrap_or_default().to_ascii_lowercase();
            words.iter().any(|word| value.contains(word))
        };
        // tmux and screen keep a picture of the text only; what passes through them stays behind.
        if variable("TMUX").is_some()
            || variable("STY").is_some()
            || is("TERM", &["tmux", "screen"])
        {
            return Self::HalfBlocks;
        }
        if is("TERM", &["xterm-kitty", "ghostty"]) || is("TERM_PROGRAM", &["ghostty"]) {
            return Self::Kitty;
        }
        if is("TERM_PROGRAM", &["iterm", "wezterm"]) || is("LC_TERMINAL", &["iterm"]) {
            return Self::Iterm;
        }
        if is("TERM", &["foot", "mlterm", "yaft", "sixel"]) {
            return Self::Sixel;
        }
        Self::HalfBlocks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_their_environment() {
        for (environment, expected) in [
            (&[("TERM", "xterm-kitty")][..], Protocol::Kitty),
            (
                &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "ghostty")],
                Protocol::Kitty,
            ),
            (&[("TERM_PROGRAM", "iTerm.app")], Protocol::Iterm),
            (&[("TERM_PROGRAM", "WezTerm")], Protocol::Iterm),
            (&[("TERM", "foot")], Protocol::Sixel),
            (&[("TERM", "xterm-256color")], Protocol::HalfBlocks),
            (
                &[("TERM", "xterm-kitty"), ("TMUX", "/tmp/x")],
                Protocol::HalfBlocks,
            ),
            (
                &[("TERM", "tmux-256color"), ("TERM_PROGRAM", "iTerm.app")],
                Protocol::HalfBlocks,
            ),
            (&[], Protocol::HalfBlocks),
        ] {
            let variable = |name: &str| {
                let found = environment.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(Protocol::of(variable), expected, "{environment:?}");
        }
    }
}
