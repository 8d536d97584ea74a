//! `attache.lock`: definitions of tools that a project, or a user, has written down.
//!
//! It lies beside the configuration file and can be shared in a version control system, so it is a
//! file of the project: it can forbid what the user's own pins allow and never the other way round
//! (S26). A server that it names has exactly the tools that it lists. It is JSON in a fixed order,
//! so that its changes read well.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use attache_client::protocol::Tool;
use serde::{Deserialize, Serialize};

use super::definition::Tools;
use super::pins::pins_of;
use crate::config::ServerName;
use crate::state_file;

/// The version of the file's form.
const VERSION: u32 = 1;

/// A lock file as it was when it was read.
#[derive(Clone, Debug)]
pub struct Lock {
    file: PathBuf,
    stored: Stored,
}

#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    servers: BTreeMap<String, Tools>,
}

impl Lock {
    /// Reads a lock file, if there is one. A file that cannot be understood, or in which a digest
    /// does not belong to its definition, is an error: what it forbids would be overlooked.
    pub fn read(file: &Path) -> io::Result<Option<Self>> {
        let Some(text) = state_file::read(file)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            file: file.to_path_buf(),
            stored: parse(file, &text)?,
        }))
    }

    /// Writes down the tools of one server as they are now, in place of what the file said about
    /// that server. Other servers in it stay.
    pub fn write<'a>(
        file: &Path,
        server: &ServerName,
        tools: impl IntoIterator<Item = &'a Tool>,
    ) -> io::Result<()> {
        let pins = pins_of(tools);
        state_file::update::<io::Error>(file, |text| {
            let mut stored = match text {
                Some(text) => parse(file, &text)?,
                None => Stored {
                    version: VERSION,
                    servers: BTreeMap::new(),
                },
            };
            stored.servers.insert(server.to_string(), pins);
            let mut text = serde_json::to_string_pretty(&stored)?;
            text.push('\n');
            Ok(Some(text))
        })
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What it says about a server's tools, if it names the server.
    pub(super) fn tools(&self, server: &ServerName) -> Option<&Tools> {
        self.stored.servers.get(server.as_str())
    }
}

fn parse(file: &Path, text: &str) -> io::Result<Stored> {
    let invalid = |why: String| {
        let message = format!("{}: {why}; mend it or write it anew", file.display());
        io::Error::new(io::ErrorKind::InvalidData, message)
    };
    let stored: Stored = serde_json::from_str(text)
        .map_err(|error| invalid(format!("this is no lock file: {error}")))?;
    if stored.version != VERSION {
        return Err(invalid(format!(
            "version {} is not known, only {VERSION}",
            stored.version
        )));
    }
    for (server, tools) in &stored.servers {
        for (tool, pin) in tools {
            if !pin.is_sound() {
                return Err(invalid(format!(
                    "the digest of {server}/{tool} does not belong to its definition"
                )));
            }
        }
    }
    Ok(stored)
}
