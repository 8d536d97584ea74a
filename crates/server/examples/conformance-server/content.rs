//! Content of every kind: tools that answer at once, resources, prompts.

use attache_server::protocol::{Content, EmbeddedResource, Json, MediaContent, ResourceContents};
use attache_server::{
    Context, Failure, NoArguments, Prompt, PromptArguments, Reading, Resource, ServerBuilder,
    Template, Tool, Typed, schemars, user_message,
};
use serde_json::json;

/// A red pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// A sound without a sample.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

pub(super) fn register(builder: ServerBuilder) -> ServerBuilder {
    prompts(resources(tools(builder)))
}

fn tools(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(fixed("test_simple_text", "Answers with text.", || {
            vec![Content::text("This is a simple text response for testing.")]
        }))
        .tool(fixed(
            "test_image_content",
            "Answers with an image.",
            || vec![image()],
        ))
        .tool(fixed("test_audio_content", "Answers with a sound.", || {
            vec![Content::Audio(MediaContent::new(WAV, "audio/wav"))]
        }))
        .tool(fixed(
            "test_embedded_resource",
            "Answers with a resource.",
            || {
                let text = "This is an embedded resource content.";
                vec![embedded("test://embedded-resource", "text/plain", text)]
            },
        ))
        .tool(fixed(
            "test_multiple_content_types",
            "Answers with several kinds.",
            || {
                let text = r#"{"test":"data","value":123}"#;
                vec![
                    Content::text("Multiple content types test:"),
                    image(),
                    embedded("test://mixed-content-resource", "application/json", text),
                ]
            },
        ))
        .tool(Tool::new(
            "test_error_handling",
            "Always fails.",
            |_, _: NoArguments| async {
                let text = "This tool intentionally returns an error for testing";
                Err::<String, _>(Failure::new(text))
            },
        ))
        .tool(Tool::raw(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            rich_schema(),
            |_, arguments: Json| async move { Ok(arguments.to_string()) },
        ))
        .tool(Tool::new(
            "greet",
            "Greets somebody.",
            |_, it: Greeting| async move {
                Ok(format!("Hello, {}!", it.name.as_deref().unwrap_or("World")))
            },
        ))
        .tool(Tool::raw(
            "test_x_mcp_header",
            "Has an argument that clients mirror into a header.",
            Json::from(json!({
                "type": "object",
                "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
            })),
            |_, arguments: Json| async move { Ok(arguments.to_string()) },
        ))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Greeting {
    /// Who is greeted.
    name: Option<String>,
}

/// A tool that always answers the same.
fn fixed(name: &str, description: &str, content: fn() -> Vec<Content>) -> Tool {
    Tool::new(name, description, move |_, _: NoArguments| async move {
        Ok(content())
    })
}

fn image() -> Content {
    Content::Image(MediaContent::new(PNG, "image/png"))
}

fn embedded(uri: &str, mime_type: &str, text: &str) -> Content {
    let mut resource = ResourceContents::text(uri, text);
    resource.mime_type = Some(mime_type.to_owned());
    Content::Resource(EmbeddedResource {
        resource,
        annotations: None,
        meta: None,
        extra: Default::default(),
    })
}

fn rich_schema() -> Json {
    Json::from(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    }))
}

fn resources(builder: ServerBuilder) -> ServerBuilder {
    builder
        .resource(
            Resource::new(
                "test://static-text",
                "static-text",
                |_, it: Reading| async move {
                    Ok(it.text(
                        "text/plain",
                        "This is the content of the static text resource.",
                    ))
                },
            )
            .describe(|it| {
                it.description = Some("Text that never changes.".to_owned());
                it.mime_type = Some("text/plain".to_owned());
            }),
        )
        .resource(
            Resource::new(
                "test://static-binary",
                "static-binary",
                |_, it: Reading| async move { Ok(it.blob("image/png", PNG)) },
            )
            .describe(|it| {
                it.description = Some("An image that never changes.".to_owned());
                it.mime_type = Some("image/png".to_owned());
            }),
        )
        .resource(
            Resource::new(
                "test://watched-resource",
                "watched",
                |_, it: Reading| async move { Ok(it.text("text/plain", "Watch me.")) },
            )
            .describe(|it| it.description = Some("A resource to watch.".to_owned())),
        )
        .template(
            Template::new(
                "test://template/{id}/data",
                "template",
                |_, it: Reading| async move {
                    let id = it.variable("id");
                    let data = format!("Data for ID: {id}");
                    let text = json!({"id": id, "templateTest": true, "data": data}).to_string();
                    Ok(it.text("application/json", text))
                },
            )
            .describe(|it| it.description = Some("Data by number.".to_owned())),
        )
}

fn prompts(builder: ServerBuilder) -> ServerBuilder {
    builder
        .prompt(Prompt::new(
            "test_simple_prompt",
            "Takes nothing.",
            |_, _| async { Ok("This is a simple prompt for testing.".to_owned()) },
        ))
        .prompt(
            Prompt::new(
                "test_prompt_with_arguments",
                "Takes two arguments.",
                with_arguments,
            )
            .required("arg1", "The first argument.")
            .required("arg2", "The second argument.")
            .complete("arg1", |typed: Typed| async move {
                let known = ["paris", "park", "party", "test"].map(str::to_owned);
                Ok(known
                    .into_iter()
                    .filter(|it| it.starts_with(&typed.value))
                    .collect())
            }),
        )
        .prompt(
            Prompt::new(
                "test_prompt_with_embedded_resource",
                "Embeds a resource.",
                with_resource,
            )
            .required("resourceUri", "Which resource."),
        )
        .prompt(Prompt::new(
            "test_prompt_with_image",
            "Shows an image.",
            |_, _| async {
                Ok(vec![
                    user_message(image()),
                    user_message(Content::text("Please analyze the image above.")),
                ])
            },
        ))
}

async fn with_arguments(_: Context, it: PromptArguments) -> Result<String, Failure> {
    let (first, second) = (&it["arg1"], &it["arg2"]);
    Ok(format!(
        "Prompt with arguments: arg1='{first}', arg2='{second}'"
    ))
}

async fn with_resource(
    _: Context,
    it: PromptArguments,
) -> Result<Vec<attache_server::protocol::PromptMessage>, Failure> {
    let text = "Embedded resource content for testing.";
    Ok(vec![
        user_message(embedded(&it["resourceUri"], "text/plain", text)),
        user_message(Content::text("Please process the embedded resource above.")),
    ])
}
