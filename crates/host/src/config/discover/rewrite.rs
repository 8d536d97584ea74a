//! One server's command in another tool's file, put behind a command of ours and back.
//!
//! Only the words of that command are changed; comments, order and everything else in the file stay
//! byte for byte. What cannot be changed so is refused, with the reason.

use std::fmt;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::DocumentMut;

use super::relaxed_json;
use super::sources::{Shape, Syntax, ToolSource};
use crate::state_file;

/// How deep a file may nest.
const DEEPEST: usize = 64;

/// Why a server's command is not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RewriteError {
    /// The file cannot be read as what it should be.
    Broken(String),
    /// The file has no such server.
    NotFound,
    /// The file has several.
    Ambiguous,
    /// It is reached by a URL, not started.
    Remote,
    /// The file is YAML, which is not written here.
    Yaml,
    /// Its command is not written as a word and a list of words.
    Odd,
    /// It is behind a command of ours already.
    AlreadyWrapped,
    /// It is not behind a command of ours.
    NotWrapped,
}

impl fmt::Display for RewriteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Broken(message) => return write!(formatter, "it cannot be read: {message}"),
            Self::NotFound => "it has no such server",
            Self::Ambiguous => "it has several servers of that name",
            Self::Remote => "the server is reached by a URL, so there is no command to change",
            Self::Yaml => "it is YAML, which is read here and not written",
            Self::Odd => "the server's command is not a word with a list of words",
            Self::AlreadyWrapped => "the server is tapped already",
            Self::NotWrapped => "the server is not tapped",
        })
    }
}

/// The text of a tool's file with these words before the command of a server. The last of them ends
/// our own words: `--`.
pub fn wrap_command(
    source: &ToolSource,
    text: &str,
    server: &str,
    words: &[String],
) -> Result<String, RewriteError> {
    match source.syntax {
        Syntax::Json => Json::read(text)?.wrap(source.shape, server, words),
        Syntax::Toml => wrap_toml(text, server, words),
        Syntax::Yaml => Err(RewriteError::Yaml),
    }
}

/// The text with the words before the command of a server taken away, and those words.
pub fn unwrap_command(
    source: &ToolSource,
    text: &str,
    server: &str,
) -> Result<(String, Vec<String>), RewriteError> {
    match source.syntax {
        Syntax::Json => Json::read(text)?.unwrap(source.shape, server),
        Syntax::Toml => unwrap_toml(text, server),
        Syntax::Yaml => Err(RewriteError::Yaml),
    }
}

/// Puts a new text in place of the one that was read, unless another program has changed the file
/// since. A link stays a link, and the file keeps its rights.
pub fn replace_unless_changed(file: &Path, before: &str, after: &str) -> io::Result<()> {
    if state_file::read(file)?.as_deref() != Some(before) {
        return Err(io::Error::other(
            "another program has just changed it; close that program or try again",
        ));
    }
    state_file::replace(file, after)
}

/// The text of a file as it is; nothing if there is none.
pub fn read_text(file: &Path) -> io::Result<Option<String>> {
    state_file::read(file)
}

/// Copies a file, with its rights, to where [`backup_of`] says; the real file if it is a link.
pub fn back_up(file: &Path, server: &str) -> io::Result<PathBuf> {
    let backup = backup_of(file, server)?;
    fs::copy(fs::canonicalize(file)?, &backup)?;
    Ok(backup)
}

/// Where the copy of a file from before a server was tapped lies: beside the real file.
pub fn backup_of(file: &Path, server: &str) -> io::Result<PathBuf> {
    let real = fs::canonicalize(file)?;
    let plain = |found: char| match found.is_ascii_alphanumeric() || "-_.".contains(found) {
        true => found,
        false => '_',
    };
    let server: String = server.chars().take(64).map(plain).collect();
    let mut name = real.file_name().unwrap_or_default().to_owned();
    name.push(format!(".before-tap-{server}"));
    Ok(real.with_file_name(name))
}

/// Whether words are ours: the command, `tap`, and where they end.
fn own_words(words: &[String]) -> Option<usize> {
    let command = Path::new(words.first()?).file_stem()?;
    let is_ours = command.to_string_lossy().starts_with("attache");
    if !is_ours || words.get(1).map(String::as_str) != Some("tap") {
        return None;
    }
    let end = words.iter().position(|word| word == "--")?;
    (end + 1 < words.len()).then_some(end + 1)
}

/// A JSON file with comments, and where everything in it stands.
struct Json<'t> {
    /// What precedes the text: a byte order mark or nothing.
    mark: &'t str,
    text: &'t str,
    strict: String,
    root: Node,
}

