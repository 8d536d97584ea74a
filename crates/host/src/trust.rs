//! Files that came with a folder and that the user has approved (S3).
//!
//! Owns the memory of approved contents: a small file in the state folder with a digest per path.
//! A file that has changed since is a new file. It knows neither what the files say nor how the
//! user is asked; [`AsWritten`] tells what there is to approve.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use crate::as_written::{AsWritten, VariableUse, WrittenServer, WrittenSetting, quoted};
use crate::config::{Config, Found, Origin, UserEnvironment};
use crate::digest::sha256_hex;
use crate::state_file;

/// The contents that the user has approved.
#[derive(Clone, Debug)]
pub struct Trust {
    file: PathBuf,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(default)]
    files: BTreeMap<String, String>,
}

/// How a file's content stands to what was approved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustState {
    /// It may be used.
    Trusted,
    /// Nobody has approved it yet.
    New,
    /// Another content of it was approved.
    Changed,
}

impl Trust {
    /// Trust kept in a file, usually `trust.json` in the state folder. It need not exist yet.
    pub fn in_file(file: impl Into<PathBuf>) -> Self {
        Self { file: file.into() }
    }

    /// Whether exactly this content of a file was approved.
    pub fn state(&self, path: &Path, content: &str) -> io::Result<TrustState> {
        let stored = self.parse(state_file::read(&self.file)?)?;
        Ok(match stored.files.get(&key(path)) {
            None => TrustState::New,
            Some(digest) if *digest == sha256_hex(content.as_bytes()) => TrustState::Trusted,
            Some(_) => TrustState::Changed,
        })
    }

    /// Approves a content. Pass what was shown to the user, not what the file says by now.
    pub fn approve(&self, path: &Path, content: &str) -> io::Result<()> {
        let digest = sha256_hex(content.as_bytes());
        self.change(|files| {
            files.insert(key(path), digest);
        })
    }

    /// Takes an approval back.
    pub fn revoke(&self, path: &Path) -> io::Result<()> {
        self.change(|files| {
            files.remove(&key(path));
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeMap<String, String>)) -> io::Result<()> {
        state_file::update::<io::Error>(&self.file, |text| {
            let mut stored = self.parse(text)?;
            change(&mut stored.files);
            let mut text = serde_json::to_string_pretty(&stored)?;
            text.push('\n');
            Ok(Some(text))
        })
    }

    fn parse(&self, text: Option<String>) -> io::Result<Stored> {
        let Some(text) = text else {
            return Ok(Stored::default());
        };
        serde_json::from_str(&text).map_err(|error| {
            let message = format!(
                "{} does not hold approved files: {error}; delete it and approve anew",
                self.file.display()
            );
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }
}

/// Links and `..` do not make another file of it.
fn key(path: &Path) -> String {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    path.to_string_lossy().into_owned()
}

/// A configuration that was read, and whether it may run anything.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file.
    pub found: Found,
    /// Its text: what an approval is for.
    pub text: String,
    /// Whether it is trusted. Files that the user named or that lie in the user's own folder are.
    pub trust: TrustState,
    config: Config,
}

impl Loaded {
    /// Reads a configuration file once, for its meaning and for its trust, so that no change in
    /// between can be approved unseen.
    pub fn read(found: Found, environment: &UserEnvironment, trust: &Trust) -> io::Result<Self> {
        let found = found.in_its_folder()?;
        let Some(text) = state_file::read(&found.file)? else {
            let message = format!("there is no file {}", found.file.display());
            return Err(io::Error::new(io::ErrorKind::NotFound, message));
        };
        let state = match found.origin {
            Origin::Project => trust.state(&found.file, &text)?,
            Origin::Named | Origin::User | Origin::Program => TrustState::Trusted,
        };
        let read = match state {
            TrustState::Trusted => Config::read,
            TrustState::New | TrustState::Changed => Config::read_unexpanded,
        };
        let config = read(&text, &found.file, found.origin, environment);
        Ok(Self {
            found,
            text,
            trust: state,
            config,
        })
    }

    /// The configuration, to look at. Of a file that is not trusted no variable is expanded.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The configuration, to run, or what stands in the way.
    pub fn into_runnable(self) -> Result<Config, Untrusted> {
        match self.trust {
            TrustState::Trusted => Ok(self.config),
            state @ (TrustState::New | TrustState::Changed) => Err(Untrusted {
                file: self.found.file,
                state,
                says: AsWritten::read(&self.text),
            }),
        }
    }

    /// Approves what was read. To run it, read it again: only then are its variables expanded.
    pub fn approve(self, trust: &Trust) -> io::Result<()> {
        trust.approve(&self.found.file, &self.text)
    }
}

/// A file that may not run anything yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Untrusted {
    /// The file.
    pub file: PathBuf,
    /// Whether it is new or has changed.
    pub state: TrustState,
    /// What it says, word for word.
    pub says: AsWritten,
}

impl fmt::Display for Untrusted {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.state {
            TrustState::Changed => "has changed since you approved it",
            TrustState::New | TrustState::Trusted => "came with this folder and is not approved",
        };
        write!(
            formatter,
            "{} {why}; look at it and run `attache trust {}`",
            self.file.display(),
            self.file.display()
        )
    }
}

