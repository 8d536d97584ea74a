//! Conversations on disk: one file each, a line for everything that happened.
//!
//! A line is written before what it announces, so that a conversation that was killed in the middle
//! of a call knows of that call. Files are for the user alone and hold no secret that is known or
//! looks like one. What is broken in a file spoils its line only.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use attache_host::redact::Redactor;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::calls;
use crate::cut;
use crate::message::{Message, Part, Usage};
use crate::private;

/// How a file of a conversation ends.
const ENDING: &str = "jsonl";
/// The largest file that is resumed.
const LARGEST: u64 = 64 * 1024 * 1024;
/// The longest name of a conversation.
const LONGEST_NAME: usize = 64;
/// How much of a conversation's first question is listed.
const TITLE: usize = 70;

/// Something that happened in a conversation.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Record {
    /// It began or went on.
    Begun {
        /// The model.
        model: String,
        /// The project, if it is about one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        project: Option<String>,
    },
    /// Something was said.
    Said {
        /// What.
        message: Message,
    },
    /// A call is about to be made.
    Calling {
        /// The model's id for it.
        id: String,
        /// The tool.
        tool: String,
        /// The arguments.
        arguments: Value,
    },
    /// A call ended.
    Called {
        /// The model's id for it.
        id: String,
        /// How.
        ending: String,
        /// After how long.
        after_ms: u64,
    },
    /// The user answered a question.
    Answered {
        /// What about.
        about: String,
        /// What.
        answer: String,
    },
    /// What an answer cost.
    Used {
        /// The tokens.
        usage: Usage,
    },
    /// Everything after so many messages was taken back.
    TakenBack {
        /// How many messages stay.
        to: usize,
    },
    /// The messages were replaced by shorter ones.
    Compacted {
        /// What they are now.
        messages: Vec<Message>,
    },
    /// A line of another version.
    #[serde(other)]
    Unknown,
}

#[derive(Serialize)]
struct Stamped<'a> {
    at_ms: u64,
    #[serde(flatten)]
    record: &'a Record,
}

/// All conversations of a user.
#[derive(Clone, Debug)]
pub struct Sessions {
    folder: PathBuf,
}

/// A conversation that is being written. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    name: String,
    file: Arc<Mutex<Option<File>>>,
    redactor: Arc<Redactor>,
}

/// A conversation in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// When it was last written, in milliseconds since 1970.
    pub at_ms: u64,
    /// How many messages it has.
    pub messages: usize,
    /// Its first question.
    pub title: String,
}

