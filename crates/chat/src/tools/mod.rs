//! The tools of all servers as a model is told of them.
//!
//! Owns which definitions go into a request: all of them while they are few, else two tools to
//! search and to call. Calls nothing.

mod kept;
mod lower;
mod search;

use std::collections::BTreeMap;

use attache_host::catalog::Aggregate;
use attache_host::config::ChatTools;
use attache_host::names::ToolName;
use attache_host::nearest;
use attache_protocol::Tool;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;

pub use kept::KeptResults;
use lower::lowered;
use search::Index;

use crate::context::tokens;
use crate::cut;
use crate::model::Definition;

/// The longest description that is sent.
const MAX_DESCRIPTION: usize = 2_000;
/// The most tools that a model is told of without searching.
const MOST_TOOLS: usize = 40;
/// The largest part of the window that definitions may take, in percent.
const MOST_OF_WINDOW: u64 = 15;
/// How many tools a search gives.
const MOST_FOUND: usize = 8;

/// The tool that searches for tools.
pub(crate) const FIND_TOOLS: &str = "find_tools";
/// The tool that calls a tool that was found.
pub(crate) const CALL_TOOL: &str = "call_tool";
/// The tool that reads a resource of a server.
pub(crate) const READ_RESOURCE: &str = "read_resource";
/// The tool that pages through a result that was too long.
pub(crate) const READ_RESULT: &str = "read_result";

/// The tools there are.
#[derive(Debug, Default)]
pub struct Toolbox {
    /// By their names for model providers.
    tools: BTreeMap<String, KnownTool>,
    index: Index,
}

/// A tool with its definition for the model.
#[derive(Clone, Debug)]
pub struct KnownTool {
    /// Whose it is and what its server calls it.
    pub name: ToolName,
    /// What the model is told.
    pub definition: Definition,
}

/// What a request tells the model of tools.
#[derive(Debug, Default)]
pub struct Offer {
    /// The definitions.
    pub definitions: Vec<Definition>,
    /// The model searches for tools instead of being told of all.
    pub is_search: bool,
}

impl Toolbox {
    /// The tools that servers have answered with.
    pub fn new(listed: &Aggregate<Tool>) -> Self {
        let mut tools = BTreeMap::new();
        for offered in &listed.entries {
            let name = ToolName::new(offered.server.clone(), offered.entry.name.as_str());
            let definition = definition(&offered.provider, &offered.entry);
            let known = KnownTool { name, definition };
            tools.insert(offered.provider.clone(), known);
        }
        let index = Index::new(tools.values());
        Self { tools, index }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.tools.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &KnownTool> {
        self.tools.values()
    }

    /// What a request tells of them, for a model that takes `window` tokens.
    pub fn offer(&self, choice: ChatTools, window: u64) -> Offer {
        let all = || self.tools.values().map(|known| known.definition.clone());
        let is_search = match choice {
            ChatTools::None => return Offer::default(),
            ChatTools::All => false,
            ChatTools::Search => !self.tools.is_empty(),
            ChatTools::Auto => {
                let bytes: usize = self.tools.values().map(|it| it.definition.bytes()).sum();
                self.tools.len() > MOST_TOOLS || tokens(bytes) * 100 > window * MOST_OF_WINDOW
            }
        };
        let definitions = match is_search {
            true => vec![find_tools(), call_tool()],
            false => all().collect(),
        };
        Offer {
            definitions,
            is_search,
        }
    }

    /// The tools that fit a query best, the one with exactly that name first.
    pub fn find(&self, query: &str) -> Vec<&KnownTool> {
        let found = self.index.find(query, MOST_FOUND);
        found
            .into_iter()
            .filter_map(|name| self.tools.get(name))
            .collect()
    }

    /// The tool of a name, in any of its forms.
    pub fn resolve(&self, given: &str) -> Result<&KnownTool, String> {
        if let Some(known) = self.tools.get(given) {
            return Ok(known);
        }
        let named =
            |known: &&KnownTool| known.name.to_string() == given || known.name.tool == given;
        let found: Vec<&KnownTool> = self.tools.values().filter(named).collect();
        match found.as_slice() {
            [only] => Ok(only),
            [] => {
                let names = self.tools.keys().map(String::as_str);
                let near = nearest(given, names);
                let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
                Err(format!("There is no tool {given:?}.{near}"))
            }
            several => {
                let names: Vec<_> = several
                    .iter()
                    .map(|it| it.definition.name.as_str())
                    .collect();
                Err(format!("Several tools are named so: {}.", names.join(", ")))
            }
        }
    }
}

/// The arguments of [`FIND_TOOLS`].
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FindTools {
    pub(crate) query: String,
}

/// The arguments of [`CALL_TOOL`]. Those of the tool stay as the model wrote them.
#[derive(Debug, Deserialize)]
pub(crate) struct CallTool<'a> {
    pub(crate) name: String,
    #[serde(borrow, default)]
    pub(crate) arguments: Option<&'a RawValue>,
}

impl CallTool<'_> {
    /// The arguments of the tool as JSON. Some models write them as a text that holds the object.
    pub(crate) fn arguments(&self) -> String {
        let written = self.arguments.map_or("{}", RawValue::get);
        match serde_json::from_str::<String>(written) {
            Ok(text) if text.trim().is_empty() => "{}".to_owned(),
            Ok(text) => text,
            Err(_) => written.to_owned(),
        }
    }
}

/// The arguments of [`READ_RESOURCE`].
#[derive(Debug, Deserialize)]
pub(crate) struct ReadResource {
    pub(crate) uri: String,
}

/// The arguments of [`READ_RESULT`].
#[derive(Debug, Deserialize)]
pub(crate) struct ReadResult {
    pub(crate) id: String,
    #[serde(default)]
    pub(crate) offset: usize,
}

fn definition(provider: &str, tool: &Tool) -> Definition {
    let words = tool.description.as_deref().or(tool.title.as_deref());
    let words = attache_view::safe_text::block(words.unwrap_or_default().trim());
    let description = cut::beginning(&words, MAX_DESCRIPTION);
    let parameters = lowered(tool.input_schema.as_ref());
    Definition {
        name: provider.to_owned(),
        description,
        parameters,
    }
}

fn find_tools() -> Definition {
    Definition {
        name: FIND_TOOLS.to_owned(),
        description: "Searches all available tools by name and description. Gives names, \
                      descriptions and argument schemas to use with call_tool."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words or a tool's name"}},
            "required": ["query"],
        }),
    }
}

fn call_tool() -> Definition {
    Definition {
        name: CALL_TOOL.to_owned(),
        description: "Calls a tool that find_tools gave, with arguments that fit its schema."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "arguments": {"type": "object"},
            },
            "required": ["name", "arguments"],
        }),
    }
}

/// The definition of the tool that reads resources.
pub(crate) fn read_resource() -> Definition {
    Definition {
        name: READ_RESOURCE.to_owned(),
        description: "Reads a resource of a server by its URI, such as one that a search gave."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {"uri": {"type": "string"}},
            "required": ["uri"],
        }),
    }
}

/// The definition of the tool that pages.
pub(crate) fn read_result() -> Definition {
    Definition {
        name: READ_RESULT.to_owned(),
        description: "Reads on in a result that was too long to be shown whole.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "id": {"type": "string", "description": "as told with the result"},
                "offset": {"type": "integer", "description": "the byte to begin with"},
            },
            "required": ["id"],
        }),
    }
}
