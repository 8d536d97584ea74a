//! What becomes of the things a server does: events, log lines, outdated caches.
//!
//! Owns that translation. It runs beside the connection, never on the way of a request, and a
//! flood of a server costs that server's own events only (fault 49).

use std::sync::{Arc, Weak};

use attache_client::frames::FrameSource;
use attache_client::protocol::LogMessageParams;
use attache_client::{Client, Event as ClientEvent};

use super::server_handle::ServerHandle;
use super::shared::Shared;
use crate::cache::Epochs;
use crate::catalog::ListKind;
use crate::config::{ServerConfig, ServerName};
use crate::events::{EventKind, StateChange};
use crate::redact::Redactor;
use crate::snapshot::{ConnectionSnapshot, ServerState};
use crate::supervisor::{Circumstances, Observer};

#[derive(Clone)]
pub(crate) struct ServerObserver {
    name: ServerName,
    shared: Arc<Shared>,
    epochs: Arc<Epochs>,
    server_handle: Weak<ServerHandle>,
    redactor: Arc<Redactor>,
    frames: FrameSource,
}

impl ServerObserver {
    pub(crate) fn new(
        config: &ServerConfig,
        shared: Arc<Shared>,
        epochs: Arc<Epochs>,
        server_handle: Weak<ServerHandle>,
        frames: FrameSource,
    ) -> Self {
        Self {
            name: config.name.clone(),
            shared,
            epochs,
            server_handle,
            redactor: Arc::new(Redactor::for_servers([config])),
            frames,
        }
    }

    fn stderr_line(&self, line: &str) {
        // Most of what a server says here is read by nobody, and need not be searched for secrets.
        if !self.shared.is_heard() {
            return;
        }
        let line = self.clean(line);
        self.shared.log(&self.name, "stderr", &line);
        self.shared.emit(&self.name, || EventKind::Stderr { line });
    }

    fn log_message(&self, message: &LogMessageParams) {
        let text: Result<String, _> = message.data.decode();
        let text = text.unwrap_or_else(|_| message.data.to_string());
        let text = match &message.logger {
            Some(logger) => format!("{logger}: {text}"),
            None => text,
        };
        self.shared
            .log(&self.name, &message.level, &self.clean(&text));
        self.shared.emit(&self.name, || EventKind::Log {
            level: message.level.clone(),
            logger: message.logger.as_deref().map(|it| self.clean(it)),
            data: self.redactor.redact_json(&message.data),
        });
    }

    fn list_changed(&self, kind: ListKind) {
        self.epochs.list_changed(kind);
        if kind == ListKind::Resources {
            // One notification stands for both lists of resources.
            self.epochs.list_changed(ListKind::Templates);
        }
        self.shared
            .emit(&self.name, || EventKind::ListChanged { list: kind });
        if let Some(server_handle) = self.server_handle.upgrade() {
            server_handle.refresh_later(kind);
        }
    }

    fn defect(&self, problem: String) {
        let problem = self.clean(&problem);
        self.shared.log(&self.name, "protocol", &problem);
        self.shared
            .emit(&self.name, || EventKind::Defect { problem });
    }

    fn happened(&self, event: &ClientEvent) {
        match event {
            ClientEvent::Log(message) => self.log_message(message),
            ClientEvent::ToolsChanged { .. } => self.list_changed(ListKind::Tools),
            ClientEvent::PromptsChanged { .. } => self.list_changed(ListKind::Prompts),
            ClientEvent::ResourcesChanged { .. } => self.list_changed(ListKind::Resources),
            ClientEvent::ResourceUpdated { uri, .. } => {
                self.shared.cache.resource_changed(&self.name, uri);
                self.shared.emit(&self.name, || EventKind::ResourceUpdated {
                    uri: uri.clone(),
                });
            }
            ClientEvent::Stray { line, reason } => {
                self.defect(format!("not a message: {line} ({reason})"));
            }
            ClientEvent::Violation(problem) => self.defect(problem.clone()),
            ClientEvent::Missed(count) => {
                // Any change may have been among them.
                self.epochs.everything_changed();
                self.shared
                    .emit(&self.name, || EventKind::Missed { count: *count });
            }
            ClientEvent::Gap => {
                self.epochs.everything_changed();
                self.shared.emit(&self.name, || EventKind::Gap);
            }
            ClientEvent::ElicitationComplete { .. } => {
                self.notification("notifications/elicitation/complete");
            }
            ClientEvent::Other { method, .. } => self.notification(method),
            // That a subscription began concerns its subscriber alone.
            _ => {}
        }
    }

    fn notification(&self, method: &str) {
        self.shared.emit(&self.name, || EventKind::Notification {
            method: method.to_owned(),
        });
    }
}

impl Observer for ServerObserver {
    fn state(&self, state: ServerState, now: Circumstances<'_>) {
        let cause = now.failure.map(|it| self.clean(&it.cause.to_string()));
        let text = match &cause {
            Some(cause) => format!("{}: {cause}", state.as_str()),
            None => state.as_str().to_owned(),
        };
        // The end of a server that was never needed is no news.
        if now.starts > 0 || cause.is_some() {
            self.shared.log(&self.name, "state", &text);
        }
        self.frames.state(state.as_str(), cause.as_deref());
        let change = StateChange {
            state,
            starts: now.starts,
            cause,
            stderr: now.failure.map_or_else(Vec::new, |it| it.stderr.clone()),
            connection: now.client.map(ConnectionSnapshot::of).unwrap_or_default(),
        };
        let events = &self.shared.events;
        events.record(&self.name, EventKind::State(change));
    }

    fn disconnected(&self) {
        // Changes from now on are told to nobody.
        self.epochs.everything_changed();
    }

    fn connected(&self, client: &Client) {
        if let Some(server_handle) = self.server_handle.upgrade() {
            server_handle.connected(client);
        }
        let mut events = client.events();
        let observer = self.clone();
        tokio::spawn(async move {
            while let Some(event) = events.next().await {
                observer.happened(&event);
            }
        });
        // Both in one go, so that no line is missed or comes twice: nothing reads in between.
        let mut lines = client.stderr().follow();
        let earlier = client.stderr().tail();
        let observer = self.clone();
        tokio::spawn(async move {
            for line in earlier {
                observer.stderr_line(&line);
            }
            while let Some(line) = lines.next().await {
                observer.stderr_line(&line);
            }
        });
    }

    fn clean(&self, line: &str) -> String {
        self.redactor.redact(line).into_owned()
    }
}
