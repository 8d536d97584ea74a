//! Reading a table of a TOML file key by key, with every complaint at its place.
//!
//! Owns positions, types, ranges and unknown keys, as the reference has them. It knows nothing of what
//! the keys mean.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use toml_edit::{Item, TableLike, Value};

use super::expand::{ExpandError, expand};
use super::reference::{FILE, Kind, Only, Table};
use super::{Pattern, Problem, Secret, Severity, UserEnvironment};
use crate::nearest::nearest;

/// The longest time that can be configured: a day.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// Whether the variables that a file names are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expansion {
    /// They are, and one that is missing is an error.
    Values,
    /// They are not: the file is not approved, and learns nothing of the user (S20).
    AsWritten,
}

/// A file being read, and what was wrong with it so far.
pub(super) struct Reading<'a> {
    pub(super) file: &'a Path,
    pub(super) text: &'a str,
    pub(super) environment: &'a UserEnvironment,
    expansion: Expansion,
    problems: RefCell<Vec<Problem>>,
}

impl<'a> Reading<'a> {
    pub(super) fn new(
        file: &'a Path,
        text: &'a str,
        environment: &'a UserEnvironment,
        expansion: Expansion,
    ) -> Self {
        Self {
            file,
            text,
            environment,
            expansion,
            problems: RefCell::default(),
        }
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }

    /// How many errors there are.
    pub(super) fn errors(&self) -> usize {
        let problems = self.problems.borrow();
        let errors = problems
            .iter()
            .filter(|problem| problem.severity == Severity::Error);
        errors.count()
    }

    /// Line and column of a byte of the text, counted from one; the column in characters.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        // A position inside a character counts as its beginning.
        let mut at = at.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        (line, before[line_start..].chars().count() + 1)
    }

    pub(super) fn report(&self, place: Place<'_>, severity: Severity, complaint: Complaint) {
        let (line, column) = self.position(place.at);
        self.problems.borrow_mut().push(Problem {
            severity,
            file: self.file.to_path_buf(),
            line,
            column,
            server: place.server.map(str::to_owned),
            key: place.key,
            message: complaint.message,
            hint: complaint.hint,
        });
    }
}

/// Where a complaint belongs.
pub(super) struct Place<'a> {
    pub(super) at: usize,
    pub(super) server: Option<&'a str>,
    pub(super) key: String,
}

/// What is wrong and what to do about it.
pub(super) struct Complaint {
    message: String,
    hint: Option<String>,
}

impl Complaint {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// A table being read. Which keys it has, their types and ranges are those of the reference; a key
/// that is not there cannot be read.
pub(super) struct Section<'r> {
    reading: &'r Reading<'r>,
    table: &'r dyn TableLike,
    kind: &'static Kind,
    path: String,
    server: Option<&'r str>,
    begins: usize,
}

impl<'r> Section<'r> {
    /// The whole file.
    pub(super) fn root(reading: &'r Reading<'r>, table: &'r dyn TableLike) -> Self {
        let root = Self {
            reading,
            table,
            kind: &FILE,
            path: String::new(),
            server: None,
            begins: 0,
        };
        root.check_keys();
        root
    }

