//! What a client can ask for, verb by verb.

use std::collections::HashMap;
use std::time::Duration;

use attache::host::cache::Freshness;
use attache::host::catalog::{Aggregate, Listable, Outcome};
use attache::host::config::ServerName;
use attache::host::snapshot::{Offers, ServerSnapshot};
use attache::host::{Error, Host, ReadAnswer};
use attache::protocol::{Json, LogLevel, Prompt, Resource, ResourceTemplate, Tool};

use crate::connection::{Client, with};
use crate::failure::RemoteFailure;
use crate::wire::{
    CompleteWith, FindResult, FindWith, KnownServer, ListResult, ListWith, ListedEntry,
    ListedServer, OwnerResult, OwnerWith, PromptWith, ReadResult, ReadWith, Request, ServerWith,
    ServersResult, ServersWith,
};

impl Client {
    /// Works on a request until it has a result.
    pub(crate) async fn result(&self, request: &Request) -> Result<Json, Box<RemoteFailure>> {
        let host = &self.service.host;
        match request.verb.as_str() {
            "snapshot" => return json(&host.snapshot()),
            "flush" => {
                host.flushed().await;
                return Ok(Json::default());
            }
            _ => self.may_use()?,
        }
        match request.verb.as_str() {
            "call" => self.call(request.id, with(request)?).await,
            "read" => self.read(with(request)?).await,
            "prompt" => {
                let PromptWith { name, arguments } = with(request)?;
                let prompt = host.prompt(name, arguments).await;
                json(&prompt.map_err(self.service.explain)?)
            }
            "complete" => self.complete(with(request)?).await,
            "list" => self.list(&with(request)?).await,
            "find" => self.find(&with(request)?).await,
            "owner" => {
                let OwnerWith { uri } = with(request)?;
                let server = host.owner_of(&uri).await;
                let server = server.map_err(self.service.explain)?;
                json(&OwnerResult { server })
            }
            "servers" => self.servers(with(request)?).await,
            "follow" => self.follow(request.id, with(request)?).await,
            "frames" => self.frames(request.id).await,
            "watch" => self.watch(request.id, with(request)?).await,
            "stop" => self.done(host.stop(&with::<ServerWith>(request)?.server).await),
            "restart" => self.done(host.restart(&with::<ServerWith>(request)?.server).await),
            "enable" | "disable" => {
                let enabled = request.verb == "enable";
                let server = with::<ServerWith>(request)?.server;
                self.done(host.set_enabled(&server, enabled).await)
            }
            "log_level" => {
                let ServerWith { server, level } = with(request)?;
                let level: Result<LogLevel, _> = level.unwrap_or_default().parse();
                let level = level.map_err(|_| RemoteFailure::usage("there is no such level"))?;
                self.done(host.set_log_level(&server, level).await)
            }
            other => Err(RemoteFailure::usage(format!(
                "there is no request \"{other}\""
            ))),
        }
    }

    async fn read(&self, wanted: ReadWith) -> Result<Json, Box<RemoteFailure>> {
        let read = self.service.host.read(wanted.uri);
        let read = match wanted.server {
            Some(server) => read.server(server),
            None => read,
        };
        let ReadAnswer {
            server,
            contents,
            freshness,
            ..
        } = read.await.map_err(self.service.explain)?;
        let (age, stale) = match freshness {
            Freshness::Fetched => (None, None),
            Freshness::Fresh { age } => (Some(age), None),
            Freshness::Stale { age, because } => {
                let because = (self.service.explain)((*because).clone());
                (Some(age), Some(Box::new(because)))
            }
        };
        json(&ReadResult {
            server,
            contents: json(&*contents)?,
            age_ms: age.map(|age| u64::try_from(age.as_millis()).unwrap_or(u64::MAX)),
            stale,
        })
    }

    async fn complete(&self, wanted: CompleteWith) -> Result<Json, Box<RemoteFailure>> {
        let CompleteWith {
            server,
            reference,
            argument,
            value,
            chosen,
        } = wanted;
        let host = &self.service.host;
        let completed = host.complete(&server, reference, &argument, &value, chosen);
        json(&completed.await.map_err(self.service.explain)?)
    }

    async fn list(&self, wanted: &ListWith) -> Result<Json, Box<RemoteFailure>> {
        match wanted.kind.as_str() {
            "tools" => self.list_of::<Tool>(wanted).await,
            "resources" => self.list_of::<Resource>(wanted).await,
            "templates" => self.list_of::<ResourceTemplate>(wanted).await,
            "prompts" => self.list_of::<Prompt>(wanted).await,
            other => Err(RemoteFailure::usage(format!("there is no list of {other}"))),
        }
    }

