//! Calling a tool that takes nothing but a task (2025-11-25).
//!
//! The same steps as any call up to the request itself: name, policy and pins, a running server.
//! What becomes of the task is the caller's affair.

use attache_client::protocol::{CallTool, Method as _};
use attache_client::{Error as ClientError, TaskStart};

use super::calling::{Call, permit};
use super::server_handle::{About, RequestSpan};
use crate::call_log::Recording;
use crate::error::Error;
use crate::questions::CURRENT_REQUEST;
use crate::supervisor::Patience;

impl Call {
    /// Makes the call as a task of the server. It is never repeated: a task that was begun may be
    /// running.
    pub async fn as_task(self) -> Result<TaskStart, Error> {
        let mut recording = self.recording();
        let started = self.start_task(&mut recording).await;
        recording.end(&started);
        started
    }

    async fn start_task(self, recording: &mut Recording) -> Result<TaskStart, Error> {
        let (server_handle, name) = self.host.find_tool(self.tool).await?;
        let tool = name.tool.as_str();
        let known = server_handle.known_to_calls();
        let known = known.as_ref().and_then(|tools| tools.by_name(tool));
        recording.found(tool, || server_handle.recorded(known));
        let failed = |error| Error::Request {
            server: server_handle.name().clone(),
            error,
        };
        let arguments = self.arguments.map_err(|problem| {
            failed(ClientError::Input(format!(
                "the arguments of {tool}: {problem}"
            )))
        })?;
        let about = About {
            method: CallTool::NAME,
            name: Some(tool),
            origin: Some(self.asker),
            number: server_handle.shared.events.next_request(),
        };
        if let Some(listener) = self.number {
            listener(about.number);
        }
        permit(&server_handle, &name, known, &arguments, about).await?;
        let connection = server_handle
            .connection_after(0, Patience::Persistent)
            .await?;
        let span = RequestSpan::begin(&server_handle, about);
        let started = connection.client.call_as_task(tool, arguments, None);
        let started = CURRENT_REQUEST.scope(about.number, started).await;
        span.end(&started);
        started.map_err(failed)
    }
}
