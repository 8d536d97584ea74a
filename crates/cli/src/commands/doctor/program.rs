//! What ails a server that is a program: from what was seen to one cause and one remedy.
//!
//! Refuses to know of servers behind a URL. The line of stderr that is quoted is chosen as for every
//! other error; for a server that hangs, what it says also decides about the remedy.

use attache::client::{complaint, telling_line};
use attache::host::Cause;
use attache::host::config::{ServerConfig, ServerName};
use attache::process::{SpawnError, SpawnErrorKind};
use attache::{CloseReason, ConnectError, Error as ClientError};

use super::{Finding, Verdict, finding};
use crate::target::program_name;

/// Programs that fetch a package before they run it, which can take longer than a start may.
const PACKAGE_RUNNERS: [&str; 10] = [
    "npx", "uvx", "bunx", "pnpm", "pnpx", "yarn", "pipx", "uv", "docker", "podman",
];

const IS_IT_A_SERVER: &str = "check that the command is an MCP server that speaks over stdio";

pub(super) fn diagnose(name: &ServerName, config: &ServerConfig, cause: &Cause) -> Finding {
    match cause {
        Cause::Start(ClientError::Spawn(error)) => not_started(name, error),
        Cause::Start(ClientError::Connect(ConnectError::TimedOut { strays, stderr, .. })) => {
            silent(name, config, strays, stderr)
        }
        Cause::Start(ClientError::Connect(ConnectError::Lost(reason))) | Cause::Lost(reason) => {
            exits(name, reason)
        }
        other => finding(
            name,
            Verdict::Unreachable,
            other.to_string(),
            IS_IT_A_SERVER,
        ),
    }
}

fn not_started(name: &ServerName, error: &SpawnError) -> Finding {
    let (verdict, remedy) = match error.kind() {
        SpawnErrorKind::NotFound => (
            Verdict::CommandNotFound,
            "install it, or give its full path as the command",
        ),
        SpawnErrorKind::NotExecutable => (
            Verdict::CannotRun,
            "make it executable, or name its interpreter",
        ),
        SpawnErrorKind::InterpreterMissing => (
            Verdict::CannotRun,
            "install the interpreter its first line names",
        ),
        SpawnErrorKind::BadWorkingDirectory => (
            Verdict::BadConfiguration,
            "set `cwd` to a folder that exists",
        ),
        _ => (Verdict::CannotRun, "see what the system says"),
    };
    finding(name, verdict, error.to_string(), remedy)
}

/// A server that runs and does not answer.
pub(super) fn silent(
    name: &ServerName,
    config: &ServerConfig,
    strays: &[String],
    stderr: &[String],
) -> Finding {
    let patience = config.server.settings.timeouts.start;
    let complaint = complaint(stderr);
    let said = match (&complaint, strays.first(), telling_line(stderr)) {
        (Some(line), _, _) => format!("; its stderr says: {line}"),
        // What it writes where messages belong tells most about what it is.
        (None, Some(line), _) => format!("; its stdout says: {line}"),
        (None, None, Some(line)) => format!("; its stderr says: {line}"),
        (None, None, None) => String::new(),
    };
    let transport = config.server.transport();
    if let Some(launch) = transport.launch() {
        let program = program_name(&launch.program.to_string_lossy());
        if complaint.is_none() && PACKAGE_RUNNERS.contains(&program.as_str()) {
            return finding(
                name,
                Verdict::Downloading,
                format!("{program} was not done within {patience:?}; it may be downloading{said}"),
                &format!(
                    "run `{transport}` once by hand, or allow more with `timeouts.initialize`"
                ),
            );
        }
    }
    finding(
        name,
        Verdict::NeverAnswers,
        format!("it runs but did not answer within {patience:?}{said}"),
        remedy_for_silence(complaint.as_deref(), strays, stderr),
    )
}

/// What to do about a server that hangs, by what it says meanwhile.
fn remedy_for_silence(
    complaint: Option<&str>,
    strays: &[String],
    stderr: &[String],
) -> &'static str {
    let said = || strays.iter().chain(stderr).map(|line| line.to_lowercase());
    let says = |words: &[&str]| said().any(|line| words.iter().any(|word| line.contains(word)));
    if says(&[
        "log in",
        "login",
        "sign in",
        "authenticate",
        "authorize",
        "open this url",
    ]) {
        return "it seems to wait for a login: run the command once by hand and log in, then try \
                again";
    }
    if complaint.is_some() {
        return "mend what it complains about: an argument, a variable in `env`, a file";
    }
    if says(&["listening", "http://", "https://", " port "]) {
        return "it seems to serve HTTP, not stdio: give its address as `url`, or the option that \
                makes it speak over stdio";
    }
    match strays.is_empty() && stderr.is_empty() {
        true => {
            "check that the command is an MCP server that speaks over stdio; if it is only slow, \
             allow more with `timeouts.initialize`"
        }
        false => {
            "if it is only slow, allow more with `timeouts.initialize`; otherwise run the command \
             by itself to see what it waits for"
        }
    }
}

fn exits(name: &ServerName, reason: &CloseReason) -> Finding {
    let CloseReason::Exited { exit, stderr } = reason else {
        return finding(
            name,
            Verdict::Unreachable,
            reason.to_string(),
            IS_IT_A_SERVER,
        );
    };
    let (said, remedy) = match telling_line(stderr) {
        None => (
            "and says nothing on stderr".to_owned(),
            "run the command by itself to see why it leaves",
        ),
        Some(line) => (
            format!("and says: {line}"),
            "mend what it complains about: an argument, a variable in `env`, a file",
        ),
    };
    let cause = format!("it exits at once ({exit}) {said}");
    finding(name, Verdict::Exits, cause, remedy)
}
