//! Requests of the legacy era: a session that begins with `initialize`.

use std::sync::Arc;

use attache_protocol::{
    CallTool, CancelTask, Complete, EmptyResult, Era, ErrorObject, GetPrompt, GetTask, Initialize,
    InitializeParams, InitializeResult, ListPrompts, ListResources, ListTemplates, ListTools,
    Method, Ping, ReadResource, Revision, SetLevel, SetLevelParams, Subscribe, TaskResult,
    Unsubscribe, codes,
};

use crate::service::{Answer, Work};
use crate::session::{Opened, Stage};
use crate::settings::BeforeInitialized;
use crate::ticking;

use super::handlers::Client;
use super::{Asked, params};

/// Asks the server to end, in the dialect of seed 003 (seeds row 2).
const SHUTDOWN: &str = "shutdown";

impl Asked<'_> {
    pub(super) fn legacy(&self) -> Work {
        match self.method {
            Initialize::NAME => return self.initialize(),
            Ping::NAME => return self.done(),
            _ => {}
        }
        let opened = match self.session.stage() {
            Stage::Ready(opened) => opened,
            Stage::Opened(opened)
                if self.kernel.before_initialized == BeforeInitialized::Accept =>
            {
                opened
            }
            Stage::Opened(_) if is_known(self.method) => {
                return self.too_early("send notifications/initialized first");
            }
            Stage::New if is_known(self.method) => {
                return self.too_early("send initialize first");
            }
            // An unknown method stays unknown; saying so processes nothing.
            Stage::Opened(_) | Stage::New => return self.unknown_method(),
        };
        let revision = opened.revision;
        let areas = self.kernel.areas();
        let has_tasks = areas.tasks && revision.features().experimental_tasks;
        match self.method {
            CallTool::NAME if areas.tools => {
                self.with_client(&opened, |client| self.call_tool(client))
            }
            ListTools::NAME if areas.tools => self.list_tools(revision),
            ListResources::NAME if areas.resources => {
                self.with_client(&opened, |client| self.list_resources(client))
            }
            ListTemplates::NAME if areas.resources => self.list_templates(revision),
            ReadResource::NAME if areas.resources => {
                self.with_client(&opened, |client| self.read_resource(client))
            }
            Subscribe::NAME if self.kernel.offers.subscriptions => self.subscribe(),
            Unsubscribe::NAME if self.kernel.offers.subscriptions => self.unsubscribe(),
            ListPrompts::NAME if areas.prompts => self.list_prompts(revision),
            GetPrompt::NAME if areas.prompts => {
                self.with_client(&opened, |client| self.get_prompt(client))
            }
            Complete::NAME if areas.completions => {
                self.with_client(&opened, |client| self.complete(client))
            }
            SetLevel::NAME if self.kernel.offers.logging => self.set_level(),
            GetTask::NAME if has_tasks => self.legacy_get_task(),
            TaskResult::NAME if has_tasks => self.legacy_task_result(&opened),
            CancelTask::NAME if has_tasks => self.legacy_cancel_task(),
            SHUTDOWN => self.done(),
            _ => self.unknown_method(),
        }
    }

    fn initialize(&self) -> Work {
        let asked: InitializeParams = match self.params.decode() {
            Ok(asked) => asked,
            Err(error) => return self.refuse(&error),
        };
        let mut legacy = self
            .kernel
            .revisions
            .iter()
            .filter(|it| it.era() == Era::Legacy);
        let requested = asked.protocol_version.parse::<Revision>().ok();
        // The requested version if known, else the newest (S-INIT-03).
        let revision = match legacy.clone().find(|it| Some(**it) == requested) {
            Some(revision) => *revision,
            None => match legacy.next() {
                Some(newest) => *newest,
                // A modern-only server names what it speaks (S-INIT-20).
                None => {
                    let error = params::unsupported(self.kernel, &asked.protocol_version);
                    return self.refuse(&error);
                }
            },
        };
        let opened = Opened {
            revision,
            capabilities: Arc::new(asked.capabilities.for_revision(revision)),
            client: Some(Arc::new(asked.client_info)),
        };
        // Behind a bridge one pipe carries clients after each other, so a second handshake begins
        // the session anew. Over HTTP each handshake has a session of its own.
        let is_open = self.session.opened().is_some();
        if is_open && self.kernel.before_initialized == BeforeInitialized::Refuse {
            return self.too_early("the session is initialized already");
        }
        self.session.begin(opened);
        if !is_open {
            self.kernel.subscribers.add_session(self.session);
        }
        let result = InitializeResult {
            protocol_version: revision.to_string(),
            capabilities: self.kernel.capabilities(revision),
            server_info: Some(self.kernel.identity.for_revision(revision)),
            instructions: self.kernel.instructions.clone(),
            ..InitializeResult::default()
        };
        Work::Done(Answer::result(&self.id, &result))
    }

    /// Runs a method that needs to know the client.
    fn with_client(&self, opened: &Opened, run: impl FnOnce(Client) -> Work) -> Work {
        let token = self.params.meta().and_then(|meta| meta.progress_token());
        match token {
            Ok(progress_token) => run(Client {
                revision: opened.revision,
                capabilities: Arc::clone(&opened.capabilities),
                identity: opened.client.clone(),
                log_level: None,
                progress_token,
            }),
            Err(error) => self.refuse(&error),
        }
    }

    fn subscribe(&self) -> Work {
        let uri = match self.params.uri() {
            Ok(uri) => uri,
            Err(error) => return self.refuse(&error),
        };
        if self.kernel.catalog().readable(&uri).is_none() {
            return self.refuse(&self.kernel.unknown_resource(&uri));
        }
        let limit = self.kernel.limits.max_watched;
        if !self.session.watch(uri.to_string(), limit) {
            return self.refuse(&ErrorObject::new(
                codes::INTERNAL_ERROR,
                format!(
                    "one session watches at most {limit} resources; unsubscribe from one first"
                ),
            ));
        }
        ticking::watched(self.kernel, &uri);
        self.done()
    }

    fn unsubscribe(&self) -> Work {
        match self.params.uri() {
            Ok(uri) => {
                self.session.unwatch(&uri);
                self.done()
            }
            Err(error) => self.refuse(&error),
        }
    }

    fn set_level(&self) -> Work {
        match self.params.decode::<SetLevelParams>() {
            Ok(params) => {
                self.session.set_log_level(params.level);
                self.done()
            }
            Err(error) => self.refuse(&error),
        }
    }

    fn done(&self) -> Work {
        Work::Done(Answer::result(&self.id, &EmptyResult::default()))
    }

    fn too_early(&self, message: &str) -> Work {
        self.refuse(&ErrorObject::new(codes::INVALID_REQUEST, message))
    }
}

/// Whether a legacy server has such a method at all.
fn is_known(method: &str) -> bool {
    matches!(
        method,
        CallTool::NAME
            | ListTools::NAME
            | ListResources::NAME
            | ListTemplates::NAME
            | ReadResource::NAME
            | Subscribe::NAME
            | Unsubscribe::NAME
            | ListPrompts::NAME
            | GetPrompt::NAME
            | Complete::NAME
            | SetLevel::NAME
            | GetTask::NAME
            | TaskResult::NAME
            | CancelTask::NAME
            | SHUTDOWN
    )
}
