//! Questions of servers to the user, on the terminal.
//!
//! Field by field, with the server named, and with saying no always possible. Owns the dialogue;
//! what an answer must look like is the form's own knowledge. Nothing is opened or sent without a
//! yes (C-ELIC-12, C-ELIC-13).

mod calls;
mod sampling;

use std::io::BufRead as _;
use std::sync::Arc;

use attache::host::config::ServerName;
use attache::host::questions::{Answering, Questions};
use attache::protocol::{
    ChoiceOption, CreateMessageParams, CreateMessageResult, ElicitMode, ElicitParams, ElicitResult,
    Extra, FieldKind, FormField, FormSchema, Json,
};
use attache::{ElicitationModes, Refusal, SamplingTools};
use serde_json::Value;
use tokio::sync::{Mutex, mpsc};

pub(crate) use calls::GivenBeforehand;

use crate::output::{Output, Style, Text};

/// What a user types to say no at any point.
const DECLINE: &str = "/decline";
/// What a user types to leave a question at any point; the end of input means the same.
const CANCEL: &str = "/cancel";
/// Lines that are kept when they come before they are asked for.
const LINES_AHEAD: usize = 16;

/// Asks the user on the terminal, one question at a time, whichever server asks.
#[derive(Clone)]
pub(crate) struct TerminalQuestions {
    output: Output,
    lines: Arc<Mutex<Lines>>,
}

/// One question of one server.
struct Dialogue {
    server: String,
    output: Output,
}

/// The user did not answer.
enum NoAnswer {
    Declined,
    Cancelled,
}

impl From<NoAnswer> for ElicitResult {
    fn from(no: NoAnswer) -> Self {
        match no {
            NoAnswer::Declined => Self::decline(),
            NoAnswer::Cancelled => Self::cancel(),
        }
    }
}

impl TerminalQuestions {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            output,
            lines: Arc::new(Mutex::new(Lines::NotStarted)),
        }
    }

    /// Asks through lines that something else reads as well.
    #[cfg(feature = "chat")]
    pub(crate) fn through(output: Output, lines: attache_chat::terminal::Lines) -> Self {
        Self {
            output,
            lines: Arc::new(Mutex::new(Lines::Shared(lines))),
        }
    }

    /// Asks one question; others wait for their turn.
    async fn ask(&self, server: &str, question: ElicitParams) -> ElicitResult {
        let mut lines = self.lines.lock().await;
        let dialogue = self.begin(server, &mut lines);
        let answer = match question.mode() {
            ElicitMode::Url => dialogue.ask_url(&question, &mut lines).await,
            _ => dialogue.ask_form(&question, &mut lines).await,
        };
        answer.unwrap_or_else(Into::into)
    }

    /// Asks a yes-or-no question of our own.
    pub(crate) async fn agrees(&self, question: &str) -> bool {
        let mut lines = self.lines.lock().await;
        let dialogue = self.begin("attache", &mut lines);
        dialogue.consent(question, &mut lines).await.is_ok()
    }

    fn begin(&self, server: &str, lines: &mut Lines) -> Dialogue {
        self.output.put_bar_away();
        lines.forget();
        Dialogue {
            server: server.to_owned(),
            output: self.output.clone(),
        }
    }
}

impl Questions for TerminalQuestions {
    fn elicitation(&self) -> Option<ElicitationModes> {
        Some(ElicitationModes::FormAndUrl)
    }

    fn elicit(&self, server: ServerName, question: ElicitParams) -> Answering<ElicitResult> {
        let asker = self.clone();
        Box::pin(async move { asker.ask(server.as_str(), question).await })
    }

    fn sampling(&self) -> Option<SamplingTools> {
        Some(SamplingTools::Refused)
    }

