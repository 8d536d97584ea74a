//! What one run of the program is to do: raw arguments, understood.
//!
//! Every mistake in the arguments that can be found without a server is found here.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use attache::EraChoice;
use attache::host::config::{Dialect, ExportForm, OnClash};
use attache::protocol::{Era, Extra, Revision, SubscriptionFilter};
use attache::server::BeforeInitialized;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory as _, FromArgMatches as _};

use crate::args::{
    CommonArgs, ManualPage, ProgressArgs, RawArgs, RawAuth, RawCall, RawCommand, RawConfig,
    RawDialect, RawEra, RawForm, RawImport, RawProgress, RawServe, RawServed, RawWatch,
    ServerCommand, Shell,
};
use crate::arguments::{self, Given};
use crate::commands::Reference;
use crate::failure::Failure;
use crate::names;
use crate::output::{Format, ProgressDisplay, Verbosity};
use crate::overrides::Overrides;
use crate::target::Target;

/// The longest time that can be asked for.
const LONGEST_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// What one run of the program is to do.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) format: Format,
    pub(crate) verbosity: Verbosity,
    /// The configuration file that was named.
    pub(crate) config: Option<PathBuf>,
    pub(crate) completeness: Completeness,
    pub(crate) target: Target,
    pub(crate) overrides: Overrides,
    pub(crate) action: Action,
}

/// Whether a command is done if only some of the servers have answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completeness {
    Whole,
    Partial,
}

/// The commands.
#[derive(Debug)]
pub(crate) enum Action {
    /// No command: show what is there.
    Overview,
    Ls,
    Tools,
    Resources,
    Prompts,
    Call(Call),
    Read {
        uri: String,
        progress: ProgressDisplay,
        out: Option<PathBuf>,
    },
    Prompt {
        name: String,
        arguments: Vec<Given>,
        progress: ProgressDisplay,
    },
    Watch {
        filter: SubscriptionFilter,
        reread: Reread,
    },
    /// Be one of the ready-made servers.
    Serve(Serve),
    Logs {
        follow: Follow,
        lines: usize,
    },
    Doctor,
    Trust {
        approval: Approval,
        lock: LockWriting,
    },
    AuthStatus,
    AuthLogin,
    AuthLogout,
    ConfigPath,
    ConfigCheck,
    ConfigReference(Reference),
    ConfigDiscover,
    ConfigImport(Import),
    ConfigExport(ExportForm),
    Completions(Shell),
    /// Complete the last of these words, for a shell.
    Complete {
        words: Vec<String>,
        quoting: Quoting,
    },
    Man(ManualPage),
}

/// A ready-made server, and what it speaks.
#[derive(Debug)]
pub(crate) struct Serve {
    pub(crate) served: RawServed,
    /// The address of HTTP; stdin and stdout if there is none.
    pub(crate) http: Option<SocketAddr>,
    /// The variables that hold the tokens of those who may come in; none lets everybody in.
    pub(crate) token_env: Vec<String>,
    pub(crate) revisions: Vec<Revision>,
    pub(crate) before_initialized: BeforeInitialized,
}

/// Who quotes what is completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Quoting {
    /// We do: the shell inserts it as it is.
    Ours,
    /// The shell does, as it inserts it.
    OfTheShell,
}

/// Whether a log is read on as it grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Follow {
    Yes,
    No,
}

/// How the user approves something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Approval {
    /// By answering a question.
    #[default]
    Asked,
    /// By an option, beforehand.
    Given,
}

impl Approval {
    fn by_option(yes: bool) -> Self {
        match yes {
            true => Self::Given,
            false => Self::Asked,
        }
    }
}

/// Whether the approved tools of a server go into the lock file too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockWriting {
    Left,
    Written,
}

/// Servers to take over from other tools.
#[derive(Debug)]
pub(crate) struct Import {
    pub(crate) names: Vec<String>,
    pub(crate) from: Option<String>,
    pub(crate) on_clash: OnClash,
    pub(crate) approval: Approval,
    pub(crate) writing: Writing,
}

/// Whether a file is changed or only shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writing {
    File,
    DryRun,
}

