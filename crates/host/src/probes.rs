//! Which servers are probed for the modern era in vain, kept on disk.
//!
//! Owns one small file for all servers of a user, those typed on the spot included. A legacy server
//! that stays silent on the probe, or leaves because of it, costs every command that wait; so it is
//! remembered by how it is started. Servers that answer are not remembered: asking them costs one
//! exchange, and what they speak may change any day.

use std::io;
use std::path::{Path, PathBuf};

use crate::config::ServerConfig;
use crate::manifest::fingerprint;
use crate::state_file;

/// The file, below the state folder.
const FILE: &str = "probed-in-vain.json";
/// How many servers are remembered; the oldest make room.
const MOST_REMEMBERED: usize = 256;

/// The servers that are probed in vain.
#[derive(Debug)]
pub(crate) struct Probes {
    path: PathBuf,
}

impl Probes {
    pub(crate) fn in_folder(state: &Path) -> Self {
        Self {
            path: state.join(FILE),
        }
    }

    /// Whether the server was probed in vain last time. A file that cannot be read knows nothing.
    pub(crate) fn are_in_vain(&self, server: &str) -> bool {
        let text = state_file::read(&self.path).ok().flatten();
        text.is_some_and(|text| listed(&text).iter().any(|known| known == server))
    }

    /// Remembers or forgets a server. Blocks for as long as the disk does.
    pub(crate) fn note(&self, server: &str, in_vain: bool) -> io::Result<()> {
        state_file::update(&self.path, |former| {
            let mut known = listed(former.as_deref().unwrap_or_default());
            known.retain(|other| other != server);
            if in_vain {
                known.push(server.to_owned());
            }
            let surplus = known.len().saturating_sub(MOST_REMEMBERED);
            known.drain(..surplus);
            serde_json::to_string(&known)
                .map(Some)
                .map_err(io::Error::from)
        })
    }
}

fn listed(text: &str) -> Vec<String> {
    serde_json::from_str(text).unwrap_or_default()
}

/// What a server is remembered by: how it is started, and from which folder.
pub(crate) fn key(config: &ServerConfig) -> String {
    let mut key = fingerprint(config);
    let launch = config.server.transport().launch();
    if launch.is_some_and(|launch| launch.cwd.is_none()) {
        // The same words may start another program elsewhere.
        let folder = std::env::current_dir().unwrap_or_default();
        key.push_str(&crate::digest::sha256_hex(
            folder.as_os_str().as_encoded_bytes(),
        ));
    }
    key
}

#[cfg(test)]
mod tests {
    use attache_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn fault_67_servers_are_remembered_and_forgotten() {
        let folder = Scratch::new("probes").unwrap();
        let probes = Probes::in_folder(folder.path());
        assert!(!probes.are_in_vain("a"));
        probes.note("a", true).unwrap();
        probes.note("b", true).unwrap();
        probes.note("a", true).unwrap();
        assert!(probes.are_in_vain("a") && probes.are_in_vain("b"));
        probes.note("a", false).unwrap();
        assert!(!probes.are_in_vain("a") && probes.are_in_vain("b"));
        std::fs::write(folder.path().join(FILE), "no list").unwrap();
        assert!(!probes.are_in_vain("b"));
    }

    #[test]
    fn the_oldest_of_too_many_make_room() {
        let folder = Scratch::new("probes").unwrap();
        let probes = Probes::in_folder(folder.path());
        let known: Vec<_> = (0..MOST_REMEMBERED).map(|n| n.to_string()).collect();
        let text = serde_json::to_string(&known).unwrap();
        std::fs::write(folder.path().join(FILE), text).unwrap();
        probes.note("new", true).unwrap();
        assert!(!probes.are_in_vain("0"));
        assert!(probes.are_in_vain("1") && probes.are_in_vain("new"));
    }
}
