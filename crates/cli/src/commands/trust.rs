//! `attache trust`: the user approves a project's file, or the tools of a server.
//!
//! What is approved is what was shown: the text that was read, the definitions that were listed
//! (S3, S4).

use attache::host::config::ServerName;
use attache::host::names::ToolName;
use attache::host::policy::{Answer, Answers, DiffLine, Lock, PinState, PinnedServer, whole};
use attache::host::trust::{AsWritten, Loaded, TrustState, WrittenSetting};
use attache::protocol::Tool;
use serde::Serialize;

use super::{Context, Known, Typed, Verb, listing};
use crate::args::{Completeness, ConfigArgs, ServerOption};
use crate::ask::TerminalQuestions;
use crate::command_host::CommandHost;
use crate::configuration::{Configuration, problem_failure, whole_file};
use crate::failure::Failure;
use crate::output::{Format, Output, Style, Text, json};
use crate::overrides::Overrides;
use crate::selection::ServerSelection;
use crate::target::Target;

/// Approve a project's configuration file, or the tools of a server as they are now
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Without SERVER the configuration file that came with a folder is shown and approved. With SERVER
its tools are compared with what they were when you first used or last approved them; new and
changed ones are shown and accepted. --lock writes them to attache.lock as well, beside the
configuration file, which others can share: a server it names has exactly the tools it lists.

Example:
  attache trust notes
  attache trust list"
)]
pub(crate) struct Trust {
    #[command(subcommand)]
    verb: Option<TrustVerb>,
    /// The server whose tools to approve
    #[arg(value_name = "SERVER")]
    name: Option<String>,
    /// Approve without asking, for scripts
    #[arg(short, long)]
    yes: bool,
    /// Write the server's tools to attache.lock too
    #[arg(long, requires = "name")]
    lock: bool,
    #[command(flatten)]
    config: ConfigArgs,
    #[command(flatten)]
    option: ServerOption,
}

#[derive(Debug, clap::Subcommand)]
enum TrustVerb {
    /// Show what you have answered for always about calls of tools
    #[command(after_help = "Example:\n  attache trust list")]
    List {
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Forget what you have answered, so that you are asked again
    #[command(after_help = "Example:\n  attache trust forget notes/delete")]
    Forget {
        /// A tool, or a server with all its tools
        #[arg(value_name = "SERVER[/TOOL]")]
        name: String,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

impl Verb for Trust {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        match self.verb {
            Some(TrustVerb::List { config }) => return list_answers(&config, output),
            Some(TrustVerb::Forget { name, config }) => {
                return forget_answers(&name, &config, output);
            }
            None => {}
        }
        let target = Target::read(self.option.or_name(self.name)?, Vec::new())?;
        let configuration = self.config.configuration()?;
        let Some(loaded) = configuration.load()? else {
            return Err(Failure::config("there is no attache.toml to approve")
                .hint("`attache config path` says where it is looked for"));
        };
        if loaded.trust != TrustState::Trusted {
            return approve_file(loaded, &configuration, self.yes, output).await;
        }
        match target {
            Target::Named(server) => {
                approve_tools(&server, &configuration, self.yes, self.lock, output).await
            }
            Target::All => {
                let file = loaded.found.file.display().to_string();
                let text = format!("{file} is approved; name a server to approve its tools");
                output.done(&text, &FileDocument::of(&file, TrustState::Trusted))
            }
            Target::Command { .. } | Target::Url(_) => Err(Failure::usage(
                "a server that is started on the spot needs no approval",
            )),
        }
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

/// A file that is approved, for `--json`.
#[derive(Serialize)]
struct FileDocument<'a> {
    file: &'a str,
    /// What it was before: `new`, `changed` or `approved`.
    was: &'static str,
    approved: bool,
}

impl<'a> FileDocument<'a> {
    fn of(file: &'a str, before: TrustState) -> Self {
        Self {
            file,
            was: match before {
                TrustState::New => "new",
                TrustState::Changed => "changed",
                TrustState::Trusted => "approved",
            },
            approved: true,
        }
    }
}

/// The tools of a server that are approved, for `--json`.
#[derive(Serialize)]
struct ToolsDocument<'a> {
    server: &'a str,
    tools: usize,
    new: usize,
    changed: usize,
    /// The lock file, if it was written.
    lock: Option<String>,
    approved: bool,
}

/// Answers that were forgotten, for `--json`.
#[derive(Serialize)]
struct ForgottenDocument<'a> {
    name: &'a str,
    forgotten: usize,
}

/// An answer, for `--json`.
#[derive(Serialize)]
struct AnswerDocument<'a> {
    name: &'a str,
    answer: &'static str,
}

