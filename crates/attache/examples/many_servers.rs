//! Uses the same server twice, and one that does not exist, as one host:
//! `cargo run --example many_servers -- node server.js`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;

use attache::host::policy::CallOrigin;
use attache::{Host, Server, json};

fn main() -> Result<(), Box<dyn Error>> {
    attache::process::guardian::enable();
    let mut command = std::env::args().skip(1);
    let Some(program) = command.next() else {
        return Err("give the command that starts a server".into());
    };
    let arguments: Vec<String> = command.collect();
    tokio::runtime::Runtime::new()?.block_on(run(program, arguments))
}

async fn run(program: String, arguments: Vec<String>) -> Result<(), Box<dyn Error>> {
    let mut host = Host::builder();
    for (name, command) in [
        ("one", program.as_str()),
        ("two", program.as_str()),
        ("missing", "no-such-program"),
    ] {
        host = host.server(
            name,
            Server::stdio(command, &arguments).inherit_environment(),
        );
    }
    let host = host.start();

    let tools = host.list_tools().await?;
    for tool in &tools.entries {
        println!("{}", tool.qualified);
    }
    for server in host.snapshot().servers {
        println!("{}: {}", server.name, server.state.as_str());
    }
    let answer = host
        .call("two/echo", json!({"message": "hello from two"}))
        .origin(CallOrigin::Person)
        .await?;
    println!("{}", answer.text());
    host.close().await;
    Ok(())
}
