//! Questions of servers to the user, on the terminal.
//!
//! One question at a time, with the server named, and with saying no always possible. Nothing is
//! opened or sent without a yes (C-ELIC-12, C-ELIC-13).

mod calls;
mod form;
mod hidden;
#[cfg(feature = "chat")]
mod lending;
mod sampling;

use std::io::BufRead as _;
use std::sync::Arc;

use attache::host::policy::{Remember, Scope};
use attache::host::questions::{
    Answer, Askable, Attached, Question, QuestionKind, Questions, Topic,
};
use attache::protocol::ElicitParams;
use attache::{ElicitationModes, SamplingTools};
use tokio::sync::{Mutex, mpsc};

use crate::output::{Output, Style, Text};
#[cfg(feature = "chat")]
pub(crate) use lending::LentModel;

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

impl From<NoAnswer> for Answer {
    fn from(no: NoAnswer) -> Self {
        match no {
            NoAnswer::Declined => Self::Decline,
            NoAnswer::Cancelled => Self::Cancel,
        }
    }
}

/// What the terminal can answer. A tool that has changed is looked at with `attache trust`, and
/// folders are not asked for.
pub(crate) const TOPICS: [Topic; 4] = [
    Topic::Approval,
    Topic::ElicitForm,
    Topic::ElicitUrl,
    Topic::Sampling,
];

/// What servers are told of the user at the terminal.
pub(crate) const ASKABLE: Askable = Askable {
    elicitation: Some(ElicitationModes::FormAndUrl),
    sampling: Some(SamplingTools::Refused),
    roots: false,
};

/// What the user has said about calls on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Consent {
    /// Nothing: they are asked.
    Asked,
    /// Yes to each.
    Given,
}

/// Who can be asked during a command.
pub(crate) struct Asker {
    terminal: Option<TerminalQuestions>,
    /// What another face answers, which attaches itself.
    elsewhere: Option<Askable>,
    /// A model that answers in place of the person.
    #[cfg(feature = "chat")]
    model: Option<LentModel>,
}

impl Asker {
    /// The person at the terminal, if there is one.
    pub(crate) fn usual(output: &Output) -> Self {
        let terminal = output
            .can_ask()
            .then(|| TerminalQuestions::new(output.clone()));
        Self {
            terminal,
            elsewhere: None,
            #[cfg(feature = "chat")]
            model: None,
        }
    }

    /// A face of its own, which attaches itself to the host's questions.
    #[cfg(feature = "ui")]
    pub(crate) fn elsewhere(askable: Askable) -> Self {
        Self {
            terminal: None,
            elsewhere: Some(askable),
            #[cfg(feature = "chat")]
            model: None,
        }
    }

    /// The person in a conversation, and the model it is held with.
    #[cfg(feature = "chat")]
    pub(crate) fn in_conversation(
        output: &Output,
        lines: attache_chat::terminal::Lines,
        model: Option<LentModel>,
    ) -> Self {
        let terminal = TerminalQuestions {
            output: output.clone(),
            lines: Arc::new(Mutex::new(Lines::Shared(lines))),
        };
        Self {
            terminal: Some(terminal),
            elsewhere: None,
            model,
        }
    }

    /// What servers are told of it. Without a user to ask, they are not told that they could
    /// (C-ELIC-01).
    pub(crate) fn askable(&self) -> Askable {
        match self.terminal {
            Some(_) => ASKABLE,
            None => self.elsewhere.unwrap_or_default(),
        }
    }
}

/// The face of one command: answers what its host is asked, for as long as it is polled.
pub(crate) struct Face {
    questions: Questions,
    attached: Attached,
    asker: Asker,
    consent: Consent,
}

impl Face {
    /// A face for what can be answered here; none if nothing can.
    pub(crate) fn attach(questions: &Questions, asker: Asker, consent: Consent) -> Option<Self> {
        let topics = match (&asker.terminal, consent) {
            (Some(_), _) => &TOPICS[..],
            (None, Consent::Given) => &[Topic::Approval],
            (None, Consent::Asked) => return None,
        };
        Some(Self {
            questions: questions.clone(),
            attached: questions.attach(topics.iter().copied()),
            asker,
            consent,
        })
    }