/// A tool call as it was asked for.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) tool: String,
    pub(crate) arguments: Vec<Given>,
    /// Arguments that were given as one object.
    pub(crate) whole: Extra,
    pub(crate) listing: Listing,
    /// How the user approves it where the policy says to ask.
    pub(crate) approval: Approval,
    pub(crate) progress: ProgressDisplay,
    pub(crate) out: Option<PathBuf>,
}

/// Whether a call looks at the list of tools first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listing {
    First,
    Skip,
}

/// Whether a changed resource is read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reread {
    Yes,
    No,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Help or version was asked for, or the words are no command line.
    Words { error: clap::Error, format: Format },
    /// The words do not make sense together.
    Meaning { failure: Failure, format: Format },
}

impl Invocation {
    /// Understands a command line.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        let words: Vec<OsString> = words.into_iter().collect();
        match parsed(&words) {
            Ok(raw) => {
                let format = format(raw.common.json);
                Self::understand(raw).map_err(|failure| Refusal::Meaning { failure, format })
            }
            Err(error) => {
                // A command line that cannot be parsed still says how its error shall look.
                let ours = words.iter().take_while(|word| *word != "--");
                let format = format(ours.clone().any(|word| word == "--json"));
                Err(match unknown_verb(&error, ours) {
                    Some(failure) => Refusal::Meaning { failure, format },
                    None => Refusal::Words { error, format },
                })
            }
        }
    }

    fn understand(raw: RawArgs) -> Result<Self, Failure> {
        let mut target = raw.server;
        let (action, name) = match raw.command {
            None => (Action::Overview, None),
            Some(command) => understand_command(command, &raw.common, &mut target)?,
        };
        let word = match (name, raw.common.server_option.clone()) {
            (Some(one), Some(other)) if one != other => {
                return Err(Failure::usage(format!(
                    "both \"{one}\" and \"{other}\" say which server is meant"
                )));
            }
            (one, other) => one.or(other),
        };
        Ok(Self {
            format: format(raw.common.json),
            verbosity: match raw.common.verbose {
                true => Verbosity::Verbose,
                false => Verbosity::Normal,
            },
            config: raw.common.config.clone(),
            completeness: match raw.common.partial {
                true => Completeness::Partial,
                false => Completeness::Whole,
            },
            target: Target::read(word, target.command)?,
            overrides: understand_overrides(raw.common)?,
            action,
        })
    }
}

/// The failure of a command line whose first word is no verb. The parser takes such a word for an
/// argument too many, so it cannot say which verb is meant.
fn unknown_verb<'a>(
    error: &clap::Error,
    words: impl Iterator<Item = &'a OsString>,
) -> Option<Failure> {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    if error.kind() != ErrorKind::UnknownArgument || given.starts_with('-') {
        return None;
    }
    let command = RawArgs::command();
    let verbs = command.get_subcommands().filter(|verb| !verb.is_hide_set());
    let verbs: Vec<&str> = verbs.map(clap::Command::get_name).collect();
    let mut before = words.take_while(|word| *word != given.as_str());
    if before.any(|word| verbs.iter().any(|verb| *word == **verb)) {
        return None;
    }
    let failure = Failure::usage(format!("there is no verb \"{given}\""));
    Some(match names::hint(given, verbs.into_iter()) {
        Some(hint) => failure.hint(hint),
        None => failure,
    })
}

fn format(json: bool) -> Format {
    match json {
        true => Format::Json,
        false => Format::Human,
    }
}

fn parsed(words: &[OsString]) -> Result<RawArgs, clap::Error> {
    let mut table = RawArgs::table();
    let mut matches = table.try_get_matches_from_mut(words)?;
    RawArgs::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut table))
}

