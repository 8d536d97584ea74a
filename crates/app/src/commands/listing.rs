//! Whole lists with every entry as its server sent it.
//!
//! The client pages through lists of any type, so these ask for raw entries: what `--json` prints
//! is what came, and an entry that cannot be read spoils itself only (invariant 9).

use attache::protocol::{
    Entries, Json, ListPrompts, ListResources, ListTemplates, ListTools, Method, PageParams, Paged,
    Prompt, Rejected, Resource, ResourceTemplate, ServerCapabilities, Tool, codes,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::failure::Failure;
use crate::output::json::{self, ServerOutcome};
use crate::output::{Output, Text};
use crate::session::Session;

/// A list, raw and read.
pub(super) struct Listed<T> {
    pub(super) entries: Vec<(Json, T)>,
    pub(super) rejected: Vec<Rejected>,
}

/// A list whose entries are kept raw.
pub(super) trait RawList: Paged<Item = Json, Result: 'static> + 'static {
    /// What an entry is read as.
    type Entry: DeserializeOwned;
    /// What entries are called in notes.
    const ENTRY: &'static str;

    /// Whether the server has promised such a list.
    fn is_promised(capabilities: &ServerCapabilities) -> bool;
}

macro_rules! raw_lists {
    ($(
        $list:ident, $page:ident: $method:ty, $key:literal, $entry:ty, $what:literal,
        $promised:expr;
    )*) => {
        $(
            pub(super) struct $list;

            #[derive(Serialize, Deserialize)]
            #[serde(rename_all = "camelCase")]
            pub(super) struct $page {
                #[serde(rename = $key)]
                entries: Vec<Json>,
                next_cursor: Option<Json>,
            }

            impl Method for $list {
                const NAME: &'static str = <$method as Method>::NAME;
                type Params = PageParams;
                type Result = $page;
            }

            impl Paged for $list {
                type Item = Json;

                fn into_page(page: $page) -> (Entries<Json>, Option<String>) {
                    // A cursor that is no string is none, as in the typed lists.
                    let cursor = page.next_cursor.and_then(|cursor| cursor.decode().ok());
                    (page.entries.into(), cursor)
                }
            }

            impl RawList for $list {
                type Entry = $entry;
                const ENTRY: &'static str = $what;

                fn is_promised(capabilities: &ServerCapabilities) -> bool {
                    let promised: fn(&ServerCapabilities) -> bool = $promised;
                    promised(capabilities)
                }
            }
        )*
    };
}

raw_lists! {
    RawTools, RawToolPage: ListTools, "tools", Tool, "tool", |it| it.tools.is_some();
    RawResources, RawResourcePage: ListResources, "resources", Resource, "resource", |it| it.resources.is_some();
    // Many servers have resources and do not know templates; no capability speaks of them.
    RawTemplates, RawTemplatePage: ListTemplates, "resourceTemplates", ResourceTemplate, "resource template", |_| false;
    RawPrompts, RawPromptPage: ListPrompts, "prompts", Prompt, "prompt", |it| it.prompts.is_some();
}

/// Fetches a whole list. A server that has promised no such list and does not know the method has
/// an empty one.
pub(super) async fn fetch<L: RawList>(session: &Session) -> Result<Listed<L::Entry>, Failure> {
    match session.run(session.client.list::<L>()).await {
        Ok(raw) => Ok(sort::<L>(raw.items)),
        Err(failure)
            if failure.code == Some(codes::METHOD_NOT_FOUND)
                && !L::is_promised(session.client.capabilities()) =>
        {
            Ok(sort::<L>(Vec::new()))
        }
        Err(failure) => Err(failure),
    }
}

fn sort<L: RawList>(raw: Vec<Json>) -> Listed<L::Entry> {
    let mut listed = Listed {
        entries: Vec::with_capacity(raw.len()),
        rejected: Vec::new(),
    };
    for raw in raw {
        match raw.decode() {
            Ok(entry) => listed.entries.push((raw, entry)),
            Err(error) => listed.rejected.push(Rejected {
                reason: error.to_string(),
                raw,
            }),
        }
    }
    listed
}

impl<T> Listed<T> {
    pub(super) fn items(&self) -> impl Iterator<Item = &T> + Clone {
        self.entries.iter().map(|(_, item)| item)
    }

    /// The entries as they came, each with the server's name.
    pub(super) fn documents(&self, server: &str) -> Vec<Json> {
        let raw = self.entries.iter().map(|(raw, _)| raw);
        raw.map(|raw| json::with_server(raw, server)).collect()
    }

    /// Mentions what could not be read.
    pub(super) fn note_rejected<L: RawList<Entry = T>>(&self, server: &str, output: &Output) {
        for rejected in &self.rejected {
            output.note(&format!(
                "{server} lists a {} that cannot be read ({}): {}",
                L::ENTRY,
                rejected.reason,
                attache::protocol::shortened(rejected.raw.as_str())
            ));
        }
    }
}

/// The outcome of a server that answered.
pub(super) fn answered<'a>(
    server: &'a str,
    rejected: impl IntoIterator<Item = &'a Rejected>,
) -> ServerOutcome<'a> {
    ServerOutcome {
        name: server,
        outcome: "ok",
        rejected: rejected.into_iter().map(Into::into).collect(),
    }
}

/// The text for a list without entries.
pub(super) fn none(server: &str, what: &str) -> Text {
    Text::line(&format!("{server} has no {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_54_a_bad_entry_spoils_itself_only() {
        let page: RawToolPage =
            serde_json::from_str(r#"{"tools":[{"name":"a","x":1e400},{"n":1}],"nextCursor":7}"#)
                .unwrap();
        let (entries, cursor) = RawTools::into_page(page);
        assert_eq!(cursor, None);
        let listed = sort::<RawTools>(entries.items);
        assert_eq!(
            listed.documents("s")[0].as_str(),
            r#"{"name":"a","x":1e400,"server":"s"}"#
        );
        assert_eq!(listed.rejected[0].raw.as_str(), r#"{"n":1}"#);
        assert!(serde_json::from_str::<RawToolPage>("{}").is_err());
    }
}
