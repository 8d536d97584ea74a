//! A server's form, filled in on the terminal field by field.
//!
//! Owns the dialogue; what a field takes and what is wrong with an answer is the form's own
//! knowledge. Secrets are neither shown while they are typed nor afterwards.

use std::collections::BTreeSet;

use attache::host::questions::Answer;
use attache::protocol::ElicitParams;
use attache_view::form::{Field, Form, Kind, Path, State};
use attache_view::{Object, Value};

use super::{CANCEL, DECLINE, Dialogue, Lines, NoAnswer, hidden};
use crate::output::{Style, Text};

/// What is shown instead of a secret.
const MASK: &str = "••••••";

impl Dialogue {
    pub(super) async fn ask_form(
        &self,
        question: &ElicitParams,
        lines: &mut Lines,
    ) -> Result<Answer, NoAnswer> {
        let form = question.requested_schema.as_ref().map(Form::new);
        let form = form.unwrap_or_else(Form::empty);
        let mut state = State::new(Some(Value::Object(Object::default())));
        if state.field(&form).members().is_none() {
            self.output.note(&format!(
                "{} asks with a form that cannot be shown; declined",
                self.server
            ));
            return Err(NoAnswer::Declined);
        }
        let mut text = self.heading("asks");
        text.block(Style::Plain, &question.message);
        text.faint(&format!("{DECLINE} says no, {CANCEL} leaves"))
            .end_line();
        self.output.aside_text(&text);
        self.fill_in(&form, &mut state, lines).await?;
        let mut text = Text::new();
        text.plain("answer: ")
            .plain(&masked(&form, &state).to_string())
            .end_line();
        self.output.aside_text(&text);
        self.consent(&format!("send this to {}?", self.server), lines)
            .await?;
        Ok(Answer::Accept {
            content: Some(state.to_json().unwrap_or_default()),
        })
    }

    /// Asks for every field, and again for those that do not fit together.
    async fn fill_in(
        &self,
        form: &Form,
        state: &mut State,
        lines: &mut Lines,
    ) -> Result<(), NoAnswer> {
        let mut asked: BTreeSet<Path> = BTreeSet::new();
        loop {
            // An answer may bring further fields.
            let root = state.field(form);
            let fields = root.members().map_or(&[][..], |members| &members.fields);
            if let Some(field) = fields.iter().find(|field| !asked.contains(&field.path)) {
                asked.insert(field.path.clone());
                self.ask_field(form, field, state, lines).await?;
                continue;
            }
            let problems = state.check(form).problems;
            if problems.is_empty() {
                return Ok(());
            }
            for problem in &problems {
                self.complain(&problem.message);
            }
            let is_wrong = |path: &Path| {
                let mut problems = problems.iter();
                problems.any(|problem| problem.path.0.starts_with(&path.0))
            };
            let before = asked.len();
            asked.retain(|path| !is_wrong(path));
            if asked.len() == before {
                // What is wrong is wrong with the whole, so all of it is asked again.
                asked.clear();
            }
        }
    }

    /// Asks until the answer fits, or the field is left out.
    async fn ask_field(
        &self,
        form: &Form,
        field: &Field,
        state: &mut State,
        lines: &mut Lines,
    ) -> Result<(), NoAnswer> {
        loop {
            let line = {
                // Before it is asked for, so that no early key is shown.
                let _hidden = field.is_masked().then(hidden::Echo::off);
                self.output.aside_text(&describe(form, field));
                self.line(lines).await?
            };
            if line.is_empty() {
                match &field.default {
                    Some(default) => {
                        let _ = state.set(&field.path, default.clone());
                    }
                    None if field.required => {
                        self.complain("it is required");
                        continue;
                    }
                    None => state.unset(&field.path),
                }
                return Ok(());
            }
            let problem = match field.read(&line) {
                Err(problem) => Some(problem),
                Ok(value) => {
                    let report = form.check_at(&field.place, &field.path, &value);
                    match report.problems.into_iter().next() {
                        None => state.set(&field.path, value).err(),
                        problem => problem,
                    }
                }
            };
            match problem {
                None => return Ok(()),
                Some(problem) => self.complain(&problem.message),
            }
        }
    }
}

/// The answer without the secrets in it.
fn masked(form: &Form, state: &State) -> Value {
    let mut shown = state.clone();
    let root = state.field(form);
    for field in root.members().map_or(&[][..], |members| &members.fields) {
        if field.is_masked() && state.get(&field.path).is_some() {
            let _ = shown.set(&field.path, Value::String(MASK.to_owned()));
        }
    }
    shown.value().cloned().unwrap_or(Value::Null)
}

/// What a field asks for, ending where the answer is typed.
fn describe(form: &Form, field: &Field) -> Text {
    let mut text = Text::new();
    if let Some(description) = &field.description {
        text.block(Style::Faint, description);
    }
    if field.is_masked() {
        let warning = "servers are told not to ask for secrets in forms; what you type is hidden";
        text.add(Style::Warning, warning).end_line();
    }
    if let Kind::Choice { options } | Kind::MultiChoice { options, .. } = &field.kind {
        for option in options {
            text.plain("  ").add(Style::Name, &option.label);
            if let Some(title) = &option.title {
                text.plain("  ").plain(title);
            }
            text.end_line();
        }
    }
    text.add(Style::Name, field.display_name());
    let kind = match &field.kind {
        Kind::Boolean => " (true or false)".to_owned(),
        Kind::MultiChoice { .. } => " (several, separated by commas)".to_owned(),
        Kind::Number { whole: true, .. } => " (a whole number)".to_owned(),
        Kind::Number { .. } => " (a number)".to_owned(),
        Kind::Text { .. } | Kind::Choice { .. } => String::new(),
        _ => format!(" (JSON: {})", form.describe(field)),
    };
    text.faint(&kind);
    match &field.default {
        Some(_) if field.is_masked() => text.faint(&format!(" [{MASK}]")),
        Some(default) => text.faint(&format!(" [{default}]")),
        None if field.required => text.faint(" (required)"),
        None => text.faint(" (may be left empty)"),
    };
    text.plain(": ");
    text
}