/// The command, and the server's name if one was given beside it.
fn understand_command(
    command: RawCommand,
    common: &CommonArgs,
    target: &mut ServerCommand,
) -> Result<(Action, Option<String>), Failure> {
    let named = |action, named: crate::args::Named, target: &mut ServerCommand| {
        *target = named.server;
        (action, named.name)
    };
    Ok(match command {
        RawCommand::Ls(args) => named(Action::Ls, args, target),
        RawCommand::Tools(args) => named(Action::Tools, args, target),
        RawCommand::Resources(args) => named(Action::Resources, args, target),
        RawCommand::Prompts(args) => named(Action::Prompts, args, target),
        RawCommand::Call(mut args) => {
            *target = ServerCommand {
                command: std::mem::take(&mut args.server.command),
            };
            (Action::Call(understand_call(args)?), None)
        }
        RawCommand::Read(args) => {
            *target = args.server;
            let read = Action::Read {
                uri: args.uri,
                progress: understand_progress(&args.progress),
                out: args.out,
            };
            (read, None)
        }
        RawCommand::Prompt(args) => {
            *target = args.server;
            let prompt = Action::Prompt {
                name: args.name,
                arguments: Given::parse_all(&args.arguments)?,
                progress: understand_progress(&args.progress),
            };
            (prompt, None)
        }
        RawCommand::Watch(mut args) => {
            *target = ServerCommand {
                command: std::mem::take(&mut args.server.command),
            };
            (understand_watch(args)?, None)
        }
        RawCommand::Serve(args) => (Action::Serve(understand_serve(args, common)?), None),
        RawCommand::Logs(args) => {
            let follow = match args.follow {
                true => Follow::Yes,
                false => Follow::No,
            };
            let lines = args.lines;
            (Action::Logs { follow, lines }, args.name)
        }
        RawCommand::Doctor(args) => named(Action::Doctor, args, target),
        RawCommand::Trust(args) => {
            let approval = Approval::by_option(args.yes);
            let lock = match args.lock {
                true => LockWriting::Written,
                false => LockWriting::Left,
            };
            (Action::Trust { approval, lock }, args.name)
        }
        RawCommand::Auth(RawAuth::Status { name }) => (Action::AuthStatus, name),
        RawCommand::Auth(RawAuth::Login { name }) => (Action::AuthLogin, Some(name)),
        RawCommand::Auth(RawAuth::Logout { name }) => (Action::AuthLogout, Some(name)),
        RawCommand::Config(command) => (understand_config(command), None),
        RawCommand::Completions { shell } => (Action::Completions(shell), None),
        RawCommand::Complete { plain, words } => {
            let quoting = match plain {
                true => Quoting::OfTheShell,
                false => Quoting::Ours,
            };
            (Action::Complete { words, quoting }, None)
        }
        RawCommand::Man { page } => (Action::Man(page), None),
    })
}

fn understand_config(command: RawConfig) -> Action {
    match command {
        RawConfig::Path => Action::ConfigPath,
        RawConfig::Check => Action::ConfigCheck,
        RawConfig::Reference(asked) => Action::ConfigReference(asked),
        RawConfig::Discover => Action::ConfigDiscover,
        RawConfig::Import(raw) => Action::ConfigImport(understand_import(raw)),
        RawConfig::Export { form } => Action::ConfigExport(match form {
            RawForm::McpServers => ExportForm::McpServers,
            RawForm::VsCode => ExportForm::VsCode,
        }),
    }
}

fn understand_import(raw: RawImport) -> Import {
    Import {
        names: raw.names,
        from: raw.from,
        on_clash: match (raw.replace, raw.rename) {
            (true, _) => OnClash::Replace,
            (false, true) => OnClash::Rename,
            (false, false) => OnClash::LeaveOut,
        },
        approval: Approval::by_option(raw.yes),
        writing: match raw.dry_run {
            true => Writing::DryRun,
            false => Writing::File,
        },
    }
}

fn understand_call(raw: RawCall) -> Result<Call, Failure> {
    Ok(Call {
        arguments: Given::parse_all(&raw.arguments)?,
        tool: raw.tool,
        whole: match &raw.args {
            Some(word) => arguments::read_whole(word)?,
            None => Extra::default(),
        },
        listing: match raw.no_list {
            true => Listing::Skip,
            false => Listing::First,
        },
        approval: Approval::by_option(raw.yes),
        progress: understand_progress(&raw.progress),
        out: raw.out,
    })
}

