//! Who writes the documents of the spec workflow, and where they are.
//!
//! A file that came with a folder may say where its specs lie. It has no say in which program runs
//! (S3).

use super::section::{Complaint, Section};
use super::{Origin, choices};

/// The spec workflow.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpeckitConfig {
    /// The program that is given prompts, and its arguments.
    pub agent: Option<Vec<String>>,
    /// Who writes documents.
    pub writer: SpeckitWriter,
    /// The folder of specs in a project.
    pub specs_directory: Option<String>,
}

/// Who writes documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpeckitWriter {
    /// The agent if there is one, else the client's model if it lends it, else the plain writer.
    #[default]
    Auto,
    /// The agent.
    Agent,
    /// The client's model.
    Model,
    /// The plain writer.
    Plain,
}

/// Reads the `[speckit]` table.
pub(super) fn read_speckit(section: &Section<'_>, origin: Origin) -> SpeckitConfig {
    let specs_directory = section.text("specs_directory");
    if origin == Origin::Project {
        for key in ["agent", "writer"] {
            if section.names().contains(&key) {
                let complaint =
                    Complaint::new("a file that came with a folder cannot choose who writes");
                let hint = "write this key in your own attache.toml";
                section.warn(key, complaint.hint(hint));
            }
        }
        return SpeckitConfig {
            specs_directory,
            ..SpeckitConfig::default()
        };
    }
    SpeckitConfig {
        agent: section.texts("agent"),
        writer: section
            .choice("writer", &choices::SPECKIT_WRITERS)
            .unwrap_or_default(),
        specs_directory,
    }
}
