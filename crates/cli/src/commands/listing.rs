//! Lists of many servers, and what becomes of a command when not all of them answer.
//!
//! Owns the rule that a command is done only if every server it was about has answered, unless the
//! user accepts less (fault 64), and how long it waits for that. How entries look is each command's
//! affair.

use std::collections::HashSet;
use std::time::Duration;

use attache::host::catalog::{Aggregate, Listable, Outcome, RejectedEntry, ServerAnswer};
use attache::host::config::ServerName;
use attache::host::{Error, List, nearest};
use serde::Serialize;
use tokio::sync::mpsc;

use super::waiting::Waiting;
use crate::args::Completeness;
use crate::command_host::CommandHost;
use crate::failure::{Exit, Failure, Kind};
use crate::output::{Output, Text, human};

/// How long servers are waited for by who accepts less than all answers: while something is known
/// of all that are missing, and while nothing is. What is never waited for is never remembered, so
/// the second is the time that a program started for the first time usually needs.
pub(super) const PARTIAL: Duration = Duration::from_secs(1);
const PARTIAL_UNKNOWN: Duration = Duration::from_secs(10);

/// A list that waits for servers as the user wishes: until all have answered or their time to start
/// is over, or not longer than a partial answer is worth.
pub(super) fn waiting<T: Listable>(list: List<T>, completeness: Completeness) -> List<T> {
    match completeness.partial {
        true => list
            .remembered_after(PARTIAL)
            .starting_after(PARTIAL_UNKNOWN),
        false => list.for_all(),
    }
}

/// A list of all servers of a session.
pub(super) struct Listed<T> {
    pub(super) entries: Vec<attache::host::catalog::Offered<T>>,
    pub(super) servers: Vec<Answered>,
    /// What to say at the end if a person stopped it before all had answered.
    pub(super) stopped: Option<Failure>,
    /// Its entries have been shown as they came.
    pub(super) is_shown: bool,
}

/// One server's part in an answer, for `--json`.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Answered {
    Asked(Box<ServerAnswer>),
    /// It is written down wrongly and could not be asked.
    Misconfigured {
        name: String,
        outcome: &'static str,
        cause: String,
        #[serde(skip)]
        failure: Box<Failure>,
    },
}

/// Asks all servers of the session for a list. If there is only one and it does not answer, that
/// is the failure of the command. A person who interrupts it gets what is known by then.
pub(super) async fn fetch<T: Listable>(
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
) -> Result<Listed<T>, Failure> {
    fetch_and(completeness, session, output, |_| Ok(())).await
}

/// The same; while a person looks on, `show` is told of each server as it answers.
pub(super) async fn fetch_and<T: Listable>(
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
    mut show: impl FnMut(&Aggregate<T>) -> Result<(), Failure>,
) -> Result<Listed<T>, Failure> {
    if let Some(mut list) = session.list_of_attached().await? {
        if completeness.partial {
            live_first(&mut list);
        }
        return list_of(list, session, output);
    }
    let (tell, mut told) = mpsc::unbounded_channel();
    let list = waiting(session.host()?.list::<T>(), completeness);
    let list = list.on_answer(move |one| {
        // The command may have ended and left the channel.
        let _ = tell.send(one);
    });
    let mut list = std::pin::pin!(list.into_future());
    let mut waiting = Waiting::for_all(session, output)?;
    let is_watched = waiting.is_watched();
    let mut known: Vec<Aggregate<T>> = Vec::new();
    let mut stopped = None;
    let mut whole = loop {
        tokio::select! {
            biased;
            Some(one) = told.recv() => {
                for answer in &one.servers {
                    waiting.ended(&answer.name);
                }
                if is_watched {
                    show(&one)?;
                }
                known.push(one);
            }
            whole = &mut list => break whole?,
            () = session.interrupted() => {
                if session.only_server().is_some() {
                    return Err(session.cancelled());
                }
                stopped = Some(waiting.stopped());
                break unfinished(known, &waiting);
            }
            () = waiting.look() => {}
        }
    };
    // Those who were told of before are shown already.
    while let Ok(one) = told.try_recv() {
        for answer in &one.servers {
            waiting.ended(&answer.name);
        }
        if is_watched {
            show(&one)?;
        }
    }
    if is_watched && stopped.is_none() {
        let rest = whole.servers.iter().map(|answer| &answer.name);
        for server in rest.filter(|name| waiting.missing().contains(*name)) {
            show(&part(&whole, server))?;
        }
    }
    if completeness.partial {
        live_first(&mut whole);
    }
    drop(waiting);
    let mut listed = list_of(whole, session, output)?;
    listed.stopped = stopped;
    listed.is_shown = is_watched;
    Ok(listed)
}

