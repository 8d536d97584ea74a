//! Lists of all servers or of one, and finding the server of a name.

use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::{Entries, Prompt, Resource, ResourceTemplate, Tool};
use tokio::task::JoinSet;

use super::Host;
use super::station::Station;
use crate::cache::Freshness;
use crate::catalog::{Aggregate, Listable, Outcome, Part, aggregate};
use crate::config::{Pattern, ServerName};
use crate::error::Error;
use crate::names::{Directory, ToolName, Unresolved};
use crate::supervisor::Patience;

/// How long a server that is remembered may keep everybody waiting.
const REMEMBERED_AFTER: Duration = Duration::from_secs(1);
/// How long a name waits for servers that might have it too. After that it is looked up among
/// what is known (fault 36).
const NAME_PATIENCE: Duration = Duration::from_secs(2);

/// A list that is fetched when it is awaited.
#[must_use = "a list is fetched when it is awaited"]
pub struct List<T> {
    host: Host,
    server: Option<String>,
    remembered_after: Duration,
    entry: PhantomData<fn() -> T>,
}

impl Host {
    /// The tools of all servers.
    pub fn list_tools(&self) -> List<Tool> {
        self.list()
    }

    /// The resources of all servers.
    pub fn list_resources(&self) -> List<Resource> {
        self.list()
    }

    /// The resource templates of all servers.
    pub fn list_templates(&self) -> List<ResourceTemplate> {
        self.list()
    }

    /// The prompts of all servers.
    pub fn list_prompts(&self) -> List<Prompt> {
        self.list()
    }

    /// Any of the four lists.
    pub fn list<T: Listable>(&self) -> List<T> {
        List {
            host: self.clone(),
            server: None,
            remembered_after: REMEMBERED_AFTER,
            entry: PhantomData,
        }
    }
}

impl<T: Listable> List<T> {
    /// Asks one server only.
    pub fn server(mut self, name: impl Into<String>) -> Self {
        self.server = Some(name.into());
        self
    }

    /// After how long a server that has not answered is answered for by what is remembered of it.
    pub fn remembered_after(mut self, patience: Duration) -> Self {
        self.remembered_after = patience;
        self
    }

    async fn fetch(self) -> Result<Aggregate<T>, Error> {
        let stations = match &self.server {
            Some(name) => vec![self.host.station(name)?],
            None => self.host.stations(),
        };
        let patience = match stations.as_slice() {
            // Who asks one server wants it; many are not kept waiting for one that fails.
            [_] => Patience::Persistent,
            _ => Patience::FirstFailure,
        };
        let parts = each(stations, move |station| {
            part::<T>(station, patience, self.remembered_after)
        });
        Ok(aggregate(parts.await))
    }
}

impl<T: Listable> IntoFuture for List<T> {
    type Output = Result<Aggregate<T>, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.fetch())
    }
}

/// Does the same with many servers at once; none waits for another (P5).
async fn each<R, F>(stations: Vec<Arc<Station>>, work: impl Fn(Arc<Station>) -> F) -> Vec<R>
where
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    if let [only] = stations.as_slice() {
        return vec![work(only.clone()).await];
    }
    let mut under_way = JoinSet::new();
    for station in stations {
        under_way.spawn(work(station));
    }
    under_way.join_all().await
}

