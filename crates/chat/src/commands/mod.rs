//! What a person can say to the program instead of the model: a line that begins with a slash.
//!
//! Owns reading such a line and doing what it says. The answer is a text; where it comes from
//! servers it is safe to show already.

mod approve;
mod mcp;
mod words;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use attache_protocol::{Content, GetPromptResult};
use attache_view::safe_text;

use words::split_words;

use crate::chat::Chat;
use crate::events::Face;
use crate::message::{Message, Part};

/// How many lines of a list are shown.
const MOST_LINES: usize = 200;

/// The commands, their words and what they do.
pub(crate) const COMMANDS: &[(&str, &str, &str)] = &[
    ("/help", "", "shows this"),
    (
        "/tools",
        "[WORDS]",
        "the tools the model can use, or those that fit the words",
    ),
    ("/servers", "", "the servers and how they are"),
    ("/resources", "[SERVER]", "what can be attached with @URI"),
    ("/prompt", "NAME k=v …", "asks with a prompt of a server"),
    ("/model", "[NAME]", "shows or changes the model"),
    (
        "/system",
        "[TEXT]",
        "shows or changes what the model is told first; - removes it",
    ),
    (
        "/context",
        "[auto on|off]",
        "how full the context is; automatic notes on or off",
    ),
    ("/compact", "", "shortens everything but the last two turns"),
    ("/save", "FILE", "writes the conversation as Markdown"),
    ("/load", "NAME", "goes on with a conversation that is kept"),
    ("/new", "", "begins a new conversation"),
    ("/retry", "", "asks the last question again"),
    ("/undo", "", "takes the last question and its answer back"),
    (
        "/approve",
        "[SERVER[/TOOL] | forget SERVER[/TOOL]]",
        "what the model may call without a question",
    ),
    ("/log", "[NUMBER]", "the last calls and how they ended"),
    (
        "/mcp",
        "list [SERVER] | read URI | search SERVER QUERY [LIMIT] | sync [SERVER] | status",
        "servers directly",
    ),
    ("/quit", "", "leaves"),
];

/// A line that begins with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    name: String,
    rest: String,
}

/// What became of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A text for the person.
    Say(String),
    /// A question for the model.
    Ask(Vec<Part>),
    /// The person wants to leave.
    Leave,
}

impl Command {
    /// Reads a line; `None` if it is for the model.
    pub fn parse(line: &str) -> Option<Self> {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // A path is no command.
        let is_command = name.len() > 1 && name.starts_with('/') && !name[1..].contains('/');
        is_command.then(|| Self {
            name: name.to_lowercase(),
            rest: rest.trim().to_owned(),
        })
    }
}

impl Chat {
    /// Does what a command says. `folder` is where relative paths begin.
    pub async fn command(
        &mut self,
        command: &Command,
        folder: &Path,
        face: &mut dyn Face,
    ) -> Outcome {
        let rest = command.rest.as_str();
        let said = match command.name.as_str() {
            "/help" | "/?" => help(),
            "/tools" => self.tools_text(rest, face).await,
            "/servers" => self.servers_text(),
            "/resources" => self.mcp_list(rest).await,
            "/prompt" => match self.prompt(rest).await {
                Ok(parts) => return Outcome::Ask(parts),
                Err(problem) => problem,
            },
            "/model" => self.model_text(rest),
            "/system" => self.system_text(rest),
            "/context" => self.context_text(rest),
            "/compact" => {
                let done = self.compact();
                format!(
                    "{} turns and {} results were shortened: {} tokens became {}",
                    done.turns, done.results, done.before, done.after
                )
            }
            "/save" => self.save(rest, folder),
            "/load" => self.load(rest),
            "/new" => self.begin_anew(),
            "/retry" => match self.take_last_question() {
                Some(parts) => return Outcome::Ask(parts),
                None => "there is no question yet".to_owned(),
            },
            "/undo" => match self.take_last_question() {
                Some(_) => "the last question and its answer are taken back; what tools did stays"
                    .to_owned(),
                None => "there is nothing to take back".to_owned(),
            },
            "/approve" => self.approve(rest),
            "/log" => self.log_text(rest),
            "/mcp" => self.mcp(rest).await,
            "/quit" | "/exit" | "/q" => return Outcome::Leave,
            other => {
                let names = COMMANDS.iter().map(|(name, ..)| *name);
                let near = attache_host::nearest(other, names);
                let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
                format!("there is no command {other}{near} /help shows all")
            }
        };
        Outcome::Say(said)
    }

