//! `attache ls`: which servers there are, and in what state.

use std::collections::HashMap;

use attache::Client;
use attache::host::catalog::{Listable, Outcome};
use attache::host::config::ServerName;
use attache::host::snapshot::{ServerSnapshot, ServerState};
use attache::host::{Error, Host};
use attache::protocol::{Implementation, Prompt, Resource, ResourceTemplate};
use serde::Serialize;
use tokio::task::JoinSet;

use super::listing;
use crate::failure::Failure;
use crate::invocation::Completeness;
use crate::output::json::{self, ErrorBody};
use crate::output::{Format, Output, Style, Text, human};
use crate::roster::BuiltIn;
use crate::session::Session;

#[derive(Serialize)]
struct Document<'a> {
    servers: Vec<ServerDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerDocument<'a> {
    name: &'a str,
    state: &'static str,
    era: Option<&'a str>,
    revision: Option<&'static str>,
    server_info: Option<&'a Implementation>,
    counts: Option<Counts>,
    last_error: Option<ErrorBody<'a>>,
}

/// How many of each a server has; `None` for what it does not offer or would not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Counts {
    tools: Option<usize>,
    resources: Option<usize>,
    resource_templates: Option<usize>,
    prompts: Option<usize>,
}

/// What there is to say about one server.
struct Seen {
    name: String,
    state: State,
    counts: Option<Counts>,
    trouble: Option<Failure>,
}

enum State {
    Known(Box<ServerSnapshot>, Option<Client>),
    Misconfigured,
    /// Inside this executable, and nobody has named it.
    Waiting(&'static BuiltIn),
}

pub(super) async fn run(
    completeness: Completeness,
    session: &Session,
    output: &Output,
) -> Result<(), Failure> {
    let servers = look(completeness, session).await?;
    match output.format {
        Format::Json => {
            let servers = servers.iter().map(Seen::document).collect();
            output.document(&json::write(&Document { servers }))?;
        }
        Format::Human => {
            let mut text = Text::new();
            for server in &servers {
                text.append(server.text());
            }
            output.text(&text)?;
        }
    }
    let silent = |server: &&Seen| !server.has_answered();
    if let (Some(_), Some(only)) = (session.only_server(), servers.iter().find(silent)) {
        let failure = only.trouble.clone();
        let unknown = || Failure::unexpected("it has not answered").of(&only.name);
        return Err(failure.unwrap_or_else(unknown));
    }
    let names: Vec<&str> = servers
        .iter()
        .filter(silent)
        .map(|server| server.name.as_str())
        .collect();
    listing::all_answered(&names, servers.len(), completeness)
}

/// Starts all servers at once and looks at each; none waits for another.
async fn look(completeness: Completeness, session: &Session) -> Result<Vec<Seen>, Failure> {
    let tools = session.host.list_tools();
    let tools = tools.remembered_after(listing::patience(completeness));
    let tools = session.run(tools).await?;
    let mut counting = JoinSet::new();
    for answer in &tools.servers {
        let entries = tools.entries.iter();
        let count = entries.filter(|entry| entry.server == answer.name).count();
        let known = matches!(answer.outcome, Outcome::Ok | Outcome::NotOffered);
        let tools = known.then_some(count);
        let (host, name) = (session.host.clone(), answer.name.clone());
        counting.spawn(async move {
            let counts = count_others(&host, &name, tools).await;
            (name, counts)
        });
    }
    let counted = session.run(async { Ok(counting.join_all().await) }).await?;
    let mut counted: HashMap<ServerName, _> = counted.into_iter().collect();
    let mut servers = Vec::new();
    for (answer, state) in tools
        .servers
        .into_iter()
        .zip(session.host.snapshot().servers)
    {
        let mut trouble = answer.error.map(Failure::from);
        let counts = match counted.remove(&state.name) {
            Some(Ok(counts)) => counts,
            Some(Err(error)) => {
                trouble.get_or_insert(error.into());
                None
            }
            None => None,
        };
        let client = session.host.running(state.name.as_str());
        servers.push(Seen {
            name: state.name.to_string(),
            state: State::Known(Box::new(state), client),
            counts,
            trouble,
        });
    }
    for (name, failure) in &session.misconfigured {
        servers.push(Seen {
            name: name.clone(),
            state: State::Misconfigured,
            counts: None,
            trouble: Some(failure.clone()),
        });
    }
    servers.extend(session.waiting.iter().map(|built_in| Seen {
        name: built_in.name.to_owned(),
        state: State::Waiting(built_in),
        counts: None,
        trouble: None,
    }));
    Ok(servers)
}

/// Counts what else a running server has promised; nothing is asked of one that is not there.
async fn count_others(
    host: &Host,
    name: &ServerName,
    tools: Option<usize>,
) -> Result<Option<Counts>, Error> {
    let Some(client) = host.running(name.as_str()) else {
        return Ok(None);
    };
    let offered = client.capabilities();
    let resources = Promise::of(&offered.resources);
    let (resources, templates, prompts) = tokio::join!(
        count::<Resource>(host, name, resources),
        count::<ResourceTemplate>(host, name, resources),
        count::<Prompt>(host, name, Promise::of(&offered.prompts)),
    );
    Ok(Some(Counts {
        tools: tools.filter(|_| offered.tools.is_some()),
        resources: resources?,
        resource_templates: templates?,
        prompts: prompts?,
    }))
}

/// Whether a server has promised a list.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Promise {
    Given,
    NotGiven,
}

