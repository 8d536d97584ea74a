//! `attache history`: the calls that were made, one of them, or one of them again.
//!
//! Reads the call log, which starts nothing; only `rerun` does, with the very words that
//! `show --command` prints.

mod reproduce;
mod shown;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use attache::host::call_log::{
    self, CallRecord, CalledServer, Filter, call_log_folder, history, stored,
};
use attache::host::config::CallLogging;
use attache::host::configured_log_folder;
use serde::Serialize;

use super::{Context, Known, Typed, Verb};
use crate::args::{ConfigArgs, ProgressArgs, ServerOption};
use crate::ask::TerminalQuestions;
use crate::attached;
use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::invocation::{Invocation, Refusal};
use crate::output::{Format, Output, Text, json};
use reproduce::Reproduction;

/// Show the calls that were made: what, when and how they ended
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Every call, read and prompt is written down with its arguments and its result, secrets masked. The
number in the first column stays with its call. `[log] calls = \"off\"` in attache.toml ends that.

Example:
  attache history --tool search --since 1h
  attache history show 12 --command
  attache history rerun 12"
)]
pub(crate) struct History {
    #[command(subcommand)]
    verb: Option<HistoryVerb>,
    /// Of this tool, prompt or URI only
    #[arg(long, value_name = "NAME")]
    tool: Option<String>,
    /// Not older than this, like 30m, 1h or 7d
    #[arg(long, value_name = "TIME", value_parser = parse_age)]
    since: Option<Duration>,
    /// How many calls, the latest
    #[arg(
        short = 'n',
        long,
        value_name = "COUNT",
        default_value_t = 50,
        hide_default_value = true
    )]
    lines: usize,
    #[command(flatten)]
    option: ServerOption,
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, clap::Subcommand)]
enum HistoryVerb {
    /// Show all about one call
    #[command(after_help = "Example:\n  attache history show 12")]
    Show {
        /// The call's number; the latest call if there is none
        #[arg(value_name = "N")]
        number: Option<u64>,
        /// Print the command that makes the call again, for sh, bash and zsh
        #[arg(long)]
        command: bool,
        #[command(flatten)]
        config: ConfigArgs,
    },
    /// Make a call again
    #[command(after_help = "\
What may have had an effect is made again only after a question, or with --yes. An argument that
was masked has to be given anew; others may be.

Example:
  attache history rerun 12 token=@token.txt")]
    Rerun {
        /// The call's number; the latest call if there is none
        #[arg(value_name = "N")]
        number: Option<u64>,
        /// Arguments to change or to give anew, as for `attache call`
        #[arg(value_name = "KEY=VALUE")]
        arguments: Vec<String>,
        /// Make it without asking
        #[arg(short, long)]
        yes: bool,
        #[command(flatten)]
        progress: ProgressArgs,
        #[command(flatten)]
        config: ConfigArgs,
    },
}

/// A list of calls, for `--json`.
#[derive(Serialize)]
struct Document<'a> {
    calls: Vec<CallDocument<'a>>,
}

/// One call, for `--json`.
#[derive(Serialize)]
struct CallDocument<'a> {
    n: u64,
    began: Option<&'a call_log::Began>,
    ended: Option<&'a call_log::Ended>,
}

impl<'a> From<&'a CallRecord> for CallDocument<'a> {
    fn from(call: &'a CallRecord) -> Self {
        Self {
            n: call.number,
            began: call.began.as_ref(),
            ended: call.ended.as_ref(),
        }
    }
}

