//! Makes a hundred calls at once over one connection:
//! `cargo run --example many_calls -- node server.js`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::future::IntoFuture as _;

use attache::{Server, json};

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
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..100 {
        let message = format!("message {number}");
        calls.spawn(
            client
                .call("echo", json!({ "message": message }))
                .into_future(),
        );
    }
    let mut answered = 0;
    while let Some(answer) = calls.join_next().await {
        answer??;
        answered += 1;
    }
    println!("{answered} answers");
    client.close().await;
    Ok(())
}
