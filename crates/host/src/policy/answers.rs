//! Answers of the user that are remembered.
//!
//! Answers for the session live in memory; answers for always live in a small JSON file where the
//! caller says, `{"allow": ["server/tool", …], "deny": […]}`, which people may edit.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::{Answer, Remember};
use crate::names::ToolName;
use crate::state_file;

/// The answers that are remembered.
#[derive(Debug, Default)]
pub struct Answers {
    file: Option<PathBuf>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    session: BTreeMap<String, Answer>,
    always: BTreeMap<String, Answer>,
}

#[derive(Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    #[serde(default)]
    allow: Vec<String>,
    #[serde(default)]
    deny: Vec<String>,
}

impl Answers {
    /// Answers that end with the program; one for always holds for the session.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Answers kept in a file, which need not exist yet. A file that cannot be understood is an
    /// error, so that no refusal in it is overlooked.
    pub fn in_file(file: &Path) -> io::Result<Self> {
        let always = match state_file::read(file)? {
            Some(text) => parse(file, &text)?,
            None => BTreeMap::new(),
        };
        Ok(Self {
            file: Some(file.to_path_buf()),
            known: Mutex::new(Known {
                session: BTreeMap::new(),
                always,
            }),
        })
    }

    /// The answer that was given for a tool.
    pub fn recall(&self, name: &ToolName) -> Option<Answer> {
        let name = name.to_string();
        let known = self.known();
        known
            .session
            .get(&name)
            .or_else(|| known.always.get(&name))
            .copied()
    }

    /// Remembers an answer for as long as it says. The file is written at once; other programs'
    /// answers in it are kept.
    pub fn remember(&self, name: &ToolName, answer: Answer) -> io::Result<()> {
        let name = name.to_string();
        match (answer.remember(), &self.file) {
            (Remember::Once, _) => Ok(()),
            (Remember::Always, Some(file)) => {
                self.known().session.remove(&name);
                self.change(file, |always| {
                    always.insert(name, answer);
                })
            }
            (Remember::Session | Remember::Always, _) => {
                self.known().session.insert(name, answer);
                Ok(())
            }
        }
    }

    /// Forgets what was answered for a tool.
    pub fn forget(&self, name: &ToolName) -> io::Result<()> {
        let name = name.to_string();
        self.known().session.remove(&name);
        match &self.file {
            Some(file) => self.change(file, |always| {
                always.remove(&name);
            }),
            None => Ok(()),
        }
    }

    fn change(
        &self,
        file: &Path,
        change: impl FnOnce(&mut BTreeMap<String, Answer>),
    ) -> io::Result<()> {
        let mut always = BTreeMap::new();
        state_file::update::<io::Error>(file, |text| {
            if let Some(text) = text {
                always = parse(file, &text)?;
            }
            change(&mut always);
            Ok(Some(write(&always)?))
        })?;
        self.known().always = always;
        Ok(())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock()
    }
}

fn parse(file: &Path, text: &str) -> io::Result<BTreeMap<String, Answer>> {
    let stored: Stored = serde_json::from_str(text).map_err(|error| {
        let message = format!(
            "{} holds no remembered answers: {error}; mend or delete it",
            file.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    })?;
    let allow = stored.allow.into_iter();
    let deny = stored.deny.into_iter();
    // A name in both lists is refused.
    Ok(allow
        .map(|name| (name, Answer::Allow(Remember::Always)))
        .chain(deny.map(|name| (name, Answer::Deny(Remember::Always))))
        .collect())
}

fn write(always: &BTreeMap<String, Answer>) -> io::Result<String> {
    let mut stored = Stored::default();
    for (name, answer) in always {
        match answer {
            Answer::Allow(_) => stored.allow.push(name.clone()),
            Answer::Deny(_) => stored.deny.push(name.clone()),
        }
    }
    let mut text = serde_json::to_string_pretty(&stored)?;
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerName;
    use attache_testkit::scratch::Scratch;

    fn tool(tool: &str) -> ToolName {
        ToolName::new(ServerName::new("notes").unwrap(), tool)
    }

    const ALWAYS: Answer = Answer::Allow(Remember::Always);

    #[test]
    fn answers_hold_as_long_as_they_say() {
        let scratch = Scratch::new("answers").unwrap();
        let file = scratch.path().join("answers.json");
        let answers = Answers::in_file(&file).unwrap();
        let once = Answer::Allow(Remember::Once);
        let session = Answer::Deny(Remember::Session);
        answers.remember(&tool("once"), once).unwrap();
        answers.remember(&tool("session"), session).unwrap();
        answers.remember(&tool("always"), ALWAYS).unwrap();
        assert_eq!(answers.recall(&tool("once")), None);
        assert_eq!(answers.recall(&tool("session")), Some(session));
        assert_eq!(answers.recall(&tool("always")), Some(ALWAYS));

        let later = Answers::in_file(&file).unwrap();
        assert_eq!(later.recall(&tool("session")), None);
        assert_eq!(later.recall(&tool("always")), Some(ALWAYS));
        later.forget(&tool("always")).unwrap();
        assert_eq!(
            Answers::in_file(&file).unwrap().recall(&tool("always")),
            None
        );
    }

    #[test]
    fn two_programs_keep_each_others_answers() {
        let scratch = Scratch::new("answers").unwrap();
        let file = scratch.path().join("answers.json");
        let one = Answers::in_file(&file).unwrap();
        let other = Answers::in_file(&file).unwrap();
        one.remember(&tool("a"), ALWAYS).unwrap();
        other.remember(&tool("b"), ALWAYS).unwrap();
        assert_eq!(other.recall(&tool("a")), Some(ALWAYS));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(
            text.contains("notes/a") && text.contains("notes/b"),
            "{text}"
        );
    }

    #[test]
    fn a_broken_file_is_an_error_and_not_an_empty_one() {
        let scratch = Scratch::new("answers").unwrap();
        let file = scratch.path().join("answers.json");
        std::fs::write(&file, "{\"deny\": \"x\"}").unwrap();
        let error = Answers::in_file(&file).unwrap_err().to_string();
        assert!(error.contains("answers.json"), "{error}");
        std::fs::write(&file, r#"{"allow":["notes/a"],"deny":["notes/a"]}"#).unwrap();
        let answers = Answers::in_file(&file).unwrap();
        assert_eq!(
            answers.recall(&tool("a")),
            Some(Answer::Deny(Remember::Always))
        );
    }

    #[test]
    fn without_a_file_always_is_the_session() {
        let answers = Answers::in_memory();
        answers.remember(&tool("a"), ALWAYS).unwrap();
        assert_eq!(answers.recall(&tool("a")), Some(ALWAYS));
        answers.forget(&tool("a")).unwrap();
        assert_eq!(answers.recall(&tool("a")), None);
    }
}