impl Verb for History {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        match self.verb {
            None => {
                let log = Log::of(&self.config).await?;
                let since = self.since.map_or(0, ago_ms);
                let (server, name) = read_name(self.option.or_name(None)?, self.tool);
                let filter = Filter {
                    server,
                    name,
                    since_ms: since,
                    most: self.lines,
                    actions: false,
                };
                log.list(&filter, output)
            }
            Some(HistoryVerb::Show {
                number,
                command,
                config,
            }) => {
                let log = Log::of(&config).await?;
                let call = log.call(number)?;
                match command {
                    true => print_command(&call, output),
                    false => log.show(&call, output),
                }
            }
            Some(HistoryVerb::Rerun {
                number,
                arguments,
                yes,
                progress,
                config,
            }) => {
                let log = Log::of(&config).await?;
                let call = log.call(number)?;
                log.check_place(&call)?;
                let mut words = Reproduction::of(&call)?.given_anew(&arguments)?;
                if yes && is_tool_call(&call) {
                    words.insert(2, "--yes".to_owned());
                }
                words.insert(2, format!("--progress={}", progress.word()));
                if let Some(file) = config.named() {
                    words.insert(2, format!("--config={}", file.display()));
                }
                ask_for_effect(&call, yes, output).await?;
                let invocation = Invocation::parse(words.into_iter().map(OsString::from));
                let invocation = invocation.map_err(|refusal| match refusal {
                    Refusal::Meaning { failure, .. } => failure,
                    Refusal::Words { error, .. } => Failure::usage(error.to_string()),
                })?;
                // A verb within a verb needs a place of its own.
                Box::pin(context.run(invocation)).await
            }
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

/// `--tool` may be qualified, as it is shown.
fn read_name(server: Option<String>, tool: Option<String>) -> (Option<String>, Option<String>) {
    match (server, tool) {
        (None, Some(name)) if !name.contains("://") => match name.split_once('/') {
            Some((server, own)) => (Some(server.to_owned()), Some(own.to_owned())),
            None => (None, Some(name)),
        },
        both => both,
    }
}

/// The log of a configuration.
struct Log {
    configuration: Configuration,
    folder: PathBuf,
    is_on: bool,
}

impl Log {
    async fn of(config: &ConfigArgs) -> Result<Self, Failure> {
        let configuration = config.configuration()?;
        attached::flushed(&configuration).await;
        let Some(state) = configuration.state_folder() else {
            return Err(Failure::config("there is no folder for the call log").hint("set HOME"));
        };
        let rules = configuration.log_rules();
        Ok(Self {
            folder: call_log_folder(&configured_log_folder(&rules, &state)),
            is_on: rules.calls == CallLogging::On,
            configuration,
        })
    }

    fn unreadable(&self, error: &std::io::Error) -> Failure {
        let folder = self.folder.display();
        Failure::unexpected(format!("cannot read the call log in {folder}: {error}"))
    }

    fn list(&self, filter: &Filter, output: &Output) -> Result<(), Failure> {
        let found = history(&self.folder, filter).map_err(|error| self.unreadable(&error))?;
        if output.format == Format::Json {
            let calls = found.calls.iter().map(Into::into).collect();
            output.document(&json::write(&Document { calls }))?;
        } else {
            output.text(&shown::list(&found.calls))?;
        }
        if found.damaged > 0 {
            output.note(&format!(
                "{} lines of the log in {} are damaged and were left out",
                found.damaged,
                self.folder.display()
            ));
        }
        if found.lost > 0 {
            let lost = found.lost;
            output.note(&format!("{lost} calls could not be written down"));
        }
        if found.calls.is_empty() {
            output.note(match self.is_on {
                true => "no such call has been written down",
                false => "calls are not written down: attache.toml says `[log] calls = \"off\"`",
            });
        }
        Ok(())
    }

    fn call(&self, number: Option<u64>) -> Result<CallRecord, Failure> {
        let found = call_log::find(&self.folder, number);
        let found = found.map_err(|error| self.unreadable(&error))?;
        found.map(|call| self.whole(call)).ok_or_else(|| {
            let message = match number {
                Some(number) => format!("there is no call {number} in the log"),
                None => "there is no call in the log".to_owned(),
            };
            Failure::usage(message).hint("`attache history` shows those there are")
        })
    }

