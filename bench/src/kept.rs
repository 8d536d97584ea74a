//! Calls from a shell to a server that `attache up` keeps: what the command adds to the server's
//! own answer.
//!
//! Owns the home in which the background process runs. The server is written in Python; its own
//! time is that of a blocking client that stays connected to another process of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::Result;
use crate::clients::blocking::Blocking;
use crate::clients::{BlockingConnection, MESSAGE};
use crate::control::ServerCommand;
use crate::measure::Summary;
use crate::one_shot::{answer_time, milliseconds};
use crate::workloads::Bench;

/// Calls in a row.
const CALLS: usize = 20;

/// Milliseconds.
#[derive(Debug)]
pub(crate) struct KeptCalls {
    pub(crate) server: Summary,
    pub(crate) command: Summary,
    pub(crate) slowest: f64,
}

impl KeptCalls {
    /// What the middle and the slowest command add to the server's middle answer.
    pub(crate) fn above_server(&self) -> (f64, f64) {
        let server = self.server.median;
        (self.command.median - server, self.slowest - server)
    }
}

/// Runs both in turn, after one call of each that does not count.
pub(crate) fn run(bench: &Bench, attache: &Option<PathBuf>) -> Result<KeptCalls> {
    let attache = attache.as_ref().ok_or("no --attache PROGRAM given")?;
    let attache = std::fs::canonicalize(attache)?;
    let server = ServerCommand {
        program: bench
            .peers
            .installed("python/venv/bin/python")?
            .display()
            .to_string(),
        arguments: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/peers/python/server.py").to_owned()],
    };
    let home = Home::with(&server)?;
    home.attache(&attache, "up")?;
    let measured = measure(&home, &attache, &server);
    home.attache(&attache, "down")?;
    measured
}

fn measure(home: &Home, attache: &Path, server: &ServerCommand) -> Result<KeptCalls> {
    let mut direct = Blocking::open(server)?;
    direct.echo()?;
    let call = || {
        let mut call = home.command(attache);
        call.args(["call", "python/echo", &format!("message={MESSAGE}")]);
        answer_time(call).map(milliseconds)
    };
    call()?;
    let (mut of_server, mut of_command) = (Vec::new(), Vec::new());
    for _ in 0..CALLS {
        let began = Instant::now();
        direct.echo()?;
        of_server.push(milliseconds(began.elapsed()));
        of_command.push(call()?);
    }
    direct.close()?;
    Ok(KeptCalls {
        server: Summary::of(&of_server).ok_or("no calls")?,
        command: Summary::of(&of_command).ok_or("no calls")?,
        slowest: of_command.into_iter().fold(0.0, f64::max),
    })
}

/// A home folder of its own, with one server in its configuration.
struct Home(PathBuf);

impl Home {
    fn with(server: &ServerCommand) -> Result<Self> {
        let home = Self(std::env::temp_dir().join(format!("attache-bench-{}", std::process::id())));
        let folder = home.0.join(".config/attache");
        std::fs::create_dir_all(&folder)?;
        let text = format!(
            "[servers.python]\ncommand = {:?}\nargs = {:?}\n",
            server.program, server.arguments
        );
        std::fs::write(folder.join("attache.toml"), text)?;
        Ok(home)
    }

    fn command(&self, attache: &Path) -> Command {
        let mut command = Command::new(attache);
        command.current_dir(&self.0).env("HOME", &self.0);
        for variable in ["XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    fn attache(&self, attache: &Path, verb: &str) -> Result<()> {
        let status = self.command(attache).arg(verb).status()?;
        match status.success() {
            true => Ok(()),
            false => Err(format!("attache {verb}: {status}").into()),
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        // A folder that stays is no reason to fail.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
