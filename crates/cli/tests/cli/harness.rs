//! Runs the real binary and waits for things to happen.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use attache_testkit::real_servers::installed;
use attache_testkit::scratch;
use serde_json::Value;

/// How long anything in these tests may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How a run of the binary ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// The one JSON document on stdout.
    #[track_caller]
    pub(crate) fn document(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).unwrap()
    }

    /// The one JSON line on stderr.
    #[track_caller]
    pub(crate) fn error(&self) -> Value {
        assert_eq!(self.stderr.lines().count(), 1, "{self:?}");
        let document: Value = serde_json::from_str(&self.stderr).unwrap();
        document["error"].clone()
    }

    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:?}");
        self
    }
}

/// The binary with an environment that does not depend on who runs the tests.
pub(crate) fn attache() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attache"));
    for variable in [
        "NO_COLOR",
        "CLICOLOR_FORCE",
        "XDG_CONFIG_HOME",
        "XDG_STATE_HOME",
    ] {
        command.env_remove(variable);
    }
    command.env("HOME", empty_home());
    command.stdin(Stdio::null());
    command
}

/// A home folder without any configuration, shared by the tests of one run.
pub(crate) fn empty_home() -> &'static Path {
    static HOME: LazyLock<Folder> = LazyLock::new(|| Folder::new("home"));
    HOME.path()
}

/// A folder of its own for a test, gone when dropped.
pub(crate) struct Folder(scratch::Scratch);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        Self(scratch::Scratch::new(&format!("cli-{name}")).unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes a file in it, and the folders above.
    pub(crate) fn write(&self, file: &str, text: &str) -> PathBuf {
        self.0.write(file, text).unwrap()
    }

    /// The binary with this folder as home and working folder.
    pub(crate) fn attache(&self) -> Command {
        let mut command = attache();
        command.env("HOME", self.path()).current_dir(self.path());
        command
    }

    /// Runs the binary there.
    pub(crate) fn run(&self, words: &[&str]) -> Outcome {
        finish(self.attache().args(words))
    }
}

/// Runs the binary with these words.
pub(crate) fn run(words: &[&str]) -> Outcome {
    finish(attache().args(words))
}

/// Runs the binary with these words on a server.
pub(crate) fn run_on(server: &[String], words: &[&str]) -> Outcome {
    finish(attache().args(words).arg("--").args(server))
}

pub(crate) fn finish(command: &mut Command) -> Outcome {
    let output = command.output().unwrap();
    Outcome {
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file of its own for a test, gone when dropped.
pub(crate) struct Scratch {
    path: PathBuf,
    _folder: scratch::Scratch,
}

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let folder = scratch::Scratch::new(&format!("cli-{name}")).unwrap();
        Self {
            path: folder.path().join("file"),
            _folder: folder,
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn text(&self) -> String {
        std::fs::read_to_string(&self.path).unwrap_or_default()
    }

    /// Waits until the file contains `text`.
    pub(crate) fn wait_for(&self, text: &str) {
        wait_until(&format!("{text} in {}", self.text()), || {
            self.text().contains(text)
        });
    }
}

#[track_caller]
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// The table of a server in `attache.toml`.
pub(crate) fn toml_server(name: &str, words: &[String]) -> String {
    let quoted = |word: &String| serde_json::to_string(word).unwrap();
    let arguments: Vec<String> = words[1..].iter().map(quoted).collect();
    format!(
        "[servers.{name}]\ncommand = {}\nargs = [{}]\n",
        quoted(&words[0]),
        arguments.join(", ")
    )
}

/// The built-in server as a command.
pub(crate) fn builtin() -> Vec<String> {
    words(&[env!("CARGO_BIN_EXE_attache"), "serve", "demo"])
}

/// A server with everything it is sent recorded in a file.
pub(crate) fn recorded(server: &[String], record: &Scratch) -> Vec<String> {
    let mut command = words(&["sh", "-c", r#"file=$1; shift; tee -a "$file" | "$@""#, "sh"]);
    command.push(record.path().display().to_string());
    command.extend_from_slice(server);
    command
}

/// A server that attacks the terminal.
pub(crate) fn hostile() -> Vec<String> {
    words(&[
        "sh",
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/servers/hostile.sh"),
    ])
}

/// The reference server of the protocol, of the legacy era.
pub(crate) fn everything() -> Vec<String> {
    let script = "npm/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    words(&["node", &installed(script).display().to_string()])
}

/// The time server as it was before the modern era.
pub(crate) fn old_time() -> Vec<String> {
    let program = installed("python-legacy/bin/mcp-server-time");
    words(&[&program.display().to_string()])
}

/// The time server of both eras.
pub(crate) fn time() -> Vec<String> {
    let program = installed("python-modern/bin/mcp-server-time");
    words(&[&program.display().to_string()])
}