enum Node {
    Object(Range<usize>, Vec<(String, Node)>),
    Array(Range<usize>, Vec<Node>),
    Other(Range<usize>),
}

/// A server's command: one word and a list, or a list of all words.
enum Command<'n> {
    Split {
        program: &'n Range<usize>,
        args: Option<(&'n Range<usize>, &'n [Node])>,
    },
    List(&'n Range<usize>, &'n [Node]),
}

impl Node {
    fn range(&self) -> &Range<usize> {
        match self {
            Self::Object(range, _) | Self::Array(range, _) | Self::Other(range) => range,
        }
    }

    fn get(&self, name: &str) -> Option<&Self> {
        match self {
            // Of two members with one name the last counts.
            Self::Object(_, members) => {
                let found = members.iter().rfind(|(key, _)| key == name);
                found.map(|(_, node)| node)
            }
            _ => None,
        }
    }
}

impl<'t> Json<'t> {
    fn read(text: &'t str) -> Result<Self, RewriteError> {
        let (mark, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => (&text[..'\u{feff}'.len_utf8()], rest),
            None => ("", text),
        };
        let strict = relaxed_json::strict(text).into_owned();
        // From here on the text is known to be JSON.
        serde_json::from_str::<serde::de::IgnoredAny>(&strict)
            .map_err(|error| RewriteError::Broken(error.to_string()))?;
        let mut reader = Spans {
            bytes: strict.as_bytes(),
            at: 0,
        };
        let root = reader.node(DEEPEST);
        let root = root.ok_or_else(|| RewriteError::Broken("it nests too deep".to_owned()))?;
        Ok(Self {
            mark,
            text,
            strict,
            root,
        })
    }

    fn entry(&self, shape: Shape, server: &str) -> Result<&Node, RewriteError> {
        let root = &self.root;
        let under = |key: &str| root.get(key).and_then(|it| it.get(server));
        let common = || match (root.get("mcpServers"), root.get("servers")) {
            (Some(_), _) => under("mcpServers"),
            (None, Some(_)) => under("servers"),
            (None, None) => root.get(server),
        };
        let found = match shape {
            Shape::Common => common(),
            Shape::Gemini | Shape::Continue => under("mcpServers"),
            Shape::Codex => under("mcp_servers"),
            Shape::Zed => under("context_servers"),
            // Its one server has no name to be found by.
            Shape::SpecTui => None,
            Shape::Goose => under("extensions"),
            Shape::OpenCode => under("mcp"),
            Shape::ClaudeCode => match common() {
                Some(entry) => Some(entry),
                None => self.in_projects(server)?,
            },
        };
        found.ok_or(RewriteError::NotFound)
    }

