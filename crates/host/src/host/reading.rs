//! Reading resources, getting prompts, completing arguments.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_client::Client;
use attache_client::protocol::{
    self, Complete, Completion, CompletionReference, GetPromptResult, Json, Method as _,
    ProgressParams, Prompt, ReadResource, ReadResourceResult,
};

use super::Host;
use super::options::RequestOptions;
use super::server_handle::About;
use crate::cache::{CacheScope, Freshness};
use crate::call_log::{Recording, WantedRecord};
use crate::config::ServerName;
use crate::error::Error;
use crate::retry::Repeatable;
use crate::supervisor::Patience;

/// A read that is made when it is awaited.
#[must_use = "a read is made when it is awaited"]
pub struct Read {
    host: Host,
    uri: String,
    server: Option<String>,
    options: RequestOptions,
}

/// What a read gave.
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// Whose resource it is.
    pub server: ServerName,
    /// The contents as the server sent them.
    pub contents: Arc<ReadResourceResult>,
    /// How fresh they are.
    pub freshness: Freshness,
    /// Who may be given them.
    pub scope: CacheScope,
}

/// A prompt that is fetched when it is awaited.
#[must_use = "a prompt is fetched when it is awaited"]
pub struct GetPrompt {
    host: Host,
    name: String,
    arguments: BTreeMap<String, String>,
    options: RequestOptions,
}

impl Host {
    /// Reads a resource. Which server's it is follows from the lists of resources and templates,
    /// unless [`Read::server`] says it.
    pub fn read(&self, uri: impl Into<String>) -> Read {
        Read {
            host: self.clone(),
            uri: uri.into(),
            server: None,
            options: RequestOptions::default(),
        }
    }

    /// Gets a prompt, filled in, by its qualified name or by its plain one while that suffices.
    pub fn prompt<K, V>(
        &self,
        name: impl Into<String>,
        arguments: impl IntoIterator<Item = (K, V)>,
    ) -> GetPrompt
    where
        K: Into<String>,
        V: Into<String>,
    {
        let arguments = arguments.into_iter();
        GetPrompt {
            host: self.clone(),
            name: name.into(),
            arguments: arguments
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
            options: RequestOptions::default(),
        }
    }

    /// Asks a server how an argument could go on. `chosen` are arguments already filled in.
    pub async fn complete(
        &self,
        server: &str,
        reference: CompletionReference,
        argument: &str,
        value: &str,
        chosen: BTreeMap<String, String>,
    ) -> Result<Completion, Error> {
        let server_handle = self.server_handle(server)?;
        let about = About {
            method: Complete::NAME,
            name: Some(argument),
            origin: None,
            number: self.shared().events.next_request(),
        };
        let complete = |client: Client| {
            let (reference, chosen) = (reference.clone(), chosen.clone());
            async move { client.complete(reference, argument, value, chosen).await }
        };
        let patience = Patience::Persistent;
        server_handle
            .request(about, Repeatable::Harmless, patience, complete)
            .await
    }
}

impl Read {
    /// Whose resource it is.
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// How long to wait for the answer once the server runs, without a sign of progress.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Asks the server for progress and listens to it. There is none if the contents are remembered,
    /// or if somebody else is reading them already.
    pub fn on_progress(mut self, listener: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.listen(listener);
        self
    }

    async fn make(mut self) -> Result<ReadAnswer, Error> {
        let mut recording = Recording::begin(self.host.call_log(), || WantedRecord {
            method: ReadResource::NAME,
            name: self.uri.clone(),
            arguments: None,
            origin: None,
        });
        let answer = self.attempt(&mut recording).await;
        recording.end(&answer);
        answer
    }

    async fn attempt(&mut self, recording: &mut Recording) -> Result<ReadAnswer, Error> {
        let server_handle = match &self.server {
            Some(name) => self.host.server_handle(name)?,
            None => self.host.find_resource(&self.uri).await?,
        };
        recording.found(&self.uri, || server_handle.recorded(None));
        self.options.record(recording, &server_handle);
        let (contents, found) = server_handle.read(&self.uri, &self.options).await?;
        Ok(ReadAnswer {
            server: server_handle.name().clone(),
            contents,
            freshness: found.freshness,
            scope: found.scope,
        })
    }
}

impl IntoFuture for Read {
    type Output = Result<ReadAnswer, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}

impl GetPrompt {
    /// How long to wait for the answer once the server runs, without a sign of progress.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(timeout);
        self
    }

    /// Asks the server for progress and listens to it.
    pub fn on_progress(mut self, listener: impl FnMut(ProgressParams) + Send + 'static) -> Self {
        self.options.listen(listener);
        self
    }

    async fn make(mut self) -> Result<GetPromptResult, Error> {
        let mut recording = Recording::begin(self.host.call_log(), || WantedRecord {
            method: protocol::GetPrompt::NAME,
            name: self.name.clone(),
            arguments: Json::from_serialize(&self.arguments).ok(),
            origin: None,
        });
        let answer = self.attempt(&mut recording).await;
        recording.end(&answer);
        answer
    }

    async fn attempt(&mut self, recording: &mut Recording) -> Result<GetPromptResult, Error> {
        let (server_handle, found) = self.host.find::<Prompt>(&self.name).await?;
        let name = found.tool.as_str();
        recording.found(name, || server_handle.recorded(None));
        self.options.record(recording, &server_handle);
        let number = self.host.shared().events.next_request();
        let about = About {
            method: protocol::GetPrompt::NAME,
            name: Some(name),
            origin: None,
            number,
        };
        let get = |client: Client| {
            let request = client.prompt(name, self.arguments.clone());
            let request = self.options.apply(request, &server_handle, number);
            request.into_future()
        };
        let patience = Patience::Persistent;
        server_handle
            .request(about, Repeatable::Harmless, patience, get)
            .await
    }
}

impl IntoFuture for GetPrompt {
    type Output = Result<GetPromptResult, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.make())
    }
}
