//! The lines that a person types: prompts with history and completion, and plain answers.
//!
//! A thread of its own reads them, because reading a terminal cannot be interrupted. It reads only
//! when it is asked to, so that an editor, or a question, has the terminal for itself.

use std::io::{self, BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rustyline::config::Configurer as _;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{
    Cmd, ConditionalEventHandler, Config, Editor, Event, EventContext, EventHandler, KeyCode,
    KeyEvent, Modifiers, RepeatCount,
};
use tokio::sync::oneshot;

use super::completion::Candidates;
use super::screen::{forget_typed, wait_readable};
use crate::private;

/// How often a waiting question looks whether it is still wanted.
const LOOK: Duration = Duration::from_millis(50);
/// How many lines of history are kept.
const HISTORY: usize = 1_000;
/// The longest text that comes back from an editor.
const LONGEST_EDITED: u64 = 1024 * 1024;

/// What a person did at a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// A line, or several.
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or the terminal is gone.
    End,
}

/// The person's side of the terminal. Cheap to clone.
#[derive(Clone)]
pub struct Lines {
    requests: mpsc::Sender<Request>,
}

enum Request {
    Prompt {
        prompt: String,
        reply: oneshot::Sender<Typed>,
    },
    Plain {
        reply: oneshot::Sender<Option<String>>,
    },
}

impl Lines {
    /// Begins to read when asked. History is kept in a file, for the user alone; `editor` is the
    /// program that Ctrl-E opens, with its options.
    pub fn start(candidates: Candidates, history: Option<PathBuf>, editor: String) -> Self {
        let (requests, received) = mpsc::channel();
        std::thread::spawn(move || {
            let mut reader = Reader {
                editor: None,
                edit_wanted: Arc::default(),
                candidates,
                history,
                program: editor,
            };
            while let Ok(request) = received.recv() {
                match request {
                    Request::Prompt { prompt, reply } => {
                        let _ = reply.send(reader.prompt(&prompt));
                    }
                    Request::Plain { reply } => {
                        let line = plain_line(|| reply.is_closed());
                        let _ = reply.send(line);
                    }
                }
            }
        });
        Self { requests }
    }

    /// A line with editing, history and completion.
    pub async fn prompt(&self, prompt: &str) -> Typed {
        let (reply, answer) = oneshot::channel();
        let prompt = prompt.to_owned();
        let _ = self.requests.send(Request::Prompt { prompt, reply });
        answer.await.unwrap_or(Typed::End)
    }

    /// Forgets what was typed so far: it answers no question that is not shown yet.
    pub fn forget(&self) {
        forget_typed();
    }

    /// A plain line; dropping this takes the question back.
    pub async fn plain(&self) -> Option<String> {
        let (reply, answer) = oneshot::channel();
        let _ = self.requests.send(Request::Plain { reply });
        answer.await.ok().flatten()
    }
}

struct Reader {
    editor: Option<Editor<Candidates, FileHistory>>,
    /// The person pressed the key for an editor.
    edit_wanted: Arc<AtomicBool>,
    candidates: Candidates,
    history: Option<PathBuf>,
    /// The person's own editor.
    program: String,
}

impl Reader {
    fn prompt(&mut self, prompt: &str) -> Typed {
        let mut begun = String::new();
        loop {
            let edit_wanted = self.edit_wanted.clone();
            let Some(editor) = self.editor() else {
                return Typed::End;
            };
            let read = editor.readline_with_initial(prompt, (&begun, ""));
            let line = match read {
                Ok(line) => line,
                Err(ReadlineError::Interrupted) => return Typed::Interrupted,
                Err(_) => return Typed::End,
            };
            if edit_wanted.swap(false, Ordering::Relaxed) {
                begun = edited(&line, &self.program, self.history.as_deref()).unwrap_or(line);
                continue;
            }
            if !line.trim().is_empty() {
                self.remember(&line);
            }
            return Typed::Line(line);
        }
    }

    fn editor(&mut self) -> Option<&mut Editor<Candidates, FileHistory>> {
        if self.editor.is_none() {
            let config = Config::builder().max_history_size(HISTORY).ok()?;
            let config = config.auto_add_history(false).build();
            let mut editor = Editor::with_config(config).ok()?;
            editor.set_helper(Some(self.candidates.clone()));
            let newline = KeyEvent(KeyCode::Enter, Modifiers::ALT);
            editor.bind_sequence(newline, Cmd::Newline);
            let handler = WantEditor(self.edit_wanted.clone());
            let handler = EventHandler::Conditional(Box::new(handler));
            editor.bind_sequence(KeyEvent::ctrl('e'), handler);
            editor.set_auto_add_history(false);
            if let Some(file) = &self.history {
                // There is none before the first line.
                let _ = editor.load_history(file);
            }
            self.editor = Some(editor);
        }
        self.editor.as_mut()
    }

    fn remember(&mut self, line: &str) {
        let Some(editor) = &mut self.editor else {
            return;
        };
        let _ = editor.add_history_entry(line);
        if let Some(file) = &self.history {
            let folder = file.parent().unwrap_or(Path::new(""));
            // Made first, so that it is private from its first byte on.
            let is_ready = private::folder(folder).is_ok() && private::append(file).is_ok();
            if is_ready {
                let _ = editor.append_history(file);
            }
        }
    }
}

/// Accepts the line and notes that it is to be edited.
struct WantEditor(Arc<AtomicBool>);

impl ConditionalEventHandler for WantEditor {
    fn handle(&self, _: &Event, _: RepeatCount, _: bool, _: &EventContext<'_>) -> Option<Cmd> {
        self.0.store(true, Ordering::Relaxed);
        Some(Cmd::AcceptLine)
    }
}

/// The text after it was in the person's editor; none if that did not work.
fn edited(text: &str, program: &str, beside: Option<&Path>) -> Option<String> {
    let folder = beside.and_then(Path::parent)?;
    private::folder(folder).ok()?;
    let file = folder.join(format!(
        "edit-{}-{:08x}.md",
        std::process::id(),
        fastrand::u32(..)
    ));
    private::create(&file)
        .ok()?
        .write_all(text.as_bytes())
        .ok()?;
    let mut words = program.split_whitespace();
    let status = std::process::Command::new(words.next()?)
        .args(words)
        .arg(&file)
        .status();
    let is_small = std::fs::metadata(&file).is_ok_and(|about| about.len() <= LONGEST_EDITED);
    let edited = match status {
        Ok(status) if status.success() && is_small => std::fs::read_to_string(&file).ok(),
        _ => None,
    };
    let _ = std::fs::remove_file(&file);
    Some(edited?.trim_end().to_owned())
}

/// A line without editing; none at the end of input, or when it is not wanted any more.
fn plain_line(is_unwanted: impl Fn() -> bool) -> Option<String> {
    while !wait_readable(LOOK) {
        if is_unwanted() {
            return None;
        }
    }
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim_end_matches(['\r', '\n']).to_owned()),
    }
}
