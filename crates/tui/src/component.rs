//! What a part of the screen is: how it receives input, what it answers, how it draws.
//!
//! A component knows what it shows and nothing of terminals, hosts or other components. What only
//! the app can do (the clipboard, a read, a call, a program) it asks for with a [`Request`].
//! Nothing in it waits: slow work belongs on a thread, which wakes the app when it is done, and
//! then [`Component::poll`] takes the result.

use std::fmt;
use std::sync::Arc;

use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;

use attache::protocol::{CallToolResult, Json};

use crate::keys::{Action, Context};
use crate::theme::Theme;

/// Something a person did.
#[derive(Clone, Copy, Debug)]
pub enum Input<'a> {
    /// A key, and what it means in the component's contexts by the key table.
    Key {
        /// The key.
        event: KeyEvent,
        /// What it means; nothing if it is text to be typed or has no meaning.
        action: Option<Action>,
    },
    /// Text that was pasted; it never means keys.
    Paste(&'a str),
    /// The mouse, in columns and rows of the screen. Components remember where they drew what.
    Mouse(MouseEvent),
    /// The text comes back from the editor that [`Request::Edit`] opened.
    Edited(&'a str),
}

/// What became of an input.
#[derive(Debug)]
pub enum Outcome {
    /// The component has no use for it: the app looks for another meaning.
    Ignored,
    /// It was used; the screen is drawn again.
    Used,
    /// The component is done and wants to be closed; what was in it is dropped.
    Close,
    /// The component has what it was opened for; its owner takes it from it.
    Submit,
    /// Used, and the app has something to do.
    Request(Request),
}

/// What only the app can do for a component.
#[derive(Debug)]
pub enum Request {
    /// Put a text into the clipboard; the label names it in the notice ("value", "column").
    Copy {
        /// The text, as it is to be pasted (raw, not made safe).
        text: String,
        /// What it is.
        label: String,
    },
    /// Let the person choose what to copy.
    CopyMenu(Vec<CopyItem>),
    /// Ask for a file name and write these bytes.
    Save {
        /// The name to begin with.
        name: String,
        /// What to write.
        bytes: Arc<[u8]>,
    },
    /// Show a text in `$PAGER`, with the UI out of the way.
    Page {
        /// The text, already safe.
        text: String,
    },
    /// Edit a text in `$EDITOR`, with the UI out of the way; comes back as [`Input::Edited`].
    Edit {
        /// The text.
        text: String,
        /// The ending of its file name, such as `json`.
        extension: &'static str,
    },
    /// Hand bytes to the system's opener.
    OpenBytes {
        /// The ending of the file name.
        extension: String,
        /// The bytes.
        bytes: Arc<[u8]>,
    },
    /// Open an address in the browser. The component has shown it and the person chose it.
    OpenUrl(String),
    /// Read a resource of the server that the component belongs to, such as a link in an answer.
    Read {
        /// The address of the resource.
        uri: String,
    },
    /// Ask the server for completions; they come back by `FormEditor::completions`.
    Complete(Completion),
    /// Call a tool on behalf of the component; news come by `SpecsPane::on_call`.
    Call(ToolCall),
    /// Cancel a call that [`Request::Call`] began.
    Cancel {
        /// The component's own number of the call.
        tag: u64,
    },
    /// Tell the person something in passing.
    Notice(Notice),
}

/// A tool call that a component wants.
#[derive(Clone, Debug)]
pub struct ToolCall {
    /// The component's own number of it.
    pub tag: u64,
    /// The server.
    pub server: String,
    /// The tool, as the server names it.
    pub tool: String,
    /// The arguments: an object.
    pub arguments: Json,
}

/// What happens to a call that a component asked for.
#[derive(Clone, Debug)]
pub enum CallNews {
    /// It was sent; the host knows it by this number, as events do.
    Started {
        /// The host's number.
        request: u64,
    },
    /// It goes on.
    Progress {
        /// How far.
        progress: f64,
        /// Of how much.
        total: Option<f64>,
        /// What the server says about it (not safe yet).
        message: Option<String>,
    },
    /// It ended with an answer of the tool; `is_error` of it tells whether the tool failed.
    Answered(CallToolResult),
    /// It ended without: in words, safe to show.
    Failed {
        /// What happened and what to do.
        cause: String,
        /// The JSON-RPC code, where the server answered with one.
        code: Option<i64>,
        /// It was cancelled.
        is_cancelled: bool,
        /// Trying again makes sense.
        can_retry: bool,
    },
}

/// A question for completions of one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Goes up with every question of one editor; answers carry it.
    pub serial: u64,
    /// The argument.
    pub argument: String,
    /// What was typed so far.
    pub value: String,
    /// The other arguments that are filled in.
    pub others: Vec<(String, String)>,
}

/// One way to copy what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// What it is: "as JSON", "value", "text".
    pub label: String,
    /// What goes into the clipboard.
    pub text: String,
}

/// A short message that goes away by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How it is meant.
    pub tone: Tone,
    /// The text, safe to show.
    pub text: String,
}

/// How a notice is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something was done.
    Done,
    /// Something wants attention.
    Warning,
    /// Something failed.
    Failed,
}

impl Notice {
    /// A notice that something was done.
    pub fn done(text: impl Into<String>) -> Self {
        Self {
            tone: Tone::Done,
            text: text.into(),
        }
    }

    /// A notice that wants attention.
    pub fn warning(text: impl Into<String>) -> Self {
        Self {
            tone: Tone::Warning,
            text: text.into(),
        }
    }

    /// A notice that something failed.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            tone: Tone::Failed,
            text: text.into(),
        }
    }
}

/// Wakes the app from any thread, so that it polls its components and draws.
#[derive(Clone)]
pub struct Waker(Arc<dyn Fn() + Send + Sync>);

impl Waker {
    /// A waker that calls this.
    pub fn new(wake: impl Fn() + Send + Sync + 'static) -> Self {
        Self(Arc::new(wake))
    }

    /// A waker that does nothing, for tests.
    pub fn nothing() -> Self {
        Self::new(|| {})
    }

    /// Wakes the app.
    pub fn wake(&self) {
        (self.0)();
    }
}

impl fmt::Debug for Waker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Waker")
    }
}

/// A part of the screen.
pub trait Component {
    /// The contexts of the key table that are in force now, innermost first. With
    /// [`Context::Text`] among them, plain characters are text and mean nothing else. The app adds
    /// its own contexts after these.
    fn contexts(&self) -> Vec<Context>;

    /// Takes an input.
    fn input(&mut self, input: Input<'_>) -> Outcome;

    /// Draws itself into the area; the cursor too, if a text is being edited.
    fn draw(&mut self, frame: &mut Frame<'_>, area: Rect, theme: &Theme);

    /// What the hint line offers now, the most useful first. The app names their keys.
    fn hints(&self) -> Vec<Action>;

    /// Takes what threads have finished. Called after the component's waker was used.
    fn poll(&mut self) -> Outcome {
        Outcome::Ignored
    }

    /// Whether something on it moves by itself (a spinner), so that it is drawn again soon.
    fn is_moving(&self) -> bool {
        false
    }
}
