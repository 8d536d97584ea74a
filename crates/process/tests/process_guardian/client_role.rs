//! A client in a process of its own, so that it can be killed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use attache_process::{self, Environment, Launch, Protection, Spawned};
use attache_testkit::processes::{self, Process};
use tokio::io::AsyncReadExt as _;

use crate::scan::{self, TAG_VARIABLE};

/// The first argument that makes this executable a client.
pub(crate) const CLIENT_ARGUMENT: &str = "client";

/// Runs the client role: starts the script in the second argument, says so, passes the
/// server's first line on, and stays until the server ends or the client is killed.
pub(crate) fn run() {
    let script = std::env::args().nth(2).unwrap();
    block_on(async {
        println!("starting");
        let launch = Launch::new("sh")
            .args(["-c", &script])
            .environment(Environment::Inherit);
        let spawned = attache_process::spawn(&launch).await.unwrap();
        assert_eq!(spawned.child.protection(), Protection::Guardian);
        println!("started {}", spawned.child.id());
        println!("{}", spawned.child.wait().await);
    });
}

/// A client process with a server under it.
pub(crate) struct Client {
    pub(crate) process: Child,
    pub(crate) tag: String,
    lines: BufReader<ChildStdout>,
}

impl Client {
    /// Starts a client for `script`; `wrapper` is a shell command that ends with
    /// executing its arguments.
    pub(crate) fn start_through(wrapper: &str, script: &str) -> Self {
        let tag = scan::unique_tag();
        let mut process = Command::new("sh")
            .args(["-c", wrapper, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args([CLIENT_ARGUMENT, script])
            .env(TAG_VARIABLE, &tag)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(process.stdout.take().unwrap());
        Self {
            process,
            tag,
            lines,
        }
    }

    pub(crate) fn start(script: &str) -> Self {
        Self::start_through("exec \"$@\"", script)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// The next line that the client prints.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Waits until the server runs and returns its id.
    pub(crate) fn server(&mut self) -> u32 {
        assert_eq!(self.line(), "starting");
        let line = self.line();
        line.strip_prefix("started ").unwrap().parse().unwrap()
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        send(self.id(), signal);
    }

    /// Kills the client outright and reaps it.
    pub(crate) fn kill_outright(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Everything of this client that runs, itself included, and its guardians, whose empty
    /// environment has no tag.
    pub(crate) fn tree(&self) -> Vec<Process> {
        let mut tree = scan::tagged(&self.tag);
        let children = processes::children_of(self.id()).unwrap();
        let untagged = |child: &Process| tree.iter().all(|known| known.pid != child.pid);
        let guardians: Vec<_> = children.into_iter().filter(untagged).collect();
        tree.extend(guardians);
        tree
    }

    /// What the client printed until it ended.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends a signal to one process.
pub(crate) fn send(id: u32, signal: rustix::process::Signal) {
    let id = rustix::process::Pid::from_raw(id.cast_signed()).unwrap();
    rustix::process::kill_process(id, signal).unwrap();
}

/// Runs a future on a runtime of its own, whose tasks go on while the test looks at
/// processes.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(future)
}

/// A server that runs `script` and whose processes carry `tag`.
pub(crate) fn shell(script: &str, tag: &str) -> Launch {
    Launch::new("sh")
        .args(["-c", script])
        .var(TAG_VARIABLE, tag)
}

/// Starts `script` and waits until it has printed a line.
pub(crate) async fn spawn_up(script: &str, tag: &str) -> Spawned {
    let mut spawned = attache_process::spawn(&shell(script, tag)).await.unwrap();
    assert_eq!(spawned.child.protection(), Protection::Guardian);
    let mut byte = [0];
    while byte != *b"\n" {
        spawned.stdout.read_exact(&mut byte).await.unwrap();
    }
    spawned
}
