//! The methods that run what an author registered: calling tools, reading resources, getting
//! prompts, completing arguments.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use attache_protocol::{
    CallTool, CallToolResult, ClientCapabilities, CompleteParams, CompletionReference, Content,
    Era, ErrorObject, GetPrompt, GetPromptResult, Implementation, Json, LogLevel, Method,
    ProgressToken, ReadResourceResult, Revision, codes,
};
use parking_lot::Mutex;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::Notify;

use super::params::invalid;
use super::running::drive;
use super::task_methods::drive_detachable;
use super::{Asked, encode, older};
use crate::asking::Asking;
use crate::caching::Caching;
use crate::completion::{self, Typed};
use crate::context::{Call, Context, Detaching};
use crate::failure::Failure;
use crate::prompt::PromptArguments;
use crate::rounds::{RoundParams, Rounds, digest_of};
use crate::service::{Answer, Outlet, Work};
use crate::tool::{HandlerFuture, PreparedTool, TaskStart, TaskSupport};

/// What is known of the client for one request.
pub(super) struct Client {
    pub(super) revision: Revision,
    pub(super) capabilities: Arc<ClientCapabilities>,
    pub(super) identity: Option<Arc<Implementation>>,
    pub(super) log_level: Option<LogLevel>,
    pub(super) progress_token: Option<ProgressToken>,
}

