//! `attache watch`.

use attache::protocol::{
    Notification, PromptsChanged, ReadResourceResult, ResourceUpdated, ResourcesChanged,
    SubscriptionFilter, ToolsChanged,
};
use attache::{Change, CloseReason};
use serde::Serialize;
use serde_json::{Value, json};

use super::read;
use crate::failure::{Exit, Failure, Kind};
use crate::invocation::Reread;
use crate::output::{Format, Output, Style, Text, json};
use crate::session::Session;

/// One change, in the shape of the notification that brought it.
#[derive(Serialize)]
struct Document<'a> {
    server: &'a str,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Value>,
    /// What reading the resource again gave.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ReadResourceResult>,
}

pub(super) async fn run(
    filter: SubscriptionFilter,
    reread: Reread,
    session: &Session,
    output: &Output,
) -> Result<(), Failure> {
    let mut watch = session
        .run(session.client.watch_all(filter.clone()))
        .await?;
    note_ungranted(&filter, watch.granted(), session, output);
    loop {
        let change = tokio::select! {
            biased;
            // Whoever watches ends it this way; nothing was left undone.
            () = session.interrupted() => return Ok(()),
            change = watch.next() => match change {
                Some(change) => change,
                None => return Err(ended(session).await),
            },
        };
        show(&change, reread, session, output).await?;
    }
}

async fn show(
    change: &Change,
    reread: Reread,
    session: &Session,
    output: &Output,
) -> Result<(), Failure> {
    let (method, uri) = match change {
        Change::Tools => (ToolsChanged::NAME, None),
        Change::Prompts => (PromptsChanged::NAME, None),
        Change::Resources => (ResourcesChanged::NAME, None),
        Change::Resource { uri } => (ResourceUpdated::NAME, Some(uri)),
        Change::Missed => return show_missed(session, output),
    };
    let result = match (uri, reread) {
        (Some(uri), Reread::Yes) => match session.run(session.client.read(uri)).await {
            Ok(result) => Some(result),
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
            server: &session.name,
            method,
            params: uri.map(|uri| json!({ "uri": uri })),
            result,
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

/// Changes were lost, which whoever relies on them has to know.
fn show_missed(session: &Session, output: &Output) -> Result<(), Failure> {
    match output.format {
        Format::Json => {
            let server = &session.name;
            output.document(&json!({"server": server, "missed": true}).to_string())
        }
        Format::Human => {
            output.note("changes came too fast, and some were missed");
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
    session: &Session,
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
            "{} will not report changes of {}",
            session.name,
            refused.join(", ")
        ));
    }
}

/// Why there are no more changes.
async fn ended(session: &Session) -> Failure {
    let reason = tokio::select! {
        biased;
        reason = session.client.closed() => Some(reason),
        () = std::future::ready(()) => None,
    };
    let message = match reason {
        Some(CloseReason::ClosedHere) | None => "the server ended the subscription".to_owned(),
        Some(reason) => format!("the watch ended: {reason}"),
    };
    Failure::new(Kind::Connect, Exit::Unreachable, message).of(&session.name)
}
