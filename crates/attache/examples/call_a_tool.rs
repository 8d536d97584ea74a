//! Calls the tool `echo` and looks at every kind of answer:
//! `cargo run --example call_a_tool -- node server.js`
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::time::Duration;

use attache::protocol::Content;
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
    let answer = client
        .call("echo", json!({"message": "Grüße"}))
        .timeout(Duration::from_secs(10))
        .on_progress(|note| println!("{} of {:?}", note.progress, note.total))
        .await?
        .into_result()?;
    for block in &answer.content {
        match block {
            Content::Text(text) => println!("{}", text.text),
            Content::Image(image) => println!("an image of type {}", image.mime_type),
            other => println!("a block of the kind {}", other.kind()),
        }
    }
    client.close().await;
    println!("{}", client.statistics().calls);
    Ok(())
}
