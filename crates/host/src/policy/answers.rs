//! Answers of the user that are remembered.
//!
//! Answers for the session live in memory; answers for always live in a small JSON file where the
//! caller says, `{"allow": ["server/tool", "server", …], "deny": […]}`, which people may edit. A name
//! without a slash is a server's, which no tool's name can be mistaken for: what is answered for a
//! whole server holds for those of its tools that nothing was answered for.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::{Answer, Remember, Scope};
use crate::config::ServerName;
use crate::names::ToolName;
use crate::state_file;

/// The answers that are remembered.
#[derive(Debug, Default)]
pub struct Answers {
    file: Option<PathBuf>,
    known: Mutex<Known>,
}

/// An answer that is remembered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RememberedAnswer {
    /// The tool as `server/tool`, or the server.
    pub name: String,
    /// The answer, which says for how long it holds.
    pub answer: Answer,
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

    /// The answer that was given for a tool, or else for its server.
    pub fn recall(&self, name: &ToolName) -> Option<Answer> {
        let known = self.known();
        let of = |name: &str| {
            let session = known.session.get(name);
            session.or_else(|| known.always.get(name)).copied()
        };
        of(&name.to_string()).or_else(|| of(name.server.as_str()))
    }

    /// Takes over what other programs have written to the file since. One that cannot be
    /// understood now leaves what is known.
    pub fn reread(&self) {
        let Some(file) = &self.file else { return };
        let always = match state_file::read(file) {
            Ok(Some(text)) => parse(file, &text),
            Ok(None) => Ok(BTreeMap::new()),
            Err(error) => Err(error),
        };
        if let Ok(always) = always {
            self.known().always = always;
        }
    }

    /// All answers, in the order of their names.
    pub fn list(&self) -> Vec<RememberedAnswer> {
        let known = self.known();
        let mut answers = known.always.clone();
        answers.extend(known.session.iter().map(|(name, it)| (name.clone(), *it)));
        let answers = answers.into_iter();
        answers
            .map(|(name, answer)| RememberedAnswer { name, answer })
            .collect()
    }

    /// Remembers an answer for a tool for as long as it says. The file is written at once; other
    /// programs' answers in it are kept.
    pub fn remember(&self, name: &ToolName, answer: Answer) -> io::Result<()> {
        self.remember_as(name.to_string(), answer)
    }

    /// Remembers an answer for a tool, or for its whole server.
    pub fn remember_for(&self, scope: Scope, name: &ToolName, answer: Answer) -> io::Result<()> {
        match scope {
            Scope::Tool => self.remember(name, answer),
            Scope::Server => self.remember_for_server(&name.server, answer),
        }
    }

    /// Remembers an answer for all tools of a server that have none of their own.
    pub fn remember_for_server(&self, server: &ServerName, answer: Answer) -> io::Result<()> {
        self.remember_as(server.to_string(), answer)
    }

    fn remember_as(&self, name: String, answer: Answer) -> io::Result<()> {
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

    /// Forgets what was answered for a tool, and says whether there was anything.
    pub fn forget(&self, name: &ToolName) -> io::Result<usize> {
        let name = name.to_string();
        self.forget_all(|known| known == name)
    }

    /// Forgets what was answered for a server and for each of its tools, and says how much that was.
    pub fn forget_server(&self, server: &ServerName) -> io::Result<usize> {
        let server = server.as_str();
        self.forget_all(|known| known.split('/').next() == Some(server))
    }

    fn forget_all(&self, is_it: impl Fn(&str) -> bool) -> io::Result<usize> {
        let mut forgotten = 0;
        let mut forget = |answers: &mut BTreeMap<String, Answer>| {
            answers.retain(|name, _| {
                forgotten += usize::from(is_it(name));
                !is_it(name)
            });
        };
        forget(&mut self.known().session);
        if let Some(file) = &self.file {
            self.change(file, forget)?;
        }
        Ok(forgotten)
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
    fn an_answer_for_a_server_holds_for_tools_that_have_none() {
        let scratch = Scratch::new("answers").unwrap();
        let file = scratch.path().join("answers.json");
        let answers = Answers::in_file(&file).unwrap();
        let notes = ServerName::new("notes").unwrap();
        let refused = Answer::Deny(Remember::Always);
        let session = Answer::Deny(Remember::Session);
        answers.remember_for_server(&notes, ALWAYS).unwrap();
        answers.remember(&tool("delete"), refused).unwrap();
        assert_eq!(answers.recall(&tool("read")), Some(ALWAYS));
        assert_eq!(answers.recall(&tool("delete")), Some(refused));
        // A tool cannot answer for its server, whatever it is called.
        answers.remember(&tool(""), session).unwrap();
        answers.remember(&tool("*"), session).unwrap();
        assert_eq!(answers.recall(&tool("read")), Some(ALWAYS));
        let other = ToolName::new(ServerName::new("notes2").unwrap(), "read");
        assert_eq!(answers.recall(&other), None);
        answers.remember(&other, ALWAYS).unwrap();

        let later = Answers::in_file(&file).unwrap();
        let listed = later.list();
        let names: Vec<&str> = listed.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["notes", "notes/delete", "notes2/read"]);
        assert_eq!(later.forget_server(&notes).unwrap(), 2);
        assert_eq!(later.forget_server(&notes).unwrap(), 0);
        assert_eq!(later.recall(&tool("delete")), None);
        assert_eq!(later.recall(&other), Some(ALWAYS));
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
