//! Servers that run in a container (fault 12).
//!
//! Killing `docker run` kills the command line only: the container belongs to the engine and lives
//! on. This module recognises such commands, asks the engine to write down the container's id, and
//! stops the container by that id when the connection is over. It knows nothing of MCP and never
//! builds a shell line.
//!
//! A host that is killed outright cannot do this; its container then ends only if the server in it
//! leaves at the end of its input, as the protocol demands (S-STDIO-13).

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;

/// The engines whose command lines are alike.
const ENGINES: [&str; 3] = ["docker", "podman", "nerdctl"];
/// How long the engine gives the server after it was told to terminate, in seconds.
const STOP_SECONDS: &str = "2";
/// How long the engine's own command may take.
const ENGINE_PATIENCE: Duration = Duration::from_secs(10);
/// The option that makes the engine write down the id.
const ID_FILE_OPTION: &str = "--cidfile";
/// The longest id that is believed.
const LONGEST_ID: usize = 128;

/// The arguments to start a container with, and how to stop it.
#[derive(Debug)]
pub(crate) struct Container {
    program: OsString,
    args: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    id_file: PathBuf,
}

impl Container {
    /// Recognises `docker run …` and its like.
    pub(crate) fn recognise(program: &OsStr, args: &[OsString]) -> Option<Self> {
        let engine = Path::new(program).file_stem()?.to_str()?;
        if !ENGINES.contains(&engine) {
            return None;
        }
        let run = position_of_run(args)?;
        let mut args = args.to_vec();
        let id_file = match own_id_file(&args[run + 1..]) {
            Some(own) => own,
            None => {
                let name = format!("attache-{:016x}.cid", fastrand::u64(..));
                let ours = std::env::temp_dir().join(name);
                let option = format!("{ID_FILE_OPTION}={}", ours.display());
                args.insert(run + 1, option.into());
                ours
            }
        };
        Some(Self {
            program: program.to_owned(),
            args,
            environment: Vec::new(),
            id_file,
        })
    }

    /// Adds variables that the engine's command needs to find its engine.
    pub(crate) fn environment(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Self {
        self.environment.extend(variables);
        self
    }

    /// The arguments to start with instead of the original ones.
    pub(crate) fn args(&self) -> &[OsString] {
        &self.args
    }

    /// Stops the container, if one was started. The engine's word that there is none is as good.
    pub(crate) async fn stop(&self) {
        let Some(id) = self.take_id() else { return };
        let stopped = self.engine(["stop", "-t", STOP_SECONDS, &id]).await;
        if stopped == EngineWord::Unheard {
            self.engine(["kill", &id]).await;
        }
    }

    /// The id the engine wrote down, which is forgotten here: the engine refuses to start with a
    /// file that is there already.
    fn take_id(&self) -> Option<String> {
        let id = std::fs::read_to_string(&self.id_file).ok()?;
        // Nothing useful can be done about a file that will not go.
        let _ = std::fs::remove_file(&self.id_file);
        let id = id.trim();
        let plausible = !id.is_empty()
            && id.len() <= LONGEST_ID
            && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        plausible.then(|| id.to_owned())
    }

    async fn engine<const N: usize>(&self, args: [&str; N]) -> EngineWord {
        let mut command = Command::new(&self.program);
        command
            .args(args)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true);
        match tokio::time::timeout(ENGINE_PATIENCE, command.status()).await {
            Ok(Ok(_)) => EngineWord::Answered,
            Ok(Err(_)) | Err(_) => EngineWord::Unheard,
        }
    }
}

impl Drop for Container {
    /// Where nobody waits any more, the engine is told without waiting for its answer.
    fn drop(&mut self) {
        if let Some(id) = self.take_id() {
            let mut command = std::process::Command::new(&self.program);
            command
                .args(["kill", &id])
                .envs(self.environment.iter().cloned())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null());
            // A command that cannot be started leaves nothing more to do here.
            let _ = command.spawn();
        }
    }
}

/// Whether the engine's command came to an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineWord {
    Answered,
    Unheard,
}

/// Where `run` stands, after options of the engine itself and perhaps `container`.
fn position_of_run(args: &[OsString]) -> Option<usize> {
    let mut words = args.iter().enumerate();
    while let Some((at, word)) = words.next() {
        match word.to_str()? {
            "run" => return Some(at),
            "container" => {}
            // These options of the engine take a value of their own.
            "--context" | "-c" | "--host" | "-H" | "--config" | "--log-level" | "-l"
            | "--connection" | "--url" | "--namespace" | "-n" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            _ => return None,
        }
    }
    None
}

/// The file the user already has the engine write to.
fn own_id_file(args: &[OsString]) -> Option<PathBuf> {
    let mut words = args.iter();
    while let Some(word) = words.next() {
        if word == ID_FILE_OPTION {
            return words.next().map(PathBuf::from);
        }
        let inline = word
            .to_str()
            .and_then(|word| word.strip_prefix(ID_FILE_OPTION));
        if let Some(path) = inline.and_then(|rest| rest.strip_prefix('=')) {
            return Some(PathBuf::from(path));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> (OsString, Vec<OsString>) {
        let mut words = line.split_whitespace().map(OsString::from);
        (words.next().unwrap(), words.collect())
    }

    #[test]
    fn fault_12_commands_that_run_a_container_are_recognised() {
        for (line, before_option) in [
            ("docker run -i --rm mcp/fetch", Some("run")),
            ("/usr/bin/podman run image", Some("run")),
            ("docker --context far run image", Some("--context far run")),
            ("docker container run image", Some("container run")),
            ("docker.exe run image", Some("run")),
            ("docker exec -i box server", None),
            ("docker compose run service", None),
            ("docker", None),
            ("uvx run", None),
        ] {
            let (program, args) = words(line);
            let found = Container::recognise(&program, &args);
            let began = found.map(|container| {
                let args = container.args().join(OsStr::new(" "));
                let args = args.to_str().unwrap();
                let at = args.find(" --cidfile=").unwrap();
                args[..at].to_owned()
            });
            assert_eq!(began.as_deref(), before_option, "{line}");
        }
    }

    #[test]
    fn a_file_the_user_chose_is_used() {
        for line in [
            "docker run --cidfile /run/x image",
            "docker run --cidfile=/run/x image",
        ] {
            let (program, args) = words(line);
            let container = Container::recognise(&program, &args).unwrap();
            assert_eq!(container.args(), args);
            assert_eq!(container.id_file, PathBuf::from("/run/x"));
        }
    }
}
