//! Changes that the user makes to `attache.toml` by typing a command.
//!
//! Owns which file is changed, and that a change is approved by the act of typing it. What was not
//! approved before is not approved along with it: then nothing is written (S3).

use std::path::{Path, PathBuf};

use attache::host::config::{ImportError, Origin, user_file, write_private};
use attache::host::trust::TrustState;

use crate::configuration::Configuration;
use crate::failure::Failure;

/// The file to write to: the one that counts, or the user's own.
pub(super) fn destination(configuration: &Configuration) -> Result<PathBuf, Failure> {
    let found = configuration.found().map(|found| found.file);
    found
        .or_else(|| user_file(&configuration.environment))
        .ok_or_else(|| {
            Failure::config("there is no folder for a configuration file")
                .hint("name one with --config FILE")
        })
}

/// The text of a file; of one that is not there, nothing.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    match std::fs::read_to_string(file) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::config(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

/// Changes the file that counts, or the user's own, and tells which it was. A change to the same
/// text is none.
pub(super) fn change<T>(
    configuration: &Configuration,
    change: impl FnOnce(&str) -> Result<(String, T), ImportError>,
) -> Result<(PathBuf, T), Failure> {
    let found = configuration.found();
    let file = destination(configuration)?;
    let is_project = found.is_some_and(|found| found.origin == Origin::Project);
    let trust = configuration.trust().filter(|_| is_project);
    let before = read(&file)?;
    if is_project {
        let state = match &trust {
            Some(trust) => trust
                .state(&file, &before)
                .map_err(|error| cannot(&file, &error))?,
            None => TrustState::New,
        };
        if state != TrustState::Trusted {
            return Err(Failure::refused(format!(
                "nothing was written: {} is not approved as it is",
                file.display()
            ))
            .hint(
                "`attache trust` shows it and approves it; --config FILE writes to another file",
            ));
        }
    }
    let (after, told) =
        change(&before).map_err(|error| Failure::config(format!("{}: {error}", file.display())))?;
    if after != before {
        write(&file, &before, &after)?;
        if let Some(trust) = trust {
            let approved = trust.approve(&file, &after);
            approved.map_err(|error| cannot(&file, &error))?;
        }
    }
    Ok((file, told))
}

/// Puts a new text in place of the one that was read.
pub(super) fn write(file: &Path, before: &str, after: &str) -> Result<(), Failure> {
    if read(file)? != before {
        let message = format!("{} has just changed", file.display());
        return Err(Failure::config(message).hint("nothing was written; try again"));
    }
    write_private(file, after).map_err(|error| cannot(file, &error))
}

fn cannot(file: &Path, error: &std::io::Error) -> Failure {
    Failure::unexpected(format!("cannot write {}: {error}", file.display()))
}
