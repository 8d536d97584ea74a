//! What the thread that draws is told, and what it wants done.
//!
//! The app is a function of messages: a message in, a new state and a list of effects out. So it can
//! be tested without a terminal and without a host.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use attache::host::call_log::CallRecord;
use attache::host::catalog::{Aggregate, ListKind, ServerAnswer};
use attache::host::config::UiTheme;
use attache::host::events::Event;
use attache::host::frames::Frame;
use attache::host::policy::Drift;
use attache::host::questions::Answer;
use attache::host::snapshot::Snapshot;
use attache::protocol::{Json, LogLevel, Payload, Prompt, Resource, ResourceTemplate, Tool};
use attache_view::document::Document;
use ratatui::crossterm::event::Event as TerminalEvent;

use crate::component::{Completion, Notice};
use crate::panes::rows::ToolRow;

/// The number of a request that this UI began: a call, a read, a prompt.
pub(crate) type JobId = u64;

/// Something that happened.
#[derive(Debug)]
pub(crate) enum Message {
    /// A key, a paste, the mouse, another size.
    Terminal(TerminalEvent),
    /// The terminal has said how its background is.
    Background { is_light: bool },
    /// The process was continued after a stop.
    Continued,
    /// A signal asks to end.
    EndAsked,
    /// The host is there.
    Connected(Box<Connected>),
    /// The host cannot be had; said after the terminal is restored.
    Refused,
    /// Something has to be decided before there is a host.
    AskFirst(Box<FirstQuestion>),
    /// Events of the host, in order.
    Events(Vec<Arc<Event>>),
    /// Events were lost, and this is how things are now.
    Resynced(Box<Snapshot>),
    /// A list, or one server's part of it.
    Listed(Listed),
    /// What the pins say about the tools of a list.
    Pins(Vec<(String, Arc<Tool>, PinWord)>),
    /// How a tool differs from what was approved.
    Drift {
        /// The server.
        server: String,
        /// The tool.
        tool: String,
        /// The difference; none if there is none any more.
        drift: Option<Box<Drift>>,
    },
    /// News of a request.
    Job(JobId, JobNews),
    /// Calls of the past, oldest first.
    History(Result<Vec<CallRecord>, String>),
    /// Messages on the wire.
    Frames(Vec<Frame>),
    /// Completions of an argument.
    Completions {
        /// Which question for completions.
        serial: u64,
        /// What the server offers.
        values: Vec<String>,
    },
    /// An answer to a question was not taken.
    NotAnswered {
        /// The question.
        question: u64,
        /// Why.
        problem: String,
    },
    /// Something about a resource that is watched.
    Watched {
        /// The server.
        server: String,
        /// The resource.
        uri: String,
        /// What.
        news: WatchNews,
    },
    /// Something to say in passing.
    Notice(Notice),
    /// The host is gone.
    HostEnded,
    /// A component's thread has finished something.
    Wake,
}

/// What has to be decided before there is a host.
#[derive(Debug)]
pub(crate) struct FirstQuestion {
    pub(crate) title: String,
    /// What it is about, in lines; not safe yet.
    pub(crate) lines: Vec<String>,
    /// What Enter does.
    pub(crate) yes: String,
    pub(crate) answer: tokio::sync::oneshot::Sender<bool>,
}

/// A host that is there.
#[derive(Debug)]
pub(crate) struct Connected {
    /// How things are.
    pub(crate) snapshot: Snapshot,
    /// What it is.
    pub(crate) about: About,
}

/// What the UI should know of its host.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The host is another process, which goes on when the UI ends.
    pub is_attached: bool,
    /// Servers that are written down wrongly, and what to say about each.
    pub misconfigured: Vec<(String, String)>,
    /// The folder of log files.
    pub logs: Option<PathBuf>,
    /// Something to say at the beginning.
    pub notices: Vec<String>,
    /// What the configuration says about the UI itself.
    pub wishes: Option<Wishes>,
    /// The folder of specs in the project, if the configuration names one.
    pub specs_directory: Option<String>,
}

/// What the configuration says about the UI itself.
#[derive(Clone, Debug)]
pub struct Wishes {
    /// Keys of the person's own: the name of an action and all its keys.
    pub keys: Vec<(String, Vec<String>)>,
    /// Only ASCII may be drawn.
    pub ascii: bool,
    /// What the background of the terminal is taken for.
    pub theme: UiTheme,
    /// The mouse is ours from the beginning.
    pub mouse: bool,
}

/// One of the four lists.
#[derive(Debug)]
pub(crate) enum Listed {
    /// Tools, whose lines are made already.
    Tools(Vec<ToolRow>, Vec<ServerAnswer>),
    /// Resources.
    Resources(Box<Aggregate<Resource>>),
    /// Templates of resources.
    Templates(Box<Aggregate<ResourceTemplate>>),
    /// Prompts.
    Prompts(Box<Aggregate<Prompt>>),
    /// A list could not be had at all.
    Failed(ListKind, String),
}

