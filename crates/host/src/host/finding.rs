//! Finding the server of a name.
//!
//! A qualified name says it. A plain one is looked up in what is remembered first, so that its owner
//! is started alone; only if no server is known to have it are they asked. While a server that
//! might have it too is unknown, it is not given to the one that was quicker (fault 74).

use std::sync::Arc;
use std::time::Duration;

use attache_client::protocol::{Entries, Resource, ResourceTemplate, Tool};
use tokio::task::JoinSet;

use super::Host;
use super::server_handle::ServerHandle;
use crate::catalog::{ListKind, Listable};
use crate::config::{Pattern, ServerName};
use crate::error::Error;
use crate::names::{Directory, ToolName, ToolReference, Unresolved};
use crate::supervisor::Patience;

/// How long a server that is remembered is asked for what may be new, and how long a URI waits for
/// servers that might have it too (fault 36).
const NAME_PATIENCE: Duration = Duration::from_secs(2);

/// A server and its list, as far as it is known.
struct Known<T> {
    server_handle: Arc<ServerHandle>,
    entries: Option<Arc<Entries<T>>>,
    source: Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// It was known before the name was looked for.
    Memory,
    /// It was fetched to find the name.
    Asked,
}

impl Host {
    /// Whose entry a name means, and under which name its server knows it. A qualified name, or the
    /// only server there is, is believed without a look at its list.
    pub async fn resolve<T: Listable>(&self, name: &str) -> Result<ToolName, Error> {
        Ok(self.find::<T>(name).await?.1)
    }

    /// Whose resource a URI means: the server that lists it, or one with a template that fits.
    pub async fn owner_of(&self, uri: &str) -> Result<ServerName, Error> {
        Ok(self.find_resource(uri).await?.name().clone())
    }

    /// The server of the tool that a call names, and the tool. A name that was resolved before is
    /// not read again.
    pub(super) async fn find_tool(
        &self,
        wanted: ToolReference,
    ) -> Result<(Arc<ServerHandle>, ToolName), Error> {
        match wanted {
            ToolReference::Given(name) => self.find::<Tool>(&name).await,
            ToolReference::Resolved(name) => Ok((self.server_handle(name.server.as_str())?, name)),
        }
    }

    /// The server that offers something of this name, and what it is called there. A qualified
    /// name, or the only server there is, needs no list.
    pub(super) async fn find<T: Listable>(
        &self,
        name: &str,
    ) -> Result<(Arc<ServerHandle>, ToolName), Error> {
        let qualified = name.split_once('/');
        if let Some((server, own)) = qualified
            && let Some(server_handle) = self.known_server(server)
            && !own.is_empty()
        {
            return Ok(named(server_handle, own));
        }
        if let Some(only) = self.only_enabled() {
            return Ok(named(only, name));
        }
        let known: Vec<Known<T>> = self.enabled().into_iter().map(from_memory).collect();
        if let Some(found) = look_up(&known, name)? {
            return Ok(found);
        }
        if let Some((server, _)) = qualified
            && !server.is_empty()
        {
            // Own names with a slash are rarer than slips, for which no server need be started.
            self.server_handle(server)?;
        }
        let asked = each(known, asked_if_unknown).await;
        let found = look_up(&asked, name);
        let unasked = unknown(&asked);
        match found {
            // A name for model providers holds the server's, so no other server can have it.
            Ok(Some((server_handle, found))) if unasked.is_empty() || found.tool != name => {
                for known in asked.iter().filter(|it| it.source == Source::Asked) {
                    if let Some(entries) = &known.entries {
                        known.server_handle.remember(entries);
                    }
                }
                Ok((server_handle, found))
            }
            Ok(Some((_, found))) => {
                // The same question must not be answered the next time, only because it was asked.
                for known in asked.iter().filter(|it| it.source == Source::Asked) {
                    known.server_handle.forget::<T>();
                }
                let ToolName { server, tool } = found;
                let possible = std::iter::once(&server).chain(&unasked);
                Err(Error::OwnerUnknown {
                    candidates: possible.map(|it| format!("{it}/{tool}")).collect(),
                    name: tool,
                    unasked,
                })
            }
            Ok(None) => Err(not_offered(&asked, name)),
            Err(ambiguous) => Err(ambiguous),
        }
    }

