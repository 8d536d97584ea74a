//! Lists the tools of a server over all pages, and finds one by its name:
//! `cargo run --example list_tools -- node server.js`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;

use attache::Server;

fn main() -> Result<(), Box<dyn Error>> {
    attache::process::guardian::enable();
    let mut command = std::env::args_os().skip(1);
    let Some(program) = command.next() else {
        return Err("give the command that starts a server".into());
    };
    let server = Server::stdio(program, command).inherit_environment();
    tokio::runtime::Runtime::new()?.block_on(run(server))
}

async fn run(server: Server) -> Result<(), Box<dyn Error>> {
    let client = server.connect().await?;
    let tools = client.list_tools().await?;
    for tool in &tools {
        println!(
            "{}: {}",
            tool.name,
            tool.description.as_deref().unwrap_or("-")
        );
    }
    for rejected in &tools.rejected {
        println!("malformed ({}): {}", rejected.reason, rejected.raw);
    }
    if let Some(echo) = tools.by_name("echo") {
        println!("arguments of {}: {}", echo.display_name(), echo.schema());
    }
    client.close().await;
    Ok(())
}
