//! Notes that belong to a question, found by its words: attached automatically while a project is
//! talked about, and the whole answer where there is no model.
//!
//! Searching is the person's own call: `--project` or `--offline` asked for it and the words are
//! theirs. Rules that deny or ask, and pins, hold for it all the same.

use attache_host::names::ToolName;
use attache_host::policy::CallOrigin;
use attache_protocol::{CallToolResult, Content, Resource};
use serde_json::{Value, json};

use crate::attach::{parts_of, stale};
use crate::chat::Chat;
use crate::cut;
use crate::events::{ChatEvent, Face};
use crate::message::Part;

/// The tool that searches notes.
pub(crate) const SEARCH_NOTES: &str = "search_notes";
/// How many notes are attached to a question.
const MOST_NOTES: usize = 3;
/// How much of a note is attached.
const MOST_OF_NOTE: usize = 8 * 1024;
/// How many words of a question are looked for together.
const MOST_KEYWORDS: usize = 8;
/// How many of them are looked for one by one when no note has all.
const MOST_SINGLE: usize = 4;
/// Words that say nothing about what a question is about.
const COMMON: &str = " a about after all also am an and any are as at be been before but by can \
    could did do does for from had has have he her his how i if in into is it its just know let \
    like make may me more most my no not now of on one only or our out over please say she should \
    show so some such summarise summarize tell than that the their them then there these they this \
    those to us was we were what when where which who why will with would write you your note \
    notes ";

/// A note that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FoundNote {
    pub(crate) title: String,
    pub(crate) uri: String,
}

impl Chat {
    /// Notes of the project's servers that fit a question, as parts to send with it.
    pub async fn attach_notes(&self, question: &str, face: &mut dyn Face) -> Vec<Part> {
        let (Some(project), true) = (&self.settings.project, self.settings.automatic) else {
            return Vec::new();
        };
        let mut parts = Vec::new();
        for server in self.servers_of(project) {
            match self.notes_about(&server, question).await {
                Ok(found) => {
                    for note in found
                        .into_iter()
                        .take(MOST_NOTES - parts.len().min(MOST_NOTES))
                    {
                        parts.extend(self.attach_note(&server, &note, face).await);
                    }
                }
                Err(problem) => face.show(ChatEvent::Note { text: &problem }),
            }
        }
        parts
    }

    /// Answers a question from notes, without a model. Gives whether there was an answer.
    pub async fn answer_offline(&self, question: &str, face: &mut dyn Face) -> bool {
        let servers = match &self.settings.project {
            Some(project) => self.servers_of(project),
            None => self.servers_with(SEARCH_NOTES).await,
        };
        if servers.is_empty() {
            let text = "no server offers search_notes, so there are no notes to answer from";
            face.show(ChatEvent::Note { text });
            return false;
        }
        let mut is_answered = false;
        for server in servers {
            let found = match self.notes_about(&server, question).await {
                Ok(found) => found,
                Err(problem) => {
                    face.show(ChatEvent::Note { text: &problem });
                    continue;
                }
            };
            for note in found.iter().take(MOST_NOTES) {
                let parts = self.attach_note(&server, note, face).await;
                for part in parts {
                    if let Part::Data { text, .. } = part {
                        let text = format!("## {}\n\n{}\n\n", note.title, text.trim());
                        face.show(ChatEvent::Text { text: &text });
                        is_answered = true;
                    }
                }
            }
        }
        face.show(ChatEvent::AnswerEnded);
        if !is_answered {
            let text = "no note fits the question";
            face.show(ChatEvent::Note { text });
        }
        is_answered
    }

    /// The servers that are tied to a project.
    pub(crate) fn servers_of(&self, project: &str) -> Vec<String> {
        let names = self.host.server_names().into_iter();
        let tied = names.filter(|name| {
            let config = self.host.config(name.as_str());
            config.is_ok_and(|config| {
                let mut projects = config.projects.iter();
                config.enabled && projects.any(|known| known.eq_ignore_ascii_case(project))
            })
        });
        tied.map(|name| name.to_string()).collect()
    }

    /// The servers that have a tool.
    pub(crate) async fn servers_with(&self, tool: &str) -> Vec<String> {
        let Ok(listed) = self.host.list_tools().await else {
            return Vec::new();
        };
        let mut servers: Vec<String> = listed
            .entries
            .iter()
            .filter(|offered| offered.entry.name == tool)
            .map(|offered| offered.server.to_string())
            .collect();
        servers.dedup();
        servers
    }

    /// The notes of a server that fit a question best: those with all of its words, else those
    /// with any.
    async fn notes_about(&self, server: &str, question: &str) -> Result<Vec<FoundNote>, String> {
        let keywords = keywords(question);
        if keywords.is_empty() {
            return Ok(Vec::new());
        }
        let mut found = self.search(server, &keywords.join(" "), MOST_NOTES).await?;
        if found.is_empty() && keywords.len() > 1 {
            for keyword in keywords.iter().take(MOST_SINGLE) {
                for note in self.search(server, keyword, MOST_NOTES).await? {
                    if !found.contains(&note) {
                        found.push(note);
                    }
                }
            }
        }
        Ok(found)
    }

    async fn search(
        &self,
        server: &str,
        query: &str,
        limit: usize,
    ) -> Result<Vec<FoundNote>, String> {
        let (result, found) = self.search_notes(server, query, limit).await?;
        match result.is_error {
            true => Err(format!("{server} cannot search: {}", result.text())),
            false => Ok(found),
        }
    }

