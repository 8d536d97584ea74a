//! `attache watch`.

use std::collections::BTreeMap;

use attache::Change;
use attache::host::config::ServerName;
use attache::host::{ReadAnswer, Watched};
use attache::protocol::{
    Notification, PromptsChanged, ReadResourceResult, ResourceUpdated, ResourcesChanged,
    SubscriptionFilter, ToolsChanged,
};
use attache_attach::RemoteHost;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::{Context, Known, Typed, Verb, read};
use crate::args::ServerArgs;
use crate::attached::failure;
use crate::command_host::CommandHost;
use crate::failure::{Exit, Failure};
use crate::output::{Format, Output, Style, Text, json};

/// Print changes of resources and lists as they happen, until Ctrl-C
#[derive(Debug, clap::Args)]
#[command(after_help = "\
--json prints one JSON document per line.

Example:
  attache watch demo://clock --read")]
pub(crate) struct Watch {
    /// URIs of resources to watch
    #[arg(value_name = "URI")]
    uris: Vec<String>,
    /// Watch the list of tools
    #[arg(long)]
    tools: bool,
    /// Watch the list of prompts
    #[arg(long)]
    prompts: bool,
    /// Watch the list of resources
    #[arg(long)]
    resources: bool,
    /// Read a resource again when it has changed, and print it
    #[arg(long)]
    read: bool,
    #[command(flatten)]
    servers: ServerArgs,
}

/// Changes of all servers that wait to be shown.
const QUEUE: usize = 64;

/// Where changes go, and in the end why there are no more.
type News = mpsc::Sender<(ServerName, Result<Change, Failure>)>;

/// One change, in the shape of the notification that brought it.
#[derive(Serialize)]
struct Document<'a> {
    server: &'a str,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
    /// What reading the resource again gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a ReadResourceResult>,
}

impl Verb for Watch {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        if self.uris.is_empty() && !(self.tools || self.prompts || self.resources) {
            return Err(Failure::usage("there is nothing to watch").hint(
                "name the URI of a resource, or a list with --tools, --prompts or --resources",
            ));
        }
        let filter = SubscriptionFilter {
            tools_list_changed: self.tools,
            prompts_list_changed: self.prompts,
            resources_list_changed: self.resources,
            resource_subscriptions: Some(self.uris).filter(|uris| !uris.is_empty()),
            ..SubscriptionFilter::default()
        };
        let session = self.servers.open(context).await?;
        let (sender, mut news) = mpsc::channel(QUEUE);
        for (server, part) in parts(&filter, session).await? {
            let granted = begin(&server, &part, session, sender.clone()).await?;
            note_ungranted(&part, &granted, server.as_str(), output);
        }
        drop(sender);
        loop {
            let told = tokio::select! {
                biased;
                // The user ends a watch this way; nothing was left undone.
                () = session.interrupted() => return Ok(()),
                told = news.recv() => told,
            };
            match told {
                Some((server, Ok(change))) => {
                    show(&change, self.read, server.as_str(), session, output).await?;
                }
                Some((server, Err(failure))) => {
                    let failure = failure.of(server.as_str());
                    let message = format!("the watch ended: {failure}");
                    return Err(Failure { message, ..failure });
                }
                None => return Err(Failure::unexpected("the watch ended")),
            }
        }
    }

    fn complete(_: &Typed, known: &Known) -> Vec<String> {
        known.uris()
    }
}

/// Begins to pass on the changes of a server, and gives what it agreed to tell of.
async fn begin(
    server: &ServerName,
    part: &SubscriptionFilter,
    session: &CommandHost,
    news: News,
) -> Result<SubscriptionFilter, Failure> {
    let server = server.clone();
    let watch = async |host: &RemoteHost, _: Option<&str>| host.watch(&server, part.clone()).await;
    if let Some(mut watch) = session.ask_attached(watch).await? {
        let granted = watch.granted().clone();
        tokio::spawn(async move {
            loop {
                let told = watch.next().await;
                let is_end = told.is_err();
                let told = told.map_err(failure);
                if news.send((server.clone(), told)).await.is_err() || is_end {
                    return;
                }
            }
        });
        return Ok(granted);
    }
    let watch = session.host()?.watch_all(server.as_str(), part.clone());
    let mut watch = session.run(watch).await?;
    let granted = watch.granted().clone();
    tokio::spawn(async move {
        while let Some(told) = watch.next().await {
            let told = match told {
                Watched::Changed(change) => Ok(change),
                Watched::Resubscribed => Ok(Change::Missed),
                Watched::Ended(error) => Err(error.into()),
            };
            if news.send((server.clone(), told)).await.is_err() {
                return;
            }
        }
    });
    Ok(granted)
}

