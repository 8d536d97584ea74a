//! Forms: a schema and what was filled in so far come in, fields and problems go out.
//!
//! No state is kept here between two requests: the page holds it and gives it back. What a
//! field is, what a text means and what is wrong with it is the form model's business.

use std::sync::Arc;

use attache::host::Error;
use attache::host::questions::QuestionKind;
use attache::protocol::{Json, Prompt};
use attache_view::form::{CarriedState, Choice, Field, Form, Path, Place, Problem, State};
use attache_view::{Object, Value, indented, uri_template};
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::form_edits::{Edit, apply, options};
use crate::lists::known_server;
use crate::questions;
use crate::recent::Recent;

/// A form as it is filled in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FillForm {
    /// What the form is of.
    of: Of,
    /// What the last answer gave as `state`; none to begin.
    #[schemars(with = "Option<serde_json::Value>")]
    state: Option<CarriedState>,
    /// What a person did since.
    #[serde(default)]
    edits: Vec<Edit>,
    /// Deferred fields to open.
    #[serde(default)]
    expand: Vec<Opened>,
}

/// What a form is of.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Of {
    /// The arguments of a tool.
    Tool {
        /// The server.
        server: String,
        /// The tool.
        name: String,
    },
    /// The arguments of a prompt.
    Prompt {
        /// The server.
        server: String,
        /// The prompt.
        name: String,
    },
    /// The variables of a template.
    Template {
        /// The server.
        #[serde(rename = "server")]
        _server: String,
        /// The template.
        uri_template: String,
    },
    /// What a server asks the user.
    Question(u64),
    /// Any schema, as JSON text.
    SchemaJson(String),
}

/// A deferred field.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Opened {
    #[schemars(with = "Vec<serde_json::Value>")]
    path: Path,
    #[schemars(with = "serde_json::Value")]
    place: Place,
}

#[derive(Serialize)]
struct FormView {
    state: CarriedState,
    value_json: Option<String>,
    pretty: Option<String>,
    field: Field,
    expanded: Vec<Field>,
    values: Vec<FieldValue>,
    problems: Vec<Problem>,
    unchecked: Vec<String>,
    refused: Vec<RefusedEdit>,
}

/// What a field's widget shows.
#[derive(Serialize)]
struct FieldValue {
    path: Path,
    text: String,
    set: bool,
    #[serde(skip_serializing_if = "is_false")]
    null: bool,
    #[serde(skip_serializing_if = "is_false")]
    draft: bool,
    #[serde(skip_serializing_if = "is_false")]
    masked: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    chosen: Vec<usize>,
}

fn is_false(value: &bool) -> bool {
    !value
}

/// An edit that changed nothing.
#[derive(Serialize)]
struct RefusedEdit {
    edit: usize,
    path: Path,
    message: String,
}

pub(crate) async fn fill(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let wanted: FillForm = asked.body()?;
    let form = form_of(&console, &wanted.of, wanted.state.is_none()).await?;
    let mut state = match wanted.state {
        Some(carried) => State::try_from(carried).map_err(|error| {
            ApiError::bad(&format!("the state of the form cannot be read: {error}"))
        })?,
        None => {
            let mut fresh = State::new(Some(Value::Object(Object::default())));
            fresh.use_defaults(&form);
            fresh
        }
    };
    let mut refused = Vec::new();
    for (edit, wanted) in wanted.edits.iter().enumerate() {
        if let Err(problem) = apply(&form, &mut state, wanted) {
            refused.push(RefusedEdit {
                edit,
                path: problem.path,
                message: problem.message,
            });
        }
    }
    let opened = wanted.expand.iter().map(|opened| {
        let value = state.get(&opened.path);
        form.expand(&opened.place, &opened.path, value, state.picks())
    });
    let expanded: Vec<Field> = opened.collect();
    Ok(ok(&view(&form, &state, expanded, refused)))
}

fn view(form: &Form, state: &State, expanded: Vec<Field>, refused: Vec<RefusedEdit>) -> FormView {
    let field = state.field(form);
    let report = state.check(form);
    let mut values = Vec::new();
    for root in std::iter::once(&field).chain(&expanded) {
        note_values(state, root, &mut values);
    }
    let value_json = state.to_json().map(|json| json.as_str().to_owned());
    FormView {
        state: CarriedState::from(state),
        pretty: value_json.as_deref().map(indented),
        value_json,
        field,
        expanded,
        values,
        problems: report.problems,
        unchecked: report.unchecked.into_iter().collect(),
        refused,
    }
}