    fn sample(
        &self,
        server: ServerName,
        request: CreateMessageParams,
    ) -> Answering<Result<CreateMessageResult, Refusal>> {
        let asker = self.clone();
        Box::pin(async move {
            let mut lines = asker.lines.lock().await;
            let dialogue = asker.begin(server.as_str(), &mut lines);
            dialogue.ask_for_model(&request, &mut lines).await
        })
    }
}

impl Dialogue {
    async fn ask_form(
        &self,
        question: &ElicitParams,
        lines: &mut Lines,
    ) -> Result<ElicitResult, NoAnswer> {
        let form = match question.form() {
            Ok(form) if form.required_unknown.is_empty() => form,
            _ => {
                self.output.note(&format!(
                    "{} asks with a form that cannot be shown; declined",
                    self.server
                ));
                return Err(NoAnswer::Declined);
            }
        };
        let mut text = self.heading("asks");
        text.block(Style::Plain, &question.message);
        text.faint(&format!("{DECLINE} says no, {CANCEL} leaves"))
            .end_line();
        self.output.aside_text(&text);
        let answer = self.fill_in(&form, lines).await?;
        let mut text = Text::new();
        text.plain("answer: ").plain(answer.as_str()).end_line();
        self.output.aside_text(&text);
        self.consent(&format!("send this to {}?", self.server), lines)
            .await?;
        Ok(ElicitResult::accept(answer))
    }

    async fn fill_in(&self, form: &FormSchema, lines: &mut Lines) -> Result<Json, NoAnswer> {
        let mut answer = Extra::default();
        for field in &form.fields {
            if let Some(value) = self.ask_field(field, lines).await? {
                answer.insert(field.name.as_str(), value);
            }
        }
        Ok(Json::from_serialize(&answer).unwrap_or_default())
    }

    /// Asks until the answer fits; `None` if the field is left out.
    async fn ask_field(
        &self,
        field: &FormField,
        lines: &mut Lines,
    ) -> Result<Option<Json>, NoAnswer> {
        loop {
            self.output.aside_text(&describe(field));
            let line = self.line(lines).await?;
            if line.is_empty() {
                match &field.default {
                    Some(default) => return Ok(Some(default.clone())),
                    None if !field.required => return Ok(None),
                    None => self.complain("it is required"),
                }
                continue;
            }
            let value = read_answer(&line, &field.kind);
            match field.check(&value) {
                Ok(()) => return Ok(Some(value)),
                Err(problem) => self.complain(&problem),
            }
        }
    }

    async fn ask_url(
        &self,
        question: &ElicitParams,
        lines: &mut Lines,
    ) -> Result<ElicitResult, NoAnswer> {
        let url = question.url.as_deref().unwrap_or_default();
        let Some(host) = trustworthy_host(url) else {
            self.output.note(&format!(
                "{} asks to visit an address that is not plain https; declined: {url}",
                self.server
            ));
            return Err(NoAnswer::Declined);
        };
        let mut text = self.heading("asks you to visit a page");
        text.block(Style::Plain, &question.message);
        text.plain("address: ").plain(url).end_line();
        text.plain("host: ").add(Style::Name, host).end_line();
        self.output.aside_text(&text);
        self.consent("will you open it in your browser?", lines)
            .await?;
        Ok(ElicitResult::accept_url())
    }

    /// Goes on with a clear yes only.
    async fn consent(&self, question: &str, lines: &mut Lines) -> Result<(), NoAnswer> {
        loop {
            let mut text = Text::new();
            text.plain(question).faint(" [y]es, [n]o, [c]ancel: ");
            self.output.aside_text(&text);
            match self.line(lines).await?.to_lowercase().as_str() {
                "y" | "yes" => return Ok(()),
                "n" | "no" => return Err(NoAnswer::Declined),
                "c" | "cancel" => return Err(NoAnswer::Cancelled),
                _ => self.complain("answer y, n or c"),
            }
        }
    }

    async fn line(&self, lines: &mut Lines) -> Result<String, NoAnswer> {
        match lines.next().await.as_deref().map(str::trim) {
            None | Some(CANCEL) => Err(NoAnswer::Cancelled),
            Some(DECLINE) => Err(NoAnswer::Declined),
            Some(line) => Ok(line.to_owned()),
        }
    }

