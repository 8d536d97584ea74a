//! A server with one tool over stdio: the program of the crate's own documentation.
//!
//! Try it: `printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"ping"}' | cargo run --example calculator`

use attache_server::{Failure, Server, Tool, schemars};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Division {
    /// What is divided.
    dividend: f64,
    /// What it is divided by.
    divisor: f64,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let divide = Tool::new(
        "divide",
        "Divides two numbers.",
        |_, it: Division| async move {
            if it.divisor == 0.0 {
                return Err(Failure::new("nothing can be divided by zero"));
            }
            Ok((it.dividend / it.divisor).to_string())
        },
    );
    let server = Server::builder("calculator", "1.0.0")
        .tool(divide)
        .build()?;
    server.serve_stdio().await?;
    Ok(())
}
