//! The OpenAPI document, written from the table of routes.

use std::sync::Arc;

use axum::response::Response;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::answer::ok;
use crate::asked::Asked;
use crate::console::Console;
use crate::error::{ApiError, ErrorBody};
use crate::routes::{Answers, BASE, Route};
use crate::table::routes;

pub(crate) async fn show(_: Arc<Console>, _: Asked) -> Result<Response, ApiError> {
    Ok(ok(&document()))
}

/// The whole document.
pub(crate) fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12();
    settings.definitions_path = "/components/schemas".into();
    let mut schemas = settings.into_generator();
    let error = schemas.subschema_for::<ErrorBody<'_>>();
    let mut paths = Map::new();
    for route in routes() {
        let body = route.body.map(|body| body(&mut schemas));
        let path = paths
            .entry(route.path)
            .or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(path) = path {
            let method = route.method.as_str().to_ascii_lowercase();
            path.insert(method, operation(&route, body.map(Value::from)));
        }
    }
    let definitions = schemas.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Attaché web console",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "All servers of a host: lists, calls, resources, prompts, questions, events.",
        },
        "servers": [{"url": BASE}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": definitions,
            "securitySchemes": {
                "token": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "The token of this launch, from the fragment of the link.",
                },
            },
            "responses": {
                "Failure": {
                    "description": "What failed; `origin` says whose failure it is.",
                    "content": {"application/json": {"schema": error}},
                },
            },
        },
    })
}

fn operation(route: &Route, body: Option<Value>) -> Value {
    let parts = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parts = parts.map(
        |name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}),
    );
    let query = route.query.iter().map(|query| {
        let schema = json!({"type": "string"});
        json!({"name": query.name, "in": "query", "description": query.about, "schema": schema})
    });
    let parameters: Vec<Value> = parts.chain(query).collect();
    let json_body = json!({"application/json": {"schema": {"type": "object"}}});
    let mut responses = Map::new();
    let mut answer = |status: &str, description: &str, content: Value| {
        let response = match content {
            Value::Null => json!({"description": description}),
            content => json!({"description": description, "content": content}),
        };
        responses.insert(status.to_owned(), response);
    };
    match route.answers {
        Answers::Json => answer("200", "Done.", json_body),
        Answers::Accepted => {
            answer("202", "Begun.", json_body.clone());
            answer("200", "Ended.", json_body);
        }
        Answers::Created => {
            answer("201", "Made.", json_body.clone());
            answer("200", "There already.", json_body);
        }
        Answers::Nothing => answer("204", "Done.", Value::Null),
        Answers::Events => {
            let content = json!({"text/event-stream": {"schema": {"type": "string"}}});
            answer("200", "A stream of events.", content);
        }
    }
    responses.insert(
        "default".to_owned(),
        json!({"$ref": "#/components/responses/Failure"}),
    );
    let mut operation = json!({
        "summary": route.summary,
        "operationId": identifier(route),
        "parameters": parameters,
        "responses": responses,
    });
    if let (Some(schema), Value::Object(operation)) = (body, &mut operation) {
        let content = json!({"application/json": {"schema": schema}});
        operation.insert("requestBody".to_owned(), json!({"content": content}));
    }
    operation
}

/// A name for the operation, as programs that generate clients want one.
fn identifier(route: &Route) -> String {
    let path = route.path.replace(['/', '{', '}', '.'], "_");
    let method = route.method.as_str().to_ascii_lowercase();
    let words: Vec<&str> = path.split('_').filter(|word| !word.is_empty()).collect();
    format!("{method}_{}", words.join("_"))
}
