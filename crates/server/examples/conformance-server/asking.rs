//! Tools and a prompt that ask the client, in whichever era it speaks.

use attache_server::protocol::{
    Content, CreateMessageParams, ElicitParams, ElicitResult, Json, SamplingMessage,
};
use attache_server::{
    Context, Failure, NoArguments, Prompt, PromptArguments, ServerBuilder, Tool, schemars,
};
use serde_json::{Value, json};

pub(super) fn register(builder: ServerBuilder) -> ServerBuilder {
    multi_round(legacy(builder)).prompt(Prompt::new(
        "test_input_required_result_prompt",
        "Asks for its context first.",
        prompt,
    ))
}

fn legacy(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::new("test_sampling", "Asks the model.", sampling))
        .tool(Tool::new("test_elicitation", "Asks the user.", elicitation))
        .tool(Tool::new(
            "test_elicitation_sep1034_defaults",
            "Asks the user, with defaults.",
            |context: Context, _: NoArguments| async move { completed(&context, defaults()).await },
        ))
        .tool(Tool::new(
            "test_elicitation_sep1330_enums",
            "Asks the user to choose.",
            |context: Context, _: NoArguments| async move { completed(&context, choices()).await },
        ))
        .tool(Tool::new(
            "test_missing_capability",
            "Needs a client with a model.",
            |context: Context, _: NoArguments| async move {
                let said = context.sample(message("Hello?", 10)).await?;
                Ok(said.model)
            },
        ))
        .tool(Tool::new(
            "test_streaming_elicitation",
            "Tells its progress, then asks the user.",
            |context: Context, _: NoArguments| async move {
                context.progress(1.0, None);
                let answer = context.elicit(form("Go on?", one("ok", "boolean"))).await?;
                Ok(said(&answer))
            },
        ))
}

fn multi_round(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::new(
            "test_input_required_result_elicitation",
            "Asks for a name.",
            |context: Context, _: NoArguments| async move {
                let name = name(&context, "user_name", "What is your name?").await?;
                Ok(format!("Hello, {name}!"))
            },
        ))
        .tool(Tool::new(
            "test_input_required_result_sampling",
            "Asks the model for a capital.",
            |context: Context, _: NoArguments| async move {
                let question = message("What is the capital of France?", 100);
                let said = context.named("capital_question").sample(question).await?;
                Ok(text(said.content.first()))
            },
        ))
        .tool(Tool::new(
            "test_input_required_result_list_roots",
            "Asks for the roots.",
            |context: Context, _: NoArguments| async move {
                let roots = context.named("client_roots").roots().await?;
                let uris: Vec<_> = roots.into_iter().map(|root| root.uri).collect();
                Ok(format!("The roots are {}", uris.join(", ")))
            },
        ))
        .tool(Tool::new(
            "test_input_required_result_request_state",
            "Asks for a confirmation and remembers a state.",
            |context: Context, _: NoArguments| async move {
                // What was kept in the first round comes back in the second, or not at all.
                let kept: String = context
                    .once("state", async { Ok("state-ok".to_owned()) })
                    .await?;
                context
                    .named("confirm")
                    .elicit(form("Please confirm", one("ok", "boolean")))
                    .await?;
                Ok(kept)
            },
        ))
        .tool(Tool::new(
            "test_input_required_result_tampered_state",
            "Asks for a confirmation; a changed state is refused.",
            |context: Context, _: NoArguments| async move {
                context
                    .named("confirm")
                    .elicit(form("Please confirm", one("ok", "boolean")))
                    .await?;
                Ok("confirmed")
            },
        ))
        .tool(Tool::new(
            "test_input_required_result_multiple_inputs",
            "Asks three at once.",
            multiple,
        ))
        .tool(Tool::new(
            "test_input_required_result_multi_round",
            "Asks twice, one after the other.",
            |context: Context, _: NoArguments| async move {
                let name = name(&context, "step1", "Step 1: What is your name?").await?;
                let color = form(
                    "Step 2: What is your favorite color?",
                    one("color", "string"),
                );
                let color = context.named("step2").elicit(color).await?;
                Ok(format!("{name} likes {}", field(&color, "color")))
            },
        ))
        .tool(Tool::new(
            "test_input_required_result_capabilities",
            "Asks only what the client can answer.",
            capabilities,
        ))
}

async fn multiple(context: Context, _: NoArguments) -> Result<String, Failure> {
    let (name, greeting, roots) = tokio::join!(
        name(&context, "user_name", "What is your name?"),
        context
            .named("greeting")
            .sample(message("Generate a greeting", 50)),
        context.named("client_roots").roots(),
    );
    let (name, greeting, roots) = (name?, greeting?, roots?);
    Ok(format!(
        "{name}, {}, {} roots",
        text(greeting.content.first()),
        roots.len()
    ))
}

