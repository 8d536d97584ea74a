//! `attache ls`: which servers there are, and in what state.

use std::collections::HashMap;
use std::time::Duration;

use attache::host::catalog::{Aggregate, Listable, Outcome, ServerAnswer};
use attache::host::config::ServerName;
use attache::host::snapshot::{Offers, ServerSnapshot, ServerState};
use attache::host::{Accounts, Error, Host};
use attache::protocol::{Implementation, Prompt, Resource, ResourceTemplate, Tool};
use attache_attach::{RemoteError, RemoteHost};
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::doctor::{self, Diagnosis};
use super::waiting::Waiting;
use super::{Context, Known, Typed, Verb, listing};
use crate::args::{Completeness, ListArgs};
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::output::json::{self, ErrorBody};
use crate::output::{Format, Output, Style, Text, human};
use crate::selection::BuiltIn;

/// How long the process that keeps the servers running may take to tell of them. One whose servers
/// are still starting cannot show how far they are, so the command then looks itself.
const KEPT_PATIENCE: Duration = Duration::from_secs(2);

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
        run(
            completeness,
            self.list.open(context).await?,
            &context.output,
        )
        .await
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
    /// The trouble as `attache doctor` tells it.
    diagnosis: Option<Diagnosis>,
}

enum State {
    /// With who it says it is.
    Known(Box<ServerSnapshot>, Option<Implementation>),
    Misconfigured,
    /// Inside this executable, and not named on the command line.
    Waiting(&'static BuiltIn),
}

pub(super) async fn run(
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    let built_in: Vec<&str> = session.waiting.iter().map(|it| it.name).collect();
    let column = session.name_column(&built_in);
    let (servers, stopped) = match kept(session).await? {
        Some(servers) => {
            if output.format == Format::Human {
                output.text(&texts(&servers, column))?;
            }
            (servers, None)
        }
        None => look(completeness, session, output, column).await?,
    };
    if output.format == Format::Json {
        let servers = servers.iter().map(Seen::document).collect();
        output.document(&json::write(&Document { servers }))?;
    }
    if let Some(stopped) = stopped {
        return Err(stopped);
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
    let whole = listing::all_answered(&names, servers.len(), completeness);
    // It has just said why.
    whole.map_err(|failure| match output.format {
        Format::Human => failure.hint("--partial is content with those that answer"),
        Format::Json => failure,
    })
}

/// What the process that keeps the servers running says of them. None if there is none, it is not
/// content with all of them, or it takes long to say.
async fn kept(session: &CommandHost) -> Result<Option<Vec<Seen>>, Failure> {
    let ask = async |host: &RemoteHost, only: Option<&str>| {
        let asked = tokio::time::timeout(KEPT_PATIENCE, host.servers(only));
        asked.await.unwrap_or(Err(RemoteError::Lost))
    };
    let Some(servers) = session.ask_attached(ask).await? else {
        return Ok(None);
    };
    let servers = servers.into_iter().map(|known| {
        let counts = (known.server.state == ServerState::Ready).then(|| known.server.offers.into());
        let name = known.server.name.to_string();
        Seen {
            counts,
            ..Seen::new(
                &name,
                State::Known(Box::new(known.server), known.server_info),
            )
        }
    });
    Ok(Some(servers.chain(Seen::without_host(session)).collect()))
}

fn texts(servers: &[Seen], column: usize) -> Text {
    let mut text = Text::new();
    for server in servers {
        text.append(server.text(column));
    }
    text
}

/// Asks all servers for their tools, and those that answer for what else they have; none waits for
/// another. While a person looks on, each is printed as soon as it is known; otherwise all are
/// printed in the end. Who interrupts it gets what is known by then, and the failure to end with.
async fn look(
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
    column: usize,
) -> Result<(Vec<Seen>, Option<Failure>), Failure> {
    let host = session.host()?;
    let (tell, mut told) = mpsc::unbounded_channel();
    let list = listing::waiting(host.list_tools(), completeness).on_answer(move |one| {
        // The command may have ended and left the channel.
        let _ = tell.send(one);
    });
    let mut list = std::pin::pin!(list.into_future());
    let mut waiting = Waiting::for_all(session, output)?;
    let prints = output.format == Format::Human;
    let is_watched = waiting.is_watched() && prints;
    let print = |seen: &Seen| output.text(&seen.text(column));
    let mut looking: JoinSet<(usize, Seen)> = JoinSet::new();
    let mut seen: Vec<(usize, Seen)> = Vec::new();
    let mut whole: Option<Aggregate<Tool>> = None;
    let mut deadline = None;
    let mut stopped = None;
    while whole.is_none() || !told.is_empty() || !looking.is_empty() {
        tokio::select! {
            biased;
            Some(one) = told.recv() => {
                for answer in one.servers {
                    looking.spawn(Looker::new(session, answer, one.entries.len())?.run());
                }
            }
            Some(Ok((rank, server))) = looking.join_next(), if !looking.is_empty() => {
                if let Ok(name) = ServerName::new(&server.name) {
                    waiting.ended(&name);
                }
                if is_watched {
                    print(&server)?;
                }
                seen.push((rank, server));
            }
            listed = &mut list, if whole.is_none() => {
                whole = Some(listed?);
                if completeness.partial {
                    deadline = Some(Instant::now() + listing::PARTIAL);
                }
            }
            () = session.interrupted() => {
                if session.only_server().is_some() {
                    return Err(session.cancelled());
                }
                stopped = Some(waiting.stopped());
                break;
            }
            // What is not counted by then is left out, as the user wishes.
            () = until(deadline) => break,
            () = waiting.look() => {}
        }
    }
    looking.abort_all();
    let answers = whole.map(|whole| (whole.servers, whole.entries));
    let (answers, entries) = answers.unwrap_or_default();
    let states = host.snapshot().servers.into_iter();
    let mut states: HashMap<ServerName, _> = states.map(|it| (it.name.clone(), it)).collect();
    for (_, server) in &seen {
        states.remove(server.name.as_str());
    }
    drop(waiting);
    // Those that were given up, or are switched off.
    let mut late = Vec::new();
    for (name, state) in states {
        let answer = answers.iter().find(|answer| answer.name == name).cloned();
        let tools = entries.iter().filter(|entry| entry.server == name).count();
        late.push(match answer {
            Some(answer) => Looker::new(session, answer, tools)?.uncounted(state),
            None => (usize::MAX, Seen::silent(state, host)),
        });
    }
    late.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
    let others = Seen::without_host(session);
    late.extend(others.map(|server| (usize::MAX, server)));
    if is_watched {
        for (_, server) in &late {
            print(server)?;
        }
    }
    seen.sort_by(|(_, one), (_, other)| one.name.cmp(&other.name));
    seen.extend(late);
    if completeness.partial {
        seen.sort_by_key(|(rank, _)| *rank);
    }
    let seen: Vec<Seen> = seen.into_iter().map(|(_, server)| server).collect();
    if prints && !is_watched {
        output.text(&texts(&seen, column))?;
    }
    Ok((seen, stopped))
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// What is needed to look closer at a server that has answered or failed.
struct Looker {
    host: Host,
    accounts: Accounts,
    answer: ServerAnswer,
    tools: usize,
}

impl Looker {
    fn new(session: &CommandHost, answer: ServerAnswer, tools: usize) -> Result<Self, Failure> {
        Ok(Self {
            host: session.host()?.clone(),
            accounts: session.accounts.clone(),
            answer,
            tools,
        })
    }

    /// Counts what it has, or finds out what ails it. With it goes its place among others.
    async fn run(self) -> (usize, Seen) {
        let name = self.answer.name.clone();
        let mut counts = None;
        let mut trouble = self.answer.error.clone();
        if matches!(self.answer.outcome, Outcome::Ok | Outcome::NotOffered) {
            match count_others(&self.host, &name, self.tools).await {
                Ok(counted) => counts = counted,
                Err(error) => {
                    trouble.get_or_insert(error);
                }
            }
        }
        let diagnosis = match &trouble {
            Some(error) => doctor::explain(&self.host, &name, &self.accounts, error).await,
            None => None,
        };
        let servers = self.host.snapshot().servers;
        let state = servers.into_iter().find(|server| server.name == name);
        let rank = usize::from(listing::rank(&self.answer.outcome));
        let mut seen = self.seen(counts, state);
        seen.trouble = trouble.map(Failure::from);
        seen.diagnosis = diagnosis;
        (rank, seen)
    }

    /// What is known of it without asking it for more.
    fn uncounted(self, state: ServerSnapshot) -> (usize, Seen) {
        let rank = usize::from(listing::rank(&self.answer.outcome));
        let counts = matches!(self.answer.outcome, Outcome::Ok).then(|| Counts {
            tools: Some(self.tools),
            ..Counts::default()
        });
        (rank, self.seen(counts, Some(state)))
    }

    fn seen(self, counts: Option<Counts>, state: Option<ServerSnapshot>) -> Seen {
        let name = self.answer.name;
        let (remembered, counts) = match self.answer.outcome {
            Outcome::Remembered { saved_ms, .. } => {
                let offers = self.host.remembered_offers(name.as_str());
                let offers = offers.ok().map(Counts::from);
                (Some(Remembered { saved_ms }), offers)
            }
            _ => (None, counts),
        };
        Seen {
            name: name.to_string(),
            state: match state {
                Some(state) => State::Known(Box::new(state), server_info(&self.host, &name)),
                None => State::Misconfigured,
            },
            counts,
            remembered,
            trouble: self.answer.error.map(Failure::from),
            diagnosis: None,
        }
    }
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
    fn new(name: &str, state: State) -> Self {
        Self {
            name: name.to_owned(),
            state,
            counts: None,
            remembered: None,
            trouble: None,
            diagnosis: None,
        }
    }

    /// A server that a person did not want to wait for.
    fn silent(server: ServerSnapshot, host: &Host) -> Self {
        let name = server.name.clone();
        let server_info = server_info(host, &name);
        Self::new(name.as_str(), State::Known(Box::new(server), server_info))
    }

    /// Those that no host knows: written down wrongly, or inside this executable and not named.
    fn without_host(session: &CommandHost) -> impl Iterator<Item = Self> {
        let misconfigured = session.misconfigured.iter().map(Self::misconfigured);
        misconfigured.chain(session.waiting.iter().map(|it| Self::waiting(it)))
    }

    fn misconfigured((name, failure): &(String, Failure)) -> Self {
        Self {
            trouble: Some(failure.clone()),
            ..Self::new(name, State::Misconfigured)
        }
    }

    fn waiting(built_in: &'static BuiltIn) -> Self {
        Self::new(built_in.name, State::Waiting(built_in))
    }

    fn is_disabled(&self) -> bool {
        matches!(&self.state, State::Known(server, _) if server.state == ServerState::Disabled)
    }

    fn has_answered(&self) -> bool {
        match &self.state {
            _ if self.is_disabled() => true,
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
            State::Known(server, server_info) => (
                server.era.as_deref(),
                server.revision.as_deref(),
                server_info.as_ref(),
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

    /// Its name in a column, then what there is to say about it.
    fn text(&self, column: usize) -> Text {
        let mut text = Text::new();
        text.column(Style::Name, &self.name, column)
            .plain("  ")
            .hang();
        if let Some(counts) = self.counts {
            text.plain(&counts.sentence());
        }
        match (&self.state, self.remembered) {
            (_, Some(Remembered { saved_ms })) => {
                let age = human::age(saved_ms);
                text.add(
                    Style::Warning,
                    &format!(", remembered from {age} ago; now "),
                )
                .add(Style::Warning, self.state());
            }
            (State::Known(server, server_info), None)
                if server.revision.is_some() && self.trouble.is_none() =>
            {
                if self.counts.is_none() {
                    text.add(Style::Warning, "has not listed what it offers");
                }
                text.faint(&format!(" · {}", identity(server, server_info.as_ref())));
            }
            (State::Known(..), None) if !self.has_answered() && self.trouble.is_none() => {
                text.add(
                    Style::Warning,
                    &format!("{} when it was stopped", self.state()),
                );
            }
            (State::Waiting(built_in), _) => {
                text.faint("built in; try: ").command(built_in.example);
            }
            _ if self.has_answered() => {
                text.faint(self.state());
            }
            _ => {
                text.add(Style::Bad, self.state());
            }
        }
        text.end_line();
        let indent = " ".repeat(column + 2);
        if let Some(failure) = self.trouble.as_ref().filter(|_| !self.is_disabled()) {
            let (cause, remedy) = match &self.diagnosis {
                Some(diagnosis) => (&diagnosis.cause, diagnosis.remedy.as_deref()),
                None => (&failure.message, failure.hint.as_deref()),
            };
            text.plain(&indent).plain(cause).end_line();
            if let Some(remedy) = remedy {
                text.plain(&indent)
                    .hang()
                    .add(Style::Good, "remedy: ")
                    .plain(remedy)
                    .end_line();
            }
        }
        text
    }
}

/// Who a server says it is, and what it speaks.
fn identity(server: &ServerSnapshot, server_info: Option<&Implementation>) -> String {
    let (era, revision) = (&server.era, &server.revision);
    let speaks: Vec<&str> = [era, revision]
        .into_iter()
        .flatten()
        .map(String::as_str)
        .collect();
    let speaks = speaks.join(" ");
    match server_info {
        Some(info) => {
            let title = info.title.as_deref().unwrap_or(&info.name);
            format!("{title} {} · {speaks}", info.version)
        }
        None => speaks,
    }
}

fn server_info(host: &Host, server: &ServerName) -> Option<Implementation> {
    host.running(server.as_str())?.server().cloned()
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
                count => Some(human::counted(count, what)),
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
