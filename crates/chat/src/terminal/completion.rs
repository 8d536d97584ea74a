//! What the word being typed could become: commands, tools, and resources after `@`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use crate::commands::COMMANDS;

/// The most candidates that are shown.
const MOST: usize = 100;

/// Names that can be completed; filled in as they become known. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Candidates {
    known: Arc<Mutex<Known>>,
    folder: PathBuf,
}

#[derive(Debug, Default)]
struct Known {
    servers: Vec<String>,
    tools: Vec<String>,
    uris: Vec<String>,
    prompts: Vec<String>,
}

impl Candidates {
    /// Files are those of this folder.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            known: Arc::default(),
            folder: folder.into(),
        }
    }

    /// Takes over the names of servers.
    pub fn set_servers(&self, names: Vec<String>) {
        self.known.lock().servers = names;
    }

    /// Takes over the names of tools.
    pub fn set_tools(&self, names: Vec<String>) {
        self.known.lock().tools = names;
    }

    /// Takes over the addresses of resources.
    pub fn set_uris(&self, uris: Vec<String>) {
        self.known.lock().uris = uris;
    }

    /// Takes over the names of prompts.
    pub fn set_prompts(&self, names: Vec<String>) {
        self.known.lock().prompts = names;
    }

    /// Where the last word of a line begins, and what it could become.
    pub fn complete(&self, line: &str) -> (usize, Vec<String>) {
        let start = line.rfind(char::is_whitespace).map_or(0, |at| {
            at + line[at..].chars().next().map_or(1, char::len_utf8)
        });
        let word = &line[start..];
        let known = self.known.lock();
        let before: Vec<&str> = line[..start].split_whitespace().collect();
        let all: Vec<String> = if let Some(name) = word.strip_prefix('@') {
            let uris = known.uris.iter().map(|uri| format!("@{uri}"));
            uris.chain(files(&self.folder, name).map(|file| format!("@{file}")))
                .collect()
        } else {
            match before.as_slice() {
                [] => COMMANDS
                    .iter()
                    .map(|(name, ..)| (*name).to_owned())
                    .collect(),
                ["/tools"] => known.tools.clone(),
                ["/prompt"] => known.prompts.clone(),
                ["/resources"] | ["/mcp", "list" | "search" | "sync"] => known.servers.clone(),
                ["/mcp", "read"] => known.uris.clone(),
                ["/mcp"] => ["list", "read", "search", "sync", "status"]
                    .map(str::to_owned)
                    .to_vec(),
                ["/context"] => vec!["auto".to_owned()],
                ["/context", "auto"] => vec!["on".to_owned(), "off".to_owned()],
                _ => Vec::new(),
            }
        };
        let fits = |name: &String| {
            name.starts_with(word) && !word.is_empty() || !before.is_empty() && word.is_empty()
        };
        // Names of servers may hold anything; what would harm the terminal is not offered.
        let is_safe = |name: &String| attache_view::safe_text::one_line(name) == name.as_str();
        let fitting = all.into_iter().filter(|name| fits(name) && is_safe(name));
        (start, fitting.take(MOST).collect())
    }
}

/// The files whose names go on like this, folders with a slash.
fn files(folder: &Path, begun: &str) -> impl Iterator<Item = String> {
    let (above, _) = begun
        .rsplit_once('/')
        .map_or(("", begun), |(above, rest)| (above, rest));
    let prefix = if above.is_empty() {
        String::new()
    } else {
        format!("{above}/")
    };
    let entries = std::fs::read_dir(folder.join(above))
        .into_iter()
        .flatten()
        .flatten();
    entries.filter_map(move |entry| {
        let name = entry.file_name().into_string().ok()?;
        let slash = if entry.file_type().ok()?.is_dir() {
            "/"
        } else {
            ""
        };
        (!name.starts_with('.')).then(|| format!("{prefix}{name}{slash}"))
    })
}

impl Completer for Candidates {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(Candidates::complete(self, &line[..at]))
    }
}

impl Hinter for Candidates {
    type Hint = String;
}
impl Highlighter for Candidates {}
impl Validator for Candidates {}
impl Helper for Candidates {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_tools_resources_and_files_are_completed() {
        let scratch = attache_testkit::scratch::Scratch::new("candidates").unwrap();
        scratch.write("notes.md", "").unwrap();
        scratch.write("sub/deep.md", "").unwrap();
        let candidates = Candidates::new(scratch.path());
        candidates.set_servers(vec!["notes".to_owned()]);
        candidates.set_uris(vec!["demo://a".to_owned(), "demo://\u{1b}[2J".to_owned()]);
        candidates.set_tools(vec!["demo/echo".to_owned()]);
        let check = |line: &str, start: usize, expected: &[&str]| {
            let (at, found) = candidates.complete(line);
            assert_eq!(
                (at, found),
                (start, expected.iter().map(|it| (*it).to_owned()).collect()),
                "{line}"
            );
        };
        check("/co", 0, &["/context", "/compact"]);
        check("/mcp s", 5, &["search", "sync", "status"]);
        check("/mcp list n", 10, &["notes"]);
        check("/tools ", 7, &["demo/echo"]);
        check("see @demo", 4, &["@demo://a"]);
        check("see @not", 4, &["@notes.md"]);
        check("@sub/", 0, &["@sub/deep.md"]);
        check("hello", 0, &[]);
        check("", 0, &[]);
    }
}