    fn in_projects(&self, server: &str) -> Result<Option<&Node>, RewriteError> {
        let Some(Node::Object(_, projects)) = self.root.get("projects") else {
            return Ok(None);
        };
        let entry = |(_, project): &'_ (String, Node)| {
            project
                .get("mcpServers")
                .is_some_and(|it| it.get(server).is_some())
        };
        let mut found = projects.iter().filter(|it| entry(it));
        match (found.next(), found.next()) {
            (Some(_), Some(_)) => Err(RewriteError::Ambiguous),
            (Some((_, project)), None) => {
                Ok(project.get("mcpServers").and_then(|it| it.get(server)))
            }
            _ => Ok(None),
        }
    }

    fn command(&self, shape: Shape, server: &str) -> Result<Command<'_>, RewriteError> {
        let entry = self.entry(shape, server)?;
        let Some(command) = entry.get("command") else {
            let is_remote = ["url", "serverUrl", "httpUrl"]
                .iter()
                .any(|it| entry.get(it).is_some());
            return Err(match is_remote {
                true => RewriteError::Remote,
                false => RewriteError::Odd,
            });
        };
        let split = |program: &'_ Node, args: Option<&'_ Node>| -> Option<()> {
            let is_text = self.strict[program.range().clone()].starts_with('"');
            let fits = args.is_none_or(|args| matches!(args, Node::Array(..)));
            (is_text && fits).then_some(())
        };
        let (program, args) = match command {
            Node::Array(range, items) if !items.is_empty() => {
                return Ok(Command::List(range, items));
            }
            // An older form of one editor: `"command": {"path": …, "args": […]}`.
            Node::Object(..) => match command.get("path") {
                Some(path) => (path, command.get("args")),
                None => return Err(RewriteError::Odd),
            },
            other => (other, entry.get("args")),
        };
        split(program, args).ok_or(RewriteError::Odd)?;
        Ok(Command::Split {
            program: program.range(),
            args: match args {
                Some(Node::Array(range, items)) => Some((range, items)),
                _ => None,
            },
        })
    }

    fn string(&self, range: &Range<usize>) -> Option<String> {
        serde_json::from_str(&self.strict[range.clone()]).ok()
    }

    /// All words of a command, in order, with where each stands.
    fn words<'n>(&self, command: &Command<'n>) -> Option<Vec<(String, &'n Range<usize>)>> {
        let mut ranges = Vec::new();
        match command {
            Command::Split { program, args } => {
                ranges.push(*program);
                ranges.extend(
                    args.iter()
                        .flat_map(|(_, items)| items.iter().map(Node::range)),
                );
            }
            Command::List(_, items) => ranges.extend(items.iter().map(Node::range)),
        }
        let words = ranges
            .into_iter()
            .map(|range| Some((self.string(range)?, range)));
        words.collect()
    }

    fn wrap(&self, shape: Shape, server: &str, words: &[String]) -> Result<String, RewriteError> {
        let command = self.command(shape, server)?;
        let now = self.words(&command).ok_or(RewriteError::Odd)?;
        let plain: Vec<String> = now.iter().map(|(word, _)| word.clone()).collect();
        if own_words(&plain).is_some() {
            return Err(RewriteError::AlreadyWrapped);
        }
        let quoted = |words: &[String]| {
            let words = words
                .iter()
                .map(|word| serde_json::Value::from(word.as_str()).to_string());
            words.collect::<Vec<_>>().join(", ")
        };
        let edits = match &command {
            Command::List(range, _) => {
                vec![(
                    range.start + 1..range.start + 1,
                    format!("{}, ", quoted(words)),
                )]
            }
            Command::Split { program, args } => {
                let program_text = &self.text[(*program).clone()];
                let front = format!("{}, {program_text}", quoted(&words[1..]));
                let first = quoted(&words[..1]);
                let args = match args {
                    Some((range, items)) => {
                        let comma = if items.is_empty() { "" } else { ", " };
                        (range.start + 1..range.start + 1, format!("{front}{comma}"))
                    }
                    None => (program.end..program.end, format!(", \"args\": [{front}]")),
                };
                vec![((*program).clone(), first), args]
            }
        };
        Ok(self.edited(edits))
    }

    fn unwrap(&self, shape: Shape, server: &str) -> Result<(String, Vec<String>), RewriteError> {
        let command = self.command(shape, server)?;
        let now = self.words(&command).ok_or(RewriteError::Odd)?;
        let plain: Vec<String> = now.iter().map(|(word, _)| word.clone()).collect();
        let count = own_words(&plain).ok_or(RewriteError::NotWrapped)?;
        let removed = plain[..count].to_vec();
        let edits = match &command {
            Command::List(range, _) => vec![(range.start + 1..now[count].1.start, String::new())],
            Command::Split { program, args } => {
                let original = self.text[now[count].1.clone()].to_owned();
                let begin = args.map_or(program.end, |(range, _)| range.start + 1);
                let end = match now.get(count + 1) {
                    Some((_, next)) => next.start,
                    None => now[count].1.end,
                };
                vec![((*program).clone(), original), (begin..end, String::new())]
            }
        };
        Ok((self.edited(edits), removed))
    }

    fn edited(&self, mut edits: Vec<(Range<usize>, String)>) -> String {
        edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
        let mut text = self.text.to_owned();
        for (range, replacement) in edits {
            text.replace_range(range, &replacement);
        }
        format!("{}{text}", self.mark)
    }
}

