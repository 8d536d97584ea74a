//! Where this workspace's binaries are, from within a test of any crate.
//!
//! Cargo names a binary's path only to tests of the binary's own package. This
//! module looks beside the running test, and builds what is missing or older
//! than its sources. Refuses to know what the binaries do.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// The chaos server.
pub fn chaos_server() -> io::Result<PathBuf> {
    let sources = [workspace().join("crates/testkit/src")];
    binary("attache-testkit", "chaos-server", &sources)
}

/// The `attache` command.
pub fn attache() -> io::Result<PathBuf> {
    let crates = std::fs::read_dir(workspace().join("crates"));
    let sources: Vec<_> = crates
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| !folder.ends_with("testkit"))
        // What is embedded counts as much as what is compiled.
        .flat_map(|folder| [folder.join("src"), folder.join("assets")])
        .filter(|folder| folder.is_dir())
        .collect();
    binary("attache-cli", "attache", &sources)
}

/// The path of a workspace binary, built if it is missing or older than a file
/// under the folders `sources`.
pub fn binary(package: &str, name: &str, sources: &[PathBuf]) -> io::Result<PathBuf> {
    static FOUND: Mutex<Option<HashMap<String, PathBuf>>> = Mutex::new(None);
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let found = found.get_or_insert_default();
    if let Some(path) = found.get(name) {
        return Ok(path.clone());
    }
    let profile = profile_folder()?;
    let path = profile.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    if is_stale(&path, sources) {
        build(package, name, &profile)?;
    }
    if !path.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::NotFound,
            format!(
                "{} was not built; run: cargo build -p {package} --bin {name}",
                path.display()
            ),
        ));
    }
    found.insert(name.to_owned(), path.clone());
    Ok(path)
}

/// The path of an example, which Cargo builds with the tests of its package.
pub fn example(package: &str, name: &str) -> io::Result<PathBuf> {
    let file = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = profile_folder()?.join("examples").join(file);
    if path.is_file() {
        return Ok(path);
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        format!(
            "{} is missing; run: cargo build -p {package} --example {name}",
            path.display()
        ),
    ))
}

/// The folder `target/<profile>` that the running test was built into. Doc
/// tests run from elsewhere and get the folder of an ordinary build.
fn profile_folder() -> io::Result<PathBuf> {
    let test = std::env::current_exe()?;
    let within = test
        .ancestors()
        .find(|folder| folder.ends_with("deps") || folder.ends_with("examples"));
    if let Some(profile) = within.and_then(Path::parent) {
        return Ok(profile.to_owned());
    }
    let beside = test.parent().map(Path::to_owned).unwrap_or_default();
    if beside.join(".cargo-lock").exists() {
        return Ok(beside);
    }
    let target = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| workspace().join("target"), PathBuf::from);
    Ok(target.join("debug"))
}

/// The folder of the workspace.
pub(crate) fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .map(Path::to_owned)
        .unwrap_or_default()
}

/// Cargo does not rebuild another package's binary for a test, so an old one
/// could be lying there. Without the sources at hand any binary will do.
fn is_stale(binary: &Path, sources: &[PathBuf]) -> bool {
    let Ok(built) = std::fs::metadata(binary).and_then(|found| found.modified()) else {
        return true;
    };
    let newest = sources
        .iter()
        .filter_map(|source| newest_change(source))
        .max();
    newest.is_some_and(|changed| changed > built)
}

fn newest_change(path: &Path) -> Option<SystemTime> {
    if path.is_dir() {
        let entries = std::fs::read_dir(path).ok()?;
        return entries
            .filter_map(|entry| newest_change(&entry.ok()?.path()))
            .max();
    }
    let ending = path.extension()?.to_str()?;
    if !["rs", "js", "css", "html", "svg"].contains(&ending) {
        return None;
    }
    std::fs::metadata(path).ok()?.modified().ok()
}

/// Several tests may do this at once: cargo lets one work and the others wait.
fn build(package: &str, name: &str, profile: &Path) -> io::Result<()> {
    let folder_name = profile.file_name().and_then(|name| name.to_str());
    let profile_name = match folder_name {
        Some("debug") | None => "dev",
        Some(other) => other,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = profile.parent().unwrap_or(profile);
    let output = Command::new(cargo)
        .current_dir(workspace())
        .args(["build", "--quiet", "--package", package, "--bin", name])
        .args(["--profile", profile_name, "--target-dir"])
        .arg(target)
        .stdin(Stdio::null())
        .output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!(
        "building {name} failed:\n{}",
        String::from_utf8_lossy(&output.stderr)
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_is_found_beside_the_test() {
        let found = chaos_server().unwrap();
        assert!(found.is_file());
        assert_eq!(found.parent(), Some(profile_folder().unwrap().as_path()));
    }

    #[test]
    fn a_binary_that_cannot_be_built_says_so() {
        let error = binary("attache-testkit", "no-such-binary", &[]).unwrap_err();
        let message = error.to_string();
        assert!(
            message.starts_with("building no-such-binary failed:"),
            "{message}"
        );
    }

    #[test]
    fn an_example_that_was_not_built_says_how() {
        let error = example("attache-testkit", "no-such-example").unwrap_err();
        let remedy = "run: cargo build -p attache-testkit --example no-such-example";
        assert!(error.to_string().ends_with(remedy), "{error}");
    }

    #[test]
    fn a_binary_older_than_its_sources_is_stale() {
        let folder = crate::scratch::Scratch::new("stale").unwrap();
        let binary = folder.path().join("binary");
        let sources = [folder.path().join("src")];
        std::fs::create_dir(&sources[0]).unwrap();
        assert!(is_stale(&binary, &sources));
        std::fs::write(&binary, b"").unwrap();
        assert!(!is_stale(&binary, &sources));
        let source = std::fs::File::create(sources[0].join("new.rs")).unwrap();
        let later = SystemTime::now() + std::time::Duration::from_secs(60);
        source.set_modified(later).unwrap();
        assert!(is_stale(&binary, &sources));
    }
}
