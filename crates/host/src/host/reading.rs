//! Reading resources, getting prompts, completing arguments.

use std::collections::BTreeMap;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_client::Client;
use attache_client::protocol::{
    self, Complete, Completion, CompletionReference, GetPromptResult, Method as _, Prompt,
    ReadResourceResult,
};

use super::Host;
use super::station::About;
use crate::cache::{CacheScope, Freshness};
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
    timeout: Option<Duration>,
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
    timeout: Option<Duration>,
}

impl Host {
    /// Reads a resource. Which server's it is follows from the lists of resources and templates,
    /// unless [`Read::server`] says it.
    pub fn read(&self, uri: impl Into<String>) -> Read {
        Read {
            host: self.clone(),
            uri: uri.into(),
            server: None,
            timeout: None,
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
            timeout: None,
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
        let station = self.station(server)?;
        let about = About {
            method: Complete::NAME,
            name: Some(argument),
            number: self.shared().events.next_request(),
        };
        let complete = |client: Client| {
            let (reference, chosen) = (reference.clone(), chosen.clone());
            async move { client.complete(reference, argument, value, chosen).await }
        };
        let patience = Patience::Persistent;
        station
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

    /// How long to wait for the answer once the server runs.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    async fn make(self) -> Result<ReadAnswer, Error> {
        let station = match &self.server {
            Some(name) => self.host.station(name)?,
            None => self.host.find_resource(&self.uri).await?,
        };
        let (contents, found) = station.read(&self.uri, self.timeout).await?;
        Ok(ReadAnswer {
            server: station.name().clone(),
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
    /// How long to wait for the answer once the server runs.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    async fn make(self) -> Result<GetPromptResult, Error> {
        let (station, name) = self.host.find::<Prompt>(&self.name).await?;
        let about = About {
            method: protocol::GetPrompt::NAME,
            name: Some(&name),
            number: self.host.shared().events.next_request(),
        };
        let get = |client: Client| {
            let mut request = client.prompt(name.as_str(), self.arguments.clone());
            if let Some(timeout) = self.timeout {
                request = request.timeout(timeout);
            }
            request.into_future()
        };
        let patience = Patience::Persistent;
        station
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