impl Sessions {
    /// The conversations in a folder, which need not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
        }
    }

    /// Where the long results of a conversation are kept.
    pub fn results_folder(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.results"))
    }

    /// Opens a conversation: its messages so far, if it exists, and where to write on. Only one
    /// process can have it open.
    pub fn open(&self, name: &str, redactor: Redactor) -> io::Result<(Session, Vec<Message>)> {
        check_name(name)?;
        private::folder(&self.folder)?;
        let path = self.file(name);
        let mut file = private::append(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(fs::TryLockError::WouldBlock) => {
                return Err(io::Error::other(format!(
                    "the conversation {name} is open in another program"
                )));
            }
            // A system without locks has conversations all the same.
            Err(fs::TryLockError::Error(_)) => {}
        }
        let (messages, is_whole) = resumed(&path)?;
        if !is_whole {
            // A line that was cut short must not spoil the next one.
            file.write_all(b"\n")?;
        }
        let session = Session {
            name: name.to_owned(),
            file: Arc::new(Mutex::new(Some(file))),
            redactor: Arc::new(redactor),
        };
        Ok((session, messages))
    }

    /// A name for a new conversation: the time, in UTC.
    pub fn new_name(&self) -> String {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or(Duration::ZERO).as_secs();
        let name = time_name(now);
        let mut tried = name.clone();
        for number in 2.. {
            if !self.file(&tried).exists() {
                break;
            }
            tried = format!("{name}-{number}");
        }
        tried
    }

    /// The name of the conversation that was written last.
    pub fn latest(&self) -> Option<String> {
        self.files().max_by_key(|(_, at)| *at).map(|(name, _)| name)
    }

    /// All conversations that hold every one of the words, the last one first.
    pub fn list(&self, words: &[String]) -> Vec<Listed> {
        let words: Vec<String> = words.iter().map(|word| word.to_lowercase()).collect();
        let mut listed = Vec::new();
        for (name, at) in self.files() {
            let Ok((messages, _)) = resumed(&self.file(&name)) else {
                continue;
            };
            let text = messages.iter().map(said).collect::<Vec<_>>().join("\n");
            let text = format!("{name}\n{text}").to_lowercase();
            if !words.iter().all(|word| text.contains(word)) {
                continue;
            }
            let first = messages.iter().map(said).find(|text| !text.is_empty());
            let first = first.unwrap_or_default();
            let first = first.split_whitespace().collect::<Vec<_>>().join(" ");
            let at = at.duration_since(SystemTime::UNIX_EPOCH);
            let at = at.unwrap_or(Duration::ZERO).as_millis();
            listed.push(Listed {
                name,
                at_ms: u64::try_from(at).unwrap_or(u64::MAX),
                messages: messages.len(),
                title: cut::beginning(&first, TITLE),
            });
        }
        listed.sort_by(|one, other| (other.at_ms, &other.name).cmp(&(one.at_ms, &one.name)));
        listed
    }

    fn files(&self) -> impl Iterator<Item = (String, SystemTime)> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let path = entry.path();
            let is_ours = path.extension().is_some_and(|ending| ending == ENDING);
            let name = path.file_stem()?.to_str()?.to_owned();
            let at = entry.metadata().ok()?.modified().ok()?;
            (is_ours && check_name(&name).is_ok()).then_some((name, at))
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.{ENDING}"))
    }
}

impl Session {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Writes a line. The first failure is told and ends the writing; the conversation goes on.
    pub fn write(&self, record: &Record) -> Result<(), String> {
        let mut file = self.file.lock();
        let Some(open) = file.as_mut() else {
            return Ok(());
        };
        let written = self
            .line(record)
            .and_then(|line| open.write_all(line.as_bytes()));
        written.map_err(|error| {
            *file = None;
            format!("this conversation is not being kept any more: {error}")
        })
    }

    fn line(&self, record: &Record) -> io::Result<String> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let at_ms = now.unwrap_or(Duration::ZERO).as_millis();
        let at_ms = u64::try_from(at_ms).unwrap_or(u64::MAX);
        let mut value = serde_json::to_value(Stamped { at_ms, record })?;
        redact(&mut value, &self.redactor);
        Ok(format!("{value}\n"))
    }
}

/// Hides secrets in every text of a value.
fn redact(value: &mut Value, redactor: &Redactor) {
    match value {
        Value::String(text) => {
            if let std::borrow::Cow::Owned(redacted) = redactor.redact(text) {
                *text = redacted;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|value| redact(value, redactor)),
        Value::Object(members) => {
            for (name, value) in members {
                // A member whose name says so is a secret as a whole, also without a telling shape.
                match value {
                    Value::String(text) if is_secret(name) => {
                        attache_host::redact::HIDDEN.clone_into(text);
                    }
                    value => redact(value, redactor),
                }
            }
        }
        _ => {}
    }
}

fn is_secret(name: &str) -> bool {
    // These are ours, and needed to resume.
    name != "signature" && attache_host::redact::is_secret_name(name)
}

/// The messages of a file, and whether its last line is whole. Calls that were under way are told
/// to have an unknown outcome.
fn resumed(path: &Path) -> io::Result<(Vec<Message>, bool)> {
    let file = File::open(path)?;
    if file.metadata()?.len() > LARGEST {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            "the conversation is longer than 64 MiB; begin a new one",
        ));
    }
    let mut messages = Vec::new();
    let mut is_whole = true;
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    loop {
        line.clear();
        if reader.read_until(b'\n', &mut line)? == 0 {
            break;
        }
        is_whole = line.ends_with(b"\n");
        match serde_json::from_slice(&line) {
            Ok(Record::Said { message }) => messages.push(message),
            Ok(Record::TakenBack { to }) => messages.truncate(to),
            Ok(Record::Compacted { messages: shorter }) => messages = shorter,
            _ => {}
        }
    }
    complete(&mut messages);
    Ok((messages, is_whole))
}