    async fn tools_text(&mut self, words: &str, face: &mut dyn Face) -> String {
        self.list_tools(face).await;
        let toolbox = self.toolbox();
        if toolbox.is_empty() {
            return "there are no tools".to_owned();
        }
        let shown: Vec<_> = match words.is_empty() {
            true => toolbox.iter().collect(),
            false => toolbox.find(words),
        };
        let offer = toolbox.offer(self.settings.tools, self.budget.window);
        let mut text = match offer.is_search {
            true => format!("{} tools, which the model searches\n", toolbox.len()),
            false => format!("{} tools\n", toolbox.len()),
        };
        for tool in shown.iter().take(MOST_LINES) {
            let description = tool
                .definition
                .description
                .lines()
                .next()
                .unwrap_or_default();
            let name = tool.name.to_string();
            let _ = writeln!(
                text,
                "  {}  {}",
                safe_text::one_line(&name),
                safe_text::one_line(description)
            );
        }
        text
    }

    fn servers_text(&self) -> String {
        let snapshot = self.host.snapshot();
        let mut text = String::new();
        for server in &snapshot.servers {
            let _ = write!(text, "  {}  {}", server.name, server.state.as_str());
            if let Some(failure) = &server.last_failure {
                let _ = write!(text, "  {}", safe_text::one_line(&failure.cause));
            }
            text.push('\n');
        }
        match text.is_empty() {
            true => "there are no servers".to_owned(),
            false => text,
        }
    }

    async fn prompt(&self, words: &str) -> Result<Vec<Part>, String> {
        let words = split_words(words);
        let Some((name, given)) = words.split_first() else {
            return Err("name a prompt: /prompt SERVER/NAME key=value".to_owned());
        };
        let mut arguments = Vec::new();
        for word in given {
            let Some((key, value)) = word.split_once('=') else {
                return Err(format!("{word:?} is no key=value"));
            };
            arguments.push((key.to_owned(), value.to_owned()));
        }
        let answer = self.host.prompt(name, arguments).await;
        let answer = answer.map_err(|error| error.to_string())?;
        match prompt_parts(&answer, name) {
            parts if parts.is_empty() => Err(format!("the prompt {name} is empty")),
            parts => Ok(parts),
        }
    }

    fn model_text(&mut self, name: &str) -> String {
        if self.model.is_none() {
            return "there is no model".to_owned();
        }
        if !name.is_empty() {
            self.change_model(name);
        }
        let base = self.model.as_ref().map(|model| &model.endpoint().base);
        let base = base.map_or_else(String::new, ToString::to_string);
        format!("{} at {base}", self.model_name())
    }

    fn system_text(&mut self, given: &str) -> String {
        match given {
            "" => self.system(),
            "-" => {
                self.settings.system = None;
                "your own system text is removed".to_owned()
            }
            text => {
                self.settings.system = Some(text.to_owned());
                "it holds from the next question on".to_owned()
            }
        }
    }

    fn context_text(&mut self, given: &str) -> String {
        match given {
            "auto on" => self.settings.automatic = true,
            "auto off" => self.settings.automatic = false,
            "" => {}
            _ => return "/context, /context auto on, or /context auto off".to_owned(),
        }
        let (used, window) = self.context();
        let mut text = format!("{} of the context are used", meter(used, window));
        let total = self.total_usage();
        if let (Some(input), Some(output)) = (total.input, total.output) {
            let _ = write!(
                text,
                "\n{input} tokens were sent and {output} answered so far"
            );
        }
        if let Some(project) = &self.settings.project {
            let servers = self.servers_of(project).join(", ");
            let state = if self.settings.automatic { "on" } else { "off" };
            let _ = write!(
                text,
                "\nproject {project}: notes of {servers} are attached ({state})"
            );
        }
        text
    }