fn understand_serve(raw: RawServe, common: &CommonArgs) -> Result<Serve, Failure> {
    let typed = [
        ("--timeout", common.timeout.is_some()),
        ("--config", common.config.is_some()),
        ("--partial", common.partial),
        ("--server", common.server_option.is_some()),
        ("--start-timeout", common.start_timeout.is_some()),
        ("--env", !common.env.is_empty()),
        ("--cwd", common.cwd.is_some()),
        ("--log-level", common.log_level.is_some()),
        ("--dialect", common.dialect.is_some()),
    ];
    if let Some((name, _)) = typed.iter().find(|(_, is_typed)| *is_typed) {
        return Err(
            Failure::usage(format!("{name} means nothing to `attache serve`"))
                .hint("leave it out; `attache serve --help` shows what there is"),
        );
    }
    let era = match common.era {
        None | Some(RawEra::Auto) => None,
        Some(RawEra::Modern) => Some(Era::Modern),
        Some(RawEra::Legacy) => Some(Era::Legacy),
    };
    let date = common.protocol.clone();
    let only: Option<Revision> = understand_option("--protocol", date, |date| date.parse())?;
    let is_spoken = |it: &Revision| {
        era.is_none_or(|era| it.era() == era) && only.is_none_or(|only| *it == only)
    };
    let revisions = Revision::NEWEST_FIRST.iter().copied().filter(is_spoken);
    let revisions: Vec<Revision> = revisions.collect();
    if let (true, Some(only)) = (revisions.is_empty(), only) {
        let message = format!("{only} is a revision of the {} era", only.era());
        return Err(Failure::usage(message).hint("leave out --era or --protocol"));
    }
    Ok(Serve {
        served: raw.served,
        http: raw.http,
        token_env: raw.token_env,
        revisions,
        before_initialized: match raw.strict_initialized {
            true => BeforeInitialized::Refuse,
            false => BeforeInitialized::Accept,
        },
    })
}

fn understand_progress(raw: &ProgressArgs) -> ProgressDisplay {
    match raw.progress {
        RawProgress::Auto => ProgressDisplay::Bar,
        RawProgress::Always => ProgressDisplay::Always,
        RawProgress::Never => ProgressDisplay::Never,
    }
}

fn understand_watch(raw: RawWatch) -> Result<Action, Failure> {
    if raw.uris.is_empty() && !(raw.tools || raw.prompts || raw.resources) {
        return Err(Failure::usage("there is nothing to watch")
            .hint("name the URI of a resource, or a list with --tools, --prompts or --resources"));
    }
    Ok(Action::Watch {
        filter: SubscriptionFilter {
            tools_list_changed: raw.tools,
            prompts_list_changed: raw.prompts,
            resources_list_changed: raw.resources,
            resource_subscriptions: Some(raw.uris).filter(|uris| !uris.is_empty()),
            ..SubscriptionFilter::default()
        },
        reread: match raw.read {
            true => Reread::Yes,
            false => Reread::No,
        },
    })
}

fn understand_overrides(raw: CommonArgs) -> Result<Overrides, Failure> {
    Ok(Overrides {
        era: raw.era.map(|era| match era {
            RawEra::Auto => EraChoice::Auto,
            RawEra::Modern => EraChoice::Modern,
            RawEra::Legacy => EraChoice::Legacy,
        }),
        protocol: understand_option("--protocol", raw.protocol, |date| date.parse())?,
        dialect: raw.dialect.map(|dialect| match dialect {
            RawDialect::Standard => Dialect::Standard,
            RawDialect::Lsp => Dialect::Lsp,
        }),
        start_timeout: understand_option("--start-timeout", raw.start_timeout, parse_time)?,
        timeout: understand_option("--timeout", raw.timeout, parse_time)?,
        environment: raw
            .env
            .iter()
            .map(|pair| option("--env", parse_variable(pair)))
            .collect::<Result<_, _>>()?,
        folder: raw.cwd,
        log_level: understand_option("--log-level", raw.log_level, |level| level.parse())?,
    })
}

