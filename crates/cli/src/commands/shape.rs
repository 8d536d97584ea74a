//! Results for scripts: a part of them, or their bare text or bytes.
//!
//! Owns the options `--raw` and `--jq` of `attache call`. What a person sees is printed
//! elsewhere.

use attache::protocol::{CallToolResult, Content};
use jaq_core::load::{Arena, File, Loader};
use jaq_core::{Compiler, Ctx, Vars, data, unwrap_valr};
use jaq_json::{Val, read};

use crate::base64;
use crate::failure::Failure;
use crate::output::{Format, Output};

/// What a script wants of a result.
#[derive(Debug, clap::Args)]
pub(super) struct Shape {
    /// Print text and bytes as they are, and nothing else
    #[arg(long)]
    raw: bool,
    /// Print what this jq filter makes of it, like '.content[0].text'
    #[arg(long, value_name = "FILTER")]
    jq: Option<String>,
}

impl Shape {
    /// Refuses what cannot be before anything is called.
    pub(super) fn check(&self, format: Format) -> Result<(), Failure> {
        if self.raw && self.jq.is_none() && format == Format::Json {
            return Err(
                Failure::usage("--raw and --json exclude each other").hint("leave one of them out")
            );
        }
        match &self.jq {
            // It is compiled again when it runs, because it borrows what it is made of.
            Some(filter) => filtered(filter, "null", |_| Ok(())),
            None => Ok(()),
        }
    }

    /// Whether it prints the result, instead of what is printed otherwise.
    pub(super) fn prints(&self) -> bool {
        self.raw || self.jq.is_some()
    }

    /// Prints a result in this shape.
    pub(super) fn print(
        &self,
        document: &str,
        result: &CallToolResult,
        output: &Output,
    ) -> Result<(), Failure> {
        if let Some(filter) = &self.jq {
            return filtered(filter, document, |value| match value {
                Ok(Val::TStr(text)) if self.raw => output.contents(&[&text[..], b"\n"].concat()),
                Ok(value) => output.document(&value.to_string()),
                Err(problem) => Err(Failure::unexpected(format!("the filter fails: {problem}"))
                    .hint("--json prints what it works on")),
            });
        }
        output.contents(&bare(result)?)
    }
}

/// The text of a result, or its bytes if it has no text, or its structured value if it has neither.
fn bare(result: &CallToolResult) -> Result<Vec<u8>, Failure> {
    let mut texts = Vec::new();
    let mut bytes = None;
    for block in &result.content {
        let data = match block {
            Content::Text(text) => {
                texts.push(text.text.as_str());
                continue;
            }
            Content::Image(media) | Content::Audio(media) => Some(&media.data),
            Content::Resource(embedded) => {
                texts.extend(embedded.resource.text.as_deref());
                embedded.resource.blob.as_ref()
            }
            _ => None,
        };
        bytes = bytes.or(data);
    }
    let structured = result.structured_content.as_ref();
    match (texts.is_empty(), bytes, structured) {
        (false, ..) => Ok(texts.join("\n").into_bytes()),
        (true, Some(data), _) => base64::decode(data)
            .map_err(|problem| Failure::failed(format!("the content is not base64: {problem}"))),
        (true, None, Some(value)) => Ok(value.as_str().as_bytes().to_vec()),
        (true, None, None) => Ok(Vec::new()),
    }
}

/// Tells of every value that a filter makes of a document. A document of `null` compiles it only.
fn filtered(
    filter: &str,
    document: &str,
    mut tell: impl FnMut(Result<Val, String>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let defs = jaq_core::defs()
        .chain(jaq_std::defs())
        .chain(jaq_json::defs());
    let funs = jaq_core::funs()
        .chain(jaq_std::funs())
        .chain(jaq_json::funs());
    let arena = Arena::default();
    let program = File {
        code: filter,
        path: (),
    };
    let no_filter = || {
        Failure::usage(format!("--jq: \"{filter}\" is no filter"))
            .hint("for example --jq '.content[0].text'; see the manual of jq")
    };
    let modules = Loader::new(defs).load(&arena, program);
    let modules = modules.map_err(|_| no_filter())?;
    let compiled = Compiler::default().with_funs(funs).compile(modules);
    let compiled = compiled.map_err(|_| no_filter())?;
    if document == "null" {
        return Ok(());
    }
    let input = read::parse_single(document.as_bytes())
        .map_err(|error| Failure::unexpected(format!("the result cannot be filtered: {error}")))?;
    let context = Ctx::<data::JustLut<Val>>::new(&compiled.lut, Vars::new([]));
    for value in compiled.id.run((context, input)).map(unwrap_valr) {
        tell(value.map_err(|error| error.to_string()))?;
    }
    Ok(())
}