    async fn list_of<T: Listable>(&self, wanted: &ListWith) -> Result<Json, Box<RemoteFailure>> {
        let list = self.service.host.list::<T>();
        let list = match wanted.wait_ms.map(Duration::from_millis) {
            Some(wait) => list.remembered_after(wait).starting_after(wait),
            None => list.for_all(),
        };
        let list = match &wanted.server {
            Some(server) => list.server(server),
            None => list,
        };
        let list: Aggregate<T> = list.await.map_err(self.service.explain)?;
        let servers = list.servers.into_iter().map(|answer| ListedServer {
            name: answer.name,
            answer: answer.outcome,
            rejected: answer.rejected,
        });
        let entries = list.entries.into_iter().map(|offered| {
            Ok(ListedEntry {
                server: offered.server,
                qualified: offered.qualified,
                plain: offered.plain,
                provider: offered.provider,
                entry: json(&offered.entry)?,
            })
        });
        let entries: Result<Vec<_>, Box<RemoteFailure>> = entries.collect();
        json(&ListResult {
            entries: entries?,
            servers: servers.collect(),
        })
    }

    async fn find(&self, wanted: &FindWith) -> Result<Json, Box<RemoteFailure>> {
        match wanted.kind.as_str() {
            "tools" => self.find_of::<Tool>(wanted).await,
            "prompts" => self.find_of::<Prompt>(wanted).await,
            other => Err(RemoteFailure::usage(format!(
                "{other} are not found by name"
            ))),
        }
    }

    async fn find_of<T: Listable>(&self, wanted: &FindWith) -> Result<Json, Box<RemoteFailure>> {
        let host = &self.service.host;
        let name = match (&wanted.server, wanted.name.contains('/')) {
            (Some(server), false) => format!("{server}/{}", wanted.name),
            _ => wanted.name.clone(),
        };
        let found = host.resolve::<T>(&name).await;
        let found = found.map_err(self.service.explain)?;
        let list = || host.list::<T>().server(found.server.as_str());
        let has = |list: &Aggregate<T>| {
            let mut entries = list.entries.iter();
            entries.any(|it| it.entry.own_name() == found.tool)
        };
        let listed = match list().or_latest().await {
            // Not every server says that its list has changed.
            Ok(latest) if !has(&latest) => list().await,
            listed => listed,
        };
        let list = listed.map_err(self.service.explain)?;
        let mut entries = list.entries.into_iter();
        let entry = entries.find(|it| it.entry.own_name() == found.tool);
        let Some(entry) = entry else {
            return Err(RemoteFailure::usage(format!("there is no {name}")));
        };
        let rejected = list.servers.into_iter().flat_map(|it| it.rejected);
        json(&FindResult {
            server: found.server,
            entry: json(&entry.entry)?,
            rejected: rejected.collect(),
        })
    }

    /// Has the servers list what they offer, and tells how much that is.
    async fn servers(&self, wanted: ServersWith) -> Result<Json, Box<RemoteFailure>> {
        let host = &self.service.host;
        let only = wanted.server.as_deref();
        let (tools, resources, templates, prompts) = tokio::try_join!(
            self.counted::<Tool>(only),
            self.counted::<Resource>(only),
            self.counted::<ResourceTemplate>(only),
            self.counted::<Prompt>(only),
        )?;
        let servers = host.snapshot().servers.into_iter();
        let servers = servers.filter(|it| only.is_none_or(|only| it.name.as_str() == only));
        let servers = servers.map(|server| KnownServer {
            server_info: server_info(host, &server.name),
            server: ServerSnapshot {
                offers: Offers {
                    tools: tools.get(&server.name).copied(),
                    resources: resources.get(&server.name).copied(),
                    templates: templates.get(&server.name).copied(),
                    prompts: prompts.get(&server.name).copied(),
                },
                ..server
            },
        });
        json(&ServersResult {
            servers: servers.collect(),
        })
    }

    /// How many of a kind each server offers that offers such.
    async fn counted<T: Listable>(
        &self,
        only: Option<&str>,
    ) -> Result<HashMap<ServerName, usize>, Box<RemoteFailure>> {
        let list = self.service.host.list::<T>().for_all();
        let list = match only {
            Some(server) => list.server(server),
            None => list,
        };
        let list = list.await.map_err(self.service.explain)?;
        let mut counts = HashMap::new();
        for answer in list.servers {
            match (answer.outcome, answer.error) {
                (Outcome::Ok, _) => {
                    counts.insert(answer.name, 0);
                }
                (Outcome::NotOffered | Outcome::Disabled, _) => {}
                (_, Some(error)) => return Err((self.service.explain)(error).into()),
                (_, None) => {
                    let message = "it has not listed what it offers";
                    let failure = RemoteFailure::unexpected(message);
                    return Err(failure.of(answer.name.as_str()).into());
                }
            }
        }
        for entry in list.entries {
            *counts.entry(entry.server).or_default() += 1;
        }
        Ok(counts)
    }

    pub(crate) fn done(&self, result: Result<(), Error>) -> Result<Json, Box<RemoteFailure>> {
        result.map_err(self.service.explain)?;
        Ok(Json::default())
    }
}

fn server_info(host: &Host, name: &ServerName) -> Option<attache::protocol::Implementation> {
    host.running(name.as_str())?.server().cloned()
}

pub(crate) fn json(value: &impl serde::Serialize) -> Result<Json, Box<RemoteFailure>> {
    Json::from_serialize(value).map_err(|error| RemoteFailure::unexpected(error.to_string()))
}