async fn capabilities(context: Context, _: NoArguments) -> Result<String, Failure> {
    let declared = context.client_capabilities().clone();
    let (asked, sampled) = tokio::join!(
        async {
            match declared.elicitation {
                Some(_) => Some(name(&context, "user_name", "What is your name?").await),
                None => None,
            }
        },
        async {
            match declared.sampling {
                Some(_) => Some(
                    context
                        .named("greeting")
                        .sample(message("Greet me", 50))
                        .await,
                ),
                None => None,
            }
        },
    );
    let asked = asked.transpose()?.unwrap_or_default();
    let sampled = sampled.transpose()?.map(|it| it.model).unwrap_or_default();
    Ok(format!("answered by \"{asked}\" and \"{sampled}\""))
}

async fn prompt(context: Context, _: PromptArguments) -> Result<String, Failure> {
    let question = form(
        "What context should the prompt use?",
        one("context", "string"),
    );
    let answer = context.named("user_context").elicit(question).await?;
    Ok(format!("Use this context: {}", field(&answer, "context")))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct PromptArgument {
    /// What the model is asked.
    prompt: String,
}

async fn sampling(context: Context, it: PromptArgument) -> Result<String, Failure> {
    let said = context.sample(message(&it.prompt, 100)).await?;
    Ok(format!("LLM response: {}", text(said.content.first())))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct MessageArgument {
    /// What the user is asked.
    message: String,
}

async fn elicitation(context: Context, it: MessageArgument) -> Result<String, Failure> {
    let schema = json!({
        "type": "object",
        "properties": {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        "required": ["username", "email"],
    });
    let answer = context.elicit(form(&it.message, schema)).await?;
    Ok(format!("User response: {}", said(&answer)))
}

async fn completed(context: &Context, schema: Value) -> Result<String, Failure> {
    let answer = context
        .elicit(form("Please fill in the form", schema))
        .await?;
    let action = json!(answer.action);
    let content = answer.content.map(|it| it.to_string()).unwrap_or_default();
    let action = action.as_str().unwrap_or_default();
    Ok(format!(
        "Elicitation completed: action={action}, content={content}"
    ))
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "User name", "default": "John Doe"},
            "age": {"type": "integer", "description": "User age", "default": 30},
            "score": {"type": "number", "description": "User score", "default": 95.5},
            "status": {
                "type": "string",
                "description": "User status",
                "enum": ["active", "inactive", "pending"],
                "default": "active",
            },
            "verified": {"type": "boolean", "description": "Is verified", "default": true},
        },
        "required": [],
    })
}

fn choices() -> Value {
    let plain = ["option1", "option2", "option3"];
    let titled = |noun: &str| {
        json!([
            {"const": "value1", "title": format!("First {noun}")},
            {"const": "value2", "title": format!("Second {noun}")},
            {"const": "value3", "title": format!("Third {noun}")},
        ])
    };
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": {"type": "string", "enum": plain},
            "titledSingle": {"type": "string", "oneOf": titled("Option")},
            "legacyEnum": {
                "type": "string",
                "enum": ["opt1", "opt2", "opt3"],
                "enumNames": ["Option One", "Option Two", "Option Three"],
            },
            "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
            "titledMulti": {"type": "array", "items": {"anyOf": titled("Choice")}},
        },
        "required": [],
    })
}

/// Asks for a name under a key.
async fn name(context: &Context, key: &str, question: &str) -> Result<String, Failure> {
    let answer = context
        .named(key)
        .elicit(form(question, one("name", "string")))
        .await?;
    Ok(field(&answer, "name"))
}

/// A form with one required field.
pub(super) fn one(field: &str, kind: &str) -> Value {
    json!({"type": "object", "properties": {field: {"type": kind}}, "required": [field]})
}

pub(super) fn form(message: &str, schema: Value) -> ElicitParams {
    ElicitParams {
        message: message.to_owned(),
        requested_schema: Some(Json::from(schema)),
        ..ElicitParams::default()
    }
}

fn message(question: &str, max_tokens: i64) -> CreateMessageParams {
    let asked = SamplingMessage::new("user", Content::text(question));
    CreateMessageParams {
        messages: vec![asked].into(),
        max_tokens,
        ..CreateMessageParams::default()
    }
}

pub(super) fn said(answer: &ElicitResult) -> String {
    let content = answer
        .content
        .as_ref()
        .map(Json::to_string)
        .unwrap_or_default();
    format!("action: {}, content: {content}", json!(answer.action))
}

/// A field of the user's answer as text.
pub(super) fn field(answer: &ElicitResult, name: &str) -> String {
    let content = answer
        .content
        .as_ref()
        .and_then(|it| it.to_value().ok())
        .unwrap_or_default();
    match content.get(name) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

fn text(block: Option<&Content>) -> String {
    block
        .and_then(Content::as_text)
        .unwrap_or_default()
        .to_owned()
}
