//! `attache config path` and `check`: where the configuration is, and what is wrong with it.

use attache::host::config::{Origin, Problem, Severity, user_file};
use attache::host::trust::TrustState;
use serde::Serialize;

use crate::configuration::Configuration;
use crate::failure::Failure;
use crate::output::{Format, Output, Style, Text, json};

#[derive(Serialize)]
struct PathDocument {
    path: Option<String>,
    exists: bool,
    origin: Option<&'static str>,
}

/// Prints where the configuration file is, or would be.
pub(super) fn path(configuration: &Configuration, output: &Output) -> Result<(), Failure> {
    let found = configuration.found();
    let (path, origin) = match &found {
        Some(found) => (Some(found.file.clone()), Some(origin(found.origin))),
        None => (user_file(&configuration.environment), None),
    };
    let exists = path.as_ref().is_some_and(|path| path.is_file());
    let path = path.map(|path| path.display().to_string());
    if output.format == Format::Json {
        return output.document(&json::write(&PathDocument {
            path,
            exists,
            origin,
        }));
    }
    let Some(path) = path else {
        return Err(
            Failure::config("there is no folder for a configuration file").hint("set HOME"),
        );
    };
    output.text(&Text::line(&path))?;
    if !exists {
        output.note("there is no such file yet; the built-in servers are used");
    }
    Ok(())
}

/// Whose word a file is, in a word.
pub(super) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Named => "named",
        Origin::Project => "project",
        Origin::User => "user",
        Origin::Program => "program",
    }
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

/// Reads the configuration file and says everything that is wrong with it.
pub(super) fn check(configuration: &Configuration, output: &Output) -> Result<(), Failure> {
    let Some(loaded) = configuration.load()? else {
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
