//! `attache config check`: what is wrong with the configuration.

use attache::host::config::{Problem, Severity};
use attache::host::trust::TrustState;
use serde::Serialize;

use crate::args::ConfigArgs;
use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::{Format, Style, Text, json};

/// Check the configuration file without starting anything
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache config check --json")]
pub(crate) struct Check {
    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Serialize)]
struct CheckDocument<'a> {
    path: String,
    trusted: bool,
    servers: Vec<&'a str>,
    problems: Vec<ProblemDocument<'a>>,
}

#[derive(Serialize)]
struct ProblemDocument<'a> {
    severity: &'static str,
    line: usize,
    column: usize,
    server: Option<&'a str>,
    key: &'a str,
    message: &'a str,
    hint: Option<&'a str>,
}

impl Verb for Check {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let Some(loaded) = self.config.configuration()?.load()? else {
            return Err(Failure::config("there is no attache.toml to check")
                .hint("`attache config path` says where it is looked for"));
        };
        let config = loaded.config();
        let file = loaded.found.file.display().to_string();
        let trusted = loaded.trust == TrustState::Trusted;
        match output.format {
            Format::Json => output.document(&json::write(&CheckDocument {
                path: file.clone(),
                trusted,
                servers: config.servers.keys().map(AsRef::as_ref).collect(),
                problems: config.problems.iter().map(document).collect(),
            }))?,
            Format::Human => {
                let mut text = Text::new();
                for problem in &config.problems {
                    let style = match problem.severity {
                        Severity::Error => Style::Bad,
                        Severity::Warning => Style::Warning,
                    };
                    text.add(style, word(problem.severity))
                        .plain(": ")
                        .plain(&problem.to_string())
                        .end_line();
                }
                let servers: Vec<&str> = config.servers.keys().map(AsRef::as_ref).collect();
                let servers = match servers.is_empty() {
                    true => "no servers".to_owned(),
                    false => servers.join(", "),
                };
                text.plain(&format!("{file}: {servers}")).end_line();
                output.text(&text)?;
            }
        }
        if !trusted {
            output.note(
                "this file came with a folder and is not approved, so its variables were not looked \
                 up; see `attache trust`",
            );
        }
        let errors = config.problems.iter();
        let errors = errors.filter(|problem| problem.severity == Severity::Error);
        match errors.count() {
            0 => Ok(()),
            1 => Err(Failure::config(format!("{file} has a mistake"))),
            count => Err(Failure::config(format!("{file} has {count} mistakes"))),
        }
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

fn document(problem: &Problem) -> ProblemDocument<'_> {
    ProblemDocument {
        severity: word(problem.severity),
        line: problem.line,
        column: problem.column,
        server: problem.server.as_deref(),
        key: &problem.key,
        message: &problem.message,
        hint: problem.hint.as_deref(),
    }
}