    /// The server of a resource: the one that lists it, or one with a template that fits.
    pub(super) async fn find_resource(&self, uri: &str) -> Result<Arc<ServerHandle>, Error> {
        if let Some(only) = self.only_enabled() {
            return Ok(only);
        }
        let enabled = self.enabled();
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

/// Does the same with many servers at once; none waits for another (P5).
async fn each<I, R, F>(all: Vec<I>, work: impl Fn(I) -> F) -> Vec<R>
where
    R: Send + 'static,
    F: Future<Output = R> + Send + 'static,
{
    let mut under_way = JoinSet::new();
    for one in all {
        under_way.spawn(work(one));
    }
    under_way.join_all().await
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

fn owners<T>(known: &[Known<T>], is_it: impl Fn(&T) -> bool) -> Vec<Arc<ServerHandle>> {
    known
        .iter()
        .filter(|known| {
            let mut entries = known.entries.iter().flat_map(|entries| entries.iter());
            entries.any(&is_it)
        })
        .map(|known| known.server_handle.clone())
        .collect()
}

fn one_owner(
    owners: Vec<Arc<ServerHandle>>,
    uri: &str,
) -> Result<Option<Arc<ServerHandle>>, Error> {
    match owners.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.clone())),
        several => Err(Error::Ambiguous {
            name: uri.to_owned(),
            candidates: several.iter().map(|it| it.name().to_string()).collect(),
        }),
    }
}

fn named(server_handle: Arc<ServerHandle>, own: &str) -> (Arc<ServerHandle>, ToolName) {
    let name = ToolName::new(server_handle.name().clone(), own);
    (server_handle, name)
}

fn look_up<T: Listable>(
    known: &[Known<T>],
    name: &str,
) -> Result<Option<(Arc<ServerHandle>, ToolName)>, Error> {
    match directory(known).resolve(name) {
        Ok(found) => {
            let owner = known
                .iter()
                .find(|it| *it.server_handle.name() == found.server);
            Ok(owner.map(|it| (it.server_handle.clone(), found)))
        }
        Err(Unresolved::Unknown { .. }) => Ok(None),
        Err(Unresolved::Ambiguous { given, servers }) => Err(Error::Ambiguous {
            candidates: servers.iter().map(|it| format!("{it}/{given}")).collect(),
            name: given,
        }),
    }
}

/// What is hidden takes no name away from others.
fn directory<T: Listable>(known: &[Known<T>]) -> Directory {
    let mut names = Vec::new();
    for known in known {
        let config = known.server_handle.config();
        let entries = known.entries.iter().flat_map(|entries| entries.iter());
        let own = entries
            .map(Listable::own_name)
            .filter(|own| T::KIND != ListKind::Tools || config.tool_filter.passes(own));
        names.extend(own.map(|own| ToolName::new(known.server_handle.name().clone(), own)));
    }
    Directory::new(names)
}

/// The servers of which nothing is known.
fn unknown<T>(known: &[Known<T>]) -> Vec<ServerName> {
    let unknown = known.iter().filter(|known| known.entries.is_none());
    unknown.map(|it| it.server_handle.name().clone()).collect()
}

fn not_offered<T: Listable>(known: &[Known<T>], name: &str) -> Error {
    let nearest = match directory(known).resolve(name) {
        Err(Unresolved::Unknown { nearest, .. }) => nearest,
        _ => None,
    };
    Error::NotOffered {
        kind: T::KIND.entry(),
        name: name.to_owned(),
        nearest,
        unasked: unknown(known),
    }
}

/// What is known of a server's list without asking it.
fn from_memory<T: Listable>(server_handle: Arc<ServerHandle>) -> Known<T> {
    let entries = server_handle.known::<T>().or_else(|| {
        let remembered = server_handle.remembered::<T>()?;
        Some(Arc::new(remembered.entries))
    });
    Known {
        server_handle,
        entries,
        source: Source::Memory,
    }
}

/// Asks a server that is not known until it answers or fails, or its start has taken as long as it
/// may. One that is known may have something new; it is not waited for as long.
async fn asked_if_unknown<T: Listable>(known: Known<T>) -> Known<T> {
    let server_handle = known.server_handle.clone();
    let fetch = async move { server_handle.list_unremembered::<T>().await };
    let fetched = match &known.entries {
        None => fetch.await.ok(),
        Some(_) => quickly(fetch).await,
    };
    match fetched {
        Some(entries) => Known {
            entries: Some(entries),
            source: Source::Asked,
            ..known
        },
        None => known,
    }
}

/// What is known of a server's list without waiting long: what is remembered will do.
async fn known_quickly<T: Listable>(server_handle: Arc<ServerHandle>) -> Known<T> {
    let known = from_memory(server_handle);
    if known.entries.is_some() {
        return known;
    }
    let server_handle = known.server_handle.clone();
    let fetch = async move { Ok(server_handle.list::<T>(Patience::FirstFailure).await?.0) };
    Known {
        entries: quickly(fetch).await,
        ..known
    }
}

/// What comes of a fetch in time. What does not goes on by itself (fault 35).
async fn quickly<R: Send + 'static>(
    fetch: impl Future<Output = Result<R, Error>> + Send + 'static,
) -> Option<R> {
    let fetched = tokio::time::timeout(NAME_PATIENCE, tokio::spawn(fetch)).await;
    fetched.ok()?.ok()?.ok()
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
