//! Where output goes: documents and text to stdout, everything else to stderr.
//!
//! The only module that prints. What is printed is either JSON or a [`Text`], which is harmless by
//! construction. Knows nothing of servers.

mod board;
mod columns;
mod draw;
pub(crate) mod human;
pub(crate) mod json;
mod progress;
pub(crate) mod text;

pub(crate) use attache_view::safe_text;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

use attache::protocol::ProgressParams;
use attache_view::document::Document;
pub(crate) use board::Board;
use parking_lot::{Mutex, MutexGuard};
pub(crate) use progress::{Progress, ProgressDisplay};
use serde::Serialize;
pub(crate) use text::{Colour, Style, Text};

use crate::failure::{Exit, Failure};
use crate::invocation::Refusal;

/// The columns of a terminal that does not tell.
const USUAL_COLUMNS: usize = 80;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Human,
    Json,
}

impl Format {
    pub(crate) fn json(is_wanted: bool) -> Self {
        match is_wanted {
            true => Self::Json,
            false => Self::Human,
        }
    }
}

/// How much is said besides results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Normal,
    Verbose,
}

/// What one command prints. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Output {
    pub(crate) format: Format,
    pub(crate) verbosity: Verbosity,
    stdout: Stream,
    stderr: Stream,
    bar: Arc<Mutex<BarState>>,
}

/// The progress bar on stderr, which has to make room for other lines.
#[derive(Debug)]
enum BarState {
    /// It has not been needed yet. If it is, it begins with the last note.
    NotShown(Option<ProgressParams>),
    Shown(indicatif::ProgressBar),
    /// Lines about who is waited for, as they are drawn.
    Board(String),
    /// The user is typing, or has been, and must not be disturbed.
    PutAway,
}

impl Default for BarState {
    fn default() -> Self {
        Self::NotShown(None)
    }
}

/// What is known about one of the two streams.
#[derive(Clone, Copy)]
struct Stream {
    is_terminal: bool,
    colour: Colour,
    /// Where lines fold: on a terminal only, because programs and files want them whole.
    width: Option<usize>,
}

/// Terminals that say they are narrower are not believed.
const NARROWEST: usize = 20;

impl Stream {
    fn new(is_terminal: bool) -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let forced = set("CLICOLOR_FORCE") && !set("NO_COLOR");
        let wanted = is_terminal && !set("NO_COLOR");
        Self {
            is_terminal,
            colour: if forced || wanted {
                Colour::On
            } else {
                Colour::Off
            },
            width: width().filter(|_| is_terminal),
        }
    }

    fn render(self, text: &Text) -> String {
        match self.width {
            Some(width) => text.render_within(self.colour, width),
            None => text.render(self.colour),
        }
    }
}

/// How wide the terminal is, if there is one.
pub(crate) fn width() -> Option<usize> {
    let (width, _) = terminal_size::terminal_size()?;
    Some(usize::from(width.0).max(NARROWEST))
}

impl Output {
    pub(crate) fn new(format: Format, verbosity: Verbosity) -> Self {
        Self {
            format,
            verbosity,
            stdout: Stream::new(io::stdout().is_terminal()),
            stderr: Stream::new(io::stderr().is_terminal()),
            bar: Arc::default(),
        }
    }

    /// Whether there is a user to ask.
    pub(crate) fn can_ask(&self) -> bool {
        self.stderr.is_terminal && io::stdin().is_terminal()
    }

    /// Whether styles are written to stdout.
    pub(crate) fn is_coloured(&self) -> bool {
        self.stdout.colour == Colour::On
    }

    /// Prints an answer for people: drawn where they look at it, plain where a program reads it.
    pub(crate) fn answer(
        &self,
        drawn: impl FnOnce() -> Document,
        plain: impl FnOnce() -> Text,
    ) -> Result<(), Failure> {
        if !self.stdout.is_terminal {
            return self.text(&plain());
        }
        let document = drawn();
        self.text(&draw::document(&document, terminal_columns()))?;
        let report = document.structured.and_then(|structured| structured.report);
        if let Some(problem) = report.and_then(|report| report.problems.into_iter().next()) {
            self.note(&format!(
                "the answer does not fit the schema that the tool promises: {}",
                problem.message
            ));
        }
        Ok(())
    }

    /// Prints text for people.
    pub(crate) fn text(&self, text: &Text) -> Result<(), Failure> {
        self.write(self.stdout.render(text).as_bytes())
    }

    /// Says what was done: a sentence to a person, a document to a program.
    pub(crate) fn done(&self, sentence: &str, document: &impl Serialize) -> Result<(), Failure> {
        match self.format {
            Format::Human => self.text(&Text::line(sentence)),
            Format::Json => self.document(&json::write(document)),
        }
    }

    /// Prints one JSON document on a line of its own.
    pub(crate) fn document(&self, json: &str) -> Result<(), Failure> {
        let mut line = if self.stdout.is_terminal {
            safe_text::json(json).into_owned()
        } else {
            json.to_owned()
        };
        line.push('\n');
        self.write(line.as_bytes())
    }