    /// Answers one question after the other until the host is gone. A question that is withdrawn
    /// meanwhile, or answered elsewhere, is left.
    pub(crate) async fn run(mut self) {
        while let Some(question) = self.attached.next().await {
            let answer = tokio::select! {
                biased;
                () = self.questions.closed(question.id) => continue,
                answer = self.answer(&question) => answer,
            };
            // It may have been withdrawn in this instant.
            let _ = self.questions.answer(question.id, answer);
        }
    }

    async fn answer(&self, question: &Question) -> Answer {
        match (&question.kind, &self.asker.terminal) {
            #[cfg(feature = "chat")]
            (QuestionKind::Sampling(request), Some(terminal)) if self.asker.model.is_some() => {
                let server = question.server.as_str();
                lending::answer(self.asker.model.as_ref(), server, request, terminal).await
            }
            (QuestionKind::Approval(_), _) if self.consent == Consent::Given => Answer::Allow {
                remember: Remember::Once,
                scope: Scope::Tool,
            },
            (_, Some(terminal)) => terminal.answer(question).await,
            // It is attached for nothing else.
            (_, None) => Answer::Cancel,
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

    /// Asks one question; others wait for their turn.
    pub(crate) async fn answer(&self, question: &Question) -> Answer {
        let mut lines = self.lines.lock().await;
        let lines = &mut *lines;
        let asker = match question.kind {
            QuestionKind::Approval(_) => "attache",
            _ => question.server.as_str(),
        };
        let dialogue = self.begin(asker, lines);
        match &question.kind {
            QuestionKind::Approval(call) => {
                let answer = dialogue.ask_for_call(&question.server, call, lines).await;
                answer.unwrap_or(calls::DENIED)
            }
            QuestionKind::Sampling(request) => dialogue.ask_for_model(request, lines).await,
            QuestionKind::ElicitUrl(params) => {
                let answer = dialogue.ask_url(params, lines).await;
                answer.unwrap_or_else(Into::into)
            }
            QuestionKind::ElicitForm(params) => {
                let answer = dialogue.ask_form(params, lines).await;
                answer.unwrap_or_else(Into::into)
            }
            // The terminal is attached for no other kind.
            _ => Answer::Cancel,
        }
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

impl Dialogue {
    async fn ask_url(
        &self,
        question: &ElicitParams,
        lines: &mut Lines,
    ) -> Result<Answer, NoAnswer> {
        let url = question.url.as_deref().unwrap_or_default();
        let Some(host) = attache_view::host_to_visit(url) else {
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
        Ok(Answer::Accept { content: None })
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
        match self {
            Self::Typed(lines) => while lines.try_recv().is_ok() {},
            #[cfg(feature = "chat")]
            Self::Shared(lines) => lines.forget(),
            _ => {}
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
    use attache::host::questions::Answerer;

    use super::*;
    use crate::output::{Format, Verbosity};

    /// A terminal at which these lines are typed.
    pub(super) fn terminal(typed: &[&str]) -> TerminalQuestions {
        TerminalQuestions {
            output: Output::new(Format::Human, Verbosity::Normal),
            lines: Arc::new(Mutex::new(Lines::Scripted(
                typed.iter().map(|line| (*line).to_owned()).collect(),
            ))),
        }
    }

    pub(super) fn question(kind: QuestionKind) -> Question {
        Question {
            id: 1,
            since_ms: 0,
            request: None,
            server: "demo".parse().unwrap(),
            who: Answerer::Person,
            kind,
        }
    }

    async fn answer(params: &str, typed: &[&str]) -> String {
        let params: ElicitParams = serde_json::from_str(params).unwrap();
        let kind = match params.url {
            Some(_) => QuestionKind::ElicitUrl(Box::new(params)),
            None => QuestionKind::ElicitForm(Box::new(params)),
        };
        let answer = terminal(typed).answer(&question(kind)).await;
        serde_json::to_string(&answer).unwrap()
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
            r#"{"accept":{"content":{"name":"Ada","age":37,"sure":true,"colour":"g","days":["mo","tu"]}}}"#
        );
        let typed = ["Ada", "", "no", "", "", "maybe", "yes"];
        assert_eq!(
            answer(FORM, &typed).await,
            r#"{"accept":{"content":{"name":"Ada","sure":false}}}"#
        );
    }

    // C-ELIC-09.
    #[tokio::test]
    async fn saying_no_and_leaving_are_always_possible_and_differ() {
        let decline = r#""decline""#;
        let cancel = r#""cancel""#;
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
        let accept = r#"{"accept":{}}"#;
        let decline = r#""decline""#;
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
