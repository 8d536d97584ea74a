//! `attache chat`.

mod talk;

use std::io::{IsTerminal as _, Read as _};
use std::path::PathBuf;
use std::sync::Arc;

use attache::Secret;
use attache::authorization::CredentialStore;
use attache::host::config::ChatConfig;
use attache::host::redact::Redactor;
use attache_chat::terminal::{JsonFace, PipeFace};
use attache_chat::{
    Chat as Conversation, ChatSettings, Endpoint, Error, Face, Model, Part, Sessions, Stop,
    THREE_LINES, TurnEnd,
};

use super::{Context, Known, Typed, Verb};
use crate::args::ConfigArgs;
use crate::command_host::CommandHost;
use crate::configuration::Configuration;
use crate::failure::{Exit, Failure, Kind};
use crate::output::{Format, Output, Style, Text, json};
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::Target;

/// The folder of conversations in the state folder.
const CHAT_FOLDER: &str = "chat";
/// The longest question that is read from a pipe.
const LONGEST_QUESTION: u64 = 4 * 1024 * 1024;
/// The longest system text.
const LONGEST_SYSTEM: u64 = 256 * 1024;

/// Talk to a model that uses the servers
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The model is written down in your own attache.toml, under [chat]; never in a project's.
What tools may be called without asking is the policy's business; see [policy].

Example:
  attache chat
  echo 'What did I note about tea?' | attache chat --once --server notes
  attache chat --offline tea")]
pub(crate) struct Chat {
    /// The first question
    #[arg(value_name = "PROMPT")]
    prompt: Vec<String>,
    /// Answer one question and end; so does a pipe
    #[arg(long)]
    once: bool,
    /// Go on with the last conversation
    #[arg(long = "continue", conflicts_with = "session")]
    resume: bool,
    /// Go on with this conversation, or begin it
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// Keep nothing of the conversation
    #[arg(long, conflicts_with_all = ["resume", "session"])]
    forget: bool,
    /// List the conversations, or those with the words of PROMPT
    #[arg(long)]
    list: bool,
    /// A file with what the model is told first
    #[arg(long, value_name = "FILE")]
    system: Option<PathBuf>,
    /// The model's name
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Attach notes of the servers of this project that fit each question
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Answer from notes, without a model
    #[arg(long)]
    offline: bool,
    /// Keep a key for the endpoint, read from the terminal or a pipe
    #[arg(long)]
    keep_key: bool,
    /// Call tools without asking where the policy says to ask
    #[arg(short, long)]
    yes: bool,
    /// A server to use: its name or its URL; may be repeated
    #[arg(long = "server", value_name = "SERVER")]
    server: Vec<String>,
    #[command(flatten)]
    config: ConfigArgs,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

impl Verb for Chat {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let configuration = self.config.configuration()?;
        let folder = configuration.state_folder();
        let sessions = folder.map(|folder| Sessions::in_folder(folder.join(CHAT_FOLDER)));
        if self.list {
            return list(sessions.as_ref(), &self.prompt, &context.output);
        }
        let config = configuration.chat()?;
        if self.keep_key {
            return keep_key(&config, &configuration, &context.output).await;
        }
        let model = match self.offline {
            true => None,
            false => Some(Arc::new(model(&self, &config, &configuration).await?)),
        };
        let system = self.system.as_deref().map(read_system).transpose()?;
        let settings = ChatSettings {
            system,
            max_rounds: config.max_rounds,
            tools: config.tools,
            context_tokens: config.context_tokens,
            automatic: self.project.is_some(),
            project: self.project.clone(),
        };
        let selection = self.selection(&configuration)?.approved(self.yes);
        let mut redactor = Redactor::for_servers(selection.servers());
        let secrets = config.api_key.iter().chain(config.headers.values());
        for secret in secrets.chain(
            model
                .iter()
                .filter_map(|model| model.endpoint().key.as_ref()),
        ) {
            redactor.hide(secret.expose());
        }
        let is_piped = !std::io::stdin().is_terminal();
        let once = self.once || is_piped || context.output.format == Format::Json;
        if !once {
            let talk = talk::Talk {
                model,
                settings,
                selection,
                configuration,
                sessions: sessions.filter(|_| !self.forget),
                redactor,
                resume: self.resumed(),
                first: self.prompt.join(" "),
            };
            return talk.run(context).await;
        }
        let question = self.question(is_piped)?;
        let host = context.open(selection.kept()).await?;
        let mut chat = Conversation::new(host.host()?.clone(), model, settings);
        // A single question is kept only where it is asked to go on with something.
        if let (Some(sessions), Some(resume)) = (sessions, self.resumed()) {
            let name = resume.name(&sessions)?;
            chat.keep_in(sessions, redactor);
            chat.open(&name)
                .map_err(|error| not_opened(&name, &error))?;
        }
        answer_once(&mut chat, question, host, &context.output).await
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// Which conversation is gone on with.
#[derive(Clone, Debug)]
enum Resume {
    Last,
    Named(String),
}

impl Resume {
    fn name(&self, sessions: &Sessions) -> Result<String, Failure> {
        match self {
            Self::Named(name) => Ok(name.clone()),
            Self::Last => sessions.latest().ok_or_else(|| {
                Failure::usage("there is no conversation to go on with")
                    .hint("begin one: attache chat")
            }),
        }
    }
}

impl Chat {
    fn resumed(&self) -> Option<Resume> {
        match (&self.session, self.resume) {
            (Some(name), _) => Some(Resume::Named(name.clone())),
            (None, true) => Some(Resume::Last),
            (None, false) => None,
        }
    }