    /// A table below this one.
    pub(super) fn section(&self, key: &str) -> Option<Section<'r>> {
        self.open(key, self.server)
    }

    /// A table below this one that describes a server.
    pub(super) fn server(&self, key: &str, server: &'r str) -> Option<Section<'r>> {
        self.open(key, Some(server))
    }

    fn open(&self, key: &str, server: Option<&'r str>) -> Option<Section<'r>> {
        let (kind, item) = self.ask(key)?;
        let Some(table) = item.as_table_like() else {
            return self.wrong_type(key, kind, item);
        };
        let section = Section {
            reading: self.reading,
            table,
            kind,
            path: self.dotted(key),
            server,
            begins: self.key_position(key, item),
        };
        section.check_keys();
        Some(section)
    }

    /// A table below this one that may also be given as a word.
    pub(super) fn word_or_section(&self, key: &str) -> Option<WordOrSection<'r>> {
        let (_, item) = self.ask(key)?;
        match item.as_str() {
            Some(word) => Some(WordOrSection::Word(word)),
            None => self.section(key).map(WordOrSection::Section),
        }
    }

    /// The names in a table whose names the user chose.
    pub(super) fn names(&self) -> Vec<&'r str> {
        self.table.iter().map(|(name, _)| name).collect()
    }

    /// Where the table begins, as a line.
    pub(super) fn line(&self) -> usize {
        self.reading.position(self.begins).0
    }

    /// Whether this table can have such a key at all.
    pub(super) fn knows(&self, key: &str) -> bool {
        self.kind.below(key).is_some()
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.ask(key).is_some()
    }

    /// The keys here that only some servers can have.
    pub(super) fn keys_only_for(&self, only: Only) -> impl Iterator<Item = &'static str> {
        let keys = self.kind.table().into_iter().flat_map(Table::keys);
        let here =
            keys.filter(move |key| key.only == Some(only) && self.table.contains_key(key.name));
        here.map(|key| key.name)
    }

    /// A text with its variables expanded.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        let (kind, item) = self.ask(key)?;
        match item.as_value() {
            Some(value) if value.is_str() => self.expanded(key, value),
            _ => self.wrong_type(key, kind, item),
        }
    }

    pub(super) fn secret(&self, key: &str) -> Option<Secret> {
        self.text(key).map(Secret::new)
    }

    /// Whether a text has references that were left in it, so that nothing can be said of its form.
    pub(super) fn is_unexpanded(&self, text: &str) -> bool {
        self.reading.expansion == Expansion::AsWritten && text.contains("${")
    }

    /// Whether a key is written as exactly this word.
    pub(super) fn is_written(&self, key: &str, word: &str) -> bool {
        self.ask(key).and_then(|(_, item)| item.as_str()) == Some(word)
    }

    /// The folder the file is in.
    pub(super) fn folder(&self) -> Option<&'r Path> {
        let folder = self.reading.file.parent();
        folder.filter(|folder| !folder.as_os_str().is_empty())
    }

    /// The folder the user is in.
    pub(super) fn working_folder(&self) -> &'r Path {
        self.reading.environment.working_folder()
    }

    /// A path; `~/` is the home folder, and a relative one is relative to the file.
    pub(super) fn path(&self, key: &str) -> Option<PathBuf> {
        let text = self.text(key)?;
        let beside = self.reading.file.parent().unwrap_or(Path::new(""));
        let below_home = text.strip_prefix("~/").or((text == "~").then_some(""));
        match (below_home, self.reading.environment.home()) {
            (Some(below), Some(home)) => Some(home.join(below)),
            (Some(_), None) => {
                let complaint = Complaint::new("there is no home folder for \"~\"");
                self.complain(key, complaint.hint("write the whole path"));
                None
            }
            (None, _) => Some(beside.join(text)),
        }
    }

    /// A list of texts with their variables expanded.
    pub(super) fn texts(&self, key: &str) -> Option<Vec<String>> {
        let (kind, item) = self.ask(key)?;
        let Some(array) = item.as_array() else {
            return self.wrong_type(key, kind, item);
        };
        array
            .iter()
            .map(|value| self.expanded(key, value))
            .collect()
    }

    pub(super) fn patterns(&self, key: &str) -> Option<Vec<Pattern>> {
        let words = self.words(key)?;
        Some(words.into_iter().map(Pattern::new).collect())
    }

    /// A table of texts under names that the user chose.
    pub(super) fn text_map(&self, key: &str) -> Option<BTreeMap<String, Secret>> {
        let section = self.section(key)?;
        let mut map = BTreeMap::new();
        for (name, item) in section.table.iter() {
            // Numbers and truth values are what people write for variables.
            let text = match item.as_value() {
                Some(Value::Integer(number)) => Some(number.value().to_string()),
                Some(Value::Boolean(truth)) => Some(truth.value().to_string()),
                _ => section.text(name),
            };
            map.extend(text.map(|text| (name.to_owned(), Secret::new(text))));
        }
        Some(map)
    }

    pub(super) fn truth(&self, key: &str) -> Option<bool> {
        let (kind, item) = self.ask(key)?;
        item.as_bool().or_else(|| self.wrong_type(key, kind, item))
    }

    /// A whole number in the range of the key.
    pub(super) fn number<T: TryFrom<i64>>(&self, key: &str) -> Option<T> {
        let (kind, item) = self.ask(key)?;
        let (&Kind::Number(least, most), Some(number)) = (kind, item.as_integer()) else {
            return self.wrong_type(key, kind, item);
        };
        if !(least..=most).contains(&number) {
            let message = format!("{number} is not between {least} and {most}");
            self.complain(key, Complaint::new(message));
            return None;
        }
        T::try_from(number).ok()
    }

    /// A number in the range of the key, whole or not.
    pub(super) fn decimal(&self, key: &str) -> Option<f64> {
        let (kind, item) = self.ask(key)?;
        #[expect(
            clippy::cast_precision_loss,
            reason = "a whole number too large to be exact is out of any range"
        )]
        let whole = || item.as_integer().map(|number| number as f64);
        let number = item.as_float().or_else(whole);
        let (&Kind::Decimal(least, most), Some(number)) = (kind, number) else {
            return self.wrong_type(key, kind, item);
        };
        if !(least..=most).contains(&number) {
            let message = format!("{number} is not between {least} and {most}");
            self.complain(key, Complaint::new(message));
            return None;
        }
        Some(number)
    }

    /// A time: a number of milliseconds, or a text such as "500ms", "2s", "1.5 min".
    pub(super) fn time(&self, key: &str) -> Option<Duration> {
        let (kind, item) = self.ask(key)?;
        let time = match item.as_value() {
            Some(Value::Integer(number)) => u64::try_from(*number.value())
                .ok()
                .map(Duration::from_millis),
            Some(Value::String(text)) => parse_time(text.value()),
            _ => None,
        };
        match time {
            Some(time) if time.is_zero() || time > LONGEST => {
                let complaint = Complaint::new("the time is not between 1 ms and 24 hours");
                self.complain(key, complaint);
                None
            }
            Some(time) => Some(time),
            None => self.wrong_type(key, kind, item),
        }
    }

    /// One of several words.
    pub(super) fn choice<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<T> {
        let (kind, item) = self.ask(key)?;
        match item.as_str() {
            Some(word) => self.chosen(key, word, choices),
            None => self.wrong_type(key, kind, item),
        }
    }

    /// Some of several words.
    pub(super) fn choices<T: Copy>(&self, key: &str, choices: &[(&str, T)]) -> Option<Vec<T>> {
        let words = self.words(key)?.into_iter();
        words.map(|word| self.chosen(key, word, choices)).collect()
    }

    /// A list of words, as they are written.
    fn words(&self, key: &str) -> Option<Vec<&'r str>> {
        let (kind, item) = self.ask(key)?;
        let words = item.as_array();
        let words = words.and_then(|array| array.iter().map(Value::as_str).collect());
        words.or_else(|| self.wrong_type(key, kind, item))
    }

    /// What a word means, or a complaint that names the nearest word.
    pub(super) fn chosen<T: Copy>(
        &self,
        key: &str,
        word: &str,
        choices: &[(&str, T)],
    ) -> Option<T> {
        if let Some((_, meaning)) = choices.iter().find(|(name, _)| *name == word) {
            return Some(*meaning);
        }
        let words: Vec<String> = choices
            .iter()
            .map(|(name, _)| format!("\"{name}\""))
            .collect();
        let message = format!("\"{word}\" is not one of {}", words.join(", "));
        let complaint = Complaint::new(message);
        self.complain(
            key,
            match nearest(word, choices.iter().map(|(name, _)| *name)) {
                Some(near) => complaint.hint(format!("did you mean \"{near}\"?")),
                None => complaint,
            },
        );
        None
    }

    /// Complains about every key that the reference does not have here.
    fn check_keys(&self) {
        for (key, _) in self.table.iter().filter(|(key, _)| !self.knows(key)) {
            let keys = self.kind.table().into_iter().flat_map(Table::keys);
            let known: Vec<&str> = keys.map(|key| key.name).collect();
            let hint = match nearest(key, known.iter().copied()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("known here: {}", known.join(", ")),
            };
            self.complain(key, Complaint::new("unknown key").hint(hint));
        }
    }

    /// An error about a key of this table, or about the table if it has no such key.
    pub(super) fn complain(&self, key: &str, complaint: Complaint) {
        self.report(key, Severity::Error, complaint);
    }

    /// A remark about a key that is used nevertheless.
    pub(super) fn warn(&self, key: &str, complaint: Complaint) {
        self.report(key, Severity::Warning, complaint);
    }

    fn report(&self, key: &str, severity: Severity, complaint: Complaint) {
        let (at, dotted) = match self.table.get(key) {
            Some(item) => (self.key_position(key, item), self.dotted(key)),
            None => (self.begins, self.path.clone()),
        };
        let place = Place {
            at,
            server: self.server,
            key: dotted,
        };
        self.reading.report(place, severity, complaint);
    }

    /// What a key may be, and what is written for it.
    fn ask(&self, key: &str) -> Option<(&'static Kind, &'r Item)> {
        let kind = self.kind.below(key);
        debug_assert!(kind.is_some(), "\"{key}\" is read and not in the reference");
        Some((kind?, self.table.get(key)?))
    }

    fn expanded(&self, key: &str, value: &Value) -> Option<String> {
        let Some(text) = value.as_str() else {
            let found = described(value.type_name());
            self.complain(
                key,
                Complaint::new(format!("expected a text, found {found}")),
            );
            return None;
        };
        let expanded = match (
            self.reading.expansion,
            expand(text, self.reading.environment),
        ) {
            (Expansion::Values, expanded) => expanded,
            (Expansion::AsWritten, Ok(_) | Err(ExpandError::Missing { .. })) => Ok(text.to_owned()),
            (Expansion::AsWritten, Err(error)) => Err(error),
        };
        match expanded {
            Ok(text) if text.contains('\0') => {
                self.complain(key, Complaint::new("the text has a zero character"));
                None
            }
            Ok(text) => Some(text),
            Err(error) => {
                let hint = match &error {
                    ExpandError::Missing { variable } => {
                        format!("set it, or write \"${{{variable}:-default}}\"")
                    }
                    ExpandError::Unclosed | ExpandError::BadName { .. } => {
                        "write \"${NAME}\", or \"$${\" for the characters themselves".to_owned()
                    }
                };
                self.complain(key, Complaint::new(error.to_string()).hint(hint));
                None
            }
        }
    }

    /// Complains about a value that is not of the key's type; there is nothing to read of it.
    fn wrong_type<T>(&self, key: &str, kind: &Kind, item: &Item) -> Option<T> {
        let found = described(item.type_name());
        let message = format!("expected {kind}, found {found}");
        self.complain(key, Complaint::new(message));
        None
    }

    fn dotted(&self, key: &str) -> String {
        let key = toml_edit::Key::new(key);
        let key = key.display_repr();
        match self.path.as_str() {
            "" => key.into_owned(),
            path => format!("{path}.{key}"),
        }
    }

    fn key_position(&self, key: &str, item: &Item) -> usize {
        let of_key = self.table.key(key).and_then(toml_edit::Key::span);
        let span = of_key.or_else(|| item.span());
        span.map_or(self.begins, |span| span.start)
    }
}

