//! One conversation: what was said, with which model and servers, and where it is kept.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use attache_host::config::ChatTools;
use attache_host::redact::Redactor;
use attache_host::{Error as HostError, Host};

use crate::context::{self, Budget, Compaction, DEFAULT_WINDOW};
use crate::events::{ChatEvent, Face};
use crate::message::{Message, Part, Usage};
use crate::model::Model;
use crate::session::{Record, Session, Sessions};
use crate::tools::{KeptResults, Toolbox};
use crate::untrusted::{Mark, RULES};

/// How long a server of which nothing is known may keep the first question waiting.
const STARTING_PATIENCE: Duration = Duration::from_secs(10);
/// The most lines of the log of calls.
const MOST_LOGGED: usize = 1_000;
/// How long a server whose tools are remembered may.
const REMEMBERED_PATIENCE: Duration = Duration::from_secs(1);

/// How a conversation is held.
#[derive(Clone, Debug)]
pub struct ChatSettings {
    /// What the user wants the model to be told first.
    pub system: Option<String>,
    /// How often the model may be asked for one question.
    pub max_rounds: u32,
    /// Which tools the model is told of.
    pub tools: ChatTools,
    /// How many tokens the model takes, if the user says.
    pub context_tokens: Option<u64>,
    /// The project whose servers are searched for every question.
    pub project: Option<String>,
    /// Whether they are.
    pub automatic: bool,
}

/// A conversation.
pub struct Chat {
    pub(crate) host: Host,
    pub(crate) model: Option<Arc<Model>>,
    pub(crate) settings: ChatSettings,
    pub(crate) messages: Vec<Message>,
    pub(crate) session: Option<Session>,
    pub(crate) kept: KeptResults,
    pub(crate) toolbox: Arc<Toolbox>,
    pub(crate) budget: Budget,
    pub(crate) mark: Mark,
    /// What all answers have cost.
    pub(crate) total: Usage,
    /// The servers have resources, which the model may be offered to read.
    pub(crate) has_resources: bool,
    is_window_known: bool,
    /// Servers that were said to be missing, so that it is said once.
    missing: Vec<String>,
    /// The calls of this run and how they ended, a line each.
    pub(crate) call_log: Vec<String>,
    /// Where conversations are kept, and what must not be written there.
    place: Option<(Sessions, Redactor)>,
}

impl Chat {
    /// A conversation; without a model it can only answer from notes.
    pub fn new(host: Host, model: Option<Arc<Model>>, settings: ChatSettings) -> Self {
        let window = settings.context_tokens;
        Self {
            host,
            model,
            messages: Vec::new(),
            session: None,
            kept: KeptResults::default(),
            toolbox: Arc::default(),
            budget: Budget::new(window.unwrap_or(DEFAULT_WINDOW)),
            mark: Mark::new(),
            total: Usage::default(),
            has_resources: false,
            is_window_known: window.is_some(),
            missing: Vec::new(),
            call_log: Vec::new(),
            place: None,
            settings,
        }
    }

    /// Keeps conversations there from now on.
    pub fn keep_in(&mut self, sessions: Sessions, redactor: Redactor) {
        self.place = Some((sessions, redactor));
    }

    /// Begins a conversation of this name, or goes on with it.
    pub fn open(&mut self, name: &str) -> io::Result<()> {
        let Some((sessions, redactor)) = &self.place else {
            return Err(io::Error::other(
                "there is no folder to keep conversations in",
            ));
        };
        let (session, messages) = sessions.open(name, redactor.clone())?;
        self.kept = KeptResults::in_folder(sessions.results_folder(name));
        self.messages = messages;
        self.total = Usage::default();
        let begun = session.write(&Record::Begun {
            model: self.model_name().to_owned(),
            project: self.settings.project.clone(),
        });
        self.session = Some(session);
        begun.map_err(io::Error::other)
    }

    /// `/load`: goes on with another conversation.
    pub(crate) fn load(&mut self, name: &str) -> String {
        let known = |(sessions, _): &(Sessions, Redactor)| {
            sessions.list(&[]).iter().any(|listed| listed.name == name)
        };
        if !self.place.as_ref().is_some_and(known) {
            return format!("there is no conversation {name:?}; `attache chat --list` shows all");
        }
        match self.open(name) {
            Ok(()) => format!("{} messages of {name}", self.messages.len()),
            Err(error) => format!("{name} cannot be opened: {error}"),
        }
    }

    /// `/new`: leaves this conversation as it is and begins another.
    pub(crate) fn begin_anew(&mut self) -> String {
        let name = self.place.as_ref().map(|(sessions, _)| sessions.new_name());
        match name.map(|name| self.open(&name)) {
            Some(Ok(())) => {}
            Some(Err(error)) => return format!("no new conversation can be kept: {error}"),
            None => {
                self.messages.clear();
                self.kept = KeptResults::default();
                self.total = Usage::default();
            }
        }
        "a new conversation".to_owned()
    }

