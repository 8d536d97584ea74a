//! A server whose handlers do what they should not: they print, panic, block, and start children
//! that read and write. A test program; the protocol survives all of it.

use std::process::Command;
use std::time::Duration;

use attache_server::{Context, Failure, NoArguments, Server, Tool, schemars};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Milliseconds {
    milliseconds: u64,
}

#[expect(clippy::print_stdout, reason = "that is what this program is about")]
#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Server::builder("odd", "1.0")
        .tool(Tool::new("print", "Prints.", |_, _: NoArguments| async {
            println!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{}}}}");
            print!("no line end");
            Ok("printed")
        }))
        .tool(Tool::new(
            "child",
            "Starts a child.",
            |_, _: NoArguments| async {
                let status = Command::new("sh")
                    .args(["-c", "echo noise; cat"])
                    .status()?;
                Ok(format!("the child succeeded: {}", status.success()))
            },
        ))
        .tool(Tool::new("panic", "Panics.", |_, _: NoArguments| async {
            panics()
        }))
        .tool(Tool::blocking(
            "block",
            "Blocks.",
            |_: &Context, it: Milliseconds| {
                std::thread::sleep(Duration::from_millis(it.milliseconds));
                Ok("awake")
            },
        ))
        .tool(Tool::new(
            "sleep",
            "Sleeps.",
            |_, it: Milliseconds| async move {
                tokio::time::sleep(Duration::from_millis(it.milliseconds)).await;
                Ok("awake")
            },
        ))
        .build()?;
    server.serve_stdio().await?;
    Ok(())
}

fn panics() -> Result<String, Failure> {
    panic!("on purpose")
}