    fn save(&self, file: &str, folder: &Path) -> String {
        if file.is_empty() {
            return "name a file: /save FILE".to_owned();
        }
        let path = folder.join(file);
        // A conversation may hold what others should not read, and must not replace another file.
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let text = self.markdown();
        let written = options
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()));
        match written {
            Ok(()) => format!("written to {}", path.display()),
            Err(error) => format!("{} was not written: {error}", path.display()),
        }
    }

    fn markdown(&self) -> String {
        let mut text = String::new();
        for message in &self.messages {
            match message {
                Message::User { parts } => {
                    text.push_str("## You\n\n");
                    for part in parts {
                        let _ = match part {
                            Part::Text { text: said } => write!(text, "{said}\n\n"),
                            Part::Data { from, .. } => write!(text, "*attached: {from}*\n\n"),
                            Part::Image(_) => write!(text, "*attached: an image*\n\n"),
                        };
                    }
                }
                Message::Assistant(answer) => {
                    let _ = write!(text, "## {}\n\n{}\n\n", self.model_name(), answer.text);
                    for call in &answer.calls {
                        let _ = write!(text, "*called {} {}*\n\n", call.name, call.arguments);
                    }
                }
                Message::Results { .. } => {}
            }
        }
        text
    }

    fn log_text(&self, number: &str) -> String {
        let most = number.parse().unwrap_or(20);
        let skipped = self.call_log.len().saturating_sub(most);
        let lines: Vec<&str> = self
            .call_log
            .iter()
            .skip(skipped)
            .map(String::as_str)
            .collect();
        match lines.is_empty() {
            true => "no tool was called yet".to_owned(),
            false => lines.join("\n"),
        }
    }
}

/// How full something is, as `12.3k/128k`.
pub(crate) fn meter(used: u64, window: u64) -> String {
    let short = |tokens: u64| match tokens {
        0..1_000 => tokens.to_string(),
        1_000..100_000 => {
            let text = format!("{:.1}k", tokens as f64 / 1_000.0);
            text.replace(".0k", "k")
        }
        _ => format!("{}k", tokens / 1_000),
    };
    format!("{}/{}", short(used), short(window))
}

fn help() -> String {
    let mut text = String::new();
    for (name, words, what) in COMMANDS {
        let _ = writeln!(text, "  {name} {words}\n      {what}");
    }
    text.push_str(
        "  @URI and @FILE in a question attach a resource or a file\n  \
         Alt-Enter: a new line · Ctrl-E: your editor · Ctrl-C: stop, twice: leave",
    );
    text
}

/// The messages of a prompt as one question: the words are the server's.
fn prompt_parts(prompt: &GetPromptResult, name: &str) -> Vec<Part> {
    let part = |message: &attache_protocol::PromptMessage| match &message.content {
        Content::Image(media) if crate::message::Image::is_taken(&media.mime_type) => {
            Part::Image(crate::message::Image {
                mime_type: media.mime_type.clone(),
                data: media.data.clone(),
            })
        }
        // The person chose the prompt to be asked, so its words are the question.
        content if message.role == "user" => Part::text(content.summary()),
        content => Part::Data {
            from: format!("the prompt {name}, as {}", message.role),
            text: content.summary().into_owned(),
        },
    };
    prompt.messages.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_command_or_a_question() {
        let parsed = |line| Command::parse(line).map(|it| (it.name, it.rest));
        let command = |name: &str, rest: &str| Some((name.to_owned(), rest.to_owned()));
        for (line, expected) in [
            ("/help", command("/help", "")),
            ("  /MCP list  notes ", command("/mcp", "list  notes")),
            ("/etc/passwd is what?", None),
            ("/", None),
            ("what is /help", None),
            ("", None),
        ] {
            assert_eq!(parsed(line), expected, "{line}");
        }
    }

    #[test]
    fn the_context_is_a_short_number() {
        for (used, window, shown) in [
            (12_345, 128_000, "12.3k/128k"),
            (999, 32_768, "999/32.8k"),
            (2_000, 8_000, "2k/8k"),
        ] {
            assert_eq!(meter(used, window), shown);
        }
    }
}
