//! The progress of one call, on stderr.
//!
//! A bar appears on a terminal once a call has taken a moment. Owns how progress looks; what a
//! server says about it is made harmless first.

use std::time::Duration;

use attache::protocol::ProgressParams;
use indicatif::{ProgressBar, ProgressStyle};

use super::{BarState, Output, Style, Text, safe_text};

/// How long a call may take before the user is told that it does.
const UNNOTICED: Duration = Duration::from_millis(200);
/// How often the bar moves by itself.
const TICK: Duration = Duration::from_millis(100);
/// How finely a share of the whole is shown.
const STEPS: u64 = 1000;

/// Where progress is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ProgressDisplay {
    /// As a bar, if stderr is a terminal.
    #[value(name = "auto")]
    Bar,
    /// As a bar, or else as one line per note.
    Always,
    /// Nowhere, and the server is not asked for it.
    Never,
}

/// What shows the progress of one call. Dropping it takes the bar away.
pub(crate) struct Progress {
    output: Output,
    what: String,
    display: ProgressDisplay,
}

impl Progress {
    pub(super) fn new(output: Output, what: &str, display: ProgressDisplay) -> Self {
        Self {
            output,
            what: safe_text::one_line(what).into_owned(),
            display,
        }
    }

    /// Runs `work` and shows the bar when it takes more than a moment.
    pub(crate) async fn during<T>(&self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            result = &mut work => return result,
            () = tokio::time::sleep(UNNOTICED) => self.show(),
        }
        work.await
    }

    /// What takes the server's notes, if the user can see them. A server that is not asked for them
    /// sends none.
    pub(crate) fn listener(&self) -> Option<impl FnMut(ProgressParams) + Send + 'static> {
        let (output, what, display) = (self.output.clone(), self.what.clone(), self.display);
        let seen = match display {
            ProgressDisplay::Bar => output.stderr.is_terminal,
            ProgressDisplay::Always => true,
            ProgressDisplay::Never => false,
        };
        seen.then_some(move |note: ProgressParams| {
            match &mut *output.bar() {
                BarState::Shown(bar) => return draw(bar, &what, &note),
                BarState::NotShown(last) if output.stderr.is_terminal => {
                    *last = Some(note);
                    return;
                }
                BarState::NotShown(_) | BarState::Board(_) | BarState::PutAway => {}
            }
            if output.stderr.is_terminal {
                return;
            }
            let mut line = Text::new();
            line.add(Style::Faint, &format!("{what}: {}", describe(&note)));
            output.aside_text(line.end_line());
        })
    }

    fn show(&self) {
        if self.display == ProgressDisplay::Never || !self.output.stderr.is_terminal {
            return;
        }
        let mut state = self.output.bar();
        if let BarState::NotShown(last) = &mut *state {
            let bar = ProgressBar::new_spinner();
            bar.set_message(self.what.clone());
            if let Some(note) = last.take() {
                draw(&bar, &self.what, &note);
            }
            bar.enable_steady_tick(TICK);
            *state = BarState::Shown(bar);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.output.put_bar_away();
        *self.output.bar() = BarState::default();
    }
}

fn draw(bar: &ProgressBar, what: &str, note: &ProgressParams) {
    if let Some(share) = share(note) {
        if bar.length() != Some(STEPS) {
            bar.set_length(STEPS);
            if let Ok(style) = ProgressStyle::with_template("{bar:30} {percent:>3}% {msg}") {
                bar.set_style(style);
            }
        }
        bar.set_position(share);
    }
    bar.set_message(match &note.message {
        Some(message) => format!("{what}: {}", safe_text::one_line(message)),
        None => what.to_owned(),
    });
}

/// The progress in steps of the whole, if the server says what the whole is.
fn share(note: &ProgressParams) -> Option<u64> {
    let total = note.total.filter(|total| *total > 0.0)?;
    let share = (note.progress / total).clamp(0.0, 1.0);
    // Between 0 and `STEPS`, so nothing is lost.
    Some((share * STEPS as f64) as u64)
}

fn describe(note: &ProgressParams) -> String {
    let amount = match note.total {
        Some(total) => format!("{} of {total}", note.progress),
        None => note.progress.to_string(),
    };
    match &note.message {
        Some(message) => format!("{amount}, {message}"),
        None => amount,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(text: &str) -> ProgressParams {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn shares_stay_within_the_whole_whatever_a_server_says() {
        for (text, expected) in [
            (r#"{"progressToken":1,"progress":1,"total":4}"#, Some(250)),
            (r#"{"progressToken":1,"progress":9,"total":4}"#, Some(1000)),
            (r#"{"progressToken":1,"progress":-9,"total":4}"#, Some(0)),
            (r#"{"progressToken":1,"progress":1,"total":0}"#, None),
            (r#"{"progressToken":1,"progress":1}"#, None),
        ] {
            assert_eq!(share(&note(text)), expected, "{text}");
        }
    }

    #[test]
    fn notes_read_as_text() {
        let text = r#"{"progressToken":1,"progress":2,"total":5,"message":"reading"}"#;
        assert_eq!(describe(&note(text)), "2 of 5, reading");
    }
}