    fn heading(&self, asks: &str) -> Text {
        let mut text = Text::new();
        text.add(Style::Name, &self.server)
            .plain(&format!(" {asks}:"))
            .end_line();
        text
    }

    fn complain(&self, problem: &str) {
        let mut text = Text::new();
        text.add(Style::Warning, problem).end_line();
        self.output.aside_text(&text);
    }
}

/// What a field asks for, ending where the answer is typed.
fn describe(field: &FormField) -> Text {
    let mut text = Text::new();
    if let Some(description) = &field.description {
        text.block(Style::Faint, description);
    }
    if let FieldKind::Choice { options } | FieldKind::Choices { options, .. } = &field.kind {
        for option in options {
            text.plain("  ").add(Style::Name, &option.value);
            if let Some(title) = &option.title {
                text.plain("  ").plain(title);
            }
            text.end_line();
        }
    }
    text.add(Style::Name, field.display_name());
    let kind = match &field.kind {
        FieldKind::Boolean => " (true or false)",
        FieldKind::Choices { .. } => " (several, separated by commas)",
        FieldKind::Integer { .. } => " (a whole number)",
        FieldKind::Number { .. } => " (a number)",
        _ => "",
    };
    text.faint(kind);
    match &field.default {
        Some(default) => text.faint(&format!(" [{default}]")),
        None if field.required => text.faint(" (required)"),
        None => text.faint(" (may be left empty)"),
    };
    text.plain(": ");
    text
}

/// What the user typed, as a value of the field's kind; whether it fits is checked afterwards.
fn read_answer(line: &str, kind: &FieldKind) -> Json {
    let text = || Json::from(Value::String(line.to_owned()));
    match kind {
        FieldKind::Text { .. } => text(),
        FieldKind::Choice { options } => Json::from(Value::String(chosen(line, options))),
        FieldKind::Choices { options, .. } => {
            let values = line.split(',').map(|word| chosen(word.trim(), options));
            Json::from(values.collect::<Value>())
        }
        FieldKind::Boolean => match line.to_lowercase().as_str() {
            "y" | "yes" | "true" => Json::from(Value::Bool(true)),
            "n" | "no" | "false" => Json::from(Value::Bool(false)),
            _ => text(),
        },
        FieldKind::Number { .. } | FieldKind::Integer { .. } | FieldKind::Other(_) => {
            Json::parse(line).unwrap_or_else(|_| text())
        }
    }
}

/// The value of an option that was named by value or by title.
fn chosen(word: &str, options: &[ChoiceOption]) -> String {
    let by_title = options
        .iter()
        .find(|option| option.title.as_deref() == Some(word));
    by_title.map_or(word, |option| &option.value).to_owned()
}

/// The host of an address that may be shown as one to visit: https, or http on this machine.
fn trustworthy_host(url: &str) -> Option<&str> {
    let (is_secure, rest) = match url.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, url.strip_prefix("http://")?),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // `https://bank.example@evil.example/` is a trick.
    if authority.is_empty() || authority.contains('@') {
        return None;
    }
    let is_local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        authority
            .strip_prefix(local)
            .is_some_and(|port| port.is_empty() || port.starts_with(':'))
    });
    (is_secure || is_local).then_some(authority)
}

/// Lines that the user types.
enum Lines {
    /// No line has been asked for yet.
    NotStarted,
    /// A thread of its own reads them, because reading a terminal cannot be interrupted.
    Typed(mpsc::Receiver<String>),
    /// Read on demand, beside the prompt of a conversation.
    #[cfg(feature = "chat")]
    Shared(attache_chat::terminal::Lines),
    /// Prepared beforehand.
    #[cfg(test)]
    Scripted(std::collections::VecDeque<String>),
}