    /// The servers.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// What was said.
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// The model's name; empty without one.
    pub fn model_name(&self) -> &str {
        let model = self.model.as_ref();
        model.map_or("", |model| model.endpoint().model.as_str())
    }

    /// Where it is kept.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// How it is held.
    pub fn settings_mut(&mut self) -> &mut ChatSettings {
        &mut self.settings
    }

    /// Goes on with another model of the same endpoint.
    pub fn change_model(&mut self, name: &str) {
        if let Some(model) = &self.model {
            let mut endpoint = model.endpoint().clone();
            name.clone_into(&mut endpoint.model);
            self.model = Some(Arc::new(Model::new(endpoint)));
            self.is_window_known = self.settings.context_tokens.is_some();
        }
    }

    /// What was asked last, to ask it again; it is taken back.
    pub fn take_last_question(&mut self) -> Option<Vec<Part>> {
        let is_question = |message: &Message| matches!(message, Message::User { .. });
        let at = self.messages.iter().rposition(is_question)?;
        let question = match &self.messages[at] {
            Message::User { parts } => parts.clone(),
            _ => return None,
        };
        self.messages.truncate(at);
        self.record(&Record::TakenBack { to: at });
        Some(question)
    }

    /// Shortens everything but the last two turns.
    pub fn compact(&mut self) -> Compaction {
        let fixed = self.fixed_bytes();
        let done = context::compact_all(&mut self.messages, fixed, &self.budget);
        self.record(&Record::Compacted {
            messages: self.messages.clone(),
        });
        done
    }

    /// How many tokens the next request has, and how many the model takes.
    pub fn context(&self) -> (u64, u64) {
        let bytes = self.fixed_bytes() + context::bytes_of(&self.messages);
        (self.budget.estimate(bytes), self.budget.window)
    }

    /// What all answers have cost.
    pub fn total_usage(&self) -> Usage {
        self.total
    }

    /// What the model is told first.
    pub(crate) fn system(&self) -> String {
        match &self.settings.system {
            Some(own) => format!("{RULES}\n\n{own}"),
            None => RULES.to_owned(),
        }
    }

    fn fixed_bytes(&self) -> usize {
        let offer = self.toolbox.offer(self.settings.tools, self.budget.window);
        let definitions: usize = offer.definitions.iter().map(|it| it.bytes()).sum();
        self.system().len() + definitions
    }

    /// Remembers a call for `/log`.
    pub(crate) fn log_call(&mut self, line: String) {
        if self.call_log.len() >= MOST_LOGGED {
            self.call_log.remove(0);
        }
        self.call_log.push(line);
    }

    /// Writes down what happens; the first failure to do so is told.
    pub(crate) fn record(&self, record: &Record) -> Option<String> {
        self.session.as_ref()?.write(record).err()
    }

    /// The same for what was said, which it adds to the conversation.
    pub(crate) fn say(&mut self, message: Message, face: &mut dyn Face) {
        let record = Record::Said { message };
        if let Some(problem) = self.record(&record) {
            face.show(ChatEvent::Note { text: &problem });
        }
        if let Record::Said { message } = record {
            self.messages.push(message);
        }
    }

    /// Finds out once how much the model takes, where its endpoint tells.
    pub(crate) async fn learn_window(&mut self) {
        if self.is_window_known {
            return;
        }
        self.is_window_known = true;
        if let Some(model) = self.model.clone()
            && let Some(window) = model.window().await
        {
            self.budget.window = window;
        }
    }

    /// Fetches the tools of all servers; those that cannot be asked are named once.
    pub async fn list_tools(&mut self, face: &mut dyn Face) {
        if self.settings.tools == ChatTools::None {
            return;
        }
        let list = self.host.list_tools();
        let list = list
            .remembered_after(REMEMBERED_PATIENCE)
            .starting_after(STARTING_PATIENCE);
        match list.await {
            Ok(listed) => {
                for server in &listed.servers {
                    let name = server.name.to_string();
                    match (&server.error, self.missing.contains(&name)) {
                        (Some(HostError::Disabled { .. }), _) | (None, _) | (_, true) => {}
                        (Some(error), false) => {
                            let text = format!("{name} is not available: {error}");
                            face.show(ChatEvent::Note { text: &text });
                            self.missing.push(name);
                        }
                    }
                }
                self.toolbox = Arc::new(Toolbox::new(&listed));
                let resources = self.host.list_resources();
                let resources = resources.remembered_after(REMEMBERED_PATIENCE);
                let resources = resources.starting_after(REMEMBERED_PATIENCE).await;
                self.has_resources = resources.is_ok_and(|listed| !listed.entries.is_empty());
            }
            Err(error) => face.show(ChatEvent::Note {
                text: &error.to_string(),
            }),
        }
    }

    /// The tools that are known.
    pub fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }
}