fn answers(config: &ConfigArgs) -> Result<Answers, Failure> {
    let Some(file) = config.configuration()?.answers_file() else {
        return Err(Failure::config("there is no folder for answers").hint("set HOME"));
    };
    Answers::in_file(&file).map_err(|error| Failure::config(error.to_string()))
}

fn list_answers(config: &ConfigArgs, output: &Output) -> Result<(), Failure> {
    let listed = answers(config)?.list();
    let word = |answer: Answer| match answer {
        Answer::Allow(_) => "allow",
        Answer::Deny(_) => "deny",
    };
    let documents = listed.iter().map(|it| AnswerDocument {
        name: &it.name,
        answer: word(it.answer),
    });
    let documents: Vec<AnswerDocument<'_>> = documents.collect();
    if output.format == Format::Json {
        return output.document(&json::write(&documents));
    }
    let mut text = Text::new();
    for AnswerDocument { name, answer } in &documents {
        let style = match *answer {
            "allow" => Style::Good,
            _ => Style::Bad,
        };
        text.column(style, answer, 5).plain("  ").plain(name);
        if !name.contains('/') {
            text.faint("  all tools of the server that are not named here");
        }
        text.end_line();
    }
    output.text(&text)?;
    if documents.is_empty() {
        output.note("nothing has been answered for always");
    }
    Ok(())
}

fn forget_answers(name: &str, config: &ConfigArgs, output: &Output) -> Result<(), Failure> {
    let answers = answers(config)?;
    let (server, tool) = match name.split_once('/') {
        Some((server, tool)) => (server, Some(tool)),
        None => (name, None),
    };
    let server = ServerName::new(server).map_err(|error| Failure::usage(error.to_string()))?;
    let forgotten = match tool {
        Some(tool) => answers.forget(&ToolName::new(server, tool)),
        None => answers.forget_server(&server),
    };
    let forgotten =
        forgotten.map_err(|error| Failure::unexpected(format!("cannot forget it: {error}")))?;
    match forgotten {
        0 => Err(
            Failure::usage(format!("nothing has been answered for {name}"))
                .hint("`attache trust list` shows what has been"),
        ),
        forgotten => {
            let text = match forgotten {
                1 => format!("forgotten: the answer for {name}"),
                count => format!("forgotten: {count} answers for {name}"),
            };
            output.done(&text, &ForgottenDocument { name, forgotten })
        }
    }
}

/// Shows what a file would run and approves it.
async fn approve_file(
    loaded: Loaded,
    configuration: &Configuration,
    is_approved: bool,
    output: &Output,
) -> Result<(), Failure> {
    let Some(trust) = configuration.trust() else {
        return Err(
            Failure::config("there is no folder to remember approvals in").hint("set HOME"),
        );
    };
    if let Some(problem) = whole_file(loaded.config()) {
        return Err(problem_failure(problem));
    }
    let file = loaded.found.file.display().to_string();
    let mut text = Text::new();
    text.plain(&file).plain(match loaded.trust {
        TrustState::Changed => " has changed since you approved it. It says:",
        TrustState::New | TrustState::Trusted => " came with this folder. It says:",
    });
    text.end_line();
    text.append(shown(&AsWritten::read(&loaded.text)));
    output.aside_text(&text);
    agreed("approve this file?", is_approved, output).await?;
    let before = loaded.trust;
    loaded
        .approve(&trust)
        .map_err(|error| Failure::unexpected(format!("cannot remember it: {error}")))?;
    output.done(
        &format!("{file} is approved"),
        &FileDocument::of(&file, before),
    )
}

/// A file word for word, with nothing hidden and nothing looked up (S20).
fn shown(says: &AsWritten) -> Text {
    let mut text = Text::new();
    for server in &says.servers {
        text.plain("  ").add(Style::Name, &server.name).plain("  ");
        match server.target.is_empty() {
            true => text.add(Style::Warning, "neither a command nor an address"),
            false => text.plain(&server.target.join(" ")),
        };
        text.end_line();
        settings(&server.settings, "      ", &mut text);
    }
    settings(&says.settings, "  ", &mut text);
    if !says.variables.is_empty() {
        text.plain("It would read these of your environment variables:")
            .end_line();
    }
    for used in &says.variables {
        text.plain("  ")
            .add(Style::Name, &used.variable)
            .plain(&format!("  in {} of {}", used.key, used.server));
        if !used.receiver.is_empty() {
            text.plain(&format!(", for {}", used.receiver));
        }
        text.end_line();
    }
    text
}

fn settings(settings: &[WrittenSetting], indent: &str, text: &mut Text) {
    for WrittenSetting { key, value } in settings {
        text.plain(&format!("{indent}{key} = {value}")).end_line();
    }
}

