//! The part of `attache serve` that is about specs.
//!
//! Owns its options, and where the agent comes from: the words behind `--`, or the user's own file;
//! never a file that came with the project (S3).

use std::path::PathBuf;

use attache::host::config::SpeckitWriter;
use attache_builtin::speckit::{AgentCommand, SpeckitSettings, Writer};
use attache_speckit::Project;
use clap::ValueEnum;

use crate::configuration::Configuration;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Speckit")]
pub(super) struct SpeckitArguments {
    /// The project; without it the nearest folder with specs or a repository in it
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
    /// Who writes documents
    #[arg(long, value_enum, value_name = "WRITER")]
    writer: Option<WriterChoice>,
    /// A program that reads a prompt on stdin, and its arguments
    #[arg(last = true, value_name = "AGENT")]
    agent: Vec<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WriterChoice {
    /// The first of these that is there
    Auto,
    /// The agent
    Agent,
    /// The client's model, through sampling
    Model,
    /// Without a model: structures what is there
    Plain,
}

impl SpeckitArguments {
    /// Refuses options that only specs have, for the other servers.
    pub(super) fn refuse(&self) -> Result<(), Failure> {
        let given = [
            ("--project", self.project.is_some()),
            ("--writer", self.writer.is_some()),
            ("a command behind --", !self.agent.is_empty()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => Err(Failure::usage(format!("{option} is for speckit"))
                .hint("`attache serve --help` shows what each server takes")),
            None => Ok(()),
        }
    }

    /// Where the server works, and with whom.
    pub(super) fn settings(self) -> Result<SpeckitSettings, Failure> {
        let configuration = Configuration::new(None)?;
        let configured = configuration.speckit()?;
        let home = configuration.environment.home();
        let project = match &self.project {
            Some(folder) => Project::open(folder),
            None => Project::find(configuration.environment.working_folder(), home.as_deref()),
        };
        let project = project.map_err(|error| {
            Failure::usage(error.to_string()).hint("--project names the folder that has the specs")
        })?;
        let words = match self.agent.is_empty() {
            true => configured.agent,
            false => Some(self.agent),
        };
        let agent = words.map(AgentCommand::new).transpose();
        let agent = agent.map_err(|error| Failure::config(error.to_string()))?;
        let writer = match (self.writer, configured.writer) {
            (Some(WriterChoice::Auto), _) | (None, SpeckitWriter::Auto) => Writer::Auto,
            (Some(WriterChoice::Agent), _) | (None, SpeckitWriter::Agent) => Writer::Agent,
            (Some(WriterChoice::Model), _) | (None, SpeckitWriter::Model) => Writer::Model,
            (Some(WriterChoice::Plain), _) | (None, SpeckitWriter::Plain) => Writer::Plain,
        };
        Ok(SpeckitSettings {
            project,
            agent,
            writer,
        })
    }
}
