//! What faces share: the form model, the document model of answers, safe text.
//!
//! A face is anything a person looks at: the command line, a terminal UI, a page in a browser. This
//! crate owns what all of them would otherwise do each in its own way: making a form of a JSON
//! Schema, checking and typing what a person enters, and making blocks of what a server answers. It
//! knows no terminal, no browser and no host; everything in it is a function of its arguments.

mod address;
pub mod command;
pub mod document;
pub mod form;
mod indented;
pub mod uri_template;

pub use address::host_to_visit;
pub use attache_protocol::safe_text;
pub use attache_schema::{Number, Object, Value};
pub use indented::indented;
