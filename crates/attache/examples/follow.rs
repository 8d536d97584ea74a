//! Follows a host and prints everything that a face sees of a call:
//! `cargo run --example follow -- node server.js`
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
    let server = Server::stdio(program, &arguments).inherit_environment();
    let host = Host::builder().server("one", server).start();

    // The snapshot and the events after it belong together: nothing is missed in between.
    let (mut snapshot, mut events) = host.follow();
    let following = tokio::spawn(async move {
        while let Some(event) = events.next().await {
            snapshot.apply(&event);
            println!("{}", json!(*event));
        }
        snapshot
    });
    let mut frames = host.frames();
    let watching = tokio::spawn(async move {
        while let Some(frame) = frames.next().await {
            println!("{}", json!(frame));
        }
    });
    let call = host.call("one/echo", json!({"message": "hello"}));
    let answer = call.origin(CallOrigin::Person).await?;
    println!("{}", answer.text());
    host.close().await;
    drop(host);
    watching.await?;
    for request in following.await?.recent {
        let about = request.about.unwrap_or_default();
        println!("{} {about} took {} ms", request.method, request.after_ms);
    }
    Ok(())
}