    /// The call with what was put into files of its own.
    fn whole(&self, mut call: CallRecord) -> CallRecord {
        if let Some(began) = &mut call.began
            && let Some(file) = &began.arguments_file
        {
            match stored(&self.folder, file) {
                Ok(arguments) => began.arguments = Some(arguments),
                // Without them the call cannot be made again.
                Err(_) => began.masked = vec![String::new()],
            }
        }
        if let Some(ended) = &mut call.ended
            && let Some(file) = &ended.result_file
        {
            match stored(&self.folder, file) {
                Ok(result) => ended.result = Some(result),
                Err(error) => ended.result_omitted = Some(format!("{file}: {error}")),
            }
        }
        call
    }

    fn show(&self, call: &CallRecord, output: &Output) -> Result<(), Failure> {
        match output.format {
            Format::Json => output.document(&json::write(&CallDocument::from(call))),
            Format::Human => output.text(&shown::call(call)),
        }
    }

    /// The same name may stand for another server elsewhere.
    fn check_place(&self, call: &CallRecord) -> Result<(), Failure> {
        let target = call.began.as_ref().and_then(|began| began.target.as_deref());
        let Some(CalledServer::Configured { file, named: false }) = target else {
            return Ok(());
        };
        let true_name = |path: PathBuf| std::fs::canonicalize(&path).unwrap_or(path);
        let found = self
            .configuration
            .found()
            .map(|found| true_name(found.file));
        if found == Some(true_name(file.into())) {
            return Ok(());
        }
        let number = call.number;
        Err(
            Failure::usage(format!("call {number} was made with {file}"))
                .hint("make it again in that folder, or name the file with --config"),
        )
    }
}

fn is_tool_call(call: &CallRecord) -> bool {
    let began = call.began.as_ref();
    began.is_some_and(|began| began.method == "tools/call")
}

fn print_command(call: &CallRecord, output: &Output) -> Result<(), Failure> {
    let reproduction = Reproduction::of(call)?;
    let command = reproduction.command()?;
    match output.format {
        Format::Json => output.document(&json::write(&command))?,
        Format::Human => output.text(&Text::line(&command))?,
    }
    for key in reproduction.missing() {
        output.note(&format!("{key} was masked; add {key}=VALUE"));
    }
    Ok(())
}

/// Goes on only if nothing can happen for the second time, or the user says so.
async fn ask_for_effect(call: &CallRecord, yes: bool, output: &Output) -> Result<(), Failure> {
    if yes || !call.may_have_had_an_effect() {
        return Ok(());
    }
    let number = call.number;
    let what = shown::what(call);
    let message = format!("call {number}, {what}, may have had an effect already");
    if !output.can_ask() {
        return Err(
            Failure::refused(format!("{message}; it was not made again"))
                .hint("--yes makes it again without asking"),
        );
    }
    let question = format!("{message}; make it again?");
    match TerminalQuestions::new(output.clone())
        .agrees(&question)
        .await
    {
        true => Ok(()),
        false => Err(Failure::refused("it was not made again")),
    }
}

fn ago_ms(age: Duration) -> u64 {
    let since = SystemTime::now().checked_sub(age);
    let since = since.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}

fn parse_age(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let seconds: u64 = match &text[digits.len()..] {
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        "w" => 7 * 24 * 60 * 60,
        _ => return Err(format!("\"{text}\" is not a time like 30m, 1h or 7d")),
    };
    let amount: u64 = digits
        .parse()
        .map_err(|_| format!("\"{text}\" is not a time like 30m, 1h or 7d"))?;
    Ok(Duration::from_secs(amount.saturating_mul(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_a_unit() {
        for (text, seconds) in [
            ("90s", Some(90)),
            ("30m", Some(1800)),
            ("1h", Some(3600)),
            ("7d", Some(604_800)),
            ("18446744073709551615w", Some(u64::MAX)),
            ("1", None),
            ("h", None),
            ("-1h", None),
            ("1y", None),
        ] {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(parse_age(text).ok(), expected, "{text}");
        }
        assert_eq!(ago_ms(Duration::from_secs(u64::MAX)), 0);
    }
}
