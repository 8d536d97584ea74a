//! `attache` without a command: the servers and, unless a program reads it, the tools of the only
//! one.

use attache::protocol::Tool;

use super::{listing, ls, tools};
use crate::command_host::CommandHost;
use crate::failure::Failure;
use crate::invocation::Completeness;
use crate::output::{Format, Output, Text};
use crate::selection::BuiltIn;

pub(super) async fn run(
    completeness: Completeness,
    session: &CommandHost,
    output: &Output,
) -> Result<(), Failure> {
    ls::run(completeness, session, output).await?;
    let Some(server) = session.only_server() else {
        return Ok(());
    };
    let running = session.host.running(server.as_str());
    let offers_tools = running.is_some_and(|client| client.capabilities().tools.is_some());
    if output.format == Format::Json || !offers_tools {
        return Ok(());
    }
    let listed = listing::fetch::<Tool>(completeness, session, output).await?;
    let mut text = Text::line("");
    text.append(tools::show(&listed));
    let config = session.host.config(server.as_str());
    if let Some(built_in) = config.ok().and_then(|config| BuiltIn::of(&config)) {
        text.end_line()
            .faint(&format!("Try: {}    attache --help", built_in.example))
            .end_line();
    }
    output.text(&text)
}