/// One server's part in a list.
async fn part<T: Listable>(
    station: Arc<Station>,
    patience: Patience,
    remembered_after: Duration,
) -> Part<T> {
    let filter = station.config().tool_filter.clone();
    let part = |outcome, error, entries| Part {
        server: station.name().clone(),
        outcome,
        error,
        entries,
        filter,
    };
    if !station.is_enabled() {
        let server = station.name().clone();
        return part(
            Outcome::Disabled,
            Some(Error::Disabled { server }),
            Arc::default(),
        );
    }
    let fetched = if station.remembers(T::KIND) {
        // What is given up here goes on by itself, so that a late success still counts (fault 35).
        let going_on = station.clone();
        let fetch = tokio::spawn(async move { going_on.list::<T>(patience).await });
        match tokio::time::timeout(remembered_after, fetch).await {
            Ok(Ok(fetched)) => Ok(fetched),
            Ok(Err(_)) => Err("its answer could not be worked out".to_owned()),
            Err(_) => Err(format!("no answer within {remembered_after:?}")),
        }
    } else {
        Ok(station.list::<T>(patience).await)
    };
    let because = match &fetched {
        Ok(Ok((entries, found))) => match &found.freshness {
            Freshness::Stale { because, .. } => because.to_string(),
            _ if !found.offered => return part(Outcome::NotOffered, None, entries.clone()),
            _ => return part(Outcome::Ok, None, entries.clone()),
        },
        Ok(Err(error)) => error.to_string(),
        Err(because) => because.clone(),
    };
    if let Some(remembered) = station.remembered::<T>() {
        let outcome = Outcome::Remembered {
            saved_ms: remembered.saved_ms,
            because,
        };
        let error = fetched.ok().and_then(Result::err);
        return part(outcome, error, Arc::new(remembered.entries));
    }
    match fetched {
        Ok(Ok((entries, found))) => {
            let age = match found.freshness {
                Freshness::Stale { age, .. } | Freshness::Fresh { age } => age,
                Freshness::Fetched => Duration::ZERO,
            };
            let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            let saved_ms = crate::events::now_ms().saturating_sub(age_ms);
            part(Outcome::Remembered { saved_ms, because }, None, entries)
        }
        Ok(Err(error)) => part(Outcome::of(&error), Some(error), Arc::default()),
        Err(_) => part(Outcome::Starting, None, Arc::default()),
    }
}

/// A server's list for looking up names, and whether it may be out of date.
struct Known<T> {
    station: Arc<Station>,
    entries: Option<Arc<Entries<T>>>,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Live,
    Memory,
}

impl Host {
    /// Whose entry a name means, and under which name its server knows it. A qualified name, or the
    /// only server there is, is believed without a look at its list.
    pub async fn resolve<T: Listable>(&self, name: &str) -> Result<ToolName, Error> {
        let (station, own) = self.find::<T>(name).await?;
        Ok(ToolName::new(station.name().clone(), own))
    }

    /// Whose resource a URI means: the server that lists it, or one with a template that fits.
    pub async fn owner_of(&self, uri: &str) -> Result<ServerName, Error> {
        Ok(self.find_resource(uri).await?.name().clone())
    }

    /// The server that offers something of this name, and its own name for it. A qualified name,
    /// or the only server there is, needs no list.
    pub(super) async fn find<T: Listable>(
        &self,
        name: &str,
    ) -> Result<(Arc<Station>, String), Error> {
        if let Some((server, own)) = name.split_once('/')
            && let Some(station) = self.known_station(server)
            && !own.is_empty()
        {
            return Ok((station, own.to_owned()));
        }
        let enabled = self.enabled();
        if let [only] = enabled.as_slice() {
            return Ok((only.clone(), name.to_owned()));
        }
        let known = each(enabled.clone(), known_quickly::<T>).await;
        if let Some(found) = look_up(&known, name)? {
            return Ok(found);
        }
        // Perhaps it is new.
        let from_memory = known.iter().any(|known| known.source == Source::Memory);
        let known = if from_memory {
            each(enabled, known_now::<T>).await
        } else {
            known
        };
        match look_up(&known, name)? {
            Some(found) => Ok(found),
            None => Err(not_offered(&known, name)),
        }
    }

    /// The server of a resource: the one that lists it, or one with a template that fits.
    pub(super) async fn find_resource(&self, uri: &str) -> Result<Arc<Station>, Error> {
        let enabled = self.enabled();
        if let [only] = enabled.as_slice() {
            return Ok(only.clone());
        }
        let known = each(enabled.clone(), known_quickly::<Resource>).await;
        let listed = owners(&known, |resource| resource.uri == uri);
        if let Some(owner) = one_owner(listed, uri)? {
            return Ok(owner);
        }
        let templates = each(enabled, known_quickly::<ResourceTemplate>).await;
        let fitting = owners(&templates, |template| fits(&template.uri_template, uri));
        match one_owner(fitting, uri)? {
            Some(owner) => Ok(owner),
            None => Err(not_offered(&known, uri)),
        }
    }
}