impl Asked<'_> {
    pub(super) fn call_tool(&self, client: Client) -> Work {
        let prepared = self.params.name().and_then(|name| {
            let catalog = self.kernel.catalog();
            let tool = catalog.tools.get(&name).cloned();
            tool.ok_or_else(|| invalid(format!("there is no tool \"{name}\"")))
        });
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(error) => return self.refuse(&error),
        };
        let (arguments, value) = match object(self.params.arguments) {
            Ok(both) => both,
            Err(error) => return self.refuse(&error),
        };
        if let Err(complaint) = prepared.check_arguments(&value) {
            return self.bad_arguments(&client, &prepared, &complaint);
        }
        if prepared.tool.tasks != TaskSupport::Forbidden {
            match self.becomes_task(&client, &prepared) {
                Ok(None) => {}
                Ok(Some(ttl)) if is_at_once(&client, &prepared) => {
                    return self.begin_task(client, prepared, arguments, ttl);
                }
                Ok(Some(_)) => return self.call_detachable(client, prepared, arguments),
                Err(error) => return self.refuse(&error),
            }
        }
        let call = match self.begin(client, Some(&prepared.tool.description.name)) {
            Ok(call) => call,
            Err(error) => return self.refuse(&error),
        };
        let digest = self.digest(&call, &prepared.tool.description.name);
        let context = Context::new(Arc::clone(&call));
        // Also what a handler does before its future begins is done where a panic is contained.
        drive(call, digest, async move {
            let outcome = (prepared.tool.handler)(context.clone(), arguments).await;
            answer_tool(&context.call, &prepared, outcome)
        })
    }

    /// A call that may become a task while it runs.
    fn call_detachable(
        &self,
        client: Client,
        prepared: Arc<PreparedTool>,
        arguments: Json,
    ) -> Work {
        let name = &prepared.tool.description.name;
        let call = match self.begin(client, Some(name)) {
            Ok(call) => call,
            Err(error) => return self.refuse(&error),
        };
        call.lock().detaching = Detaching::Possible;
        let digest = self.digest(&call, name);
        let work = begun(&prepared, &call, arguments);
        drive_detachable(call, digest, prepared, work)
    }

    /// Bad values are a tool's error from 2025-11-25 on, so that a model can do better
    /// (S-TOOL-09).
    fn bad_arguments(&self, client: &Client, prepared: &PreparedTool, complaint: &str) -> Work {
        let name = &prepared.tool.description.name;
        let message = format!("the arguments of \"{name}\" do not satisfy its schema: {complaint}");
        if !client.revision.features().argument_errors_are_results {
            return self.refuse(&invalid(message));
        }
        let result = CallToolResult {
            content: vec![Content::text(message)],
            is_error: true,
            ..CallToolResult::default()
        };
        Work::Done(encode::complete(
            self.kernel,
            client.revision,
            &self.id,
            result,
        ))
    }

    pub(super) fn read_resource(&self, client: Client) -> Work {
        let uri = match self.params.uri() {
            Ok(uri) => uri,
            Err(error) => return self.refuse(&error),
        };
        let Some(readable) = self.kernel.catalog().readable(&uri) else {
            return self.refuse(&in_era(client.revision, self.kernel.unknown_resource(&uri)));
        };
        let call = match self.begin(client, Some(&uri)) {
            Ok(call) => call,
            Err(error) => return self.refuse(&error),
        };
        let digest = self.digest(&call, &uri);
        let caching = readable.caching.unwrap_or(self.kernel.caching);
        let context = Context::new(Arc::clone(&call));
        drive(call, digest, async move {
            let outcome = (readable.handler)(context.clone(), readable.reading).await;
            answer_read(&context.call, caching, outcome)
        })
    }

    pub(super) fn get_prompt(&self, client: Client) -> Work {
        let name = match self.params.name() {
            Ok(name) => name,
            Err(error) => return self.refuse(&error),
        };
        let catalog = self.kernel.catalog();
        let Some(prompt) = catalog.prompts.get(&name) else {
            return self.refuse(&invalid(format!("there is no prompt \"{name}\"")));
        };
        let arguments: Result<PromptArguments, _> =
            serde_json::from_str(self.params.arguments.map_or("{}", RawValue::get));
        let arguments = match arguments {
            Ok(arguments) => arguments,
            Err(error) => {
                let message = format!("the arguments of a prompt are strings: {error}");
                return self.refuse(&invalid(message));
            }
        };
        if let Err(failure) = prompt.check_arguments(&arguments) {
            return self.refuse(&failure.into_error());
        }
        let call = match self.begin(client, Some(&name)) {
            Ok(call) => call,
            Err(error) => return self.refuse(&error),
        };
        let digest = self.digest(&call, &name);
        let context = Context::new(Arc::clone(&call));
        let handler = Arc::clone(&prompt.handler);
        drive(call, digest, async move {
            match handler(context.clone(), arguments).await {
                Ok(result) => answer_prompt(&context.call, result),
                Err(failure) => refuse(&context.call, failure.into_error()),
            }
        })
    }

    pub(super) fn complete(&self, client: Client) -> Work {
        let params: CompleteParams = match self.params.decode() {
            Ok(params) => params,
            Err(error) => return self.refuse(&error),
        };
        let catalog = self.kernel.catalog();
        let completers = match &params.reference {
            CompletionReference::Prompt { name, .. } => {
                catalog.prompts.get(name).map(|it| &it.completers)
            }
            CompletionReference::Resource { uri } => {
                catalog.templates.get(uri).map(|it| &it.template.completers)
            }
        };
        let Some(completers) = completers else {
            return self.refuse(&invalid("there is nothing of that name to complete"));
        };
        let Some(completer) = completers.of(&params.argument.name) else {
            // An argument nobody completes has no values, which is no mistake of the client.
            let result = completion::answer(Vec::new());
            return Work::Done(encode::complete(
                self.kernel,
                client.revision,
                &self.id,
                result,
            ));
        };
        let typed = Typed {
            value: params.argument.value,
            chosen: params.context.unwrap_or_default().arguments,
        };
        let call = match self.begin(client, None) {
            Ok(call) => call,
            Err(error) => return self.refuse(&error),
        };
        let completing = Arc::clone(&call);
        drive(call, String::new, async move {
            match completer.values(typed).await {
                Ok(values) => finish(&completing, completion::answer(values)),
                Err(failure) => refuse(&completing, failure.into_error()),
            }
        })
    }

    /// The call of this request. With a target it may ask the client (S-MRTR-02).
    fn begin(&self, client: Client, target: Option<&str>) -> Result<Arc<Call>, ErrorObject> {
        let asking = match (client.revision.era(), target) {
            (Era::Legacy, _) => Asking::Requests(None),
            (Era::Modern, None) => Asking::Never,
            (Era::Modern, Some(target)) => Asking::Rounds(Rounds::read(
                self.kernel,
                &self.session.principal,
                &self.round_params(target),
            )?),
        };
        Ok(self.call(client, asking))
    }

    pub(super) fn call(&self, client: Client, asking: Asking) -> Arc<Call> {
        self.call_through(client, asking, Arc::clone(self.outlet))
    }

    /// A call whose messages go to an outlet of their own.
    pub(super) fn call_through(
        &self,
        client: Client,
        asking: Asking,
        outlet: Arc<dyn Outlet>,
    ) -> Arc<Call> {
        Arc::new(Call {
            id: self.id.clone(),
            kernel: Arc::clone(self.kernel),
            session: Arc::clone(self.session),
            outlet,
            revision: client.revision,
            capabilities: client.capabilities,
            client: client.identity,
            asking,
            task: OnceLock::new(),
            progress_token: client.progress_token,
            log_level: client.log_level,
            cancelled: AtomicBool::new(false),
            cancelling: Notify::new(),
            state: Mutex::default(),
        })
    }

    fn round_params<'b>(&'b self, target: &'b str) -> RoundParams<'b> {
        RoundParams {
            method: self.method,
            target,
            arguments: self.named_arguments(),
            responses: self.params.input_responses,
            state: self.params.request_state,
        }
    }

    /// The arguments that tell this request from another. Elsewhere a member of that name means
    /// nothing, and nothing is done with it.
    fn named_arguments(&self) -> Option<&RawValue> {
        match self.method {
            CallTool::NAME | GetPrompt::NAME => self.params.arguments,
            _ => None,
        }
    }

    /// What names this request in its state, made only if a question is asked, which never happens
    /// in a legacy session.
    fn digest(
        &self,
        call: &Call,
        target: &str,
    ) -> impl FnOnce() -> String + Send + 'static + use<> {
        let asked = matches!(call.asking, Asking::Rounds(_)).then(|| {
            let arguments = self.named_arguments().map(RawValue::to_owned);
            (self.method.to_owned(), target.to_owned(), arguments)
        });
        move || {
            let (method, target, arguments) = asked.unwrap_or_default();
            digest_of(&RoundParams {
                method: &method,
                target: &target,
                arguments: arguments.as_deref(),
                responses: None,
                state: None,
            })
        }
    }
}