/// What is known when a person does not want to wait any more.
fn unfinished<T>(known: Vec<Aggregate<T>>, waiting: &Waiting) -> Aggregate<T> {
    let mut whole = Aggregate {
        entries: Vec::new(),
        servers: Vec::new(),
    };
    for one in known {
        whole.entries.extend(one.entries);
        whole.servers.extend(one.servers);
    }
    let missing = waiting.missing().iter().cloned();
    whole.servers.extend(missing.map(|name| ServerAnswer {
        name,
        outcome: Outcome::Starting,
        error: None,
        rejected: Vec::new(),
    }));
    whole
        .servers
        .sort_by(|one, other| one.name.cmp(&other.name));
    whole
        .entries
        .sort_by(|one, other| one.server.cmp(&other.server));
    whole
}

/// One server's part of a list.
fn part<T: Clone>(whole: &Aggregate<T>, server: &ServerName) -> Aggregate<T> {
    let entries = whole.entries.iter().filter(|it| it.server == *server);
    let servers = whole.servers.iter().filter(|it| it.name == *server);
    Aggregate {
        entries: entries.cloned().collect(),
        servers: servers.cloned().collect(),
    }
}

fn list_of<T: Listable>(
    list: Aggregate<T>,
    session: &CommandHost,
    output: &Output,
) -> Result<Listed<T>, Failure> {
    for answer in &list.servers {
        note_rejected(&answer.name, T::KIND.entry(), &answer.rejected, output);
    }
    let only_one = session.only_server().is_some();
    let mut servers = Vec::new();
    for answer in list.servers {
        let is_remembered = matches!(answer.outcome, Outcome::Remembered { .. });
        if only_one
            && !is_remembered
            && let Some(error) = answer.error
        {
            return Err(error.into());
        }
        servers.push(Answered::Asked(Box::new(answer)));
    }
    servers.extend(misconfigured(session));
    Ok(Listed {
        entries: list.entries,
        servers,
        stopped: None,
        is_shown: false,
    })
}

/// Puts what servers have just said before what is remembered of others.
fn live_first<T>(list: &mut Aggregate<T>) {
    let live = |answer: &&ServerAnswer| matches!(answer.outcome, Outcome::Ok);
    let live: HashSet<ServerName> = list
        .servers
        .iter()
        .filter(live)
        .map(|answer| answer.name.clone())
        .collect();
    list.entries
        .sort_by_key(|entry| !live.contains(&entry.server));
    list.servers.sort_by_key(|answer| rank(&answer.outcome));
}

/// The place of a server among others: those that answered, those that are remembered, the rest.
pub(super) fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Ok => 0,
        Outcome::Remembered { .. } => 1,
        _ => 2,
    }
}

fn misconfigured(session: &CommandHost) -> impl Iterator<Item = Answered> + '_ {
    session
        .misconfigured
        .iter()
        .map(|(name, failure)| Answered::Misconfigured {
            name: name.clone(),
            outcome: "misconfigured",
            cause: failure.message.clone(),
            failure: Box::new(failure.clone()),
        })
}

impl<T> Listed<T> {
    /// How an entry is named to people: by its own name if there is one server only.
    pub(super) fn name<'a>(
        &self,
        entry: &'a attache::host::catalog::Offered<T>,
        own: &'a str,
    ) -> &'a str {
        match self.servers.len() {
            1 => own,
            _ => &entry.qualified,
        }
    }

    /// The text for a list without entries.
    pub(super) fn none(&self, what: &str) -> Text {
        match self.servers.as_slice() {
            [only] => Text::line(&format!("{} has no {what}", only.name())),
            _ => Text::line(&format!("no server has any {what}")),
        }
    }
}

impl Answered {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Asked(answer) => answer.name.as_str(),
            Self::Misconfigured { name, .. } => name,
        }
    }

    /// Why it has not answered, if it has not.
    fn silence(&self) -> Option<String> {
        match self {
            Self::Asked(answer) => silence(&answer.outcome),
            Self::Misconfigured { cause, .. } => Some(cause.clone()),
        }
    }

    /// Joins two parts of one server in one command.
    pub(super) fn and(&mut self, other: Self) {
        if let (Self::Asked(one), Self::Asked(other)) = (self, other) {
            let mut rejected = std::mem::take(&mut one.rejected);
            if silence(&one.outcome).is_none() {
                let mut other = other.clone();
                rejected.append(&mut other.rejected);
                *one = other;
            }
            one.rejected = rejected;
        }
    }
}