/// How a tool stands to what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum PinWord {
    /// Never approved.
    New,
    /// What was approved.
    Same,
    /// Something else now.
    Drifted,
}

/// What happens to a request.
#[derive(Debug)]
pub(crate) enum JobNews {
    /// The host's number of it.
    Numbered(u64),
    /// It goes on.
    Progress {
        progress: f64,
        total: Option<f64>,
        message: Option<String>,
    },
    /// It has ended.
    Ended(JobEnd),
}

/// How a request ended.
#[derive(Clone, Debug)]
pub(crate) enum JobEnd {
    /// With an answer.
    Answered {
        document: Arc<Document>,
        /// As the server sent it.
        raw: Payload,
    },
    /// Without one.
    Failed(Failed),
}

/// Why a request has no answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failed {
    /// In words, with the remedy; not safe yet.
    pub(crate) cause: String,
    /// The word for the ending.
    pub(crate) word: &'static str,
    /// The code of a JSON-RPC error.
    pub(crate) code: Option<i64>,
    /// It may have had an effect all the same.
    pub(crate) is_unknown: bool,
}

/// What happens to a resource that is watched.
#[derive(Debug)]
pub(crate) enum WatchNews {
    Began,
    Changed,
    /// The subscription was made anew, and changes in between were not seen.
    Gap,
    Ended(String),
}

/// What the app wants done outside.
#[derive(Debug)]
pub(crate) enum Effect {
    /// Ask for a list again.
    List(ListKind),
    /// Begin a request.
    Begin(JobId, Work),
    /// Cancel one; the server is told.
    Cancel(JobId),
    /// Answer a question.
    Answer(u64, Answer),
    /// Do something with a server.
    Server(String, Order),
    /// Ask for completions.
    Complete(Box<CompleteWith>),
    /// Watch a resource, or not any more.
    Watch {
        server: String,
        uri: String,
        is_wanted: bool,
    },
    /// Read the calls of the past.
    History,
    /// Follow the messages on the wire from now on.
    Frames,
    /// Tell how a tool differs from what was approved.
    Drift { server: String, tool: Arc<Tool> },
    /// Approve a tool as it is.
    AcceptPin { server: String, tool: Arc<Tool> },
    /// Write a file.
    Save { path: PathBuf, bytes: Arc<[u8]> },
    /// Open with the system's program.
    Open { what: OpenWhat },
    /// Put into the clipboard.
    Clipboard { text: String, label: String },
    /// Show in the pager.
    Page(String),
    /// Edit in the editor; comes back as input to the focused component.
    Edit {
        text: String,
        extension: &'static str,
    },
    /// Stop this process until it is continued.
    Suspend,
    /// Draw everything anew.
    Redraw,
    /// Mouse on or off.
    Mouse(bool),
    /// Ask the terminal whether its background is light.
    AskBackground,
    /// Leave.
    Quit,
    /// Fall over, to prove that the terminal is restored.
    Panic,
}

/// What the system's program is to open.
#[derive(Debug)]
pub(crate) enum OpenWhat {
    /// An address.
    Url(String),
    /// Bytes, by way of a file with this ending.
    Bytes(Arc<[u8]>, String),
}

/// A request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    /// A tool call.
    Call {
        server: String,
        tool: String,
        arguments: Json,
        timeout: Option<Duration>,
        /// Metadata to send along, by key.
        meta: Vec<(String, Json)>,
        as_task: bool,
        /// What the tool promises of its structured answer.
        output_schema: Option<Json>,
    },
    /// A read.
    Read { server: String, uri: String },
    /// A prompt.
    Prompt {
        server: String,
        name: String,
        arguments: Vec<(String, String)>,
    },
}

impl Work {
    pub(crate) fn server(&self) -> &str {
        match self {
            Self::Call { server, .. } | Self::Read { server, .. } | Self::Prompt { server, .. } => {
                server
            }
        }
    }

    /// What it is about, as the server names it.
    pub(crate) fn about(&self) -> &str {
        match self {
            Self::Call { tool, .. } => tool,
            Self::Read { uri, .. } => uri,
            Self::Prompt { name, .. } => name,
        }
    }

    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Call { .. } => "tools/call",
            Self::Read { .. } => "resources/read",
            Self::Prompt { .. } => "prompts/get",
        }
    }
}

/// What to do with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Start,
    Stop,
    Restart,
    Enable(bool),
    LogLevel(LogLevel),
}

/// A question for completions.
#[derive(Clone, Debug)]
pub(crate) struct CompleteWith {
    pub(crate) server: String,
    /// A prompt's name, or a template's address.
    pub(crate) reference: attache::protocol::CompletionReference,
    pub(crate) question: Completion,
}
