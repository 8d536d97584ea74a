//! What can be copied where.

use attache::protocol::Json;
use serde_json::json;

use super::detail::Detail;
use super::{App, Focus, Tab};
use crate::component::CopyItem;
use crate::message::Work;
use crate::panes::calls::CallKey;
use crate::panes::catalog::Row as _;
use crate::panes::rows::ResourceKind;
use crate::text::shell_word;

fn item(label: &str, text: impl Into<String>) -> CopyItem {
    CopyItem {
        label: label.to_owned(),
        text: text.into(),
    }
}

impl App {
    /// What can be copied where the focus is.
    pub(super) fn copies(&self) -> Vec<CopyItem> {
        match (self.focus, self.tab) {
            (Focus::Servers, _) => self.copies_of_server(),
            (Focus::Detail, _) => self.copies_of_detail(),
            (Focus::List, Tab::Tools) => {
                let Some(row) = self.tools.selected() else {
                    return Vec::new();
                };
                let qualified = format!("{}/{}", row.server(), row.tool.name);
                let definition = Json::from_serialize(&*row.tool).unwrap_or_default();
                vec![
                    item("name", &row.tool.name),
                    item("qualified name", &qualified),
                    item(
                        "as attache command",
                        format!("attache call {}", shell_word(&qualified)),
                    ),
                    item("definition as JSON", definition.as_str()),
                ]
            }
            (Focus::List, Tab::Resources) => {
                let Some(row) = self.resources.selected() else {
                    return Vec::new();
                };
                match &row.kind {
                    ResourceKind::Resource { uri } => {
                        let work = Work::Read {
                            server: row.server().to_owned(),
                            uri: uri.clone(),
                        };
                        vec![
                            item("address", uri),
                            item("as attache command", command(&work)),
                        ]
                    }
                    ResourceKind::Template { uri_template } => vec![item("template", uri_template)],
                }
            }
            (Focus::List, Tab::Prompts) => {
                let Some(row) = self.prompts.selected() else {
                    return Vec::new();
                };
                let work = Work::Prompt {
                    server: row.server().to_owned(),
                    name: row.prompt.name.clone(),
                    arguments: Vec::new(),
                };
                vec![
                    item("name", &row.prompt.name),
                    item("as attache command", command(&work)),
                ]
            }
            (Focus::List, Tab::Calls) => self.copies_of_call(),
            (Focus::List, Tab::Activity) => {
                let Some(operation) = self.activity.selected() else {
                    return Vec::new();
                };
                let messages = &operation.messages;
                let names = ["request as JSON", "answer as JSON"];
                names
                    .iter()
                    .zip(messages)
                    .map(|(name, it)| item(name, &*it.text()))
                    .collect()
            }
            (Focus::List, Tab::Log) => {
                let line = self.log.selected().map(|line| item("line", line.text));
                let all = item("all that is shown", self.log.as_text());
                line.into_iter().chain([all]).collect()
            }
            (Focus::List, Tab::Specs) => Vec::new(),
        }
    }

    fn copies_of_server(&self) -> Vec<CopyItem> {
        let Some(server) = self.servers.selected(&self.snapshot) else {
            return Vec::new();
        };
        let mut items = vec![
            item("name", server.name.as_str()),
            item("target", &server.target),
            item(
                "as attache command",
                format!("attache tools {}", server.name),
            ),
        ];
        if let Some(failure) = &server.last_failure {
            items.push(item("cause", &failure.cause));
            items.push(item("stderr", failure.stderr.join("\n")));
        }
        items
    }

    /// What can be copied of what is open.
    pub(super) fn copies_of_detail(&self) -> Vec<CopyItem> {
        match self.detail() {
            Some(Detail::Form(session)) => {
                let value = session.editor.submission().value;
                let value = value.unwrap_or_default();
                let qualified = format!("{}/{}", session.target.server(), session.target.name());
                let words = format!(
                    "attache call {} --args {}",
                    shell_word(&qualified),
                    shell_word(value.as_str())
                );
                vec![
                    item("arguments as JSON", value.as_str()),
                    item("as attache command", words),
                ]
            }
            Some(Detail::Job(_) | Detail::Past(_)) => self.copies_of_call(),
            Some(Detail::View(..)) | None => Vec::new(),
        }
    }

