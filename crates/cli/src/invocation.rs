//! The command line as a whole: which verb, and what to say if there is none.
//!
//! What a verb takes is in its own file. Owns where options may stand, and how mistakes in the words
//! are told.

use std::error::Error as _;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::mem::ManuallyDrop;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, CommandFactory as _, FromArgMatches as _, Parser};

use crate::args::OutputArgs;
use crate::commands::{AnyVerb, Overview};
use crate::failure::Failure;
use crate::names;
use crate::output::{self, Format};

const AFTER_HELP: &str = "\
Servers come from attache.toml: the one that --config names, the nearest in this folder or above
it, or the one in your configuration folder. A name or a URL in place of SERVER chooses one, and
`-- COMMAND` starts one on the spot. Without any of these there is a small server inside this
program to try things on.

Topics, each on one screen: attache help servers, arguments, states, eras, trust, json, scripts.

Exit codes: 0 done, 1 unexpected, 2 usage or configuration, 3 authorization needed, 4 server
unreachable, 5 the tool failed or does not exist, 6 timed out, 7 cancelled or refused, 8 outcome
unknown.

Example:
  attache config add time -- uvx mcp-server-time
  attache tools time/convert_time
  attache call echo message=hi";

/// Talk to any MCP server from the shell.
#[derive(Debug, Parser)]
#[command(
    name = "attache",
    version,
    disable_help_subcommand = true,
    override_usage = "attache [OPTIONS] [VERB] [-- <COMMAND>...]",
    subcommand_help_heading = "Verbs",
    after_help = AFTER_HELP
)]
pub(crate) struct Invocation {
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(subcommand)]
    pub(crate) verb: Option<AnyVerb>,
    /// What is shown without a verb. It takes every option that several verbs share.
    #[command(flatten)]
    pub(crate) overview: Overview,
}

/// Why there is nothing to run.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// Help or version was asked for, or the words are no command line.
    Words { error: clap::Error, format: Format },
    /// The words are no command line, and we can say more about it than the parser.
    Meaning { failure: Failure, format: Format },
}

impl Invocation {
    /// Whether this process will serve clients that know nothing of each other.
    pub(crate) fn serves_many_clients(&self) -> bool {
        match &self.verb {
            Some(AnyVerb::Serve(serve)) => serve.is_over_http(),
            Some(AnyVerb::Mock(mock)) => mock.is_over_http(),
            Some(AnyVerb::Tap(tap)) => tap.is_over_http(),
            _ => false,
        }
    }

    /// Understands a command line.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Refusal> {
        // Never dropped: taking thousands of small parts apart takes longer than leaving them to the
        // system, which frees all memory of the process in the end.
        let mut table = ManuallyDrop::new(fitted(Self::command()));
        let words = Words::arrange(words, &table);
        if words.verbs.is_empty() {
            // Help that lists the verbs says what each does.
            table.build();
        }
        let matches = table.try_get_matches_from_mut(words.all());
        let parsed = matches.and_then(|mut matches| Self::from_arg_matches_mut(&mut matches));
        parsed.map_err(|error| {
            // A command line that cannot be parsed still says how its error shall look.
            let mut ours = words.rest.iter().take_while(|word| *word != "--");
            let format = Format::json(ours.any(|word| word == "--json"));
            match words.failure(&error, &table) {
                Some(failure) => Refusal::Meaning { failure, format },
                None => Refusal::Words { error, format },
            }
        })
    }
}

/// The table with help that folds at the width of the terminal; elsewhere it stays as it is written.
pub(crate) fn fitted(table: Command) -> Command {
    let is_terminal = std::io::stdout().is_terminal();
    let width = output::width().filter(|_| is_terminal);
    table.term_width(width.unwrap_or(0))
}

/// The words of a command line.
struct Words {
    program: Option<OsString>,
    verbs: Vec<OsString>,
    rest: Vec<OsString>,
}

impl Words {
    /// Finds the verbs. Options may stand before the verb that they are for; what is behind it is
    /// all the parser looks at.
    fn arrange(words: impl IntoIterator<Item = OsString>, table: &Command) -> Self {
        let mut words = words.into_iter();
        let program = words.next();
        let (mut verbs, mut rest) = (Vec::new(), Vec::new());
        let mut chosen: Option<Command> = None;
        while let command = chosen.as_ref().unwrap_or(table)
            && command.has_subcommands()
            && let Some(word) = words.next()
        {
            let text = word.to_str().unwrap_or_default();
            if let Some(verb) = command.find_subcommand(text) {
                let mut verb = verb.clone();
                verb.build();
                chosen = Some(verb);
                verbs.push(word);
                continue;
            }
            let option = shared_option(text, table);
            let has_value = option.is_some_and(|it| it.get_action().takes_values());
            let is_separate = has_value && !text.contains('=');
            rest.push(word);
            if is_separate {
                rest.extend(words.next());
            }
            if option.is_none() {
                break;
            }
        }
        rest.extend(words);
        Self {
            program,
            verbs,
            rest,
        }
    }

    fn all(&self) -> impl Iterator<Item = &OsString> {
        self.program.iter().chain(&self.verbs).chain(&self.rest)
    }

