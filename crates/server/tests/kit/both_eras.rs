//! This project's own client against servers of the kit, over memory and stdio.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use attache_client::protocol::{CompletionReference, Revision, SubscriptionFilter};
use attache_client::{Change, Client, EraChoice};
use attache_server::{
    Context, EndReason, NoArguments, Prompt, Resource, Server, ServerBuilder, Template, Tool, Typed,
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::support::example;

/// A server with one of everything.
fn everything() -> ServerBuilder {
    Server::builder("everything", "1.0")
        .instructions("Use it.")
        .logging()
        .list_changes()
        .subscriptions()
        .limits(|it| it.page_size = 1)
        .tool(Tool::new(
            "steps",
            "Takes steps.",
            |context: Context, _: NoArguments| async move {
                for step in 1..=3_u32 {
                    context.progress(step.into(), Some(3.0));
                    tokio::task::yield_now().await;
                }
                Ok("arrived")
            },
        ))
        .tool(Tool::new(
            "touch",
            "Changes a resource.",
            |context: Context, _: NoArguments| async move {
                context.changes().resource_updated("a://one");
                Ok("touched")
            },
        ))
        .tool(Tool::new(
            "grow",
            "Adds a tool.",
            |context: Context, _: NoArguments| async move {
                let grown = Tool::new("grown", "New.", |_, _: NoArguments| async { Ok("new") });
                context.changes().change(|registry| {
                    registry.add_tool(grown);
                })?;
                Ok("grown")
            },
        ))
        .resource(Resource::new("a://one", "one", |_, it| async move {
            Ok(it.text("text/plain", "1"))
        }))
        .template(
            Template::new("a://number/{n}", "number", |_, it| async move {
                let n = it.variable("n").to_owned();
                Ok(it.text("text/plain", n))
            })
            .complete("n", |typed: Typed| async move {
                Ok(vec![format!("{}0", typed.value)])
            }),
        )
        .prompt(
            Prompt::new("greet", "Greets.", |_, it| async move {
                Ok(format!("Greet {}", it["who"]))
            })
            .required("who", "Whom to greet."),
        )
}

async fn connect(server: &Server, era: EraChoice) -> (Client, JoinHandle<EndReason>) {
    let (description, stream) = attache_client::Server::memory();
    let (read, write) = tokio::io::split(stream);
    let server = server.clone();
    let serving = tokio::spawn(async move { server.serve(read, write).await });
    (description.era(era).connect().await.unwrap(), serving)
}

// X-STDIO-17.
#[tokio::test]
async fn everything_works_in_both_eras_over_memory() {
    for (era, revision) in [
        (EraChoice::Legacy, Revision::V2025_11_25),
        (EraChoice::Modern, Revision::V2026_07_28),
        (EraChoice::Auto, Revision::V2026_07_28),
    ] {
        let server = everything().build().unwrap();
        let (client, serving) = connect(&server, era).await;
        assert_eq!(client.revision(), revision);
        assert_eq!(client.instructions(), Some("Use it."));
        assert_eq!(client.server().unwrap().name, "everything");

        let tools = client.list_tools().await.unwrap();
        let names: Vec<_> = tools.iter().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["steps", "touch", "grow"], "three pages, in order");
        assert_eq!(client.list_resources().await.unwrap().len(), 1);
        assert_eq!(client.list_templates().await.unwrap().len(), 1);
        assert_eq!(client.list_prompts().await.unwrap().len(), 1);

        let steps = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&steps);
        let answer = client
            .call("steps", json!({}))
            .on_progress(move |it| seen.lock().unwrap().push(it.progress))
            .await
            .unwrap();
        assert_eq!(answer.text(), "arrived");
        assert_eq!(*steps.lock().unwrap(), [1.0, 2.0, 3.0]);

        let read = client.read("a://number/42").await.unwrap();
        assert_eq!(read.contents[0].text.as_deref(), Some("42"));
        let prompt = client.prompt("greet", [("who", "Ada")]).await.unwrap();
        assert_eq!(prompt.messages[0].content.as_text(), Some("Greet Ada"));
        let reference = CompletionReference::resource("a://number/{n}");
        let found = client
            .complete(reference, "n", "7", Default::default())
            .await
            .unwrap();
        assert_eq!(found.values, ["70"]);

        client.close().await;
        assert_eq!(serving.await.unwrap(), EndReason::EndOfInput, "{era:?}");
    }
}

#[tokio::test]
async fn changes_reach_those_who_watch_in_both_eras() {
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let server = everything().build().unwrap();
        let (client, _serving) = connect(&server, era).await;
        let mut watch = client.watch("a://one").await.unwrap();
        client.call("touch", json!({})).await.unwrap();
        let change = tokio::time::timeout(Duration::from_secs(10), watch.next())
            .await
            .unwrap();
        assert!(
            matches!(change, Some(Change::Resource { ref uri, .. }) if uri == "a://one"),
            "{change:?}"
        );

        let wanted = SubscriptionFilter {
            tools_list_changed: true,
            ..SubscriptionFilter::default()
        };
        let mut lists = client.watch_all(wanted).await.unwrap();
        client.call("grow", json!({})).await.unwrap();
        let change = tokio::time::timeout(Duration::from_secs(10), lists.next())
            .await
            .unwrap();
        assert!(matches!(change, Some(Change::Tools)), "{change:?}");
        assert_eq!(client.call("grown", json!({})).await.unwrap().text(), "new");
        client.close().await;
    }
}

#[tokio::test]
async fn a_real_process_is_served_in_both_eras() {
    for era in [EraChoice::Legacy, EraChoice::Modern] {
        let client = attache_client::Server::stdio(example("calculator"), [] as [&str; 0])
            .era(era)
            .connect()
            .await
            .unwrap();
        let calls = (1..=200_u32)
            .map(|divisor| client.call("divide", json!({"dividend": 1, "divisor": divisor})));
        for (divisor, call) in (1..=200_u32).zip(calls.collect::<Vec<_>>()) {
            let answer = call.await.unwrap();
            assert_eq!(answer.text(), (1.0 / f64::from(divisor)).to_string());
        }
        let failed = client.call("divide", json!({"dividend": 1})).await.unwrap();
        assert!(failed.is_error);
        client.close().await;
    }
}
