//! A conversation at a terminal, line by line.

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::Arc;

use attache::host::Host;
use attache::host::redact::Redactor;
use attache_chat::terminal::{Candidates, Lines, Paint, SavedTerminal, TerminalFace, Typed};
use attache_chat::{
    Chat as Conversation, ChatSettings, Command, Model, Outcome, Part, Sampler, Sessions, Stop,
    TurnEnd,
};

use super::{CHAT_FOLDER, Resume, failure, not_opened};
use crate::ask::{Asker, LentModel};
use crate::command_host::CommandHost;
use crate::commands::Context;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::interrupt::Asked;
use crate::output::Verbosity;
use crate::selection::ServerSelection;

/// The file of typed lines.
const HISTORY_FILE: &str = "history";

/// What a conversation begins with.
pub(super) struct Talk {
    pub(super) model: Option<Arc<Model>>,
    pub(super) settings: ChatSettings,
    pub(super) selection: ServerSelection,
    pub(super) configuration: Configuration,
    pub(super) sessions: Option<Sessions>,
    pub(super) redactor: Redactor,
    pub(super) resume: Option<Resume>,
    pub(super) first: String,
}

impl Talk {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let _saved = SavedTerminal::save();
        let folder = std::env::current_dir().unwrap_or_default();
        let candidates = Candidates::new(&folder);
        let lines = self.lines(candidates.clone());
        let host = self.host(context, lines.clone()).await?;
        let mut chat = Conversation::new(host.host()?.clone(), self.model, self.settings);
        if let Some(sessions) = self.sessions {
            let name = match &self.resume {
                Some(resume) => resume.name(&sessions)?,
                None => sessions.new_name(),
            };
            chat.keep_in(sessions, self.redactor);
            chat.open(&name)
                .map_err(|error| not_opened(&name, &error))?;
        }
        let is_rich = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let paint = if is_rich { Paint::Rich } else { Paint::Plain };
        let unfolded = output.verbosity == Verbosity::Verbose;
        let mut dialogue = Dialogue {
            face: TerminalFace::new(paint, unfolded, lines.clone()),
            chat,
            host,
            folder,
            lines,
        };
        dialogue.greet();
        let learning = tokio::spawn(learn(host.host()?.clone(), candidates));
        let ended = dialogue.talk(self.first).await;
        learning.abort();
        ended
    }

    fn lines(&self, candidates: Candidates) -> Lines {
        let state = self.configuration.state_folder();
        let history = state.map(|folder| folder.join(CHAT_FOLDER).join(HISTORY_FILE));
        let environment = &self.configuration.environment;
        let mut editor = ["VISUAL", "EDITOR"].into_iter();
        let editor = editor.find_map(|name| environment.variable(name));
        Lines::start(candidates, history, editor.unwrap_or("vi").to_owned())
    }

    async fn host<'c>(
        &self,
        context: &'c Context,
        lines: Lines,
    ) -> Result<&'c CommandHost, Failure> {
        let model = self.model.as_ref().map(|model| LentModel {
            sampler: Arc::new(Sampler::new(model.clone())),
            name: model.endpoint().model.clone(),
        });
        let asker = Asker::in_conversation(&context.output, lines, model);
        let selection = self.selection.clone().kept();
        context.open_with(selection, asker).await
    }
}

struct Dialogue<'c> {
    face: TerminalFace,
    chat: Conversation,
    host: &'c CommandHost,
    folder: PathBuf,
    lines: Lines,
}

/// Whether to go on.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    Leave,
}

