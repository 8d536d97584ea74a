//! `/approve`: what the model may call without a question.

use std::fmt::Write as _;

use attache_host::config::ServerName;
use attache_host::names::ToolName;
use attache_host::policy::{Answer, Remember, Scope};
use attache_view::safe_text;

use super::words::split_words;
use crate::chat::Chat;

impl Chat {
    /// Lists the answers that are remembered; gives one for this session; takes one back. What a
    /// file denies stays denied, and a tool that has changed is asked about all the same.
    pub(super) fn approve(&self, words: &str) -> String {
        let words = split_words(words);
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            [] => self.approvals(),
            ["forget", name] => self.with_name(name, |name, scope| self.forget(name, scope)),
            [name] => self.with_name(name, |name, scope| self.allow(name, scope)),
            _ => "name one tool or server: /approve SERVER[/TOOL]".to_owned(),
        }
    }

    fn approvals(&self) -> String {
        let mut text = String::new();
        for remembered in self.host.answers().list() {
            let word = match remembered.answer {
                Answer::Allow(_) => "allowed",
                Answer::Deny(_) => "denied",
            };
            let name = safe_text::one_line(&remembered.name);
            let _ = writeln!(text, "  {name}  {word} {}", remembered.answer.remember());
        }
        match text.is_empty() {
            true => "nothing is approved beyond what the configuration allows".to_owned(),
            false => text,
        }
    }

    fn allow(&self, name: &ToolName, scope: Scope) -> Result<String, std::io::Error> {
        let answer = Answer::Allow(Remember::Session);
        self.host.answers().remember_for(scope, name, answer)?;
        Ok(format!(
            "{} is called without a question",
            shown(name, scope)
        ))
    }

    fn forget(&self, name: &ToolName, scope: Scope) -> Result<String, std::io::Error> {
        let answers = self.host.answers();
        let forgotten = match scope {
            Scope::Tool => answers.forget(name)?,
            Scope::Server => answers.forget_server(&name.server)?,
        };
        Ok(match forgotten {
            0 => format!("nothing was approved for {}", shown(name, scope)),
            _ => format!("{} is asked about again", shown(name, scope)),
        })
    }

    /// Reads `SERVER/TOOL` or `SERVER`, of a server that there is.
    fn with_name(
        &self,
        name: &str,
        work: impl FnOnce(&ToolName, Scope) -> Result<String, std::io::Error>,
    ) -> String {
        let (server, tool) = name.split_once('/').unwrap_or((name, ""));
        let servers = self.host.server_names();
        let Some(known) = servers.iter().find(|it| it.as_str() == server) else {
            let near = attache_host::nearest(server, servers.iter().map(ServerName::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            return format!("there is no server {}{near}", safe_text::one_line(server));
        };
        let scope = match tool.is_empty() {
            true => Scope::Server,
            false => Scope::Tool,
        };
        let done = work(&ToolName::new(known.clone(), tool), scope);
        done.unwrap_or_else(|error| format!("the answers could not be written: {error}"))
    }
}

fn shown(name: &ToolName, scope: Scope) -> String {
    match scope {
        Scope::Tool => safe_text::one_line(&name.to_string()).into_owned(),
        Scope::Server => format!("every tool of {}", name.server),
    }
}