    /// Prints JSON documents that have a line each.
    pub(crate) fn documents(&self, lines: &str) -> Result<(), Failure> {
        match self.stdout.is_terminal {
            true => self.write(safe_text::json(lines).as_bytes()),
            false => self.write(lines.as_bytes()),
        }
    }

    /// Prints contents as they are to a program or a file; on a terminal they are made harmless,
    /// and end their line.
    pub(crate) fn contents(&self, bytes: &[u8]) -> Result<(), Failure> {
        if !self.stdout.is_terminal {
            return self.write(bytes);
        }
        let mut text = Text::new();
        text.block(Style::Plain, &String::from_utf8_lossy(bytes));
        self.text(&text)
    }

    /// Prints text of our own making that other programs read: scripts, names to complete.
    pub(crate) fn ready_made(&self, text: &str) -> Result<(), Failure> {
        self.write(text.as_bytes())
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let written = self.aside(|| {
            let mut stdout = io::stdout().lock();
            stdout.write_all(bytes).and_then(|()| stdout.flush())
        });
        written.map_err(|error| match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::reader_left(),
            _ => Failure::unexpected(format!("cannot write the output: {error}")),
        })
    }

    /// Says something in passing. Scripts that read JSON hear it only if they ask.
    pub(crate) fn note(&self, text: &str) {
        if self.format == Format::Human || self.verbosity == Verbosity::Verbose {
            let mut line = Text::new();
            line.add(Style::Warning, "note: ")
                .hang()
                .plain(text)
                .end_line();
            self.aside_text(&line);
        }
    }

    /// Prints to stderr something that was asked for: logs, questions.
    pub(crate) fn aside_text(&self, text: &Text) {
        let rendered = self.stderr.render(text);
        // There is nowhere left to complain to.
        let _ = self.aside(|| io::stderr().lock().write_all(rendered.as_bytes()));
    }

    /// Says why a command failed, if it did.
    pub(crate) fn conclude(&self, result: Result<(), Failure>) -> Exit {
        match result {
            Ok(()) => Exit::Done,
            Err(failure) => {
                self.failure(&failure);
                failure.exit
            }
        }
    }

    fn failure(&self, failure: &Failure) {
        if failure.exit == Exit::Done {
            return;
        }
        match self.format {
            Format::Json => {
                let mut line = json::failure(failure);
                if self.stderr.is_terminal {
                    line = safe_text::json(&line).into_owned();
                }
                line.push('\n');
                let _ = self.aside(|| io::stderr().lock().write_all(line.as_bytes()));
            }
            Format::Human => self.aside_text(&human::failure(failure, self.verbosity)),
        }
    }

    /// Shows the progress of something that takes its time, as far as `display` and the terminal
    /// allow.
    pub(crate) fn progress(&self, what: &str, display: ProgressDisplay) -> Progress {
        Progress::new(self.clone(), what, display)
    }

    /// Takes the progress bar away, because the user is going to type.
    pub(crate) fn put_bar_away(&self) {
        match std::mem::replace(&mut *self.bar(), BarState::PutAway) {
            BarState::Shown(bar) => bar.finish_and_clear(),
            BarState::Board(board) => board::take_away(&board),
            BarState::NotShown(_) | BarState::PutAway => {}
        }
    }

    fn bar(&self) -> MutexGuard<'_, BarState> {
        self.bar.lock()
    }

    /// Runs `print` while the progress bar is out of the way.
    fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &*self.bar() {
            BarState::Shown(bar) => bar.suspend(print),
            BarState::Board(board) => board::aside(board, print),
            BarState::NotShown(_) | BarState::PutAway => print(),
        }
    }
}

/// How many columns the terminal has.
fn terminal_columns() -> usize {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(io::stdout())
        && size.ws_col > 0
    {
        return usize::from(size.ws_col);
    }
    USUAL_COLUMNS
}

/// Prints help, version, or what is wrong with a command line.
pub(crate) fn refusal(refusal: &Refusal) -> Exit {
    match refusal {
        Refusal::Words { error, .. } if !error.use_stderr() => {
            // A closed pipe has seen enough.
            let _ = error.print();
            Exit::Done
        }
        Refusal::Words {
            error,
            format: Format::Human,
        } => {
            let _ = error.print();
            Exit::Usage
        }
        Refusal::Words {
            error,
            format: Format::Json,
        } => {
            let text = error.to_string();
            let message = text.lines().next().unwrap_or_default();
            let failure =
                Failure::usage(message.trim_start_matches("error: ")).hint("see `attache --help`");
            Output::new(Format::Json, Verbosity::Normal).failure(&failure);
            Exit::Usage
        }
        Refusal::Meaning { failure, format } => {
            Output::new(*format, Verbosity::Normal).failure(failure);
            failure.exit
        }
    }
}