/// Gives every call a result, as the wire formats demand.
pub(crate) fn complete(messages: &mut Vec<Message>) {
    let mut at = 0;
    while at < messages.len() {
        if let Message::Assistant(answer) = &messages[at]
            && !answer.calls.is_empty()
        {
            let ids: Vec<String> = answer.calls.iter().map(|call| call.id.clone()).collect();
            let known = match messages.get_mut(at + 1) {
                Some(Message::Results { results }) => std::mem::take(results),
                _ => {
                    messages.insert(
                        at + 1,
                        Message::Results {
                            results: Vec::new(),
                        },
                    );
                    Vec::new()
                }
            };
            let result_of = |id: &String| {
                let found = known.iter().find(|result| result.id == *id);
                found.cloned().unwrap_or_else(|| calls::unknown(id))
            };
            let results = ids.iter().map(result_of).collect();
            messages[at + 1] = Message::Results { results };
        } else if let Message::Results { .. } = &messages[at] {
            // Results without calls have lost them; no endpoint takes them so.
            let follows_calls = at > 0
                && matches!(&messages[at - 1], Message::Assistant(answer) if !answer.calls.is_empty());
            if !follows_calls {
                messages.remove(at);
                continue;
            }
        }
        at += 1;
    }
}

/// The words of a message.
fn said(message: &Message) -> String {
    match message {
        Message::User { parts } => {
            let texts = parts.iter().filter_map(|part| match part {
                Part::Text { text } => Some(text.as_str()),
                Part::Data { .. } | Part::Image(_) => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
        Message::Assistant(answer) => answer.text.clone(),
        Message::Results { .. } => String::new(),
    }
}

fn check_name(name: &str) -> io::Result<()> {
    let fits = |found: char| found.is_ascii_alphanumeric() || matches!(found, '_' | '-' | '.');
    let is_good = !name.is_empty()
        && name.len() <= LONGEST_NAME
        && name.chars().all(fits)
        && !name.starts_with(['.', '-']);
    match is_good {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "a conversation's name has up to 64 letters, digits, `_`, `-` and `.`",
        )),
    }
}

/// Seconds since 1970 as `2026-11-17T22-50-03`.
fn time_name(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days since the first of March of the year 0, in eras of 400 years.
    let days = days + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3_600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}")
}

#[cfg(test)]
mod tests {
    use attache_testkit::scratch::Scratch;
    use serde_json::json;

    use super::*;
    use crate::message::{Answer, ToolCall, ToolResult};

    fn said_by_user(text: &str) -> Record {
        Record::Said {
            message: Message::user(text),
        }
    }

    fn calling(ids: &[&str]) -> Record {
        let call = |id: &&str| ToolCall {
            id: (*id).to_owned(),
            name: "notes__pay".to_owned(),
            arguments: "{}".to_owned(),
            ..ToolCall::default()
        };
        Record::Said {
            message: Message::Assistant(Answer {
                calls: ids.iter().map(call).collect(),
                ..Answer::default()
            }),
        }
    }

