//! `attache down`: ends what `attache up` began.

use serde_json::json;

use super::up::{gone, place_of, running};
use super::{Context, Known, Typed, Verb};
use crate::args::ConfigArgs;
use crate::failure::Failure;

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
        let Some((attached, welcome)) = running(&place).await? else {
            let nothing = json!({"process": null});
            return output.done("no servers are kept running", &nothing);
        };
        let process = welcome.process;
        attached.shut_down().await;
        gone(&place).await?;
        let text = format!("process {process} and the servers it kept have ended");
        output.done(&text, &json!({"process": process}))
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        Vec::new()
    }
}
