//! A terminal that does not show what is typed.

/// Hides what is typed until it is dropped; does nothing where there is no terminal.
pub(super) struct Echo {
    #[cfg(unix)]
    shown: Option<rustix::termios::Termios>,
}

#[cfg(unix)]
impl Echo {
    pub(super) fn off() -> Self {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        let stdin = std::io::stdin();
        let Ok(shown) = tcgetattr(&stdin) else {
            return Self { shown: None };
        };
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        // The end of the line is shown, so that what follows begins on a new one.
        hidden.local_modes.insert(LocalModes::ECHONL);
        let done = tcsetattr(&stdin, OptionalActions::Now, &hidden);
        Self {
            shown: done.is_ok().then_some(shown),
        }
    }
}

#[cfg(unix)]
impl Drop for Echo {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};
        if let Some(shown) = &self.shown {
            // There is no other way to bring it back.
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, shown);
        }
    }
}

#[cfg(not(unix))]
impl Echo {
    pub(super) fn off() -> Self {
        Self {}
    }
}