    fn selection(&self, configuration: &Configuration) -> Result<ServerSelection, Failure> {
        let overrides = Overrides::default();
        let (target, several) = match self.server.as_slice() {
            [] => (Target::read(None, self.command.clone())?, None),
            [one] => (Target::read(Some(one.clone()), self.command.clone())?, None),
            several => (Target::All, Some(several)),
        };
        let selection = ServerSelection::of(&target, configuration, &overrides)?;
        match several {
            Some(names) => selection.only_these(names),
            None => Ok(selection),
        }
    }

    /// What was typed and what comes through the pipe, in this order.
    fn question(&self, is_piped: bool) -> Result<Question, Failure> {
        let typed = self.prompt.join(" ");
        let mut piped = String::new();
        if is_piped {
            let mut bytes = Vec::new();
            let mut input = std::io::stdin().lock().take(LONGEST_QUESTION + 1);
            input.read_to_end(&mut bytes).map_err(|error| {
                Failure::unexpected(format!("the question cannot be read: {error}"))
            })?;
            if bytes.len() as u64 > LONGEST_QUESTION {
                return Err(Failure::usage("the question is longer than 4 MiB"));
            }
            piped = String::from_utf8_lossy(&bytes).trim_end().to_owned();
        }
        match typed.is_empty() && piped.trim().is_empty() {
            true => Err(Failure::usage("there is no question")
                .hint("give it as an argument or through a pipe")),
            false => Ok(Question { typed, piped }),
        }
    }
}

struct Question {
    typed: String,
    piped: String,
}

/// Asks once; the answer is all that is printed on stdout.
async fn answer_once(
    chat: &mut Conversation,
    question: Question,
    host: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    let is_terminal = std::io::stdout().is_terminal();
    let stop = Stop::new();
    let asked = async {
        match output.format {
            Format::Json => {
                let mut face = JsonFace::new(std::io::stdout(), is_terminal);
                let end = ask(chat, question, &mut face, &stop).await;
                (end, face.reader_left)
            }
            Format::Human => {
                let mut face = PipeFace::new(std::io::stdout(), std::io::stderr(), is_terminal);
                let end = ask(chat, question, &mut face, &stop).await;
                (end, face.reader_left)
            }
        }
    };
    tokio::pin!(asked);
    let (end, reader_left) = tokio::select! {
        biased;
        ended = &mut asked => ended,
        () = host.interrupted() => {
            stop.raise();
            asked.await
        }
    };
    if reader_left {
        return Err(Failure::reader_left());
    }
    concluded(end?)
}

async fn ask(
    chat: &mut Conversation,
    question: Question,
    face: &mut dyn Face,
    stop: &Stop,
) -> Result<Ended, Failure> {
    let Question { typed, piped } = question;
    let whole = format!("{typed} {piped}");
    if chat.model_name().is_empty() {
        return match chat.answer_offline(&whole, face).await {
            true => Ok(Ended::Offline),
            false => Err(Failure::failed("no note fits the question")),
        };
    }
    let folder = std::env::current_dir().unwrap_or_default();
    let mut parts = chat.attach_notes(&whole, face).await;
    if !piped.is_empty() && !typed.is_empty() {
        parts.push(Part::Data {
            from: "the pipe".to_owned(),
            text: piped,
        });
        parts.extend(chat.question(&typed, &folder, face).await);
    } else if !piped.is_empty() {
        parts.push(Part::text(piped));
    } else {
        parts.extend(chat.question(&typed, &folder, face).await);
    }
    let end = chat.turn(parts, face, stop).await;
    end.map(Ended::Turn).map_err(|error| failure(&error))
}

enum Ended {
    Turn(TurnEnd),
    Offline,
}

fn concluded(end: Ended) -> Result<(), Failure> {
    match end {
        Ended::Offline | Ended::Turn(TurnEnd::Answered) => Ok(()),
        Ended::Turn(TurnEnd::Stopped) => Err(crate::failure::cancelled()),
        Ended::Turn(TurnEnd::TooManyRounds) => {
            Err(Failure::failed("the model did not come to an end")
                .hint("allow more with `max_rounds` in the `[chat]` table"))
        }
        Ended::Turn(TurnEnd::TooLong) => Err(Failure::failed("the answer is cut off")),
    }
}

/// The model that is configured, with its key.
async fn model(
    verb: &Chat,
    config: &ChatConfig,
    configuration: &Configuration,
) -> Result<Model, Failure> {
    if config.endpoint.is_none() {
        let file = attache::host::config::user_file(&configuration.environment);
        let file = file.map_or_else(
            || "your attache.toml".to_owned(),
            |it| it.display().to_string(),
        );
        return Err(Failure::config("no model is configured")
            .hint(format!("write these lines to {file}:\n{THREE_LINES}")));
    }
    let variable = |name: &str| configuration.environment.variable(name).map(str::to_owned);
    let made =
        |kept: Option<Secret>| Endpoint::new(config, verb.model.as_deref(), variable, |_| kept);
    let mut endpoint = made(None).map_err(|error| failure(&error))?;
    if endpoint.key.is_none()
        && let Some(store) = key_store(configuration)
        && let Ok(Some(key)) = store.load(&key_entry(&endpoint)).await
    {
        endpoint = made(Some(key)).map_err(|error| failure(&error))?;
    }
    Ok(Model::new(endpoint))
}

/// Where keys are kept: where logins are.
fn key_store(configuration: &Configuration) -> Option<Arc<dyn CredentialStore>> {
    let folder = configuration.logins_folder()?;
    #[cfg(feature = "keyring")]
    {
        use attache::authorization::{SealedOrPlain, SystemKeyring};
        let keyring = Arc::new(SystemKeyring::new("attache"));
        Some(Arc::new(SealedOrPlain::new(folder, keyring)))
    }
    #[cfg(not(feature = "keyring"))]
    {
        use attache::authorization::FileStore;
        Some(Arc::new(FileStore::new(folder)))
    }
}

fn key_entry(endpoint: &Endpoint) -> attache::authorization::Entry {
    attache::authorization::Entry::of_server(&endpoint.base)
}

/// `--keep-key`: the key is read where it leaves no trace in a shell's history.
async fn keep_key(
    config: &ChatConfig,
    configuration: &Configuration,
    output: &Output,
) -> Result<(), Failure> {
    let endpoint = Endpoint::new(config, Some("any"), |_| None, |_| None);
    let endpoint = endpoint.map_err(|error| failure(&error))?;
    let Some(store) = key_store(configuration) else {
        return Err(Failure::unexpected("there is no folder to keep a key in"));
    };
    let host = endpoint.base.host_str().unwrap_or_default();
    if std::io::stdin().is_terminal() {
        let mut text = Text::new();
        text.plain(&format!("the key for {host} (it is not shown): "));
        output.aside_text(&text);
    }
    let line = attache_chat::terminal::hidden_line();
    let line =
        line.map_err(|error| Failure::unexpected(format!("the key cannot be read: {error}")))?;
    let key = line.trim();
    if key.is_empty() {
        return Err(Failure::usage("no key was given"));
    }
    let saved = store.save(&key_entry(&endpoint), Secret::new(key)).await;
    saved.map_err(|error| Failure::unexpected(format!("the key is not kept: {error}")))?;
    output.note(&format!("the key for {host} is kept"));
    Ok(())
}

fn read_system(path: &std::path::Path) -> Result<String, Failure> {
    let unreadable =
        |why: String| Failure::usage(format!("{} cannot be read: {why}", path.display()));
    let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
    let mut text = String::new();
    let read = file.take(LONGEST_SYSTEM + 1).read_to_string(&mut text);
    read.map_err(|error| unreadable(error.to_string()))?;
    match text.len() as u64 > LONGEST_SYSTEM {
        true => Err(unreadable("it is longer than 256 kB".to_owned())),
        false => Ok(text),
    }
}

fn list(sessions: Option<&Sessions>, words: &[String], output: &Output) -> Result<(), Failure> {
    let listed = sessions.map_or_else(Vec::new, |sessions| sessions.list(words));
    if output.format == Format::Json {
        return output.document(&json::write(
            &serde_json::json!({ "conversations": listed }),
        ));
    }
    let mut text = Text::new();
    for conversation in &listed {
        text.column(Style::Name, &conversation.name, 24);
        text.faint(&format!("{:>4} messages  ", conversation.messages));
        text.plain(&conversation.title).end_line();
    }
    if listed.is_empty() {
        text.plain("there are no such conversations").end_line();
    }
    output.text(&text)
}

fn not_opened(name: &str, error: &std::io::Error) -> Failure {
    Failure::usage(format!("the conversation {name} cannot be opened: {error}"))
}

/// A model's failure with the exit code that other failures of its kind have.
fn failure(error: &Error) -> Failure {
    let (kind, exit) = match error {
        Error::Setup(_) => (Kind::Config, Exit::Usage),
        Error::Unreachable(_) => (Kind::Connect, Exit::Unreachable),
        Error::Key { .. } => (Kind::Auth, Exit::Authorization),
        Error::TimedOut { .. } => (
            Kind::Ended(attache::protocol::Ending::TimedOut),
            Exit::TimedOut,
        ),
        Error::Busy { .. } => (Kind::Connect, Exit::Unreachable),
        _ => (
            Kind::Ended(attache::protocol::Ending::ServerError),
            Exit::Failed,
        ),
    };
    let failure = Failure::new(kind, exit, error.to_string());
    match error.hint() {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