    /// Searches the notes of a server, as the person's own call.
    pub(crate) async fn search_notes(
        &self,
        server: &str,
        query: &str,
        limit: usize,
    ) -> Result<(CallToolResult, Vec<FoundNote>), String> {
        let name = server
            .parse()
            .map_err(|_| format!("no server is named {server:?}"))?;
        let tool = ToolName::new(name, SEARCH_NOTES);
        let arguments = json!({"query": query, "limit": limit});
        let call = self.host.call(tool, arguments).origin(CallOrigin::Person);
        let result = call.await.map_err(|error| error.to_string())?;
        let mut found = in_structure(&result);
        if found.is_empty() {
            let titles = in_text(&result.text());
            if !titles.is_empty() {
                found = self.by_title(server, &titles).await;
            }
        }
        Ok((result, found))
    }

    /// The resources of a server with these titles.
    async fn by_title(&self, server: &str, titles: &[String]) -> Vec<FoundNote> {
        let listed = self.host.list_resources().server(server).await;
        let Ok(listed) = listed else {
            return Vec::new();
        };
        let has = |resource: &Resource, title: &String| {
            let name = resource.title.as_ref().unwrap_or(&resource.name);
            name == title || resource.name == *title
        };
        let note = |title: &String| {
            let mut entries = listed.entries.iter();
            let offered = entries.find(|offered| has(&offered.entry, title))?;
            Some(FoundNote {
                title: title.clone(),
                uri: offered.entry.uri.clone(),
            })
        };
        titles.iter().filter_map(note).collect()
    }

    async fn attach_note(&self, server: &str, note: &FoundNote, face: &mut dyn Face) -> Vec<Part> {
        let answer = match self.host.read(&note.uri).server(server).await {
            Ok(answer) => answer,
            Err(error) => {
                let text = format!("{} cannot be read: {error}", note.uri);
                face.show(ChatEvent::Note { text: &text });
                return Vec::new();
            }
        };
        let from = format!("{server} {}", note.uri);
        let mut parts = parts_of(&answer.contents, &from);
        let mut bytes = 0;
        for part in &mut parts {
            if let Part::Data { text, .. } = part {
                *text = cut::beginning(text, MOST_OF_NOTE);
                bytes += text.len();
            }
        }
        face.show(ChatEvent::Attached {
            from: &from,
            bytes,
            stale: stale(&answer.freshness),
        });
        parts
    }
}

/// The notes that a structured answer or its links name.
fn in_structure(result: &CallToolResult) -> Vec<FoundNote> {
    let structured = result.structured_content.as_ref();
    let structured = structured.and_then(|json| json.to_value().ok());
    let listed = structured.as_ref().map(|value| &value["results"]);
    let listed = listed.and_then(Value::as_array).into_iter().flatten();
    let notes: Vec<FoundNote> = listed
        .filter_map(|entry| {
            let uri = entry["uri"].as_str()?.to_owned();
            let title = entry["title"].as_str().unwrap_or(&uri).to_owned();
            Some(FoundNote { title, uri })
        })
        .collect();
    if !notes.is_empty() {
        return notes;
    }
    let links = result.content.iter().filter_map(|block| match block {
        Content::ResourceLink(link) => Some(FoundNote {
            title: link.title.clone().unwrap_or_else(|| link.name.clone()),
            uri: link.uri.clone(),
        }),
        _ => None,
    });
    links.collect()
}

/// The titles of a numbered list, as the seed's server gives it.
fn in_text(text: &str) -> Vec<String> {
    let title = |line: &str| {
        let (number, title) = line.trim().split_once(". ")?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| title.trim().to_owned())
    };
    text.lines().filter_map(title).collect()
}

/// The words of a question that say what it is about.
pub(crate) fn keywords(question: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for word in question.split(|found: char| !found.is_alphanumeric() && found != '-') {
        let word = word.trim_matches('-').to_lowercase();
        let is_common = COMMON.contains(&format!(" {word} "));
        if word.chars().count() >= 3 && !is_common && !found.contains(&word) {
            found.push(word);
        }
    }
    found.truncate(MOST_KEYWORDS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_has_keywords() {
        for (question, expected) in [
            (
                "What did I write about the morning routine?",
                &["morning", "routine"][..],
            ),
            (
                "Über Grüntee: wie lange?",
                &["über", "grüntee", "wie", "lange"],
            ),
            ("what is it", &[]),
            ("tea tea TEA", &["tea"]),
        ] {
            assert_eq!(keywords(question), expected, "{question}");
        }
    }

    #[test]
    fn notes_are_found_in_every_form_of_answer() {
        let text = "Found 2 notes matching 'morning':\n\n1. Morning Meditation - Dec 1\n2. Morning Routine\n...";
        assert_eq!(
            in_text(text),
            ["Morning Meditation - Dec 1", "Morning Routine"]
        );
        let result: CallToolResult = serde_json::from_str(
            r#"{"content": [{"type": "text", "text": "1. A"},
                {"type": "resource_link", "uri": "n://a", "name": "a"}],
                "structuredContent": {"results": [{"uri": "n://b", "title": "B"}, {"x": 1}]}}"#,
        )
        .unwrap();
        let note = |title: &str, uri: &str| FoundNote {
            title: title.to_owned(),
            uri: uri.to_owned(),
        };
        assert_eq!(in_structure(&result), [note("B", "n://b")]);
        let plain = CallToolResult {
            structured_content: None,
            ..result
        };
        assert_eq!(in_structure(&plain), [note("a", "n://a")]);
    }
}
