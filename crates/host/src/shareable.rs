//! What has to be the same for two processes to mean the same servers by a configuration.
//!
//! A process that runs in the background keeps servers for others. One that would have started them
//! differently must not be given them: another text of the file, other values of the variables that
//! it names or that programs inherit, another lock file, another state folder.

use std::collections::BTreeSet;
use std::path::Path;

use attache_client::process::ALLOWED_VARIABLES;

use crate::config::{UserEnvironment, references};
use crate::digest::sha256_hex;
use crate::trust::Loaded;

/// Inherited variables that differ from one terminal to the next and change nothing for a server
/// that has none.
const OF_THE_TERMINAL: &[&str] = &["TERM", "SHELL"];
/// Variables that say how the network is reached, in upper case.
const OF_THE_NETWORK: &[&str] = &["ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"];

/// A digest of everything that decides how the servers of a configuration are started and what may
/// be called of them. `lock` is the text of its lock file.
pub fn shareable(loaded: &Loaded, environment: &UserEnvironment, lock: Option<&str>) -> String {
    let mut parts = vec![
        env!("CARGO_PKG_VERSION").to_owned(),
        path_digest(&loaded.found.file),
        format!("{:?}", loaded.found.origin),
        sha256_hex(loaded.text.as_bytes()),
        lock.map_or_else(String::new, |text| sha256_hex(text.as_bytes())),
        environment
            .state_folder()
            .map_or_else(String::new, |folder| path_digest(&folder)),
    ];
    let named = references(&loaded.text).into_iter();
    let inherited = environment
        .variable_names()
        .filter(|name| is_inherited(name));
    let names: BTreeSet<&str> = named.chain(inherited).collect();
    for name in names {
        let value = environment.variable(name);
        let value = value.map_or_else(String::new, |value| sha256_hex(value.as_bytes()));
        parts.push(format!("{name}={value}"));
    }
    sha256_hex(parts.join("\n").as_bytes())
}

/// A digest of a path.
pub fn path_digest(path: &Path) -> String {
    sha256_hex(path.as_os_str().as_encoded_bytes())
}

fn is_inherited(name: &str) -> bool {
    let folders = name.ends_with("_HOME") || name.ends_with("_DIRS");
    (ALLOWED_VARIABLES.contains(&name) && !OF_THE_TERMINAL.contains(&name))
        || name.starts_with("LC_")
        || (name.starts_with("XDG_") && folders)
        || OF_THE_NETWORK.contains(&name.to_ascii_uppercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Found, Origin};
    use crate::trust::Trust;
    use attache_testkit::scratch::Scratch;

    #[test]
    fn whatever_changes_a_server_changes_the_digest_and_nothing_else_does() {
        let scratch = Scratch::new("shareable").unwrap();
        let file = |name: &str, text: &str| scratch.write(name, text).unwrap();
        let text = "[servers.a]\ncommand = \"a\"\nenv = { K = \"${TOKEN:-}\" }\n";
        let digest = |path: &Path, variables: &[(&str, &str)], lock: Option<&str>| {
            let variables = variables.iter().map(|(name, it)| (name.into(), it.into()));
            let environment = UserEnvironment::new(variables, "/");
            let found = Found {
                file: path.to_path_buf(),
                origin: Origin::User,
            };
            let trust = Trust::in_file(scratch.path().join("trust"));
            let loaded = Loaded::read(found, &environment, &trust).unwrap();
            shareable(&loaded, &environment, lock)
        };
        let one = file("one.toml", text);
        let home = ("HOME", "/home/ada");
        let same = digest(&one, &[home], None);
        for variables in [&[home, ("TERM", "xterm")][..], &[home, ("SHLVL", "3")]] {
            assert_eq!(digest(&one, variables, None), same, "{variables:?}");
        }
        for variables in [
            &[home, ("TOKEN", "x")][..],
            &[home, ("PATH", "/bin")],
            &[home, ("https_proxy", "http://p")],
            &[home, ("XDG_DATA_HOME", "/d")],
            &[("HOME", "/home/eve")],
        ] {
            assert_ne!(digest(&one, variables, None), same, "{variables:?}");
        }
        assert_ne!(digest(&one, &[home], Some("{}")), same);
        assert_ne!(digest(&file("two.toml", text), &[home], None), same);
        file("one.toml", &format!("{text}\n"));
        assert_ne!(digest(&one, &[home], None), same);
    }
}