async fn form_of(console: &Console, of: &Of, is_new: bool) -> Result<Form, ApiError> {
    match of {
        Of::Tool { server, name } => {
            let named = ("tool", server.as_str(), name.as_str());
            let tool = listed(console, &console.tools, named, is_new).await?;
            Ok(Form::of_tool(&tool))
        }
        Of::Prompt { server, name } => {
            let named = ("prompt", server.as_str(), name.as_str());
            let prompt = listed(console, &console.prompts, named, is_new).await?;
            Ok(form_of_prompt(&prompt))
        }
        Of::Template { uri_template, .. } => {
            let names = uri_template::variables(uri_template);
            Ok(form_of_texts(names.iter().map(|name| TextField {
                name,
                title: None,
                description: None,
                required: true,
            })))
        }
        Of::Question(id) => {
            let question = questions::find(console, *id)?;
            match &question.kind {
                QuestionKind::ElicitForm(params) => Ok(match &params.requested_schema {
                    Some(schema) => Form::new(schema),
                    None => Form::empty(),
                }),
                _ => Err(ApiError::bad("this question has no form")),
            }
        }
        Of::SchemaJson(text) => match Json::parse(text) {
            Ok(schema) => Ok(Form::new(&schema)),
            Err(error) => Err(ApiError::bad(&format!("the schema is not JSON: {error}"))),
        },
    }
}

/// What a form is of. A form that is begun wants it as it is now; each edit of it does not.
async fn listed<T: crate::lists::Entry + Clone>(
    console: &Console,
    recent: &Recent<T>,
    (kind, server, name): (&'static str, &str, &str),
    is_new: bool,
) -> Result<T, ApiError> {
    let server = known_server(console, server)?;
    if let Some(known) = recent.get(&server, name).filter(|_| !is_new) {
        return Ok(known);
    }
    let list = console.host.list::<T>().server(server.as_str());
    let all = list.or_latest().await?;
    if let Some(found) = all.entries.iter().find(|it| it.entry.name() == name) {
        recent.keep(&server, &found.entry);
        return Ok(found.entry.clone());
    }
    if let Some(error) = all.servers.iter().find_map(|answer| answer.error.as_ref()) {
        return Err(error.into());
    }
    Err(Error::NotOffered {
        kind,
        name: format!("{server}/{name}"),
        nearest: None,
        unasked: Vec::new(),
    }
    .into())
}

/// A field of a form whose values are all text.
struct TextField<'a> {
    name: &'a str,
    title: Option<&'a str>,
    description: Option<&'a str>,
    required: bool,
}

fn form_of_prompt(prompt: &Prompt) -> Form {
    let arguments = prompt.arguments.as_deref().unwrap_or_default().iter();
    form_of_texts(arguments.map(|argument| TextField {
        name: &argument.name,
        title: argument.title.as_deref(),
        description: argument.description.as_deref(),
        required: argument.required,
    }))
}

fn form_of_texts<'a>(fields: impl Iterator<Item = TextField<'a>>) -> Form {
    let text = |text: &str| Value::String(text.to_owned());
    let mut required = Vec::new();
    let mut properties = Object::default();
    for field in fields {
        let mut schema = Object::default();
        schema.insert("type", text("string"));
        for (key, value) in [("title", field.title), ("description", field.description)] {
            if let Some(value) = value {
                schema.insert(key, text(value));
            }
        }
        properties.insert(field.name, Value::Object(schema));
        if field.required {
            required.push(text(field.name));
        }
    }
    let mut schema = Object::default();
    schema.insert("type", text("object"));
    schema.insert("properties", Value::Object(properties));
    schema.insert("required", Value::Array(required));
    schema.insert("additionalProperties", Value::Bool(false));
    Form::new(&Value::Object(schema).to_json())
}

/// What the widgets of a field and of those inside it show.
fn note_values(state: &State, field: &Field, values: &mut Vec<FieldValue>) {
    let value = state.get(&field.path);
    let draft = state.draft(&field.path);
    let text = match (draft, value) {
        (Some(draft), _) => draft.to_owned(),
        (None, Some(value)) => field.text(value),
        (None, None) => String::new(),
    };
    let is_chosen = |option: &Choice| match value {
        Some(Value::Array(items)) => items.contains(&option.value),
        Some(value) => *value == option.value,
        None => false,
    };
    let chosen = options(field).unwrap_or_default().iter().enumerate();
    let chosen = chosen.filter(|(_, option)| is_chosen(option));
    values.push(FieldValue {
        chosen: chosen.map(|(at, _)| at).collect(),
        path: field.path.clone(),
        text,
        set: value.is_some(),
        null: value == Some(&Value::Null),
        draft: draft.is_some(),
        masked: field.is_masked(),
    });
    for child in field.children() {
        note_values(state, child, values);
    }
}
