//! What `scripts/install-test-servers` installs: servers that others wrote, and the official
//! conformance suite.
//!
//! Owns where these files are. Refuses to know how they are run.

use std::path::PathBuf;

use crate::binaries;

/// The variable that names the folder, if it is not `.test-deps` in the workspace.
const FOLDER_VARIABLE: &str = "ATTACHE_TEST_DEPS";

/// A file of the folder with everything installed.
///
/// # Panics
///
/// If it is not there: a test that needs it must not pass without it.
#[track_caller]
pub fn installed(path: &str) -> PathBuf {
    let folder = std::env::var_os(FOLDER_VARIABLE)
        .map_or_else(|| binaries::workspace().join(".test-deps"), PathBuf::from);
    let file = folder.join(path);
    assert!(
        file.exists(),
        "{} is missing; run scripts/install-test-servers first",
        file.display()
    );
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic = "no/such/server is missing; run scripts/install-test-servers first"]
    fn a_server_that_is_not_installed_fails_the_test() {
        installed("no/such/server");
    }
}