/// Finds where values stand in a text that is known to be JSON.
struct Spans<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl Spans<'_> {
    fn node(&mut self, depth: usize) -> Option<Node> {
        self.skip_blanks();
        let start = self.at;
        match self.bytes.get(self.at)? {
            b'{' if depth > 0 => {
                self.at += 1;
                let mut members = Vec::new();
                while self.go_on(b'}')? {
                    let key = self.node(0)?;
                    let key = std::str::from_utf8(&self.bytes[key.range().clone()]).ok()?;
                    let key = serde_json::from_str(key).ok()?;
                    self.skip_to(b':')?;
                    members.push((key, self.node(depth - 1)?));
                }
                Some(Node::Object(start..self.at, members))
            }
            b'[' if depth > 0 => {
                self.at += 1;
                let mut items = Vec::new();
                while self.go_on(b']')? {
                    items.push(self.node(depth - 1)?);
                }
                Some(Node::Array(start..self.at, items))
            }
            b'{' | b'[' => None,
            b'"' => {
                self.at += 1;
                loop {
                    match self.bytes.get(self.at)? {
                        b'\\' => self.at += 2,
                        b'"' => break,
                        _ => self.at += 1,
                    }
                }
                self.at += 1;
                Some(Node::Other(start..self.at))
            }
            _ => {
                let ends = |byte: &u8| byte.is_ascii_whitespace() || b",]}".contains(byte);
                while self.bytes.get(self.at).is_some_and(|byte| !ends(byte)) {
                    self.at += 1;
                }
                Some(Node::Other(start..self.at))
            }
        }
    }

    /// Steps over a comma; false when the end was stepped over.
    fn go_on(&mut self, end: u8) -> Option<bool> {
        loop {
            self.skip_blanks();
            match self.bytes.get(self.at)? {
                b',' => self.at += 1,
                byte if *byte == end => {
                    self.at += 1;
                    return Some(false);
                }
                _ => return Some(true),
            }
        }
    }

    fn skip_to(&mut self, wanted: u8) -> Option<()> {
        while *self.bytes.get(self.at)? != wanted {
            self.at += 1;
        }
        self.at += 1;
        Some(())
    }

    fn skip_blanks(&mut self) {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }
}

fn toml_entry<'d>(
    document: &'d mut DocumentMut,
    server: &str,
) -> Result<&'d mut dyn toml_edit::TableLike, RewriteError> {
    let servers = document
        .get_mut("mcp_servers")
        .and_then(|it| it.as_table_like_mut());
    let entry = servers
        .and_then(|it| it.get_mut(server))
        .and_then(|it| it.as_table_like_mut());
    let entry = entry.ok_or(RewriteError::NotFound)?;
    match (entry.contains_key("command"), entry.contains_key("url")) {
        (true, _) => Ok(entry),
        (false, true) => Err(RewriteError::Remote),
        (false, false) => Err(RewriteError::Odd),
    }
}

fn toml_words(entry: &dyn toml_edit::TableLike) -> Option<Vec<String>> {
    let mut words = vec![entry.get("command")?.as_str()?.to_owned()];
    if let Some(args) = entry.get("args") {
        for word in args.as_array()? {
            words.push(word.as_str()?.to_owned());
        }
    }
    Some(words)
}

fn read_toml(text: &str) -> Result<DocumentMut, RewriteError> {
    text.parse()
        .map_err(|error: toml_edit::TomlError| RewriteError::Broken(error.to_string()))
}

fn wrap_toml(text: &str, server: &str, words: &[String]) -> Result<String, RewriteError> {
    let mut document = read_toml(text)?;
    let entry = toml_entry(&mut document, server)?;
    let now = toml_words(entry).ok_or(RewriteError::Odd)?;
    if own_words(&now).is_some() {
        return Err(RewriteError::AlreadyWrapped);
    }
    set_toml(entry, &words[0], words[1..].iter().chain(&now[..1]), 0);
    Ok(document.to_string())
}

fn unwrap_toml(text: &str, server: &str) -> Result<(String, Vec<String>), RewriteError> {
    let mut document = read_toml(text)?;
    let entry = toml_entry(&mut document, server)?;
    let now = toml_words(entry).ok_or(RewriteError::Odd)?;
    let count = own_words(&now).ok_or(RewriteError::NotWrapped)?;
    set_toml(entry, &now[count], std::iter::empty(), count);
    Ok((document.to_string(), now[..count].to_vec()))
}

/// Sets the program, takes words from the front of the arguments, and puts others there.
fn set_toml<'w>(
    entry: &mut dyn toml_edit::TableLike,
    program: &str,
    front: impl DoubleEndedIterator<Item = &'w String>,
    taken: usize,
) {
    entry.insert("command", toml_edit::value(program));
    if entry.get("args").is_none() {
        entry.insert("args", toml_edit::value(toml_edit::Array::new()));
    }
    let Some(args) = entry.get_mut("args").and_then(|it| it.as_array_mut()) else {
        return;
    };
    for _ in 0..taken {
        args.remove(0);
    }
    let mut count = 0;
    for word in front.rev() {
        args.insert(0, word.as_str());
        count += 1;
    }
    // A word stands apart from the one before it, and the first at the edge, as people write them.
    let (before, after) = match count {
        0 => (" ", ""),
        _ => ("", " "),
    };
    if let Some(first) = args.get_mut(count) {
        let decor = first.decor_mut();
        let blank = decor
            .prefix()
            .and_then(|it| it.as_str())
            .unwrap_or_default();
        if blank == before {
            decor.set_prefix(after);
        }
    }
}

#[cfg(test)]
#[path = "rewrite_tests.rs"]
mod tests;