/// Why a server has not answered, in words. One that is switched off is not expected to.
fn silence(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Ok | Outcome::NotOffered | Outcome::Disabled => None,
        Outcome::Starting => Some("it is still starting".to_owned()),
        Outcome::Parked(failure) => Some(failure.cause.clone()),
        Outcome::Unreachable(failure) => Some(failure.cause.clone()),
        Outcome::Remembered { saved_ms, because } => {
            let age = human::age(*saved_ms);
            Some(format!("remembered from {age} ago: {because}"))
        }
    }
}

/// Says which servers have not answered, and whether the command is done all the same.
pub(super) fn conclude(
    servers: &[Answered],
    stopped: Option<Failure>,
    completeness: Completeness,
    output: &Output,
) -> Result<(), Failure> {
    let mut silent = Vec::new();
    for server in servers {
        if let Some(why) = server.silence() {
            // Whom a person does not want to wait for is named below.
            let is_starting =
                matches!(server, Answered::Asked(it) if matches!(it.outcome, Outcome::Starting));
            if stopped.is_none() || !is_starting {
                output.note(&format!("{}: {why}", server.name()));
            }
            silent.push(server.name());
        }
    }
    if let Some(stopped) = stopped {
        return Err(stopped);
    }
    all_answered(&silent, servers.len(), completeness)
}

/// The failure of a command that not all servers have answered.
pub(super) fn all_answered(
    silent: &[&str],
    servers: usize,
    completeness: Completeness,
) -> Result<(), Failure> {
    if silent.is_empty() || completeness.partial {
        return Ok(());
    }
    let answered = servers - silent.len();
    let message = format!(
        "{answered} of {servers} servers answered; not {}",
        silent.join(", ")
    );
    Err(Failure::new(Kind::Connect, Exit::Unreachable, message)
        .hint("`attache doctor` says why; --partial accepts it"))
}

fn note_rejected(server: &ServerName, what: &str, rejected: &[RejectedEntry], output: &Output) {
    for rejected in rejected {
        output.note(&format!(
            "{server} lists a {what} that cannot be read ({}): {}",
            rejected.reason,
            attache::protocol::shortened(rejected.raw.as_str())
        ));
    }
}

/// What is offered under a name by one server: for commands that need its description first.
pub(super) async fn find<T: Listable>(
    given: &str,
    what: &str,
    session: &CommandHost,
    output: &Output,
) -> Result<(ServerName, T), Failure> {
    if let Some(found) = session.find_in_attached::<T>(given).await? {
        note_rejected(&found.server, what, &found.rejected, output);
        return Ok((found.server, found.entry));
    }
    let name = session.run(session.host()?.resolve::<T>(given)).await?;
    let server = name.server.clone();
    let list = session.host()?.list::<T>().server(server.as_str());
    let list = session.run(list).await?;
    for answer in list.servers {
        note_rejected(&server, what, &answer.rejected, output);
        if list.entries.is_empty()
            && let Some(error) = answer.error
        {
            return Err(error.into());
        }
    }
    let names: Vec<String> = list
        .entries
        .iter()
        .map(|entry| entry.entry.own_name().to_owned())
        .collect();
    for entry in list.entries {
        if entry.entry.own_name() == name.tool || entry.entry.own_name() == given {
            return Ok((server, entry.entry));
        }
    }
    if let Some((unknown, _)) = given.split_once('/')
        && !session
            .server_names()
            .iter()
            .any(|it| it.as_str() == unknown)
    {
        let error = Error::UnknownServer {
            name: unknown.to_owned(),
            nearest: nearest(unknown, [server.as_str()]).map(str::to_owned),
        };
        return Err(error.into());
    }
    let failure =
        Failure::failed(format!("there is no {what} \"{}\"", name.tool)).of(server.as_str());
    Err(
        match crate::names::hint(&name.tool, names.iter().map(String::as_str)) {
            Some(hint) => failure.hint(hint),
            None => failure.hint(format!("the server lists no {what}s")),
        },
    )
}