impl Dialogue<'_> {
    fn greet(&mut self) {
        let model = match self.chat.model_name() {
            "" => "no model: answers come from notes".to_owned(),
            model => model.to_owned(),
        };
        let servers = self.chat.host().server_names().len();
        let kept = self.chat.session().map_or_else(String::new, |session| {
            match self.chat.messages().len() {
                0 => format!(" · {}", session.name()),
                count => format!(" · {} ({count} messages)", session.name()),
            }
        });
        self.face
            .say(&format!("{model} · {servers} servers{kept} · /help"));
    }

    async fn talk(&mut self, first: String) -> Result<(), Failure> {
        if !first.trim().is_empty() && self.take(&first).await == Next::Leave {
            return Ok(());
        }
        let mut interruptions = 0;
        loop {
            let typed = tokio::select! {
                biased;
                asked = self.host.interrupts().asked() => match asked {
                    // A signal that came while nothing was going on counts like the key.
                    Asked::ToStop => {
                        self.host.interrupts().answered();
                        Typed::Interrupted
                    }
                    _ => return Ok(()),
                },
                typed = self.lines.prompt("> ") => typed,
            };
            match typed {
                Typed::End => return Ok(()),
                Typed::Interrupted => {
                    interruptions += 1;
                    if interruptions > 1 {
                        return Ok(());
                    }
                    self.face.say("(Ctrl-C once more, or Ctrl-D, leaves)");
                }
                Typed::Line(line) if line.trim().is_empty() => {}
                Typed::Line(line) => {
                    interruptions = 0;
                    match self.take(&line).await {
                        Next::Leave => return Ok(()),
                        Next::GoOn => {}
                    }
                }
            }
        }
    }

    /// Does what a line says, until it is done or the person stops it.
    async fn take(&mut self, line: &str) -> Next {
        let stop = Stop::new();
        let interrupts = self.host.interrupts().clone();
        let watching = {
            let (stop, interrupts) = (stop.clone(), interrupts.clone());
            async move {
                let asked = interrupts.asked().await;
                stop.raise();
                asked
            }
        };
        tokio::pin!(watching);
        let work = self.line(line, &stop);
        tokio::pin!(work);
        let (next, asked) = tokio::select! {
            biased;
            asked = &mut watching => (work.await, Some(asked)),
            next = &mut work => (next, None),
        };
        match asked {
            Some(Asked::ToEnd) => Next::Leave,
            Some(_) => {
                interrupts.answered();
                next
            }
            None => next,
        }
    }

    async fn line(&mut self, line: &str, stop: &Stop) -> Next {
        let parts = match Command::parse(line) {
            Some(command) => {
                let work = self.chat.command(&command, &self.folder, &mut self.face);
                let outcome = tokio::select! {
                    biased;
                    () = stop.raised() => Outcome::Say("stopped".to_owned()),
                    outcome = work => outcome,
                };
                match outcome {
                    Outcome::Say(text) => {
                        self.face.say(&text);
                        return Next::GoOn;
                    }
                    Outcome::Leave => return Next::Leave,
                    Outcome::Ask(parts) => parts,
                }
            }
            None if self.chat.model_name().is_empty() => {
                let answering = self.chat.answer_offline(line, &mut self.face);
                tokio::select! {
                    biased;
                    () = stop.raised() => self.face.say("stopped"),
                    _ = answering => {}
                }
                return Next::GoOn;
            }
            None => {
                let attaching = attach(&self.chat, line, &self.folder, &mut self.face);
                tokio::select! {
                    biased;
                    () = stop.raised() => return Next::GoOn,
                    parts = attaching => parts,
                }
            }
        };
        match self.chat.turn(parts, &mut self.face, stop).await {
            Ok(TurnEnd::Stopped) => self.face.say("stopped; the servers were told"),
            Ok(_) => {}
            Err(error) => {
                let failure = failure(&error);
                let hint = failure.hint.as_deref().unwrap_or_default();
                let text = format!("{}\n{hint}", failure.message);
                let text = attache_view::safe_text::block(&text).into_owned();
                self.face.say(&text);
            }
        }
        Next::GoOn
    }
}

async fn attach(
    chat: &Conversation,
    line: &str,
    folder: &std::path::Path,
    face: &mut TerminalFace,
) -> Vec<Part> {
    let mut parts = chat.attach_notes(line, face).await;
    parts.extend(chat.question(line, folder, face).await);
    parts
}

/// Learns the names that can be completed, in the background.
async fn learn(host: Host, candidates: Candidates) {
    let servers = host.server_names();
    candidates.set_servers(servers.iter().map(ToString::to_string).collect());
    if let Ok(listed) = host.list_tools().await {
        let names = listed.entries.into_iter().map(|offered| offered.qualified);
        candidates.set_tools(names.collect());
    }
    if let Ok(listed) = host.list_resources().await {
        let uris = listed.entries.into_iter().map(|offered| offered.entry.uri);
        candidates.set_uris(uris.collect());
    }
    if let Ok(listed) = host.list_prompts().await {
        let names = listed.entries.into_iter().map(|offered| offered.qualified);
        candidates.set_prompts(names.collect());
    }
}
