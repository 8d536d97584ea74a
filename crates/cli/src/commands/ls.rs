//! `attache ls`: which servers there are, and in what state.

use std::collections::HashMap;
use std::time::Duration;

use attache::Client;
use attache::host::catalog::{Aggregate, Listable, Outcome};
use attache::host::config::ServerName;
use attache::host::snapshot::{Offers, ServerSnapshot, ServerState};
use attache::host::{Error, Host};
use attache::protocol::{Implementation, Prompt, Resource, ResourceTemplate, Tool};
use serde::Serialize;
use tokio::task::JoinSet;

use super::{Context, Known, Typed, Verb, listing};
use crate::args::{Completeness, ListArgs};
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::output::json::{self, ErrorBody};
use crate::output::{Format, Output, Style, Text, human};
use crate::selection::BuiltIn;

/// Show the servers: state, era, revision, what they offer
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache ls -- uvx mcp-server-time")]
pub(crate) struct Ls {
    #[command(flatten)]
    list: ListArgs,
}

impl Verb for Ls {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let completeness = self.list.completeness;
        run(completeness, self.list.open(context).await?, &context.output).await
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        known.servers_at_first(typed)
    }
}

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
    revision: Option<&'a str>,
    server_info: Option<&'a Implementation>,
    counts: Option<Counts>,
    /// When the counts were true, if it has not answered now.
    remembered: Option<Remembered>,
    last_error: Option<ErrorBody<'a>>,
}

/// That what is told of a server is what it offered then.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
struct Remembered {
    saved_ms: u64,
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
    remembered: Option<Remembered>,
    trouble: Option<Failure>,
}

enum State {
    Known(Box<ServerSnapshot>, Option<Client>),
    Misconfigured,
    /// Inside this executable, and not named on the command line.
    Waiting(&'static BuiltIn),
}

pub(super) async fn run(
    completeness: Completeness,
    session: &CommandHost,
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
    if session.only_server().is_some()
        && let Some(only) = servers.iter().find(silent)
        && only.remembered.is_none()
        && let Some(failure) = &only.trouble
    {
        return Err(failure.clone());
    }
    let names: Vec<&str> = servers
        .iter()
        .filter(silent)
        .map(|server| server.name.as_str())
        .collect();
    listing::all_answered(&names, servers.len(), completeness)
}

/// Asks all servers for their tools, and those that answer for what else they have; none waits for
/// another.
async fn look(completeness: Completeness, session: &CommandHost) -> Result<Vec<Seen>, Failure> {
    let host = &session.host;
    let tools = listing::waiting(host.list_tools(), completeness);
    let mut tools = session.run(tools).await?;
    let mut counting = JoinSet::new();
    for answer in &tools.servers {
        if !matches!(answer.outcome, Outcome::Ok | Outcome::NotOffered) {
            continue;
        }
        let count = tools_of(&answer.name, &tools);
        let (host, name) = (host.clone(), answer.name.clone());
        counting.spawn(async move {
            let counts = count_others(&host, &name, count).await;
            (name, counts)
        });
    }
    let patience = match completeness.partial {
        true => listing::PARTIAL,
        false => Duration::MAX,
    };
    let counted = async {
        let mut counted = HashMap::new();
        let all = async {
            while let Some(one) = counting.join_next().await {
                counted.extend(one);
            }
        };
        // What is not counted by then is left out, as the user wishes.
        let _ = tokio::time::timeout(patience, all).await;
        Ok(counted)
    };
    let mut counted = session.run(counted).await?;
    if completeness.partial {
        tools.servers.sort_by_key(|it| listing::rank(&it.outcome));
    }
    let states = host.snapshot().servers.into_iter();
    let mut states: HashMap<ServerName, _> = states.map(|it| (it.name.clone(), it)).collect();
    let mut servers = Vec::new();
    for answer in &tools.servers {
        let name = &answer.name;
        let Some(state) = states.remove(name) else {
            continue;
        };
        let mut trouble = answer.error.clone().map(Failure::from);
        let mut remembered = None;
        let counts = match (&answer.outcome, counted.remove(name)) {
            (_, Some(Ok(counts))) => counts,
            (_, Some(Err(error))) => {
                trouble.get_or_insert(error.into());
                None
            }
            (Outcome::Ok, None) => Some(Counts {
                tools: Some(tools_of(name, &tools)),
                ..Counts::default()
            }),
            (Outcome::Remembered { saved_ms, .. }, None) => {
                let saved_ms = *saved_ms;
                remembered = Some(Remembered { saved_ms });
                Some(host.remembered_offers(name.as_str())?.into())
            }
            (_, None) => None,
        };
        let client = host.running(name.as_str());
        servers.push(Seen {
            name: name.to_string(),
            state: State::Known(Box::new(state), client),
            counts,
            remembered,
            trouble,
        });
    }
    for (name, failure) in &session.misconfigured {
        servers.push(Seen {
            name: name.clone(),
            state: State::Misconfigured,
            counts: None,
            remembered: None,
            trouble: Some(failure.clone()),
        });
    }
    servers.extend(session.waiting.iter().map(|built_in| Seen {
        name: built_in.name.to_owned(),
        state: State::Waiting(built_in),
        counts: None,
        remembered: None,
        trouble: None,
    }));
    Ok(servers)
}

fn tools_of(server: &ServerName, tools: &Aggregate<Tool>) -> usize {
    let entries = tools.entries.iter();
    entries.filter(|entry| entry.server == *server).count()
}

/// Counts what else a running server has promised; nothing is asked of one that is not there.
async fn count_others(
    host: &Host,
    name: &ServerName,
    tools: usize,
) -> Result<Option<Counts>, Error> {
    let Some(client) = host.running(name.as_str()) else {
        return Ok(None);
    };
    let offered = client.capabilities();
    let resources = offered.resources.is_some();
    let (resources, templates, prompts) = tokio::join!(
        count::<Resource>(host, name, resources),
        count::<ResourceTemplate>(host, name, resources),
        count::<Prompt>(host, name, offered.prompts.is_some()),
    );
    Ok(Some(Counts {
        tools: offered.tools.as_ref().map(|_| tools),
        resources: resources?,
        resource_templates: templates?,
        prompts: prompts?,
    }))
}

async fn count<T: Listable>(
    host: &Host,
    name: &ServerName,
    is_promised: bool,
) -> Result<Option<usize>, Error> {
    if !is_promised {
        return Ok(None);
    }
    let list = host.list::<T>().server(name.as_str()).for_all().await?;
    match list.servers.into_iter().find_map(|answer| answer.error) {
        Some(error) => Err(error),
        None => Ok(Some(list.entries.len())),
    }
}

impl Seen {
    fn has_answered(&self) -> bool {
        match &self.state {
            State::Known(server, _) if server.state == ServerState::Disabled => true,
            State::Known(server, _) => {
                let is_ready = server.state == ServerState::Ready;
                is_ready && self.counts.is_some() && self.remembered.is_none()
            }
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
                server.revision.as_deref(),
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
            remembered: self.remembered,
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
            text.plain("  ").plain(&counts.sentence());
            if let Some(Remembered { saved_ms }) = self.remembered {
                text.faint(&format!("  remembered from {} ago", human::age(saved_ms)));
            }
            text.end_line();
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

impl From<Offers> for Counts {
    fn from(offers: Offers) -> Self {
        Self {
            tools: offers.tools,
            resources: offers.resources,
            resource_templates: offers.templates,
            prompts: offers.prompts,
        }
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
