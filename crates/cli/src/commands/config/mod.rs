//! `attache config`: the user's configuration and those of other tools.

use attache::host::config::Origin;

pub(super) use reference::manual_page;

use super::{Context, Known, Typed, Verb};
use crate::failure::Failure;

verbs! {
    defer = false;
    add::Add,
    remove::Remove,
    init::Init,
    path::Path,
    check::Check,
    reference::Reference,
    discover::Discover,
    import::Import,
    export::Export,
}

mod own_file;

/// Add and remove servers; find, check, explain, import and export configurations
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  attache config add time -- uvx mcp-server-time\n  attache config discover"
)]
pub(crate) struct Config {
    #[command(subcommand)]
    verb: AnyVerb,
}

impl Verb for Config {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        self.verb.run(context).await
    }

    fn complete(typed: &Typed, known: &Known) -> Vec<String> {
        let verb = typed.verbs.get(1).map_or("", String::as_str);
        AnyVerb::complete(verb, typed, known)
    }
}

/// Whose word a file is, in a word.
fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Named => "named",
        Origin::Project => "project",
        Origin::User => "user",
        Origin::Program => "program",
    }
}