/// Whether a URI could come of a template: what is in braces stands for anything.
fn fits(template: &str, uri: &str) -> bool {
    let mut pattern = String::with_capacity(template.len());
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((_, after)) = after.split_once('}') else {
            return false;
        };
        pattern.push_str(before);
        pattern.push('*');
        rest = after;
    }
    pattern.push_str(rest);
    // Templates are not patterns: a star in one is only a star, which no URI needs.
    !template.contains('*') && Pattern::new(pattern).matches(uri)
}

fn owners<T>(known: &[Known<T>], is_it: impl Fn(&T) -> bool) -> Vec<Arc<Station>> {
    known
        .iter()
        .filter(|known| {
            let mut entries = known.entries.iter().flat_map(|entries| entries.iter());
            entries.any(&is_it)
        })
        .map(|known| known.station.clone())
        .collect()
}

fn one_owner(owners: Vec<Arc<Station>>, uri: &str) -> Result<Option<Arc<Station>>, Error> {
    match owners.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => Err(Error::Ambiguous {
            name: uri.to_owned(),
            candidates: several.iter().map(|it| it.name().to_string()).collect(),
        }),
    }
}

fn look_up<T: Listable>(
    known: &[Known<T>],
    name: &str,
) -> Result<Option<(Arc<Station>, String)>, Error> {
    match directory(known).resolve(name) {
        Ok(found) => {
            let owner = known.iter().find(|it| *it.station.name() == found.server);
            Ok(owner.map(|it| (it.station.clone(), found.tool)))
        }
        Err(Unresolved::Unknown { .. }) => Ok(None),
        Err(Unresolved::Ambiguous { given, servers }) => Err(Error::Ambiguous {
            candidates: servers.iter().map(|it| format!("{it}/{given}")).collect(),
            name: given,
        }),
    }
}

fn directory<T: Listable>(known: &[Known<T>]) -> Directory {
    let names = known.iter().flat_map(|known| {
        let entries = known.entries.iter().flat_map(|entries| entries.iter());
        entries.map(|entry| ToolName::new(known.station.name().clone(), entry.own_name()))
    });
    Directory::new(names)
}

fn not_offered<T: Listable>(known: &[Known<T>], name: &str) -> Error {
    let nearest = match directory(known).resolve(name) {
        Err(Unresolved::Unknown { nearest, .. }) => nearest,
        _ => None,
    };
    let unasked: Vec<ServerName> = known
        .iter()
        .filter(|known| known.entries.is_none())
        .map(|known| known.station.name().clone())
        .collect();
    Error::NotOffered {
        kind: T::KIND.entry(),
        name: name.to_owned(),
        nearest,
        unasked,
    }
}

/// What is known of a server's list without waiting long: what is remembered will do.
async fn known_quickly<T: Listable>(station: Arc<Station>) -> Known<T> {
    let remembered = station.known::<T>().or_else(|| {
        let remembered = station.remembered::<T>()?;
        Some(Arc::new(remembered.entries))
    });
    match remembered {
        Some(entries) => Known {
            station,
            entries: Some(entries),
            source: Source::Memory,
        },
        None => known_now(station).await,
    }
}

/// What the server says now, if it says anything in time.
async fn known_now<T: Listable>(station: Arc<Station>) -> Known<T> {
    let going_on = station.clone();
    let fetch = tokio::spawn(async move { going_on.list::<T>(Patience::FirstFailure).await });
    let fetched = tokio::time::timeout(NAME_PATIENCE, fetch).await;
    let entries = match fetched {
        Ok(Ok(Ok((entries, _)))) => Some(entries),
        _ => None,
    };
    Known {
        station,
        entries,
        source: Source::Live,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_fits_a_template_with_anything_in_the_braces() {
        for (template, uri, expected) in [
            ("note://{id}", "note://7", true),
            ("note://{id}/body", "note://7/body", true),
            ("note://{id}/body", "note://7/head", false),
            ("file:///{+path}", "file:///a/b", true),
            ("note://{id", "note://7", false),
            ("note://*", "note://7", false),
        ] {
            assert_eq!(fits(template, uri), expected, "{template} {uri}");
        }
    }
}