impl std::error::Error for Untrusted {}

#[cfg(test)]
mod tests {
    use super::*;
    use attache_testkit::scratch::Scratch;

    fn environment(scratch: &Scratch) -> UserEnvironment {
        let variables = [("KEY".into(), "abcdef-secret".into())];
        UserEnvironment::new(variables, scratch.path())
    }

    fn project(scratch: &Scratch, text: &str) -> Found {
        let file = scratch.path().join("attache.toml");
        std::fs::write(&file, text).unwrap();
        Found {
            file,
            origin: Origin::Project,
        }
    }

    const FILE: &str = "[servers.a]\ncommand = 'run'\nargs = ['--key', '${KEY}']\n\
                        env = { API_KEY = '${KEY}' }\n[servers.off]\ncommand = 'x'\n\
                        enabled = false\n";

    #[test]
    fn nothing_of_a_project_runs_before_it_is_approved() {
        let scratch = Scratch::new("trust").unwrap();
        let trust = Trust::in_file(scratch.path().join("state/trust.json"));
        let found = project(&scratch, FILE);
        let environment = environment(&scratch);
        let read = || Loaded::read(found.clone(), &environment, &trust).unwrap();

        let untrusted = read().into_runnable().unwrap_err();
        assert_eq!(untrusted.state, TrustState::New);
        assert_eq!(untrusted.says, AsWritten::read(FILE));
        let looked_at = read();
        assert_eq!(looked_at.config().servers.len(), 2, "it can be looked at");
        let shown = format!("{:?}", looked_at.config().servers["a"].server.transport());
        assert!(
            shown.contains("${KEY}") && !shown.contains("abcdef"),
            "{shown}"
        );

        read().approve(&trust).unwrap();
        let shown = format!("{:?}", read().config().servers["a"].server.transport());
        assert!(shown.contains("abcdef-secret"), "{shown}");
        assert!(read().into_runnable().is_ok());

        project(&scratch, &format!("{FILE}# one more byte"));
        let changed = read().into_runnable().unwrap_err();
        assert_eq!(changed.state, TrustState::Changed);
        assert!(changed.to_string().contains("has changed since"));

        project(&scratch, FILE);
        assert!(read().into_runnable().is_ok(), "the approved content again");
        trust.revoke(&found.file).unwrap();
        assert!(read().into_runnable().is_err());
    }

    #[test]
    fn what_was_shown_is_approved_and_not_what_the_file_says_by_then() {
        let scratch = Scratch::new("trust").unwrap();
        let trust = Trust::in_file(scratch.path().join("trust.json"));
        let found = project(&scratch, FILE);
        let environment = environment(&scratch);
        let shown = Loaded::read(found.clone(), &environment, &trust).unwrap();
        project(&scratch, "[servers.evil]\ncommand = 'evil'\n");
        shown.approve(&trust).unwrap();
        let now = Loaded::read(found, &environment, &trust).unwrap();
        assert_eq!(now.trust, TrustState::Changed);
    }

    #[test]
    fn the_users_own_files_need_no_approval() {
        let scratch = Scratch::new("trust").unwrap();
        let trust = Trust::in_file(scratch.path().join("trust.json"));
        for origin in [Origin::Named, Origin::User] {
            let found = Found {
                origin,
                ..project(&scratch, FILE)
            };
            let loaded = Loaded::read(found, &environment(&scratch), &trust).unwrap();
            assert!(loaded.into_runnable().is_ok());
        }
    }

    #[test]
    fn a_damaged_memory_trusts_nothing() {
        let scratch = Scratch::new("trust").unwrap();
        let store = scratch.path().join("trust.json");
        std::fs::write(&store, "{\"files\": 5}").unwrap();
        let trust = Trust::in_file(store);
        let error = trust.state(Path::new("/x"), "").unwrap_err();
        assert!(error.to_string().contains("trust.json"), "{error}");
    }
}