/// A handler that begins with the first poll, where a panic is contained.
pub(super) fn begun(
    prepared: &Arc<PreparedTool>,
    call: &Arc<Call>,
    arguments: Json,
) -> HandlerFuture<CallToolResult> {
    let prepared = Arc::clone(prepared);
    let context = Context::new(Arc::clone(call));
    Box::pin(async move { (prepared.tool.handler)(context, arguments).await })
}

/// In 2025-11-25 the client decides what is a task, and its answer is one.
fn is_at_once(client: &Client, prepared: &PreparedTool) -> bool {
    client.revision.era() == Era::Legacy || prepared.tool.task_start == TaskStart::AtOnce
}

/// Arguments as raw text and as a tree; absent ones are an empty object.
fn object(raw: Option<&RawValue>) -> Result<(Json, Value), ErrorObject> {
    let raw = match raw {
        Some(raw) => Json::from(raw),
        None => Json::from(Value::Object(Default::default())),
    };
    match raw.to_value() {
        Ok(value @ Value::Object(_)) => Ok((raw, value)),
        Ok(_) => Err(invalid("\"arguments\" must be an object")),
        Err(error) => Err(invalid(format!("\"arguments\" is malformed: {error}"))),
    }
}

pub(super) fn answer_tool(
    call: &Call,
    prepared: &PreparedTool,
    outcome: Result<CallToolResult, Failure>,
) -> Answer {
    match tool_result(call, prepared, outcome) {
        Ok(result) => finish(call, result),
        Err(error) => refuse(call, error),
    }
}

/// What a tool answered, as the client's revision can say it.
pub(super) fn tool_result(
    call: &Call,
    prepared: &PreparedTool,
    outcome: Result<CallToolResult, Failure>,
) -> Result<CallToolResult, ErrorObject> {
    let result = match outcome {
        Ok(result) => result,
        Err(failure) => failure.into_tool_result()?,
    };
    prepared.check_result(&result).map_err(|complaint| {
        ErrorObject::new(
            codes::INTERNAL_ERROR,
            format!("the result does not satisfy the tool's output schema: {complaint}"),
        )
    })?;
    Ok(older::tool_result(call.revision, result))
}

fn answer_read(
    call: &Call,
    caching: Caching,
    outcome: Result<ReadResourceResult, Failure>,
) -> Answer {
    match outcome {
        Ok(result) => encode::cacheable(&call.kernel, call.revision, &call.id, caching, result),
        Err(failure) => refuse(call, failure.into_error()),
    }
}

fn answer_prompt(call: &Call, result: GetPromptResult) -> Answer {
    finish(call, older::prompt_result(call.revision, result))
}

fn finish<R: encode::WithMeta>(call: &Call, result: R) -> Answer {
    encode::complete(&call.kernel, call.revision, &call.id, result)
}

fn refuse(call: &Call, error: ErrorObject) -> Answer {
    Answer::error(&call.id, &in_era(call.revision, error))
}

/// An error with the code its era has for it (S-RES-04, S-RES-05, X-ERR-05).
fn in_era(revision: Revision, mut error: ErrorObject) -> ErrorObject {
    if revision.era() == Era::Modern && error.code == codes::RESOURCE_NOT_FOUND {
        error.code = codes::INVALID_PARAMS;
    }
    error
}
