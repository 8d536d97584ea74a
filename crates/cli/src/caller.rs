//! Who makes the calls of a command that makes many: its own host, or the process that keeps the
//! servers running.

use std::collections::HashMap;
use std::sync::Arc;

use attache::host::Host;
use attache::host::config::ServerName;
use attache::host::names::ToolName;
use attache::host::policy::CallOrigin;
use attache::protocol::{Json, Payload, ProgressParams, Tool};
use attache_attach::{RemoteCall, RemoteHost};
use parking_lot::Mutex;

use crate::ask::TerminalQuestions;
use crate::attached::{self, conclude};
use crate::failure::Failure;

/// Makes calls, as many at a time as are asked for. Cheap to clone.
#[derive(Clone)]
pub(crate) enum Caller {
    /// The command's own host.
    Own(Host),
    /// The process that keeps the servers running.
    Attached(Arc<Attached>),
}

/// What calls there have in common.
pub(crate) struct Attached {
    pub(crate) host: RemoteHost,
    /// A call without a tool and arguments.
    pub(crate) usual: RemoteCall,
    pub(crate) terminal: TerminalQuestions,
    /// The servers that the command is about.
    pub(crate) servers: Vec<ServerName>,
    /// Tools that were found by a name which does not say their server.
    pub(crate) found: Mutex<HashMap<String, ToolName>>,
}

impl Caller {
    /// Calls a tool that a person named, and gives its result as the server sent it.
    pub(crate) async fn call(&self, tool: &str, arguments: Json) -> Result<Payload, Failure> {
        match self {
            Self::Own(host) => {
                let call = host.call_json(tool, arguments).origin(CallOrigin::Person);
                Ok(call.raw().await?)
            }
            Self::Attached(attached) => Box::pin(attached.call(tool, arguments)).await,
        }
    }
}

impl Attached {
    async fn call(&self, tool: &str, arguments: Json) -> Result<Payload, Failure> {
        let ToolName { server, tool } = self.find(tool).await?;
        let call = RemoteCall {
            server: server.to_string(),
            tool,
            arguments,
            ..self.usual.clone()
        };
        let made = async {
            let call = self.host.call(&call).await?;
            conclude(call, &self.host, None::<fn(ProgressParams)>, &self.terminal).await
        };
        let failed = |error| attached::call_failure(error, server.as_str());
        made.await.map_err(failed)
    }

    /// Whose tool a name means. A name that says it, and the only server there is, are believed as a
    /// host believes them.
    async fn find(&self, name: &str) -> Result<ToolName, Failure> {
        if let Some((server, own)) = name.split_once('/')
            && let Some(server) = self.servers.iter().find(|it| it.as_str() == server)
            && !own.is_empty()
        {
            return Ok(ToolName::new(server.clone(), own));
        }
        if let [only] = self.servers.as_slice() {
            return Ok(ToolName::new(only.clone(), name));
        }
        if let Some(known) = self.found.lock().get(name) {
            return Ok(known.clone());
        }
        let found = self.host.find::<Tool>(name, None).await;
        let found = found.map_err(attached::failure)?;
        let found = ToolName::new(found.server, found.entry.name);
        self.found.lock().insert(name.to_owned(), found.clone());
        Ok(found)
    }
}