/// Which server is to be watched for what. Lists are those of all servers; a resource belongs to
/// the server that offers it.
async fn parts(
    filter: &SubscriptionFilter,
    session: &CommandHost,
) -> Result<BTreeMap<ServerName, SubscriptionFilter>, Failure> {
    let mut parts = BTreeMap::new();
    let lists = SubscriptionFilter {
        resource_subscriptions: None,
        ..filter.clone()
    };
    if lists != SubscriptionFilter::default() {
        for server in session.server_names() {
            parts.insert(server.clone(), lists.clone());
        }
    }
    for uri in filter.resource_subscriptions.iter().flatten() {
        let owner = async |host: &RemoteHost, _: Option<&str>| host.owner_of(uri).await;
        let owner = match session.ask_attached(owner).await? {
            Some(owner) => owner,
            None => session.run(session.host()?.owner_of(uri)).await?,
        };
        let part: &mut SubscriptionFilter = parts.entry(owner).or_default();
        let uris = part.resource_subscriptions.get_or_insert_default();
        uris.push(uri.clone());
    }
    Ok(parts)
}

async fn show(
    change: &Change,
    reread: bool,
    server: &str,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    let (method, uri) = match change {
        Change::Tools => (ToolsChanged::NAME, None),
        Change::Prompts => (PromptsChanged::NAME, None),
        Change::Resources => (ResourcesChanged::NAME, None),
        Change::Resource { uri } => (ResourceUpdated::NAME, Some(uri)),
        Change::Missed => return show_missed(server, output),
    };
    let result = match (uri, reread) {
        (Some(uri), true) => match read_again(uri, server, session).await {
            Ok(answer) => Some(answer.contents),
            Err(failure) if failure.exit == Exit::Failed => {
                output.note(&format!("{uri} cannot be read: {failure}"));
                None
            }
            Err(failure) => return Err(failure),
        },
        _ => None,
    };
    match output.format {
        Format::Json => output.document(&json::write(&Document {
            server,
            method,
            params: uri.map(|uri| json!({ "uri": uri })),
            result: result.as_deref(),
        })),
        Format::Human => {
            let mut text = Text::new();
            match uri {
                Some(uri) => text.add(Style::Name, uri).plain(" changed"),
                None => text.plain(describe(change)),
            };
            text.end_line();
            if let Some(result) = result {
                text.append(read::show(&result));
            }
            output.text(&text)
        }
    }
}

async fn read_again(uri: &str, server: &str, session: &CommandHost) -> Result<ReadAnswer, Failure> {
    match session.read_from_attached(uri, Some(server)).await? {
        Some(answer) => Ok(answer),
        None => session.run(session.host()?.read(uri).server(server)).await,
    }
}

/// Changes were lost, which a program that relies on them has to know.
fn show_missed(server: &str, output: &Output) -> Result<(), Failure> {
    match output.format {
        Format::Json => output.document(&json!({"server": server, "missed": true}).to_string()),
        Format::Human => {
            output.note(&format!("{server}: some changes were missed"));
            Ok(())
        }
    }
}

fn describe(change: &Change) -> &'static str {
    match change {
        Change::Tools => "the list of tools changed",
        Change::Prompts => "the list of prompts changed",
        Change::Resources => "the list of resources changed",
        Change::Resource { .. } | Change::Missed => "something changed",
    }
}

/// Mentions what the server will not report.
fn note_ungranted(
    wanted: &SubscriptionFilter,
    granted: &SubscriptionFilter,
    server: &str,
    output: &Output,
) {
    let mut refused = Vec::new();
    for (wanted, granted, what) in [
        (
            wanted.tools_list_changed,
            granted.tools_list_changed,
            "tools",
        ),
        (
            wanted.prompts_list_changed,
            granted.prompts_list_changed,
            "prompts",
        ),
        (
            wanted.resources_list_changed,
            granted.resources_list_changed,
            "resources",
        ),
    ] {
        if wanted && !granted {
            refused.push(format!("the list of {what}"));
        }
    }
    let granted_uris = granted
        .resource_subscriptions
        .as_deref()
        .unwrap_or_default();
    for uri in wanted.resource_subscriptions.iter().flatten() {
        if !granted_uris.contains(uri) {
            refused.push(uri.clone());
        }
    }
    if !refused.is_empty() {
        output.note(&format!(
            "{server} will not report changes of {}",
            refused.join(", ")
        ));
    }
}
