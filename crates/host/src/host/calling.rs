//! Calling a tool: name, policy and pins, a running server, the connection, outdated caches.

use std::borrow::Cow;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::{
    CallTool, CallToolResult, Json, Method as _, Payload, ProgressParams, Tool,
};
use attache_client::{Client, Error as ClientError, Request};
use serde::Serialize;

use super::Host;
use super::options::RequestOptions;
use super::server_handle::{About, ServerHandle};
use crate::call_log::{Recordable, Recording, WantedRecord};
use crate::config::{Decision, ReadOnlyHint, ServerName};
use crate::error::{Error, Refuser};
use crate::names::{ToolName, ToolReference};
use crate::policy::{CallOrigin, Hints, Reason, Refused, Verdict, WantedCall, decide};
use crate::supervisor::Patience;

/// A call that is made when it is awaited. Dropping it, or the future it becomes, cancels it.
#[must_use = "a call is made when it is awaited"]
pub struct Call {
    pub(super) host: Host,
    pub(super) tool: ToolReference,
    pub(super) arguments: Result<Json, String>,
    options: RequestOptions,
    pub(super) asker: CallOrigin,
    pub(super) number: Option<Box<dyn FnOnce(u64) + Send>>,
}

impl Host {
    /// Calls a tool by its qualified name, by its plain name while only one server has it, by its
    /// name for model providers, or as [`resolve`](Self::resolve) has found it. Unless
    /// [`Call::origin`] says otherwise, a program wants it, so the policy may ask the user.
    pub fn call(&self, tool: impl Into<ToolReference>, arguments: impl Serialize) -> Call {
        let arguments = Json::from_serialize(&arguments).map_err(|error| error.to_string());
        self.call_of(tool.into(), arguments)
    }

    /// The same with arguments that are JSON already, and need not be written anew.
    pub fn call_json(&self, tool: impl Into<ToolReference>, arguments: Json) -> Call {
        self.call_of(tool.into(), Ok(arguments))
    }

    fn call_of(&self, tool: ToolReference, arguments: Result<Json, String>) -> Call {
        Call {
            host: self.clone(),
            tool,
            arguments,
            options: RequestOptions::default(),
            asker: CallOrigin::Program,
            number: None,
        }
    }
}

impl Call {
    /// How long to wait without a sign of progress.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// How long to wait altogether, however much progress there is.
    pub fn maximum(mut self, maximum: Duration) -> Self {
        self.options.maximum = Some(maximum);
        self
    }

    /// Sends metadata along. What the protocol itself says there stays.
    pub fn meta(mut self, key: impl Into<String>, value: Json) -> Self {
        self.options.meta.push((key.into(), value));
        self
    }

    /// Asks the server for progress and listens to it.
    pub fn on_progress(mut self, listener: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.listen(listener);
        self
    }

    /// Who wants the call. A person's is its own consent where no rule says to ask.
    pub fn origin(mut self, asker: CallOrigin) -> Self {
        self.asker = asker;
        self
    }

    /// Tells the call's number in this host as soon as it has one, which is before anything is
    /// asked about it.
    pub fn numbered(mut self, listener: impl FnOnce(u64) + Send + 'static) -> Self {
        self.number = Some(Box::new(listener));
        self
    }

    /// Makes the call and gives its result as the server sent it.
    pub fn raw(self) -> impl Future<Output = Result<Payload, Error>> + Send {
        self.make(Request::raw)
    }

    async fn make<R, F>(self, send: fn(Request<CallTool>) -> F) -> Result<R, Error>
    where
        R: Recordable,
        F: Future<Output = Result<R, ClientError>> + Send,
    {
        let mut recording = self.recording();
        let answer = self.attempt(send, &mut recording).await;
        recording.end(&answer);
        answer
    }

    /// Begins to write the call down, if calls are.
    pub(super) fn recording(&self) -> Recording {
        Recording::begin(self.host.call_log(), || WantedRecord {
            method: CallTool::NAME,
            name: match &self.tool {
                ToolReference::Given(name) => name.clone(),
                ToolReference::Resolved(name) => name.to_string(),
            },
            arguments: self.arguments.as_ref().ok().cloned(),
            origin: Some(self.asker),
        })
    }

    async fn attempt<R, F>(
        mut self,
        send: fn(Request<CallTool>) -> F,
        recording: &mut Recording,
    ) -> Result<R, Error>
    where
        F: Future<Output = Result<R, ClientError>> + Send,
    {
        let (server_handle, name) = self.host.find_tool(self.tool).await?;
        let tool = name.tool.as_str();
        let known = server_handle.known_to_calls();
        let known = known.as_ref().and_then(|tools| tools.by_name(tool));
        recording.found(tool, || server_handle.recorded(known));
        self.options.record(recording, &server_handle);
        let arguments = self.arguments.map_err(|problem| Error::Request {
            server: server_handle.name().clone(),
            error: ClientError::Input(format!("the arguments of {tool}: {problem}")),
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
        let mut outdating = Outdating::new(&server_handle, tool);
        let options = self.options;
        let work = |client: Client| {
            let request = client.call(tool, &arguments);
            send(options.apply(request, &server_handle, about.number))
        };
        let repeatable = server_handle.repeatable(tool);
        outdating.arm();
        let answer = server_handle
            .request(about, repeatable, Patience::Persistent, work)
            .await;
        if answer.as_ref().is_err_and(was_never_sent) {
            outdating.disarm();
        }
        answer
    }
}

impl IntoFuture for Call {
    type Output = Result<CallToolResult, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make(Request::into_future))
    }
}