    #[test]
    fn a_conversation_killed_in_mid_turn_resumes_with_open_calls_unknown() {
        let scratch = Scratch::new("sessions").unwrap();
        let sessions = Sessions::in_folder(scratch.path().join("chat"));
        let (session, messages) = sessions.open("one", Redactor::new()).unwrap();
        assert!(messages.is_empty());
        session.write(&said_by_user("pay it")).unwrap();
        session.write(&calling(&["a", "b"])).unwrap();
        let result = ToolResult {
            id: "a".to_owned(),
            text: "paid".to_owned(),
            ..ToolResult::default()
        };
        session
            .write(&Record::Called {
                id: "a".into(),
                ending: "done".into(),
                after_ms: 1,
            })
            .unwrap();
        drop(session);
        // The last line was cut in the middle, and one before it is of a later version.
        let path = sessions.file("one");
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"kind\":\"of_tomorrow\",\"x\":1}\n{\"kind\":\"said\",\"mess");
        fs::write(&path, &text).unwrap();
        let (session, messages) = sessions.open("one", Redactor::new()).unwrap();
        assert_eq!(messages.len(), 3);
        let Message::Results { results } = &messages[2] else {
            panic!("{messages:?}");
        };
        assert_eq!(results.len(), 2);
        assert!(
            results
                .iter()
                .all(|it| it.note.contains("may have happened")),
            "{results:?}"
        );
        session
            .write(&Record::Said {
                message: Message::Results {
                    results: vec![result],
                },
            })
            .unwrap();
        drop(session);
        let (_, messages) = sessions.open("one", Redactor::new()).unwrap();
        let Message::Results { results } = &messages[2] else {
            panic!("{messages:?}");
        };
        assert_eq!(results[0].text, "paid");
        assert!(results[1].note.contains("unknown"));
    }

    #[test]
    fn s12_secrets_are_not_written_and_files_are_private() {
        let scratch = Scratch::new("sessions-private").unwrap();
        let sessions = Sessions::in_folder(scratch.path().join("chat"));
        let mut redactor = Redactor::new();
        redactor.hide("sk-verysecretvalue");
        let (session, _) = sessions.open("s", redactor).unwrap();
        session
            .write(&said_by_user("my key is sk-verysecretvalue"))
            .unwrap();
        session
            .write(&Record::Calling {
                id: "1".into(),
                tool: "a/b".into(),
                arguments: json!({"password": "hunter2hunter2", "max_tokens": "5", "q": "tea"}),
            })
            .unwrap();
        let text = fs::read_to_string(sessions.file("s")).unwrap();
        assert!(
            !text.contains("verysecret") && !text.contains("hunter2"),
            "{text}"
        );
        assert!(text.contains("tea"), "{text}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(&sessions.file("s")), 0o600);
            assert_eq!(mode(&sessions.folder), 0o700);
        }
    }

    #[test]
    fn conversations_are_listed_searched_taken_back_and_open_once() {
        let scratch = Scratch::new("sessions-list").unwrap();
        let sessions = Sessions::in_folder(scratch.path());
        assert_eq!(sessions.list(&[]), []);
        let (tea, _) = sessions.open("tea", Redactor::new()).unwrap();
        tea.write(&said_by_user("How long does\n green tea steep?"))
            .unwrap();
        tea.write(&said_by_user("wrong")).unwrap();
        tea.write(&Record::TakenBack { to: 1 }).unwrap();
        let (other, _) = sessions.open("other", Redactor::new()).unwrap();
        other.write(&said_by_user("Something else")).unwrap();
        assert!(
            sessions.open("tea", Redactor::new()).is_err(),
            "it is open already"
        );
        let found = sessions.list(&["GREEN".to_owned(), "steep".to_owned()]);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].title, "How long does green tea steep?");
        assert_eq!(found[0].messages, 1);
        assert_eq!(sessions.list(&["wrong".to_owned()]), []);
        for name in ["", "../x", "a/b", ".hidden", "-x", &"x".repeat(65)] {
            assert!(sessions.open(name, Redactor::new()).is_err(), "{name}");
        }
    }

    #[test]
    fn a_name_is_the_time() {
        assert_eq!(time_name(0), "1970-01-01T00-00-00");
        assert_eq!(time_name(951_782_400), "2000-02-29T00-00-00");
        assert_eq!(time_name(1_794_956_703), "2026-11-17T23-05-03");
    }
}
