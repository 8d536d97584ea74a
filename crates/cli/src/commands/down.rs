//! `attache down`: ends what `attache up` began.

use super::up::{gone, place_of};
use super::{Context, Known, Typed, Verb};
use crate::args::ConfigArgs;
use crate::attach::Attached;
use crate::failure::Failure;
use crate::output::Text;

/// End the background process and the servers it keeps
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  attache down")]
pub(crate) struct Down {
    #[command(flatten)]
    config: ConfigArgs,
}

impl Verb for Down {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        let output = &context.output;
        let place = place_of(&self.config.configuration()?)?;
        let Some(attached) = Attached::to_any(&place).await else {
            return output.text(&Text::line("no servers are kept running"));
        };
        let process = attached.welcome.process;
        attached.shut_down().await;
        gone(&place).await?;
        let text = format!("process {process} and the servers it kept have ended");
        output.text(&Text::line(&text))
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