/// A setting that is either a word or a table.
pub(super) enum WordOrSection<'r> {
    Word(&'r str),
    Section(Section<'r>),
}

/// What TOML calls a type, in plain words.
fn described(type_name: &str) -> &'static str {
    match type_name {
        "string" => "a text",
        "integer" => "a whole number",
        "float" => "a number",
        "boolean" => "true or false",
        "datetime" => "a date",
        "array" | "array of tables" => "a list",
        _ => "a table",
    }
}

fn parse_time(text: &str) -> Option<Duration> {
    let text = text.trim();
    let unit_at = text.find(|found: char| found.is_ascii_alphabetic())?;
    let (number, unit) = text.split_at(unit_at);
    let number = number.trim();
    if number.is_empty()
        || !number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        return None;
    }
    let seconds = match unit {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number.parse::<f64>().ok()? * seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, milliseconds) in [
            ("500ms", Some(500)),
            ("2s", Some(2000)),
            ("1.5 min", Some(90_000)),
            ("1h", Some(3_600_000)),
            ("5", None),
            ("s", None),
            ("-1s", None),
            ("1e9s", None),
            ("2 weeks", None),
        ] {
            let time = parse_time(text).map(|time| time.as_millis());
            assert_eq!(time, milliseconds, "{text}");
        }
    }
}
