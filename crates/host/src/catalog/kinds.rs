//! The four lists a server can have, and what is the same about them.
//!
//! Owns the link between an entry's type, its list method and its cached form. Knows no server.

use std::sync::Arc;

use attache_client::protocol::{
    Entries, ListPrompts, ListResources, ListTemplates, ListTools, Method, Prompt, Resource,
    ResourceTemplate, Tool,
};
use attache_client::{Client, Error as ClientError};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::cache::{Cached, Fetched, Lifetimes};

/// A list that a server can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListKind {
    /// Tools.
    Tools,
    /// Resources.
    Resources,
    /// Resource templates.
    Templates,
    /// Prompts.
    Prompts,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Resources, Self::Templates, Self::Prompts];

    /// The word for one entry.
    pub fn entry(self) -> &'static str {
        match self {
            Self::Tools => "tool",
            Self::Resources => "resource",
            Self::Templates => "resource template",
            Self::Prompts => "prompt",
        }
    }
}

/// An entry of one of the four lists.
pub trait Listable: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Which list it belongs to.
    const KIND: ListKind;
    /// The method that lists it.
    const METHOD: &'static str;

    /// The name its server knows it by.
    fn own_name(&self) -> &str;

    #[doc(hidden)]
    fn fetch(client: &Client) -> impl Future<Output = Result<Fetched, ClientError>> + Send;

    #[doc(hidden)]
    fn of(cached: &Cached) -> Option<&Arc<Entries<Self>>>;

    #[doc(hidden)]
    fn into_cached(entries: Entries<Self>) -> Cached;
}

macro_rules! listable {
    ($($entry:ty: $kind:ident, $method:ty, $name:ident, $list:ident $(::<$listed:ty>)?;)*) => {
        $(
            impl Listable for $entry {
                const KIND: ListKind = ListKind::$kind;
                const METHOD: &'static str = <$method as Method>::NAME;

                fn own_name(&self) -> &str {
                    &self.$name
                }

                async fn fetch(client: &Client) -> Result<Fetched, ClientError> {
                    let mut lifetimes = Lifetimes::default();
                    let note = |page: &<$method as Method>::Result| {
                        lifetimes.note(page.ttl_ms, page.cache_scope.as_deref());
                    };
                    let entries = client.$list$(::<$listed>)?(note).await?;
                    Ok(Fetched::new(Self::into_cached(entries), lifetimes))
                }

                fn of(cached: &Cached) -> Option<&Arc<Entries<Self>>> {
                    match cached {
                        Cached::$kind(entries) => Some(entries),
                        _ => None,
                    }
                }

                fn into_cached(entries: Entries<Self>) -> Cached {
                    Cached::$kind(Arc::new(entries))
                }
            }
        )*
    };
}

listable! {
    Tool: Tools, ListTools, name, list_tools_noting;
    Resource: Resources, ListResources, uri, list_noting::<ListResources>;
    ResourceTemplate: Templates, ListTemplates, uri_template, list_noting::<ListTemplates>;
    Prompt: Prompts, ListPrompts, name, list_noting::<ListPrompts>;
}