impl Lines {
    /// The next line; `None` at the end of input.
    async fn next(&mut self) -> Option<String> {
        loop {
            match self {
                Self::NotStarted => *self = Self::Typed(read_lines()),
                Self::Typed(lines) => return lines.recv().await,
                #[cfg(feature = "chat")]
                Self::Shared(lines) => return lines.plain().await,
                #[cfg(test)]
                Self::Scripted(lines) => return lines.pop_front(),
            }
        }
    }

    /// Forgets what was typed before the question was seen; it cannot be an answer to it.
    fn forget(&mut self) {
        if let Self::Typed(lines) = self {
            while lines.try_recv().is_ok() {}
        }
    }
}

fn read_lines() -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel(LINES_AHEAD);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{Format, Verbosity};

    async fn answer(question: &str, typed: &[&str]) -> String {
        let asker = TerminalQuestions {
            output: Output::new(Format::Human, Verbosity::Normal),
            lines: Arc::new(Mutex::new(Lines::Scripted(
                typed.iter().map(|line| (*line).to_owned()).collect(),
            ))),
        };
        let result = asker
            .ask("demo", serde_json::from_str(question).unwrap())
            .await;
        serde_json::to_string(&result).unwrap()
    }

    const FORM: &str = r#"{"message":"who?","requestedSchema":{"type":"object","properties":{
        "name":{"type":"string","minLength":2},
        "age":{"type":"integer","minimum":0},
        "sure":{"type":"boolean","default":true},
        "colour":{"type":"string","enum":["r","g"],"enumNames":["Red","Green"]},
        "days":{"type":"array","items":{"type":"string","enum":["mo","tu"]}}
    },"required":["name"]}}"#;

    #[tokio::test]
    async fn a_form_is_filled_in_field_by_field() {
        let typed = ["", "x", "Ada", "-1", "37", "", "Green", "mo, tu", "y"];
        assert_eq!(
            answer(FORM, &typed).await,
            r#"{"action":"accept","content":{"name":"Ada","age":37,"sure":true,"colour":"g","days":["mo","tu"]}}"#
        );
        let typed = ["Ada", "", "no", "", "", "maybe", "yes"];
        assert_eq!(
            answer(FORM, &typed).await,
            r#"{"action":"accept","content":{"name":"Ada","sure":false}}"#
        );
    }

    // C-ELIC-09.
    #[tokio::test]
    async fn saying_no_and_leaving_are_always_possible_and_differ() {
        let decline = r#"{"action":"decline"}"#;
        let cancel = r#"{"action":"cancel"}"#;
        for (typed, expected) in [
            (&["/decline"][..], decline),
            (&["Ada", "/decline"], decline),
            (&["Ada", "", "", "", "", "n"], decline),
            (&["/cancel"], cancel),
            (&["Ada", "", "", "", "", "c"], cancel),
            (&[], cancel),
            (&["Ada", "1"], cancel),
        ] {
            assert_eq!(answer(FORM, typed).await, expected, "{typed:?}");
        }
    }

    #[tokio::test]
    async fn addresses_need_a_yes_and_a_safe_scheme() {
        let question = |url: &str| format!(r#"{{"mode":"url","message":"go","url":"{url}"}}"#);
        let accept = r#"{"action":"accept"}"#;
        let decline = r#"{"action":"decline"}"#;
        for (url, typed, expected) in [
            ("https://example.org/x", "y", accept),
            ("https://example.org/x", "n", decline),
            ("http://localhost:8080/x", "y", accept),
            ("http://127.0.0.1/x", "y", accept),
            ("http://localhost.evil.example/", "y", decline),
            ("http://example.org/", "y", decline),
            ("https://bank.example@evil.example/", "y", decline),
            ("javascript:alert(1)", "y", decline),
            ("file:///etc/passwd", "y", decline),
            ("https://", "y", decline),
        ] {
            assert_eq!(answer(&question(url), &[typed]).await, expected, "{url}");
        }
    }
}
