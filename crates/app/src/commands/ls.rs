//! `attache ls`: what is there, and in what state.

use attache::protocol::Implementation;
use serde::Serialize;

use super::listing::{self, RawList, RawPrompts, RawResources, RawTemplates, RawTools};
use crate::failure::{Failure, Kind};
use crate::output::json::{self, ErrorBody};
use crate::output::{Format, Output, Style, Text, human};
use crate::session::Session;

#[derive(Serialize)]
struct Document<'a> {
    servers: [ServerState<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ServerState<'a> {
    name: &'a str,
    state: &'static str,
    era: Option<String>,
    revision: Option<String>,
    server_info: Option<&'a Implementation>,
    counts: Option<Counts>,
    last_error: Option<ErrorBody<'a>>,
}

/// How many of each a server has; `None` for what it does not offer or would not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Counts {
    tools: Option<usize>,
    resources: Option<usize>,
    resource_templates: Option<usize>,
    prompts: Option<usize>,
}

pub(super) async fn run(session: &Session, output: &Output) -> Result<(), Failure> {
    let offered = session.client.capabilities();
    let (tools, resources, templates, prompts) = tokio::join!(
        count::<RawTools>(session, offered.tools.is_some()),
        count::<RawResources>(session, offered.resources.is_some()),
        count::<RawTemplates>(session, offered.resources.is_some()),
        count::<RawPrompts>(session, offered.prompts.is_some()),
    );
    let mut trouble = None;
    let mut keep = |count: Result<Option<usize>, Failure>| {
        count.unwrap_or_else(|failure| {
            trouble.get_or_insert(failure);
            None
        })
    };
    let counts = Counts {
        tools: keep(tools),
        resources: keep(resources),
        resource_templates: keep(templates),
        prompts: keep(prompts),
    };
    if let Some(failure) = trouble.take_if(|failure| failure.kind == Kind::Cancelled) {
        return Err(failure);
    }
    match output.format {
        Format::Json => output.document(&json::write(&Document {
            servers: [ServerState {
                name: &session.name,
                state: "ready",
                era: Some(session.client.revision().era().to_string()),
                revision: Some(session.client.revision().to_string()),
                server_info: session.client.server(),
                counts: Some(counts),
                last_error: trouble.as_ref().map(Into::into),
            }],
        })),
        Format::Human => {
            let mut text = human::server_line(&session.name, &session.client);
            text.plain("  ").plain(&counts.sentence()).end_line();
            if let Some(failure) = trouble {
                text.add(Style::Bad, "  last error: ")
                    .plain(&failure.message)
                    .end_line();
            }
            output.text(&text)
        }
    }
}

/// Shows a server that could not be reached.
pub(super) fn unreachable(name: &str, failure: &Failure, output: &Output) -> Result<(), Failure> {
    match output.format {
        Format::Json => output.document(&json::write(&Document {
            servers: [ServerState {
                name,
                state: "unreachable",
                era: None,
                revision: None,
                server_info: None,
                counts: None,
                last_error: Some(failure.into()),
            }],
        })),
        Format::Human => {
            let mut text = Text::new();
            text.add(Style::Name, name)
                .add(Style::Bad, "  unreachable")
                .end_line();
            output.text(&text)
        }
    }
}

async fn count<L: RawList>(session: &Session, offered: bool) -> Result<Option<usize>, Failure> {
    if !offered {
        return Ok(None);
    }
    let listed = listing::fetch::<L>(session).await?;
    Ok(Some(listed.entries.len()))
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
