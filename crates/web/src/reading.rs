//! `access_mcp_resource`, prompts, completion, and the addresses that templates make.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use attache::host::cache::Freshness;
use attache::protocol::{CompletionReference, Json};
use attache_view::document::{Body, Document, Markdown};
use attache_view::uri_template;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::ApiError;
use crate::lists::known_server;

/// A resource to read.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AccessResource {
    /// The server, by its name here.
    server_name: String,
    /// The resource.
    uri: String,
    /// How long to wait once the server runs.
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
struct ResourceView<'a> {
    server: &'a str,
    uri: &'a str,
    contents_json: String,
    document: Document,
    freshness: &'static str,
    /// Why there is nothing newer than what was remembered.
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
}

pub(crate) async fn access_mcp_resource(
    console: Arc<Console>,
    asked: Asked,
) -> Result<Response, ApiError> {
    let wanted: AccessResource = asked.body()?;
    let server = known_server(&console, &wanted.server_name)?;
    let mut read = console.host.read(&wanted.uri).server(server.as_str());
    if let Some(timeout) = wanted.timeout_ms {
        read = read.timeout(Duration::from_millis(timeout));
    }
    let answer = read.await?;
    let (freshness, because) = match &answer.freshness {
        Freshness::Fetched => ("fresh", None),
        Freshness::Fresh { .. } => ("cached", None),
        Freshness::Stale { because, .. } => (
            "stale",
            Some(ApiError::from(&**because).message.into_string()),
        ),
    };
    Ok(ok(&ResourceView {
        server: server.as_str(),
        uri: &wanted.uri,
        contents_json: text_of(&*answer.contents),
        document: Document::of_resource(&answer.contents),
        freshness,
        because,
    }))
}

/// What a prompt is filled in with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FillPrompt {
    /// By name; prompts take nothing but text.
    #[serde(default)]
    arguments: BTreeMap<String, String>,
    /// How long to wait once the server runs.
    timeout_ms: Option<u64>,
}

#[derive(Serialize)]
struct PromptView<'a> {
    server: &'a str,
    name: &'a str,
    result_json: String,
    document: Document,
}

pub(crate) async fn prompt(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let wanted: FillPrompt = asked.body()?;
    let server = known_server(&console, asked.part("server"))?;
    let name = asked.part("prompt");
    let qualified = format!("{server}/{name}");
    let mut prompt = console.host.prompt(qualified, wanted.arguments);
    if let Some(timeout) = wanted.timeout_ms {
        prompt = prompt.timeout(Duration::from_millis(timeout));
    }
    let result = prompt.await?;
    Ok(ok(&PromptView {
        server: server.as_str(),
        name,
        result_json: text_of(&result),
        document: Document::of_prompt(&result),
    }))
}

/// An argument to go on with.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompleteArgument {
    /// The server, by its name here.
    server_name: String,
    /// What has the argument: a prompt or a template, as in `completion/complete`.
    #[serde(rename = "ref")]
    #[schemars(with = "serde_json::Value")]
    reference: CompletionReference,
    /// The argument, as far as it is typed.
    argument: TypedArgument,
    /// The arguments that are filled in already.
    #[serde(default)]
    context: CompletionContext,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TypedArgument {
    name: String,
    value: String,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct CompletionContext {
    #[serde(default)]
    arguments: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct CompletionView {
    values: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
    has_more: bool,
}

pub(crate) async fn complete(console: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let wanted: CompleteArgument = asked.body()?;
    let server = known_server(&console, &wanted.server_name)?;
    let TypedArgument { name, value } = &wanted.argument;
    let chosen = wanted.context.arguments;
    let completing = console
        .host
        .complete(server.as_str(), wanted.reference, name, value, chosen);
    let found = completing.await?;
    Ok(ok(&CompletionView {
        values: found.values,
        total: found.total,
        has_more: found.has_more == Some(true),
    }))
}

/// A template to fill in.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExpandTemplate {
    /// The template, after RFC 6570.
    uri_template: String,
    /// What its variables stand for.
    #[serde(default)]
    values: BTreeMap<String, String>,
}

#[derive(Serialize)]
struct Expanded {
    uri: String,
    missing: Vec<String>,
}

pub(crate) async fn expand(_: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let wanted: ExpandTemplate = asked.body()?;
    let names = uri_template::variables(&wanted.uri_template);
    let is_missing = |name: &&String| !wanted.values.contains_key(*name);
    Ok(ok(&Expanded {
        missing: names.iter().filter(is_missing).cloned().collect(),
        uri: uri_template::expand(&wanted.uri_template, &wanted.values),
    }))
}

/// A text to look at in another way.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewText {
    text: String,
    #[serde(rename = "as")]
    wanted: WantedView,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum WantedView {
    Markdown,
    Json,
}

#[derive(Serialize)]
struct Block {
    block: Body,
}

pub(crate) async fn view(_: Arc<Console>, asked: Asked) -> Result<Response, ApiError> {
    let ViewText { text, wanted } = asked.body()?;
    let body = match wanted {
        WantedView::Markdown => Markdown::parse(&text).map(Body::Markdown),
        WantedView::Json => Body::of_json_text(&text),
    };
    match body {
        Some(block) => Ok(ok(&Block { block })),
        None => Err(ApiError::bad(
            "the text cannot be read as that, or is too long for it",
        )),
    }
}

fn text_of(value: &impl Serialize) -> String {
    Json::from_serialize(value)
        .unwrap_or_default()
        .as_str()
        .to_owned()
}
