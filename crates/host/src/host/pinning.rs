//! How the tools of a server stand to what was approved, and approving them as they are shown.

use std::io;
use std::sync::Arc;

use attache_client::protocol::{Entries, Tool};

use super::Host;
use crate::config::ServerName;
use crate::error::Error;
use crate::policy::{PinState, definition_digest};
use crate::supervisor::Patience;

/// How one tool stands to what was approved.
#[derive(Clone, Debug)]
pub struct PinnedTool {
    /// Its own name.
    pub name: String,
    /// How it stands; none if the tools of this server are not pinned.
    pub state: Option<PinState>,
    /// The digest of its definition as it is now: what an approval is of.
    pub definition: String,
}

/// Why tools were not approved, or how they stand is not known.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PinError {
    /// The tools could not be asked for.
    #[error(transparent)]
    Host(#[from] Error),
    /// The server has no such tool, or describes it otherwise by now.
    #[error("{server} describes {tool} otherwise by now; look at it again")]
    Changed {
        /// The server.
        server: ServerName,
        /// The tool.
        tool: String,
    },
    /// The tools of this server are not pinned.
    #[error("the tools of {server} are not pinned")]
    Unpinned {
        /// The server.
        server: ServerName,
    },
    /// The file of pins could not be read or written.
    #[error("the pins cannot be read or written: {0}")]
    File(#[from] io::Error),
}

impl Host {
    /// How all tools of a server stand to what was approved.
    pub async fn pins(&self, server: &str) -> Result<Vec<PinnedTool>, PinError> {
        let tools = self.tools_of(server).await?;
        let each = tools.iter().map(|tool| self.pin_of(server, tool));
        each.collect()
    }

    /// How one tool of a server, as it is described here, stands to what was approved.
    pub fn pin_of(&self, server: &str, tool: &Tool) -> Result<PinnedTool, PinError> {
        let server_handle = self.server_handle(server)?;
        let state = match server_handle.pinned_as() {
            Some(pinned) => Some(self.shared().pins.state(pinned, tool)?),
            None => None,
        };
        Ok(PinnedTool {
            name: tool.name.clone(),
            state,
            definition: definition_digest(tool),
        })
    }

    /// Approves tools as they were shown: each name with the digest of its definition (S4). If one
    /// of them is described otherwise by now, none is approved.
    pub async fn accept_pins(
        &self,
        server: &str,
        shown: &[(String, String)],
    ) -> Result<(), PinError> {
        let tools = self.tools_of(server).await?;
        let server_handle = self.server_handle(server)?;
        let name = server_handle.name().clone();
        let mut accepted: Vec<Tool> = Vec::with_capacity(shown.len());
        for (tool, definition) in shown {
            let found = tools.by_name(tool);
            match found.filter(|found| definition_digest(found) == *definition) {
                Some(found) => accepted.push(found.clone()),
                None => {
                    let (server, tool) = (name, tool.clone());
                    return Err(PinError::Changed { server, tool });
                }
            }
        }
        let Some(pinned) = server_handle.pinned_as().cloned() else {
            return Err(PinError::Unpinned { server: name });
        };
        let pins = self.shared().pins.clone();
        let write = tokio::task::spawn_blocking(move || pins.accept(&pinned, &accepted));
        write.await.map_err(io::Error::other)??;
        Ok(())
    }

    async fn tools_of(&self, server: &str) -> Result<Arc<Entries<Tool>>, Error> {
        let server_handle = self.server_handle(server)?;
        Ok(server_handle.list::<Tool>(Patience::FirstFailure).await?.0)
    }
}
