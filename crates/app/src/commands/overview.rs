//! `attache` without a command: the server and, unless a program reads it, its tools.

use super::listing::{self, RawTools};
use super::{ls, tools};
use crate::builtin_server;
use crate::failure::Failure;
use crate::output::{Format, Output, Text};
use crate::session::Session;

pub(super) async fn run(session: &Session, output: &Output) -> Result<(), Failure> {
    ls::run(session, output).await?;
    let offers_tools = session.client.capabilities().tools.is_some();
    if output.format == Format::Json || !offers_tools {
        return Ok(());
    }
    let listed = listing::fetch::<RawTools>(session).await?;
    let mut text = Text::line("");
    text.append(tools::show(&session.name, &listed));
    if session.name == builtin_server::NAME {
        text.end_line()
            .faint("Try: attache call echo message=hi    attache --help")
            .end_line();
    }
    output.text(&text)
}