impl Promise {
    fn of<T>(capability: &Option<T>) -> Self {
        match capability {
            Some(_) => Self::Given,
            None => Self::NotGiven,
        }
    }
}

async fn count<T: Listable>(
    host: &Host,
    name: &ServerName,
    promise: Promise,
) -> Result<Option<usize>, Error> {
    if promise == Promise::NotGiven {
        return Ok(None);
    }
    let list = host.list::<T>().server(name.as_str()).await?;
    match list.servers.into_iter().find_map(|answer| answer.error) {
        Some(error) => Err(error),
        None => Ok(Some(list.entries.len())),
    }
}

impl Seen {
    fn has_answered(&self) -> bool {
        match &self.state {
            State::Known(server, _) if server.state == ServerState::Disabled => true,
            State::Known(server, _) => server.state == ServerState::Ready && self.counts.is_some(),
            State::Misconfigured => false,
            State::Waiting(_) => true,
        }
    }

    fn state(&self) -> &'static str {
        match &self.state {
            State::Known(server, _) => server.state.as_str(),
            State::Misconfigured => "misconfigured",
            State::Waiting(_) => "built in",
        }
    }

    fn document(&self) -> ServerDocument<'_> {
        let (era, revision, server_info) = match &self.state {
            State::Known(server, client) => (
                server.era.as_deref(),
                server.revision,
                client.as_ref().and_then(Client::server),
            ),
            State::Misconfigured | State::Waiting(_) => (None, None, None),
        };
        ServerDocument {
            name: &self.name,
            state: match &self.state {
                State::Known(server, _) if server.state == ServerState::BackingOff => "backing_off",
                State::Waiting(_) => "built_in",
                _ => self.state(),
            },
            era,
            revision,
            server_info,
            counts: self.counts,
            last_error: self.trouble.as_ref().map(Into::into),
        }
    }

    fn text(&self) -> Text {
        let mut text = match &self.state {
            State::Known(_, Some(client)) => human::server_line(&self.name, client),
            _ => {
                let mut text = Text::new();
                let style = match self.has_answered() {
                    true => Style::Faint,
                    false => Style::Bad,
                };
                text.add(Style::Name, &self.name)
                    .add(style, &format!("  {}", self.state()))
                    .end_line();
                text
            }
        };
        if let Some(counts) = self.counts {
            text.plain("  ").plain(&counts.sentence()).end_line();
        }
        if let State::Waiting(built_in) = &self.state {
            text.faint("  try: ").plain(built_in.example).end_line();
        }
        if let Some(failure) = &self.trouble {
            text.add(Style::Bad, "  last error: ")
                .plain(&failure.message)
                .end_line();
        }
        text
    }
}

impl Counts {
    fn sentence(self) -> String {
        let parts = [
            (self.tools, "tool"),
            (self.resources, "resource"),
            (self.resource_templates, "resource template"),
            (self.prompts, "prompt"),
        ];
        let words: Vec<String> = parts
            .into_iter()
            .filter_map(|(count, what)| match count? {
                0 => None,
                1 => Some(format!("1 {what}")),
                count => Some(format!("{count} {what}s")),
            })
            .collect();
        match words.is_empty() {
            true => "nothing to list".to_owned(),
            false => words.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_read_as_a_sentence() {
        let counts = Counts {
            tools: Some(1),
            resources: Some(2),
            resource_templates: Some(0),
            prompts: None,
        };
        assert_eq!(counts.sentence(), "1 tool, 2 resources");
        assert_eq!(Counts::default().sentence(), "nothing to list");
    }
}