    fn copies_of_call(&self) -> Vec<CopyItem> {
        match self.current_call() {
            Some(CallKey::Job(id)) => {
                let Some(job) = self.jobs.get(id) else {
                    return Vec::new();
                };
                let mut items = self.copies_of_work(&job.work);
                if let Some(raw) = job.raw() {
                    items.insert(0, item("answer as JSON", &*raw.text()));
                }
                items
            }
            Some(CallKey::Past(number)) => {
                let Some(past) = self.calls.past(number) else {
                    return Vec::new();
                };
                let mut items = match past.again() {
                    Ok(work) => self.copies_of_work(&work),
                    Err(_) => Vec::new(),
                };
                let again = format!("attache history rerun {number}");
                items.push(item("as attache history command", again));
                let ended = past.record.ended.as_ref();
                if let Some(result) = ended.and_then(|ended| ended.result.as_ref()) {
                    items.insert(0, item("answer as JSON", result.as_str()));
                }
                items
            }
            None => Vec::new(),
        }
    }

    fn copies_of_work(&self, work: &Work) -> Vec<CopyItem> {
        let request = request(work);
        let mut items = vec![item("as attache command", command(work))];
        if let Work::Call { arguments, .. } = work {
            items.push(item("arguments as JSON", arguments.as_str()));
        }
        items.push(item("as JSON-RPC", &request));
        let servers = &self.snapshot.servers;
        let server = servers.iter().find(|it| it.name.as_str() == work.server());
        if let Some(url) = server
            .map(|it| &it.target)
            .filter(|it| it.starts_with("http"))
        {
            let words = format!(
                "curl -sS {} -H 'content-type: application/json' \
                 -H 'accept: application/json, text/event-stream' -d {}",
                shell_word(url),
                shell_word(&request)
            );
            items.push(item("as curl (without its session and login)", words));
        }
        items
    }
}

/// The command that makes a request at the shell.
pub(super) fn command(work: &Work) -> String {
    match work {
        Work::Call {
            server,
            tool,
            arguments,
            ..
        } => {
            let qualified = shell_word(&format!("{server}/{tool}"));
            match arguments.as_str().trim() {
                "{}" => format!("attache call {qualified}"),
                arguments => format!("attache call {qualified} --args {}", shell_word(arguments)),
            }
        }
        Work::Read { server, uri } => {
            format!(
                "attache read {} --server {}",
                shell_word(uri),
                shell_word(server)
            )
        }
        Work::Prompt {
            server,
            name,
            arguments,
        } => {
            let mut words = format!("attache prompt {}", shell_word(&format!("{server}/{name}")));
            for (key, value) in arguments {
                words.push(' ');
                words.push_str(&shell_word(&format!("{key}={value}")));
            }
            words
        }
    }
}

/// The request as it goes over the wire, without what the session adds.
fn request(work: &Work) -> String {
    // Arguments are put in as they are, so that numbers stay exact.
    let params = match work {
        Work::Call {
            tool, arguments, ..
        } => format!(
            r#"{{"name":{},"arguments":{}}}"#,
            json!(tool),
            arguments.as_str()
        ),
        Work::Read { uri, .. } => json!({ "uri": uri }).to_string(),
        Work::Prompt {
            name, arguments, ..
        } => {
            let arguments: serde_json::Map<String, serde_json::Value> = arguments
                .iter()
                .map(|(key, value)| (key.clone(), value.as_str().into()))
                .collect();
            json!({ "name": name, "arguments": arguments }).to_string()
        }
    };
    let method = work.method();
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_reproduce_requests() {
        let call = Work::Call {
            server: "notes".to_owned(),
            tool: "search".to_owned(),
            arguments: Json::parse(r#"{"q":"it's","n":1.10}"#).unwrap(),
            timeout: None,
            meta: Vec::new(),
            as_task: false,
            output_schema: None,
        };
        assert_eq!(
            command(&call),
            r#"attache call notes/search --args '{"q":"it'\''s","n":1.10}'"#
        );
        assert_eq!(
            request(&call),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search","arguments":{"q":"it's","n":1.10}}}"#
        );
        let read = Work::Read {
            server: "notes".to_owned(),
            uri: "x://a b".to_owned(),
        };
        assert_eq!(command(&read), "attache read 'x://a b' --server notes");
    }
}
