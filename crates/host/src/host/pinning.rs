//! What faces ask about the definitions of tools that were approved.

use std::io;

use attache_client::protocol::Tool;

use super::Host;
use crate::error::{Error, Refuser};
use crate::policy::PinState;

impl Host {
    /// How a tool stands to what was approved; new for a server that has no pins. May read a file.
    pub fn pin_state(&self, server: &str, tool: &Tool) -> Result<PinState, Error> {
        let server_handle = self.server_handle(server)?;
        let Some(pinned) = server_handle.pinned_as() else {
            return Ok(PinState::New);
        };
        let state = self.shared().pins.state(pinned, tool);
        state.map_err(|error| unreadable(&server_handle, tool, &error))
    }

    /// Approves a tool as it is now. Writes a file, and blocks for as long as the disk does.
    pub fn accept_pin(&self, server: &str, tool: &Tool) -> Result<(), Error> {
        let server_handle = self.server_handle(server)?;
        let Some(pinned) = server_handle.pinned_as() else {
            return Ok(());
        };
        let accepted = self.shared().pins.accept(pinned, [tool]);
        accepted.map_err(|error| unreadable(&server_handle, tool, &error))
    }
}

fn unreadable(
    server: &super::server_handle::ServerHandle,
    tool: &Tool,
    error: &io::Error,
) -> Error {
    Error::Refused {
        server: server.name().clone(),
        tool: tool.name.clone(),
        by: Refuser::UnreadablePins {
            problem: error.to_string(),
        },
    }
}
