//! Processes that a chaos server starts: lingering grandchildren and the real
//! server behind a launcher.
//!
//! Owns how they are started and what they do. Refuses to know the protocol.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;

use super::LINGER_LIMIT;
use super::action::{Grandchild, Signal};
use super::platform;

/// The argument after which a lingering process finds its traits.
pub(super) const LINGER_ARGUMENT: &str = "--linger";
/// What a lingering process says on standard error when it is settled.
const READY: &str = "ready";
/// A shell that ignores the terminate and hang-up signals, then becomes the
/// command it is given: ignored signals stay ignored across `exec`.
pub(super) const IGNORE_TERM: &str = r#"trap "" TERM HUP; exec "$@""#;

/// Starts a lingering process and waits until it is settled.
pub(super) fn spawn(traits: &Grandchild) -> io::Result<()> {
    let program = std::env::current_exe()?;
    let described = serde_json::to_string(traits)?;
    let mut command = if traits.ignore_term {
        shell_ignoring_term(program.as_os_str())
    } else {
        Command::new(&program)
    };
    let mut child = command
        .args([LINGER_ARGUMENT, &described])
        .stdin(Stdio::null())
        .stdout(if traits.hold_stdout {
            Stdio::inherit()
        } else {
            Stdio::null()
        })
        .stderr(Stdio::piped())
        .spawn()?;
    let mut said = String::new();
    if let Some(stderr) = child.stderr.take() {
        BufReader::new(stderr).read_line(&mut said)?;
    }
    if said.trim_end() != READY {
        return Err(io::Error::other(format!(
            "a grandchild did not settle: {said}"
        )));
    }
    if traits.orphan {
        child.wait()?;
    }
    Ok(())
}

fn shell_ignoring_term(program: &OsStr) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", IGNORE_TERM, "sh"]).arg(program);
    command
}

/// The whole life of a lingering process.
pub(super) fn linger(described: &str) -> io::Result<()> {
    let mut traits: Grandchild = serde_json::from_str(described)?;
    if traits.orphan {
        // Its own child lingers in its place, and says when it is ready.
        traits.orphan = false;
        let program = std::env::current_exe()?;
        Command::new(program)
            .args([LINGER_ARGUMENT, &serde_json::to_string(&traits)?])
            .spawn()?;
        return Ok(());
    }
    if traits.setsid {
        platform::start_session()?;
    }
    writeln!(io::stderr(), "{READY}")?;
    platform::close_stderr()?;
    if traits.stopped {
        platform::signal_self(Signal::Stop)?;
    }
    thread::sleep(LINGER_LIMIT);
    Ok(())
}
