//! Tools that tell something while they run: progress, logs, changes.

use std::time::Duration;

use attache_server::protocol::LogLevel;
use attache_server::{Context, NoArguments, ServerBuilder, Tool};
use tokio::time::sleep;

const PAUSE: Duration = Duration::from_millis(50);

pub(super) fn register(builder: ServerBuilder) -> ServerBuilder {
    builder
        .tool(Tool::new(
            "test_tool_with_logging",
            "Logs while it runs.",
            logging,
        ))
        .tool(Tool::new(
            "test_logging_tool",
            "Logs while it runs.",
            logging,
        ))
        .tool(Tool::new(
            "test_tool_with_progress",
            "Tells its progress.",
            progress,
        ))
        .tool(Tool::new(
            "test_reconnection",
            "Lets its stream be closed.",
            reconnection,
        ))
        .tool(Tool::new(
            "test_trigger_tool_change",
            "Says that the list of tools has changed.",
            |context: Context, _: NoArguments| async move {
                context.changes().tools_changed();
                Ok("announced")
            },
        ))
        .tool(Tool::new(
            "test_trigger_prompt_change",
            "Says that the list of prompts has changed.",
            |context: Context, _: NoArguments| async move {
                context.changes().prompts_changed();
                Ok("announced")
            },
        ))
}

async fn logging(
    context: Context,
    _: NoArguments,
) -> Result<&'static str, attache_server::Failure> {
    context.log(LogLevel::Info, "Tool execution started");
    sleep(PAUSE).await;
    context.log(LogLevel::Info, "Tool processing data");
    sleep(PAUSE).await;
    context.log(LogLevel::Info, "Tool execution completed");
    Ok("Three messages were logged.")
}

async fn progress(
    context: Context,
    _: NoArguments,
) -> Result<&'static str, attache_server::Failure> {
    context.progress(0.0, Some(100.0));
    sleep(PAUSE).await;
    context.progress(50.0, Some(100.0));
    sleep(PAUSE).await;
    context.progress(100.0, Some(100.0));
    Ok("The work is done.")
}

/// Closes its stream in the middle; the client comes back for the answer.
async fn reconnection(
    context: Context,
    _: NoArguments,
) -> Result<&'static str, attache_server::Failure> {
    context.interrupt_stream();
    sleep(2 * PAUSE).await;
    Ok("The answer came after the stream was closed.")
}
