//! The terminal UI: servers, tools, calls, questions and spec workflows.
//!
//! This crate owns how they look in a terminal and what keys do. What is shown comes from a host,
//! its own or one in the background, and everything that takes time happens outside the loop that
//! draws: keys and signals are read by one thread, another draws, and the host runs on the caller's
//! runtime.

pub mod answer;
mod app;
mod backend;
mod background;
pub mod component;
mod cursor;
pub mod dialog;
mod draw;
mod driver;
pub mod editor;
mod filter;
mod fuzzy;
mod input;
mod jobs;
pub mod keys;
mod mailbox;
mod measure;
mod message;
mod outside;
mod overlay;
mod panes;
pub mod specs;
mod template;
mod terminal;
#[cfg(test)]
mod testing;
mod text;
pub mod theme;
mod ui;

use std::io;
use std::path::PathBuf;

use attache::ElicitationModes;
use attache::SamplingTools;
use attache::host::questions::Askable;

pub use backend::{AttachedHost, Backend, OwnHost};
pub use message::{About, Wishes};

use keys::KeyMap;
use mailbox::Mailbox;
use message::{FirstQuestion, Message};
use theme::{ColorMode, Theme};

/// What servers are told that they may ask of the person at this UI.
pub const ASKABLE: Askable = Askable {
    elicitation: Some(ElicitationModes::FormAndUrl),
    sampling: Some(SamplingTools::Refused),
    roots: true,
};

/// How the UI looks and listens.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether colours may be used.
    pub colors: ColorMode,
    /// Only ASCII may be drawn.
    pub ascii: bool,
    /// The mouse is ours from the beginning.
    pub mouse: bool,
    /// The folder that the UI was started in.
    pub folder: PathBuf,
    /// F12 panics, to prove that the terminal is restored.
    pub can_panic: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            colors: ColorMode::Palette,
            ascii: false,
            mouse: true,
            folder: PathBuf::from("."),
            can_panic: false,
        }
    }
}

/// Asks the person on behalf of who connects, before there is a host.
#[derive(Clone, Debug)]
pub struct Gate {
    mailbox: Mailbox,
}

impl Gate {
    /// Shows lines and waits for a yes or a no. `yes` says what Enter does.
    pub async fn ask(&self, title: &str, lines: Vec<String>, yes: &str) -> bool {
        let (answer, answered) = tokio::sync::oneshot::channel();
        self.mailbox.send(Message::AskFirst(Box::new(FirstQuestion {
            title: title.to_owned(),
            lines,
            yes: yes.to_owned(),
            answer,
        })));
        // A UI that is left has not said yes.
        answered.await.unwrap_or(false)
    }
}

/// What has become of a UI.
#[derive(Debug)]
pub enum Ended<E> {
    /// The person left it.
    Left,
    /// There is no host to show.
    NoHost(E),
    /// The terminal cannot be used.
    Terminal(io::Error),
    /// The drawing thread fell over; the terminal is restored and the cause was printed.
    Panicked,
}

/// Shows the UI at once, then whatever host `connect` gives, until the person leaves.
///
/// Returns when the terminal is as it was. The host is the caller's to close.
pub async fn run<E>(
    options: Options,
    connect: impl AsyncFnOnce(Gate) -> Result<(Backend, About), E>,
) -> Ended<E> {
    let mailbox = Mailbox::default();
    let gate = Gate {
        mailbox: mailbox.clone(),
    };
    let (effects, wanted) = tokio::sync::mpsc::unbounded_channel();
    let settings = app::Settings {
        theme: Theme::new(options.colors, options.ascii).on_light(background::is_hinted_light()),
        keys: KeyMap::default(),
        has_mouse: options.mouse,
        folder: options.folder,
        can_panic: options.can_panic,
    };
    let (done, mut ended) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("attache-ui".to_owned());
    let spawned = thread.spawn({
        let mailbox = mailbox.clone();
        move || {
            // A thread that falls over drops this, which tells as well.
            let _ = done.send(ui::run(settings, &mailbox, &effects));
        }
    });
    if let Err(error) = spawned {
        return Ended::Terminal(error);
    }
    let connected = tokio::select! {
        biased;
        end = &mut ended => return of_end(end.ok()),
        connected = connect(gate) => connected,
    };
    let (backend, about) = match connected {
        Ok(connected) => connected,
        Err(problem) => {
            mailbox.send(Message::Refused);
            let _ = ended.await;
            return Ended::NoHost(problem);
        }
    };
    let driving = driver::drive(backend, about, mailbox, wanted);
    tokio::select! {
        biased;
        end = &mut ended => of_end(end.ok()),
        () = driving => of_end(ended.await.ok()),
    }
}

fn of_end<E>(end: Option<io::Result<()>>) -> Ended<E> {
    match end {
        Some(Ok(())) => Ended::Left,
        Some(Err(error)) => Ended::Terminal(error),
        None => Ended::Panicked,
    }
}
