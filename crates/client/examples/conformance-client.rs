//! The client that the official conformance suite drives. Not part of the product.
//!
//! Its contract: the address is the last argument, `MCP_CONFORMANCE_SCENARIO` names the scenario,
//! `MCP_CONFORMANCE_PROTOCOL_VERSION` the revision, `MCP_CONFORMANCE_CONTEXT` holds JSON where a
//! scenario needs more. It exits with 0 when it has done what the scenario asks for.

use std::error::Error as StdError;
use std::process::ExitCode;

use attache_client::protocol::{Content, ElicitParams, ElicitResult, Json, Revision, Root};
use attache_client::{Client, ElicitationModes, EraChoice, Refusal, SamplingTools, Server};
use attache_view::form::Form;
use serde_json::{Value, json};

#[path = "conformance-client/authorization.rs"]
mod authorization;

type Outcome = Result<(), Box<dyn StdError + Send + Sync>>;

/// What a scenario needs from the outside.
struct Task {
    scenario: String,
    address: String,
    revision: Option<Revision>,
    context: Value,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(
                clippy::print_stderr,
                reason = "the suite shows it with a failed scenario"
            )]
            {
                eprintln!("{error}");
            }
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Outcome {
    let variable = |name: &str| std::env::var(format!("MCP_CONFORMANCE_{name}")).ok();
    let task = Task {
        scenario: variable("SCENARIO").ok_or("MCP_CONFORMANCE_SCENARIO is not set")?,
        address: std::env::args().next_back().ok_or("no address given")?,
        revision: variable("PROTOCOL_VERSION").and_then(|version| version.parse().ok()),
        context: variable("CONTEXT")
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
    };
    let client = server(&task)?.connect().await?;
    let done = act(&task, &client).await;
    client.close().await;
    done
}

/// The server of a scenario, with the settings the scenario needs.
fn server(task: &Task) -> Result<Server, Box<dyn StdError + Send + Sync>> {
    let mut server = Server::http(&task.address)
        .identity("attache-conformance", env!("CARGO_PKG_VERSION"))
        .era(EraChoice::Auto)
        .roots([Root::new("file:///tmp")])
        .on_sampling(SamplingTools::Refused, |_| async {
            Err(Refusal::new("there is no model in this test"))
        })
        .on_elicitation(ElicitationModes::Form, accept_defaults);
    if task.scenario.starts_with("auth/") {
        let (scenario, address) = (&task.scenario, &task.address);
        server = server.authorizer(authorization::authorizer(
            scenario,
            address,
            task.revision,
            &task.context,
        )?);
    }
    Ok(match task.revision {
        Some(revision) => server.protocol(revision),
        None => server,
    })
}

/// Accepts a form with the defaults it names.
async fn accept_defaults(asked: ElicitParams) -> ElicitResult {
    let form = asked.requested_schema.as_ref().map(Form::new);
    ElicitResult::accept(form.unwrap_or_else(Form::empty).defaults())
}

/// What a client does in a scenario.
async fn act(task: &Task, client: &Client) -> Outcome {
    match task.scenario.as_str() {
        "tools_call" => call(client, "add_numbers", json!({"a": 5, "b": 3})).await,
        "elicitation-sep1034-client-defaults" => {
            call(client, "test_client_elicitation_defaults", json!({})).await
        }
        "sse-retry" => call(client, "test_reconnection", json!({})).await,
        "sep-2322-client-request-state" => ask_back(client).await,
        "http-standard-headers" => look_at_everything(client).await,
        "http-custom-headers" => call_as_told(task, client).await,
        "http-invalid-tool-headers" => call_all(client).await,
        "json-schema-2020-12-preservation" => echo_schema(client).await,
        scenario if scenario.starts_with("auth/") => call(client, "test-tool", json!({})).await,
        _ => {
            client.list_tools().await?;
            Ok(())
        }
    }
}

async fn call(client: &Client, tool: &str, arguments: Value) -> Outcome {
    client.list_tools().await?;
    client.call(tool, arguments).await?.into_result()?;
    Ok(())
}

async fn ask_back(client: &Client) -> Outcome {
    client.list_tools().await?;
    let state = client.call("test_mrtr_echo_state", json!({}));
    let unrelated = client.call("test_mrtr_unrelated", json!({}));
    let (state, unrelated) = tokio::join!(state.into_future(), unrelated.into_future());
    state?;
    unrelated?;
    client.call("test_mrtr_no_state", json!({})).await?;
    client.call("test_mrtr_no_result_type", json!({})).await?;
    Ok(())
}

async fn look_at_everything(client: &Client) -> Outcome {
    call_all(client).await?;
    for resource in &client.list_resources().await? {
        client.read(&resource.uri).await?;
    }
    for prompt in &client.list_prompts().await? {
        let arguments: [(&str, &str); 0] = [];
        client.prompt(&prompt.name, arguments).await?;
    }
    Ok(())
}

/// Calls every tool of the list, with something for every argument it requires.
async fn call_all(client: &Client) -> Outcome {
    for tool in &client.list_tools().await? {
        let schema: Value = serde_json::from_str(&tool.schema())?;
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let arguments: serde_json::Map<_, _> = required
            .iter()
            .filter_map(Value::as_str)
            .map(|name| {
                let value = match schema["properties"][name]["type"].as_str() {
                    Some("integer" | "number") => json!(1),
                    Some("boolean") => json!(true),
                    _ => json!("value"),
                };
                (name.to_owned(), value)
            })
            .collect();
        client.call(&tool.name, arguments).await?;
    }
    Ok(())
}

/// Makes the calls that the context names.
async fn call_as_told(task: &Task, client: &Client) -> Outcome {
    client.list_tools().await?;
    let calls = task.context["toolCalls"].as_array();
    for told in calls.ok_or("the context names no calls")? {
        let tool = told["name"].as_str().ok_or("a call without a name")?;
        client.call(tool, &told["arguments"]).await?;
    }
    Ok(())
}

/// Gives a schema back as it came.
async fn echo_schema(client: &Client) -> Outcome {
    let tools = client.list_tools().await?;
    let tool = tools.by_name("json_schema_2020_12_tool");
    let schema = tool.and_then(|tool| tool.input_schema.clone());
    let schema: Json = schema.ok_or("the tool is not listed")?;
    let answer = client
        .call("json_schema_echo", json!({ "schema": schema.to_value()? }))
        .await?;
    match answer.content.iter().find_map(Content::as_text) {
        Some(_) => Ok(()),
        None => Err("the echo says nothing".into()),
    }
}
