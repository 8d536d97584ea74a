//! Tools that run as tasks.

use std::time::Duration;

use attache_server::{
    Context, Failure, NoArguments, ServerBuilder, TaskStart, TaskSupport, Tool, schemars,
};
use tokio::time::sleep;

use super::asking::{field, form, one, said};

pub(super) fn register(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::new("slow_compute", "Takes its time.", slow).tasks(TaskSupport::Optional))
        .tool(
            Tool::new("failing_job", "Fails after a while.", failing).tasks(TaskSupport::Required),
        )
        .tool(Tool::new("protocol_error_job", "Breaks.", breaking).tasks(TaskSupport::Optional))
        .tool(Tool::new("confirm_delete", "Asks first.", confirm).tasks(TaskSupport::Optional))
        .tool(Tool::new("multi_input", "Asks two at once.", two).tasks(TaskSupport::Optional))
        .tool(
            Tool::new(
                "test_tool_with_task",
                "Asks, then goes on as a task.",
                ask_then_work,
            )
            .tasks(TaskSupport::Required)
            .task_start(TaskStart::WhenDetached),
        )
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Slow {
    /// How long it takes.
    seconds: Option<f64>,
}

async fn slow(_: Context, it: Slow) -> Result<String, Failure> {
    let seconds = it.seconds.unwrap_or(1.0).clamp(0.0, 60.0);
    sleep(Duration::from_secs_f64(seconds)).await;
    Ok(format!("Computed for {seconds} seconds"))
}

async fn failing(_: Context, _: NoArguments) -> Result<String, Failure> {
    sleep(Duration::from_secs(1)).await;
    Err(Failure::new("This job always fails"))
}

async fn breaking(_: Context, _: NoArguments) -> Result<String, Failure> {
    sleep(Duration::from_millis(50)).await;
    Err(Failure::internal("This job breaks"))
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Deletion {
    /// What is deleted.
    filename: Option<String>,
}

async fn confirm(context: Context, it: Deletion) -> Result<String, Failure> {
    let name = it.filename.unwrap_or_else(|| "file".to_owned());
    let question = form(&format!("Delete {name}?"), one("confirm", "boolean"));
    let answer = context.elicit(question).await?;
    Ok(format!("{name}: {}", said(&answer)))
}

async fn two(context: Context, _: NoArguments) -> Result<String, Failure> {
    let (first, second) = tokio::join!(
        context.elicit(form("Who are you?", one("name", "string"))),
        context.elicit(form("Are you sure?", one("confirm", "boolean"))),
    );
    Ok(format!("{}, {}", said(&first?), said(&second?)))
}

async fn ask_then_work(context: Context, _: NoArguments) -> Result<String, Failure> {
    let question = form("What is your name?", one("name", "string"));
    let answer = context.named("user_name").elicit(question).await?;
    context.detach().await;
    sleep(Duration::from_millis(50)).await;
    Ok(format!("The work for {} is done", field(&answer, "name")))
}
