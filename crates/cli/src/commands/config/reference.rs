//! `attache config reference`: every key of `attache.toml`, for people, programs, editors and the
//! documentation.
//!
//! Owns how a reference looks; what there is comes from the host's table of keys.

use attache::host::config::reference::{
    Entry, Kind, Only, entries, find, json, nearest_path, schema,
};
use serde::Serialize;
use serde_json::Value;

use crate::commands::{Context, Known, Typed, Verb};
use crate::failure::Failure;
use crate::output::{Format, Output, Style, Text, json as document};

/// List every key of the configuration file: type, default, meaning, example
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example:
  attache config reference timeouts.call
  attache config reference --schema > attache.schema.json")]
pub(crate) struct Reference {
    /// A key, a table, or the end of a path such as timeouts.call; all keys if there is none
    #[arg(value_name = "KEY", conflicts_with_all = ["schema", "markdown"])]
    key: Option<String>,
    /// Print a JSON Schema of the file, for editors
    #[arg(long, conflicts_with = "markdown")]
    schema: bool,
    /// Print the page docs/configuration.md
    #[arg(long)]
    markdown: bool,
}

impl Verb for Reference {
    async fn run(self, context: &Context) -> Result<(), Failure> {
        show(&self, &context.output)
    }

    fn complete(_: &Typed, _: &Known) -> Vec<String> {
        entries().into_iter().map(|entry| entry.path).collect()
    }
}

fn show(asked: &Reference, output: &Output) -> Result<(), Failure> {
    if asked.schema {
        let schema = serde_json::to_string_pretty(&schema()).unwrap_or_default();
        return output.ready_made(&format!("{schema}\n"));
    }
    if asked.markdown {
        return output.ready_made(&markdown());
    }
    let found = match &asked.key {
        None => entries(),
        Some(key) => known(key)?,
    };
    match (output.format, found.as_slice()) {
        (Format::Json, found) => output.document(&document::write(&ReferenceDocument {
            keys: found.iter().map(KeyDocument::from).collect(),
        })),
        (Format::Human, [entry]) => output.text(&whole(entry)),
        (Format::Human, found) => {
            let mut text = Text::new();
            for entry in found {
                text.append(short(entry));
            }
            output.text(&text)
        }
    }
}

fn known(key: &str) -> Result<Vec<Entry>, Failure> {
    let found = find(key);
    if !found.is_empty() {
        return Ok(found);
    }
    let failure = Failure::usage(format!("attache.toml has no key \"{key}\""));
    Err(failure.hint(match nearest_path(key) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "`attache config reference` lists all keys".to_owned(),
    }))
}

/// A key in two lines.
fn short(entry: &Entry) -> Text {
    let mut text = Text::new();
    text.add(Style::Name, &entry.path);
    if let Some(default) = entry.key.default {
        text.faint(&format!(" = {default}"));
    }
    text.end_line();
    text.plain(&format!("    {}", entry.key.summary)).end_line();
    text
}

/// All that is known about a key.
fn whole(entry: &Entry) -> Text {
    let mut text = Text::new();
    text.add(Style::Name, &entry.path).end_line();
    text.plain(&format!("    {}", entry.key.summary)).end_line();
    for (title, line) in details(entry) {
        text.faint(&format!("    {title}: "))
            .plain(&line)
            .end_line();
    }
    if let Some(example) = entry.example() {
        text.end_line().block(Style::Plain, &example);
    }
    text
}

/// Type, default and where a key is allowed, in words.
fn details(entry: &Entry) -> Vec<(&'static str, String)> {
    let mut details = vec![("Type", entry.key.kind.to_string())];
    details.extend(
        entry
            .key
            .default
            .map(|default| ("Default", default.to_owned())),
    );
    details.extend(
        entry
            .key
            .only
            .map(|only| ("Only with", only_with(only).to_owned())),
    );
    details
}

fn only_with(only: Only) -> &'static str {
    match only {
        Only::Command => "command",
        Only::Url => "url",
    }
}

#[derive(Serialize)]
struct ReferenceDocument<'a> {
    keys: Vec<KeyDocument<'a>>,
}

#[derive(Serialize)]
struct KeyDocument<'a> {
    key: &'a str,
    r#type: String,
    values: Option<&'a [&'a str]>,
    default: Option<Value>,
    example: Option<Value>,
    only: Option<&'a str>,
    summary: &'a str,
}

