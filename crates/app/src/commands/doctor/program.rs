//! What ails a server that is a program: from what was seen to one cause and one remedy.
//!
//! Refuses to know of servers behind a URL.

use attache::host::Cause;
use attache::host::config::{ServerConfig, ServerName, Transport};
use attache::process::{SpawnError, SpawnErrorKind};
use attache::{CloseReason, ConnectError, Error as ClientError};

use super::{Finding, Verdict, finding};
use crate::target::program_name;

/// Programs that fetch a package before they run it, which can take longer than a start may.
const PACKAGE_RUNNERS: [&str; 10] = [
    "npx", "uvx", "bunx", "pnpm", "pnpx", "yarn", "pipx", "uv", "docker", "podman",
];

const IS_IT_A_SERVER: &str = "check that the command is an MCP server that speaks over stdio";

pub(super) fn diagnose(
    name: &ServerName,
    config: &ServerConfig,
    cause: &Cause,
    stderr: &[String],
) -> Finding {
    match cause {
        Cause::Start(ClientError::Spawn(error)) => not_started(name, error),
        Cause::Start(ClientError::Connect(ConnectError::TimedOut { strays, .. })) => {
            silent(name, config, strays, stderr)
        }
        Cause::Start(ClientError::Connect(ConnectError::Lost(reason))) | Cause::Lost(reason) => {
            exits(name, reason, stderr)
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
    let patience = config.timeouts.start;
    let said = match (strays.first(), stderr.last()) {
        // What it writes where messages belong tells most about what it is.
        (Some(line), _) => format!("; its stdout says: {line}"),
        (None, Some(line)) => format!("; its stderr says: {line}"),
        (None, None) => String::new(),
    };
    if let Transport::Stdio { command, args, .. } = &config.transport {
        let program = program_name(command);
        if PACKAGE_RUNNERS.contains(&program.as_str()) {
            let line = std::iter::once(command).chain(args);
            let line: Vec<&str> = line.map(String::as_str).collect();
            return finding(
                name,
                Verdict::Downloading,
                format!("{program} was not done within {patience:?}; it may be downloading{said}"),
                &format!(
                    "run `{}` once by hand, or allow more with `timeouts.initialize`",
                    line.join(" ")
                ),
            );
        }
    }
    finding(
        name,
        Verdict::NeverAnswers,
        format!("it runs but did not answer within {patience:?}{said}"),
        "check that the command is an MCP server that speaks over stdio, not HTTP",
    )
}

fn exits(name: &ServerName, reason: &CloseReason, stderr: &[String]) -> Finding {
    let CloseReason::Exited { exit, .. } = reason else {
        return finding(
            name,
            Verdict::Unreachable,
            reason.to_string(),
            IS_IT_A_SERVER,
        );
    };
    let said = match stderr {
        [] => "and says nothing on stderr".to_owned(),
        lines => format!("and says: {}", lines.join(" | ")),
    };
    let remedy = match stderr {
        [] => "run the command by itself to see why it leaves",
        _ => "mend what it complains about: an argument, a variable in `env`, a file",
    };
    let cause = format!("it exits at once ({exit}) {said}");
    finding(name, Verdict::Exits, cause, remedy)
}