    /// What to say about words that the parser refuses, where it cannot say it itself.
    fn failure(&self, error: &clap::Error, table: &Command) -> Option<Failure> {
        let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        match error.kind() {
            ErrorKind::ValueValidation => {
                let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue) else {
                    return None;
                };
                let option = given.split_whitespace().next()?;
                let cause = error.source()?.to_string();
                Some(Failure::usage(
                    match cause.contains(&format!("\"{value}\"")) {
                        true => format!("{option}: {cause}"),
                        false => format!("{option}: \"{value}\": {cause}"),
                    },
                ))
            }
            ErrorKind::UnknownArgument if self.verbs.is_empty() && !given.starts_with('-') => {
                Some(unknown_verb(given, table))
            }
            ErrorKind::UnknownArgument if shared_option(given, table).is_some() => {
                let verbs = self.verbs.iter().map(|verb| verb.to_string_lossy());
                let verb = verbs.collect::<Vec<_>>().join(" ");
                let message = format!("{given} means nothing to `attache {verb}`");
                let hint = format!("leave it out; `attache {verb} --help` shows what there is");
                Some(Failure::usage(message).hint(hint))
            }
            _ => None,
        }
    }
}

/// An option that several verbs share, as it is typed.
fn shared_option<'a>(word: &str, table: &'a Command) -> Option<&'a Arg> {
    let name = word.split('=').next().unwrap_or(word);
    table.get_arguments().find(|option| {
        let long = option.get_long().map(|long| format!("--{long}"));
        let short = option.get_short().map(|short| format!("-{short}"));
        [long, short].iter().flatten().any(|known| known == name)
    })
}

/// The parser takes a first word that is no verb for an argument too many, so it cannot say which
/// verb is meant.
fn unknown_verb(given: &str, table: &Command) -> Failure {
    let verbs = table.get_subcommands().filter(|verb| !verb.is_hide_set());
    let failure = Failure::usage(format!("there is no verb \"{given}\""));
    let hint = || names::hint(given, verbs.map(Command::get_name));
    match other_word(given).or_else(hint) {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// What people type who know other tools, and what does it here.
const OTHER_WORDS: [(&[&str], &str); 10] = [
    (&["list", "status", "servers", "show"], "ls"),
    (&["version"], "--version"),
    (&["run", "exec", "invoke", "execute"], "call"),
    (&["get", "fetch"], "read"),
    (&["add", "new", "install"], "config add"),
    (&["remove", "rm", "delete", "uninstall"], "config remove"),
    (&["init", "setup"], "config init"),
    (&["import"], "config import"),
    (&["login"], "auth login"),
    (&["logout"], "auth logout"),
];

/// What to say to who knows a verb by another name.
pub(crate) fn other_word(given: &str) -> Option<String> {
    let mut known = OTHER_WORDS.iter();
    let (_, ours) = known.find(|(words, _)| words.contains(&given))?;
    Some(format!("here it is `attache {ours}`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Context;

    fn parse(words: &[&str]) -> Result<Invocation, Refusal> {
        let program = std::iter::once("attache");
        Invocation::parse(program.chain(words.iter().copied()).map(OsString::from))
    }

    /// The message of a command line that is refused before any server is started.
    fn message(words: &[&str]) -> String {
        let invocation = match parse(words) {
            Ok(invocation) => invocation,
            Err(Refusal::Meaning { failure, .. }) => return failure.message,
            Err(refusal) => panic!("{words:?}: {refusal:?}"),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let context = Context::new(invocation.output.output());
        let done = runtime.unwrap().block_on(context.run(invocation));
        done.unwrap_err().message
    }

    #[test]
    fn options_may_stand_before_the_verb() {
        let table = Invocation::command();
        for (typed, arranged) in [
            ("--json tools -- node --json", "tools --json -- node --json"),
            ("--timeout 5s -v call echo", "call --timeout 5s -v echo"),
            ("--timeout=5s call echo", "call --timeout=5s echo"),
            (
                "config --config x --json path",
                "config path --config x --json",
            ),
            ("--server tools ls", "ls --server tools"),
            ("--json -- tools", "--json -- tools"),
            ("--help tools", "--help tools"),
            ("call tools --json", "call tools --json"),
            ("no-verb tools", "no-verb tools"),
        ] {
            let words = std::iter::once("attache").chain(typed.split(' '));
            let words = Words::arrange(words.map(OsString::from), &table);
            let words: Vec<_> = words.all().skip(1).map(|it| it.to_string_lossy()).collect();
            assert_eq!(words.join(" "), arranged);
        }
    }

    #[test]
    fn everything_after_the_dashes_is_the_command() {
        for words in [
            &["tools", "--json", "--", "node", "--json", "--", "x"][..],
            &["--json", "tools", "--", "node", "--json", "--", "x"],
            &["--json", "--", "node", "--json", "--", "x"],
        ] {
            let invocation = parse(words).unwrap();
            assert_eq!(invocation.output.output().format, Format::Json);
            let shown = format!("{invocation:?}");
            let command = r#"command: ["node", "--json", "--", "x"]"#;
            assert!(shown.contains(command), "{words:?}: {shown}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_option() {
        for (words, expected) in [
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
            (&["logs", "-n", "many"], "--lines: \"many\": invalid digit"),
            (&["watch"], "there is nothing to watch"),
            (
                &["ls", "files", "--", "node"],
                "both \"files\" and the command \"node\"",
            ),
            (
                &["ls", "files", "--server", "notes"],
                "both \"files\" and \"notes\"",
            ),
            (&["call", "echo", "x"], "\"x\" is not an argument"),
            (
                &["--timeout", "1s", "config", "path"],
                "--timeout means nothing to `attache config path`",
            ),
        ] {
            let message = message(words);
            assert!(message.starts_with(expected), "{message}");
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

    /// The parser's own check of all verbs, which it makes in debug builds only.
    #[test]
    fn the_table_is_sound() {
        Invocation::command().debug_assert();
    }
}
