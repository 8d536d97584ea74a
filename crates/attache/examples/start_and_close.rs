//! Starts a server, says what it is, and stops it:
//! `cargo run --example start_and_close -- node server.js`
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
    let name = client.server().map_or("a server", |server| &server.name);
    println!("{name} speaks {}", client.revision());
    if let Some(exit) = client.close().await {
        println!("it {exit}");
    }
    Ok(())
}
