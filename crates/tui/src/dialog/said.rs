//! What a question says before it can be answered.
//!
//! All of it but our own words comes from servers and models, and is made safe here (S13). What a
//! server says is indented, so that it cannot pose as what we say.

use attache::host::questions::{Approval, Question, QuestionKind};
use attache::protocol::{CreateMessageParams, ElicitParams, Json};
use attache_view::document::{Block, Body};
use attache_view::{host_to_visit, indented, safe_text};
use ratatui::text::Line;

use crate::measure::wrapped;
use crate::text::bytes as size;
use crate::theme::{Role, Theme};

/// A text of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) role: Role,
    /// How far it is indented.
    pub(super) indent: usize,
}

impl Said {
    fn ours(text: impl Into<String>, role: Role) -> Self {
        Self {
            text: text.into(),
            role,
            indent: 0,
        }
    }

    /// What a server or a model says.
    fn theirs(text: &str, role: Role) -> Self {
        Self {
            text: safe_text::block(text).into_owned(),
            role,
            indent: 2,
        }
    }

    fn gap() -> Self {
        Self::ours("", Role::Text)
    }
}

/// How JSON is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonAs {
    /// In lines.
    Lines,
    /// As it is sent.
    Raw,
}

/// The rows of texts.
pub(super) fn rows(said: &[Said], columns: usize, theme: &Theme) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for part in said {
        let indent = " ".repeat(part.indent.min(columns / 4));
        for line in wrapped(&part.text, columns.saturating_sub(indent.len())) {
            rows.push(Line::styled(
                format!("{indent}{line}"),
                theme.style(part.role),
            ));
        }
    }
    rows
}

/// What a question says, without the difference of a tool that has changed.
pub(super) fn of(question: &Question, claims: &[String], json_as: JsonAs) -> Vec<Said> {
    match &question.kind {
        QuestionKind::Approval(call) => approval(question, call, claims, json_as),
        QuestionKind::Drift(drift) => {
            let name = safe_text::one_line(&drift.name.to_string()).into_owned();
            let since = match &drift.lock {
                Some(file) => {
                    let file = file.display().to_string();
                    format!(
                        "is not what the lock file {} says",
                        safe_text::one_line(&file)
                    )
                }
                None => "has changed since you approved it".to_owned(),
            };
            let mut said = vec![Said::ours(format!("{name} {since}."), Role::Title)];
            let paths: Vec<&str> = drift.paths.iter().map(String::as_str).collect();
            if !paths.is_empty() {
                let paths = safe_text::one_line(&paths.join(", ")).into_owned();
                said.push(Said::ours(
                    format!("It differs in: {paths}"),
                    Role::Secondary,
                ));
            }
            said.push(Said::gap());
            said
        }
        QuestionKind::ElicitForm(params) => {
            let mut said = vec![Said::ours(
                format!("{} wants to know:", question.server),
                Role::Title,
            )];
            said.push(Said::theirs(&params.message, Role::Text));
            said
        }
        QuestionKind::ElicitUrl(params) => url(question, params),
        QuestionKind::Sampling(params) => sampling(question, params),
        QuestionKind::Roots => vec![
            Said::ours(
                format!("{} asks which folders it may work in.", question.server),
                Role::Title,
            ),
            Said::ours(
                "The answer holds until this program ends. None is an answer too.",
                Role::Secondary,
            ),
        ],
        _ => vec![Said::ours(
            "This question is not known here.",
            Role::Warning,
        )],
    }
}

fn approval(question: &Question, call: &Approval, claims: &[String], json_as: JsonAs) -> Vec<Said> {
    let tool = safe_text::one_line(&call.tool);
    let mut said = vec![
        Said::ours(
            format!("May {}/{tool} be called?", question.server),
            Role::Title,
        ),
        Said::ours(
            format!(
                "You are asked because {}.",
                safe_text::one_line(&call.because)
            ),
            Role::Secondary,
        ),
    ];
    for claim in claims {
        said.push(Said::ours(safe_text::one_line(claim), Role::Warning));
    }
    for words in [&call.title, &call.description].into_iter().flatten() {
        said.push(Said::theirs(words, Role::Secondary));
    }
    let length = size(call.arguments.as_str().len());
    let words = match json_as {
        JsonAs::Lines => format!("Arguments, {length}:"),
        JsonAs::Raw => format!("Arguments as they are sent, {length}:"),
    };
    said.push(Said::ours(words, Role::Title));
    said.push(Said {
        text: json(&call.arguments, json_as),
        role: Role::Code,
        indent: 2,
    });
    said
}

