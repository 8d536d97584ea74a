//! Git, by its command: fixed arguments, no hooks, no shell, no prompts (S16).
//!
//! Owns how it is started and how its whole tree of processes ends. Knows nothing of notes.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};

/// How much of what git says is kept.
const MOST_OUTPUT: u64 = 16 * 1024 * 1024;

/// Settings that every call has: nothing of the repository's is run, nothing goes on in the
/// background, nothing is asked.
const SETTINGS: &[&str] = &[
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.pager=cat",
    "protocol.ext.allow=never",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "maintenance.auto=false",
    "gc.auto=0",
    "merge.autoStash=false",
    "commit.gpgSign=false",
];

/// The variables that git may see: how to find programs and credentials, and the way to the network.
const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK",
    "GIT_SSH_COMMAND",
    "GIT_SSL_CAINFO",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "SYSTEMROOT",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
];

/// Why git did not do it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum GitError {
    #[error("git is not installed, or not on the PATH")]
    Missing,
    #[error("git cannot be started: {0}")]
    Start(String),
    #[error("git took longer than {} s", .0.as_secs())]
    TooSlow(Duration),
    /// It ended with a failure; this is what it said.
    #[error("git says: {0}")]
    Failed(String),
}

/// The command in a folder.
#[derive(Clone, Debug)]
pub(crate) struct Git {
    folder: PathBuf,
}

impl Git {
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Runs git and gives what it printed. Dropping the future ends git and all it has started.
    pub(crate) async fn run(&self, words: &[&str], limit: Duration) -> Result<String, GitError> {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.folder);
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.args(words).env_clear();
        for name in VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_OPTIONAL_LOCKS", "0")
            // A note may be called `*.md`; that is its name and no pattern.
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("GCM_INTERACTIVE", "never");
        if std::env::var_os("GIT_SSH_COMMAND").is_none() {
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let child = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitError::Missing,
            _ => GitError::Start(error.to_string()),
        })?;
        let mut tree = Tree::of(&child);
        let ended = tokio::time::timeout(limit, finish(child)).await;
        if ended.is_ok() {
            tree.has_ended();
        }
        drop(tree);
        let (succeeded, printed, said) = match ended {
            Ok(ended) => ended.map_err(|error| GitError::Start(error.to_string()))?,
            Err(_) => return Err(GitError::TooSlow(limit)),
        };
        match succeeded {
            true => Ok(printed),
            false => Err(GitError::Failed(said.trim().to_owned())),
        }
    }
}

async fn finish(mut child: Child) -> io::Result<(bool, String, String)> {
    let (output, errors) = (child.stdout.take(), child.stderr.take());
    let (printed, said, status) = tokio::join!(all_of(output), all_of(errors), child.wait());
    Ok((status?.success(), printed?, said?))
}

async fn all_of(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let mut bytes = Vec::new();
    if let Some(mut stream) = stream {
        (&mut stream)
            .take(MOST_OUTPUT)
            .read_to_end(&mut bytes)
            .await?;
        // The rest is read, so that git does not wait for ever, and not kept.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Git and what it has started; ended when dropped.
struct Tree {
    #[cfg(unix)]
    group: Option<rustix::process::Pid>,
}

impl Tree {
    fn of(child: &Child) -> Self {
        #[cfg(not(unix))]
        let _ = child;
        Self {
            #[cfg(unix)]
            group: (child.id())
                .and_then(|it| i32::try_from(it).ok())
                .and_then(rustix::process::Pid::from_raw),
        }
    }

    /// Its number may be another process's from now on.
    fn has_ended(&mut self) {
        #[cfg(unix)]
        {
            self.group = None;
        }
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        #[cfg(unix)]
        if let Some(group) = self.group {
            // One that has ended is gone already.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}

/// The commit that the repository around a folder is at, read without git: it is noted whenever the
/// index is written.
pub(crate) fn head(folder: &Path) -> Option<String> {
    let git = folder
        .ancestors()
        .map(|it| it.join(".git"))
        .find(|it| it.exists())?;
    let git = match git.is_dir() {
        true => git,
        // A work tree of a repository elsewhere.
        false => {
            let text = small_text(&git)?;
            let place = text.strip_prefix("gitdir: ")?.trim();
            git.parent()?.join(place)
        }
    };
    let head = small_text(&git.join("HEAD"))?;
    let Some(name) = head.trim().strip_prefix("ref: ") else {
        return commit(&head);
    };
    if name.contains("..") || name.starts_with('/') {
        return None;
    }
    let common = small_text(&git.join("commondir")).map(|it| git.join(it.trim()));
    let common = common.unwrap_or(git);
    if let Some(text) = small_text(&common.join(name)) {
        return commit(&text);
    }
    let packed = small_text(&common.join("packed-refs"))?;
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines
        .find(|(_, it)| *it == name)
        .and_then(|(it, _)| commit(it))
}

fn small_text(file: &Path) -> Option<String> {
    const LARGEST: u64 = 1024 * 1024;
    let metadata = std::fs::metadata(file).ok()?;
    (metadata.is_file() && metadata.len() <= LARGEST).then_some(())?;
    std::fs::read_to_string(file).ok()
}

fn commit(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = text.len() >= 40 && text.bytes().all(|it| it.is_ascii_hexdigit());
    is_hash.then(|| text.to_owned())
}