/// Whether it is certain that the server has never seen the request.
fn was_never_sent(error: &Error) -> bool {
    match error {
        Error::Request { error, .. } => matches!(
            error,
            ClientError::NotSent { .. } | ClientError::Input(_) | ClientError::Unsupported { .. }
        ),
        _ => true,
    }
}

/// Makes everything remembered of a server stale after a call that changes it, however the call
/// ends: also a call that was dropped may have had its effect.
struct Outdating<'a> {
    server_handle: &'a ServerHandle,
    applies: bool,
    armed: bool,
}

impl<'a> Outdating<'a> {
    fn new(server_handle: &'a ServerHandle, tool: &str) -> Self {
        let patterns = &server_handle.config().cache.invalidate_after;
        Self {
            server_handle,
            applies: patterns.iter().any(|pattern| pattern.matches(tool)),
            armed: false,
        }
    }

    fn arm(&mut self) {
        self.armed = self.applies;
    }

    fn disarm(&mut self) {
        self.armed = false;
    }
}

impl Drop for Outdating<'_> {
    fn drop(&mut self) {
        if self.armed {
            self.server_handle.everything_changed();
        }
    }
}

/// Asks the policy, the pins, and where they say so the user. `known` is how the server described
/// the tool lately.
///
/// A person's call of a tool that was never pinned needs no definition to decide about it: it is
/// its own consent, and there is nothing the definition could have drifted from. So it costs no
/// list. Only a rule can forbid it, or have the person asked.
pub(super) async fn permit(
    server_handle: &Arc<ServerHandle>,
    name: &ToolName,
    known: Option<&Tool>,
    arguments: &Json,
    about: About<'_>,
) -> Result<(), Error> {
    let asker = about.origin.unwrap_or(CallOrigin::Program);
    let config = server_handle.config();
    let tool = name.tool.as_str();
    if !config.tool_filter.passes(tool) {
        return Err(Error::NotOffered {
            kind: "tool",
            name: name.to_string(),
            nearest: None,
            unasked: Vec::new(),
        });
    }
    let shared = &server_handle.shared;
    let gate = shared.gate();
    let server = server_handle.pinned_as();
    let binds = match server {
        Some(server) => shared.pins.binds(server, tool).unwrap_or(true),
        None => false,
    };
    if asker == CallOrigin::Person && known.is_none() && !binds {
        let verdict = decide(gate.rules(), &config.policy, name, Hints::default());
        let hint_counts = config.policy.read_only.or(gate.rules().read_only);
        let hint_counts = hint_counts == Some(ReadOnlyHint::Believe);
        match (verdict.decision, &verdict.reason) {
            (Decision::Allow, _) | (Decision::Ask, Reason::Unconfigured) => return Ok(()),
            // What the tool claims about itself may lift a default.
            (Decision::Deny, Reason::Default(_)) if hint_counts => {}
            (Decision::Deny, _) => return Err(refused_by_policy(name, &verdict)),
            // The question shows what the tool is.
            (Decision::Ask, _) => {}
        }
    }
    let definition = match known {
        Some(known) => Cow::Borrowed(known),
        // Boxed, so that calls which need no list are small and cheap to move.
        None => Cow::Owned(Box::pin(definition(server_handle, tool)).await?),
    };
    let passed = gate.pass(WantedCall {
        name,
        server,
        rules: &config.policy,
        tool: &definition,
        arguments,
        asker,
        request: about.number,
    });
    match passed.await {
        Ok(permit) => {
            if let Some(problem) = permit.not_stored {
                server_handle.could_not_store(problem);
            }
            Ok(())
        }
        Err(Refused::Policy { verdict, .. }) => Err(refused_by_policy(name, &verdict)),
        Err(Refused::NobodyToAsk { verdict, .. }) => {
            let rule = verdict.to_string();
            Err(refused(name, Refuser::NobodyToAsk { rule }))
        }
        Err(Refused::Drifted(drift)) => {
            let difference = drift.paths.join(", ");
            let lock = drift.lock;
            Err(refused(name, Refuser::Drift { difference, lock }))
        }
        Err(Refused::NotLocked { file, .. }) => Err(refused(name, Refuser::NotLocked { file })),
        Err(Refused::Unreadable { problem, .. }) => {
            Err(refused(name, Refuser::UnreadablePins { problem }))
        }
    }
}

fn refused_by_policy(name: &ToolName, verdict: &Verdict) -> Error {
    let because = verdict.to_string();
    let by = match verdict.reason {
        Reason::Asked | Reason::Answered(_) => Refuser::User { reason: because },
        _ => Refuser::Policy { rule: because },
    };
    refused(name, by)
}

fn refused(name: &ToolName, by: Refuser) -> Error {
    Error::Refused {
        server: name.server.clone(),
        tool: name.tool.clone(),
        by,
    }
}

/// How the server describes the tool now.
async fn definition(server_handle: &Arc<ServerHandle>, tool: &str) -> Result<Tool, Error> {
    let (tools, _) = server_handle.list::<Tool>(Patience::Persistent).await?;
    if let Some(tool) = tools.by_name(tool) {
        return Ok(tool.clone());
    }
    let names = tools.iter().map(|tool| tool.name.as_str());
    Err(Error::NotOffered {
        kind: "tool",
        name: format!("{}/{tool}", server_handle.name()),
        nearest: crate::nearest(tool, names).map(|near| qualified(server_handle.name(), near)),
        unasked: Vec::new(),
    })
}

fn qualified(server: &ServerName, own: &str) -> String {
    format!("{server}/{own}")
}