fn url(question: &Question, params: &ElicitParams) -> Vec<Said> {
    let url = params.url.as_deref().unwrap_or_default();
    let mut said = vec![
        Said::ours(
            format!("{} asks you to visit a page.", question.server),
            Role::Title,
        ),
        Said::theirs(&params.message, Role::Text),
        Said::gap(),
    ];
    match host_to_visit(url) {
        Some(host) => said.push(Said::ours(
            format!("host: {}", safe_text::one_line(host)),
            Role::Accent,
        )),
        None => said.push(Said::ours(
            "This address is not plain https, so it is not opened from here.",
            Role::Bad,
        )),
    }
    said.push(Said::ours("address:", Role::Secondary));
    said.push(Said {
        text: safe_text::one_line(url).into_owned(),
        role: Role::Text,
        indent: 2,
    });
    if host_to_visit(url)
        .is_some_and(|host| !host.is_ascii() || host.starts_with("xn--") || host.contains(".xn--"))
    {
        said.push(Said::ours(
            "The host has letters beyond ASCII; it may only look like one you know.",
            Role::Warning,
        ));
    }
    said
}

fn sampling(question: &Question, params: &CreateMessageParams) -> Vec<Said> {
    let mut said = vec![Said::ours(
        format!("{} wants a model to go on with this:", question.server),
        Role::Title,
    )];
    if let Some(system) = &params.system_prompt {
        said.push(Said::ours("system:", Role::Accent));
        said.push(Said::theirs(system, Role::Text));
    }
    for message in &params.messages {
        let role = safe_text::one_line(&message.role);
        said.push(Said::ours(format!("{role}:"), Role::Accent));
        for content in message.content.iter() {
            said.push(block(&Block::of_content(content)));
        }
    }
    let mut wishes = vec![format!("at most {} tokens", params.max_tokens)];
    let preferences = params.model_preferences.as_ref();
    let hints = preferences.and_then(|wishes| wishes.hints.as_ref());
    let names: Vec<&str> = hints
        .into_iter()
        .flatten()
        .filter_map(|hint| hint.name.as_deref())
        .collect();
    if !names.is_empty() {
        wishes.push(format!(
            "a model like {}",
            safe_text::one_line(&names.join(", "))
        ));
    }
    if let Some(preferences) = preferences {
        let priorities = [
            ("cost", preferences.cost_priority),
            ("speed", preferences.speed_priority),
            ("ability", preferences.intelligence_priority),
        ];
        for (name, priority) in priorities {
            wishes.extend(priority.map(|priority| format!("{name} {priority}")));
        }
    }
    wishes.extend(params.temperature.map(|it| format!("temperature {it}")));
    if let Some(tools) = &params.tools {
        wishes.push(format!("{} tools offered", tools.len()));
    }
    said.push(Said::ours(
        format!("It asks for {}.", wishes.join(", ")),
        Role::Secondary,
    ));
    said
}

/// A block in words; what is no text is described.
fn block(block: &Block) -> Said {
    let described = |words: String| Said {
        text: words,
        role: Role::Secondary,
        indent: 2,
    };
    match &block.body {
        Body::Text { text, .. } => Said {
            text: text.clone(),
            role: Role::Text,
            indent: 2,
        },
        Body::Image(media) => described(format!(
            "[image {}, {}]",
            media.mime_type,
            size(block.bytes)
        )),
        Body::Audio(media) => described(format!(
            "[sound {}, {}]",
            media.mime_type,
            size(block.bytes)
        )),
        Body::Link(link) => described(format!("[link {} {}]", link.name, link.uri)),
        Body::Resource { uri, .. } => described(format!("[resource {uri}, {}]", size(block.bytes))),
        Body::Unknown { label, raw } => described(format!("[{label}] {raw}")),
        _ => described(format!("[{}]", size(block.bytes))),
    }
}

fn json(value: &Json, json_as: JsonAs) -> String {
    let text = match json_as {
        JsonAs::Lines => indented(value.as_str()),
        JsonAs::Raw => value.as_str().to_owned(),
    };
    safe_text::json(&text).into_owned()
}

/// One line for the inbox: what is asked, safe to show.
pub(super) fn headline(question: &Question) -> String {
    let server = &question.server;
    let first = |text: &str| {
        let line = text.lines().find(|line| !line.trim().is_empty());
        safe_text::one_line(line.unwrap_or_default()).into_owned()
    };
    match &question.kind {
        QuestionKind::Approval(call) => {
            format!("{server}: may {} be called?", first(&call.tool))
        }
        QuestionKind::Drift(drift) => {
            format!(
                "{} has changed since it was approved",
                first(&drift.name.to_string())
            )
        }
        QuestionKind::ElicitForm(params) => format!("{server} asks: {}", first(&params.message)),
        QuestionKind::ElicitUrl(params) => {
            format!(
                "{server} asks you to visit a page: {}",
                first(&params.message)
            )
        }
        QuestionKind::Sampling(_) => format!("{server} wants a model to answer"),
        QuestionKind::Roots => format!("{server} asks which folders it may work in"),
        _ => format!("{server} asks something that is not known here"),
    }
}