fn understand_option<T, E: std::fmt::Display>(
    name: &str,
    given: Option<String>,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<Option<T>, Failure> {
    given.map(|text| option(name, parse(&text))).transpose()
}

/// Says which option it was that made no sense.
fn option<T, E: std::fmt::Display>(name: &str, value: Result<T, E>) -> Result<T, Failure> {
    value.map_err(|error| Failure::usage(format!("{name}: {error}")))
}

fn parse_variable(pair: &str) -> Result<(String, String), String> {
    match pair.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("\"{pair}\" is not NAME=VALUE")),
    }
}

fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("\"{text}\" is not a time like 500ms, 30s or 5m")),
    };
    let amount: f64 = digits
        .parse()
        .map_err(|_| format!("\"{text}\" is not a time like 500ms, 30s or 5m"))?;
    match Duration::try_from_secs_f64(amount * unit) {
        Ok(time) if time.is_zero() => Err("it must be more than nothing".to_owned()),
        Ok(time) if time <= LONGEST_TIME => Ok(time),
        _ => Err(format!("\"{text}\" is not between 1ms and 24h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit_and_a_limit() {
        for (text, expected) in [
            ("500ms", Some(Duration::from_millis(500))),
            ("1.5s", Some(Duration::from_millis(1500))),
            ("2m", Some(Duration::from_secs(120))),
            ("24h", Some(LONGEST_TIME)),
            ("24.1h", None),
            ("30", None),
            ("s", None),
            ("-1s", None),
            ("0s", None),
            ("1d", None),
            ("1e999s", None),
        ] {
            assert_eq!(parse_time(text).ok(), expected, "{text}");
        }
    }

    fn parse(words: &[&str]) -> Result<Invocation, Refusal> {
        let program = std::iter::once("attache");
        Invocation::parse(program.chain(words.iter().copied()).map(OsString::from))
    }

    #[test]
    fn everything_after_the_dashes_is_the_command() {
        for words in [
            &["tools", "--json", "--", "node", "--json", "--", "x"][..],
            &["--json", "tools", "--", "node", "--json", "--", "x"],
            &["--json", "--", "node", "--json", "--", "x"],
        ] {
            let invocation = parse(words).unwrap();
            assert_eq!(invocation.format, Format::Json);
            assert_eq!(
                invocation.target,
                Target::Command {
                    program: "node".into(),
                    arguments: vec!["--json".into(), "--".into(), "x".into()],
                },
                "{words:?}"
            );
        }
        assert_eq!(parse(&[]).unwrap().target, Target::All);
        let named = || Target::Named("notes".to_owned());
        assert_eq!(parse(&["tools", "notes"]).unwrap().target, named());
        let words = ["call", "--server", "notes", "search"];
        assert_eq!(parse(&words).unwrap().target, named());
    }

    #[test]
    fn mistakes_are_named_with_their_option() {
        for (words, message) in [
            (
                &["ls", "--timeout", "1"][..],
                "--timeout: \"1\" is not a time",
            ),
            (&["ls", "--env", "X"], "--env: \"X\" is not NAME=VALUE"),
            (
                &["ls", "--protocol", "2020-01-01"],
                "--protocol: \"2020-01-01\" is no known",
            ),
            (
                &["ls", "--log-level", "loud"],
                "--log-level: \"loud\" is no log level",
            ),
            (&["watch"], "there is nothing to watch"),
            (
                &["tools", "files", "--", "node"],
                "both \"files\" and the command \"node\"",
            ),
            (
                &["tools", "files", "--server", "notes"],
                "both \"files\" and \"notes\"",
            ),
            (&["call", "echo", "x"], "\"x\" is not an argument"),
        ] {
            match parse(words) {
                Err(Refusal::Meaning { failure, .. }) => {
                    assert!(failure.message.starts_with(message), "{failure}");
                }
                other => panic!("{words:?}: {other:?}"),
            }
        }
    }

    #[test]
    fn words_that_cannot_be_parsed_keep_the_wish_for_json() {
        let wish = |words| match parse(words) {
            Err(Refusal::Words { format, .. }) => format,
            other => panic!("{other:?}"),
        };
        assert_eq!(wish(&["call", "--json"]), Format::Json);
        assert_eq!(wish(&["call", "--", "x", "--json"]), Format::Human);
    }
}