/// Shows how a server's tools differ from what was approved, and approves them as they are.
async fn approve_tools(
    server: &str,
    configuration: &Configuration,
    is_approved: bool,
    writes_lock: bool,
    output: &Output,
) -> Result<(), Failure> {
    let target = Target::Named(server.to_owned());
    let selection = ServerSelection::of(&target, configuration, &Overrides::default())?;
    let pins = selection.pins()?;
    // What is shown here must not be pinned before it is approved.
    let session = CommandHost::open(selection.unpinned(), None, output)?;
    let config = session.host()?.config(server);
    let listed = listing::fetch::<Tool>(Completeness::WHOLE, &session, output).await;
    session.close().await;
    let (config, listed) = (config?, listed?);
    // What is only remembered is not what will be called.
    listing::conclude(&listed.servers, listed.stopped, Completeness::WHOLE, output)?;
    let tools: Vec<Tool> = listed.entries.into_iter().map(|it| it.entry).collect();
    let pinned = PinnedServer::of(&config);
    let cannot = |what: &str, error: std::io::Error| {
        Failure::unexpected(format!("cannot {what}: {error}")).of(server)
    };
    let mut review = Review::default();
    for tool in &tools {
        // The lock file counts only if it is to be written.
        let state = match writes_lock {
            false => pins.own_state(&pinned, tool),
            true => match pins.state(&pinned, tool) {
                // The user has not seen what was pinned on first use.
                Ok(PinState::Same) if pins.lock_of(&pinned).is_none() => Ok(PinState::New),
                state => state,
            },
        };
        review.add(
            server,
            tool,
            state.map_err(|error| cannot("read what was approved", error))?,
        );
    }
    let mut document = ToolsDocument {
        server,
        tools: tools.len(),
        new: review.fresh,
        changed: review.changed,
        lock: None,
        approved: true,
    };
    if review.fresh + review.changed == 0 {
        let count = tools.len();
        let text = format!("all {count} tools of {server} are as you used or approved them");
        return output.done(&text, &document);
    }
    output.aside_text(&review.text);
    let question = format!("approve these tools of {server}?");
    agreed(&question, is_approved, output).await?;
    pins.accept(&pinned, &tools)
        .map_err(|error| cannot("remember it", error))?;
    let lock_file = configuration.lock_file();
    let lock_file = lock_file.filter(|_| writes_lock);
    if let Some(file) = &lock_file {
        Lock::write(file, &config.name, &tools)
            .map_err(|error| cannot("write the lock file", error))?;
    }
    let Review { fresh, changed, .. } = review;
    let count = fresh + changed;
    let mut text = format!("{count} tools of {server} are approved, {changed} of them changed");
    if let Some(file) = &lock_file {
        let (count, file) = (tools.len(), file.display().to_string());
        text = format!("{text}; {file} lists all {count}");
        document.lock = Some(file);
    }
    output.done(&text, &document)
}

/// What there is to approve of a server's tools: each new or changed one, whole or as a difference.
#[derive(Default)]
struct Review {
    text: Text,
    fresh: usize,
    changed: usize,
}

impl Review {
    fn add(&mut self, server: &str, tool: &Tool, state: PinState) {
        let (style, heading, lines) = match state {
            PinState::Same => return,
            PinState::New | PinState::NotLocked { .. } => {
                self.fresh += 1;
                (Style::Good, "new: ", whole(tool))
            }
            PinState::Drifted(drift) => {
                self.changed += 1;
                (Style::Warning, "changed: ", drift.lines)
            }
        };
        self.text
            .add(style, heading)
            .plain(&format!("{server}/{}", tool.name))
            .end_line();
        for line in &lines {
            let (style, sign, words) = match line {
                DiffLine::Kept(words) => (Style::Plain, "    ", words.as_str()),
                DiffLine::Removed(words) => (Style::Bad, "  - ", words.as_str()),
                DiffLine::Added(words) => (Style::Good, "  + ", words.as_str()),
                DiffLine::Gap => (Style::Faint, "    ", "..."),
            };
            self.text.add(style, sign).add(style, words).end_line();
        }
    }
}

/// Goes on with a clear yes only.
async fn agreed(question: &str, is_approved: bool, output: &Output) -> Result<(), Failure> {
    if is_approved {
        return Ok(());
    }
    if !output.can_ask() {
        return Err(
            Failure::refused("nothing was approved: there is no terminal to ask on")
                .hint("run it on a terminal, or approve what you see above with --yes"),
        );
    }
    match TerminalQuestions::new(output.clone())
        .agrees(question)
        .await
    {
        true => Ok(()),
        false => Err(Failure::refused("nothing was approved")),
    }
}
