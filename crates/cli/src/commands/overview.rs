//! `attache` without a command: the servers and, unless a program reads it, the tools of the only
//! one.

use attache::protocol::Tool;

use super::{Context, listing, ls, tools};
use crate::args::{Completeness, ServerArgs};
use crate::failure::Failure;
use crate::output::{Format, Text};
use crate::selection::BuiltIn;

#[derive(Debug, clap::Args)]
pub(crate) struct Overview {
    #[command(flatten)]
    servers: ServerArgs,
    #[command(flatten)]
    completeness: Completeness,
}

impl Overview {
    pub(super) async fn run(self, context: &Context) -> Result<(), Failure> {
        let (completeness, output) = (self.completeness, &context.output);
        let session = self.servers.open(context).await?;
        ls::run(completeness, session, output).await?;
        let Some(server) = session.only_server() else {
            return Ok(());
        };
        let running = session.host()?.running(server.as_str());
        let offers_tools = running.is_some_and(|client| client.capabilities().tools.is_some());
        if output.format == Format::Json || !offers_tools {
            return Ok(());
        }
        let listed = listing::fetch::<Tool>(completeness, session, output).await?;
        let mut text = Text::line("");
        text.append(tools::show(&listed, output.verbosity));
        let config = session.host()?.config(server.as_str());
        if let Some(built_in) = config.ok().and_then(|config| BuiltIn::of(&config)) {
            text.end_line()
                .faint("Try: ")
                .command(built_in.example)
                .end_line();
            text.faint("     ").command("attache --help").end_line();
        }
        output.text(&text)
    }
}