impl<'a> From<&'a Entry> for KeyDocument<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            key: &entry.path,
            r#type: entry.key.kind.to_string(),
            values: entry.key.kind.words(),
            default: entry.key.default.map(json),
            example: entry.key.example.map(json),
            only: entry.key.only.map(only_with),
            summary: entry.key.summary,
        }
    }
}

/// What holds for the file as a whole, before its keys.
const INTRODUCTION: [&str; 4] = [
    "Servers and settings are read from `attache.toml`: the file that `--config` names, the nearest \
     in this folder or above it, or the one in your configuration folder. `attache config path` \
     tells which, and `attache config check` tells what is wrong with it.",
    "In texts `${VAR}` stands for a variable of the environment, `${VAR:-default}` for one that may \
     be missing, and `$${` for the characters themselves. A time is a text such as \"500ms\", \"2s\", \
     \"1.5 min\" or \"1h\", or a whole number of milliseconds. In names `*` stands for anything.",
    "Defaults are those of `profile = \"standard\"`; another profile or dialect changes some of them.",
    "For completion and checks in an editor, write `attache config reference --schema` to a file \
     and name it in the first line of yours: `#:schema ./attache.schema.json`.",
];

/// The tables of the file in order, each with its sentence and its keys.
fn tables() -> Vec<(String, &'static str, Vec<Entry>)> {
    let all = entries();
    let mut tables = Vec::new();
    for entry in &all {
        let path = match entry.key.kind {
            Kind::ByName(_, Kind::Table(_)) => format!("{}.NAME", entry.path),
            Kind::Table(_) | Kind::ChoiceOrTable(..) => entry.path.clone(),
            _ => continue,
        };
        let keys = all.iter().filter(|entry| entry.table() == path);
        let keys = keys.cloned().collect();
        tables.push((path, entry.key.summary, keys));
    }
    tables
}

/// The page of the documentation.
fn markdown() -> String {
    let mut page = "# Configuration\n\n<!-- Generated by `attache config reference --markdown`. \
                    Change the table of keys, not this page. -->\n"
        .to_owned();
    for paragraph in INTRODUCTION {
        page.push_str(&format!("\n{paragraph}\n"));
    }
    for (path, summary, keys) in tables() {
        page.push_str(&format!("\n## `[{path}]`\n\n{summary}\n\n"));
        page.push_str("| Key | Type | Default | Meaning | Example |\n|---|---|---|---|---|\n");
        for entry in keys {
            let code = |text: Option<&str>| text.map_or(String::new(), |text| format!("`{text}`"));
            let key = entry.key;
            let only = key
                .only
                .map(|only| format!(" Only with `{}`.", only_with(only)));
            page.push_str(&format!(
                "| `{}` | {} | {} | {}{} | {} |\n",
                key.name,
                key.kind,
                code(key.default),
                key.summary,
                only.unwrap_or_default(),
                code(key.example),
            ));
        }
    }
    page
}

/// The manual page of the file, for section 5.
pub(in crate::commands) fn manual_page() -> String {
    let mut page = format!(
        ".TH ATTACHE.TOML 5 \"\" \"attache {}\" \"Attaché\"\n.SH NAME\nattache.toml \\- servers and \
         settings of attache\n.SH DESCRIPTION\n",
        env!("CARGO_PKG_VERSION")
    );
    for paragraph in INTRODUCTION {
        page.push_str(&format!(".PP\n{}\n", roff(paragraph)));
    }
    for (path, summary, keys) in tables() {
        page.push_str(&format!(".SH [{}]\n{}\n", roff(&path), roff(summary)));
        for entry in keys {
            page.push_str(&format!(".TP\n\\fB{}\\fR\n", roff(entry.key.name)));
            page.push_str(&format!("{}\n", roff(entry.key.summary)));
            let details = details(&entry).into_iter();
            let details = details.map(|(title, line)| format!("{title}: {line}."));
            let details: Vec<String> = details.collect();
            page.push_str(&format!(".br\n{}\n", roff(&details.join(" "))));
            if let Some(example) = entry.key.example {
                let line = format!("Example: {} = {example}", entry.key.name);
                page.push_str(&format!(".br\n{}\n", roff(&line)));
            }
        }
    }
    page
}

/// Text that roff prints as it is. A dot or an apostrophe at the beginning would be a command, and
/// none of our sentences begins with one.
fn roff(text: &str) -> String {
    text.replace('\\', "\\e")
        .replace('-', "\\-")
        .replace('`', "")
}
