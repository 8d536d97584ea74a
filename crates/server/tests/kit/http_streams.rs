//! Legacy sessions over real sockets: streams, coming back to them, and their end.

use std::sync::Arc;
use std::time::Duration;

use attache_server::http::HttpSettings;
use attache_server::protocol::{ElicitParams, LogLevel};
use attache_server::{Context, NoArguments, Server, Tool};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::http_client::{Answered, Post, start};
use crate::support::{call, hello, initialize, modern, text};

struct Session {
    address: std::net::SocketAddr,
    id: String,
}

impl Session {
    async fn open(server: &Server, settings: HttpSettings, capabilities: Value) -> Self {
        let address = start(server, settings).await;
        Self::at(address, "2025-11-25", capabilities).await
    }

    async fn at(address: std::net::SocketAddr, revision: &str, capabilities: Value) -> Self {
        let opened = Post::legacy(&initialize(revision, capabilities))
            .send(address)
            .await;
        assert_eq!(opened.status, 200);
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        Self { address, id }
    }

    async fn post(&self, message: &Value) -> Answered {
        Post::legacy(message)
            .header("mcp-session-id", &self.id)
            .send(self.address)
            .await
    }

    async fn get(&self, last_event: Option<&str>) -> Answered {
        let mut get = Post::method("GET")
            .header("accept", "text/event-stream")
            .header("mcp-session-id", &self.id);
        if let Some(last_event) = last_event {
            get = get.header("last-event-id", last_event);
        }
        get.send(self.address).await
    }
}

fn with_token(mut request: Value) -> Value {
    request["params"]["_meta"]["progressToken"] = json!("t");
    request
}

/// A tool that tells its progress each time the gate lets it.
fn gated(gate: &Arc<Semaphore>, steps: u32) -> Tool {
    let gate = Arc::clone(gate);
    Tool::new(
        "steps",
        "Takes steps.",
        move |context: Context, _: NoArguments| {
            let gate = Arc::clone(&gate);
            async move {
                for step in 1..=steps {
                    gate.acquire().await?.forget();
                    context.progress(step.into(), None);
                }
                gate.acquire().await?.forget();
                Ok("arrived")
            }
        },
    )
}

// S-SHL-08, S-SHL-12, S-SHL-13.
#[tokio::test]
async fn s_shl_20_to_22_a_client_comes_back_for_the_rest() {
    let gate = Arc::new(Semaphore::new(0));
    let server = hello().tool(gated(&gate, 3)).build().unwrap();
    let session = Session::open(&server, HttpSettings::default(), json!({})).await;
    gate.add_permits(2);
    let mut stream = session.post(&with_token(call(1, "steps", json!({})))).await;
    assert!(stream.is_stream());
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    // It begins with an id, no data, and when to come back (S-SHL-09, X-SHL-11).
    let opening = stream.event().await.unwrap();
    assert!(
        opening.starts_with("id: ") && opening.ends_with("data: "),
        "{opening}"
    );
    assert!(opening.contains("retry: 500"));
    let (first, news) = stream.message().await.unwrap();
    assert_eq!(news["params"]["progress"], 1.0);
    drop(stream);
    // Going away is no cancellation (S-SHL-14): the work goes on meanwhile.
    gate.add_permits(2);
    let mut again = session.get(first.as_deref()).await;
    assert_eq!(again.status, 200);
    for expected in [2.0, 3.0] {
        assert_eq!(
            again.message().await.unwrap().1["params"]["progress"],
            expected
        );
    }
    let (last, answer) = again.message().await.unwrap();
    assert_eq!(text(&answer), "arrived");
    assert_eq!(again.event().await, None, "the answer ends the stream");
    // Everything can be asked for once more, and nothing of other streams comes with it.
    let mut replayed = session.get(first.as_deref()).await;
    assert_eq!(
        replayed.message().await.unwrap().1["params"]["progress"],
        2.0
    );
    assert_eq!(session.get(last.as_deref()).await.event().await, None);
    assert_eq!(session.get(Some("77-1")).await.status, 400);
    assert_eq!(session.get(Some("nonsense")).await.status, 400);
}

#[tokio::test]
async fn a_stream_is_primed_where_the_revision_has_it() {
    let gate = Arc::new(Semaphore::new(10));
    let server = hello().tool(gated(&gate, 1)).build().unwrap();
    let address = start(&server, HttpSettings::default()).await;
    for (revision, primed) in [("2025-06-18", false), ("2025-11-25", true)] {
        let session = Session::at(address, revision, json!({})).await;
        let mut stream = session.post(&with_token(call(1, "steps", json!({})))).await;
        let opening = stream.event().await.unwrap();
        assert_eq!(opening.ends_with("data: "), primed, "{opening}");
    }
}

// S-SHL-07.
#[tokio::test]
async fn questions_travel_on_the_stream_of_their_request() {
    let ask = Tool::new(
        "ask",
        "Asks.",
        |context: Context, _: NoArguments| async move {
            let question = ElicitParams {
                message: "Who?".to_owned(),
                ..ElicitParams::default()
            };
            Ok(format!("{:?}", context.elicit(question).await?.action))
        },
    );
    let server = hello().tool(ask).build().unwrap();
    let session = Session::open(&server, HttpSettings::default(), json!({"elicitation": {}})).await;
    let mut stream = session.post(&call(1, "ask", json!({}))).await;
    let (_, question) = stream.message().await.unwrap();
    assert_eq!(question["method"], "elicitation/create");
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    let accepted = session.post(&reply).await;
    assert_eq!(accepted.status, 202);
    assert_eq!(accepted.header("content-length"), Some("0"));
    assert_eq!(text(&stream.message().await.unwrap().1), "Decline");
}

// S-SHL-01, S-SHL-17, S-PRM-06.
#[tokio::test]
async fn s_shl_18_and_19_news_of_no_request_use_the_one_general_stream() {
    let server = hello().list_changes().build().unwrap();
    let session = Session::open(&server, HttpSettings::default(), json!({})).await;
    // What happens before the stream is open waits for it.
    server.changes().tools_changed();
    let mut first = session.get(None).await;
    let (_, news) = first.message().await.unwrap();
    assert_eq!(news["method"], "notifications/tools/list_changed");
    // A second stream takes over; a message goes to one stream only.
    let mut second = session.get(None).await;
    assert_eq!(first.event().await, None);
    server.changes().prompts_changed();
    let (_, news) = second.message().await.unwrap();
    assert_eq!(news["method"], "notifications/prompts/list_changed");
    // The end of the session is the end of its streams.
    let deleted = Post::method("DELETE")
        .header("mcp-session-id", &session.id)
        .send(session.address)
        .await;
    assert_eq!(deleted.status, 204);
    assert_eq!(second.event().await, None);
}

#[tokio::test]
async fn s_shl_25_and_26_a_session_must_be_named_and_alive() {
    let server = hello().build().unwrap();
    let session = Session::open(&server, HttpSettings::default(), json!({})).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(Post::legacy(&list).send(session.address).await.status, 400);
    assert_eq!(session.post(&list).await.status, 200);
    let deleted = Post::method("DELETE")
        .header("mcp-session-id", &session.id)
        .send(session.address)
        .await;
    assert_eq!(deleted.status, 204);
    assert_eq!(session.post(&list).await.status, 404);
    assert_eq!(session.get(None).await.status, 404);
}

#[tokio::test]
async fn a_session_that_is_not_used_ends() {
    let mut settings = HttpSettings::default();
    settings.session_idle = Duration::from_millis(300);
    let address = start(&hello().build().unwrap(), settings).await;
    let open = || Post::legacy(&initialize("2025-11-25", json!({}))).send(address);
    let first = open().await;
    let id = first.header("mcp-session-id").unwrap().to_owned();
    // One whose stream is open is in use.
    let stream = Post::method("GET")
        .header("accept", "text/event-stream")
        .header("mcp-session-id", &id)
        .send(address)
        .await;
    tokio::time::sleep(Duration::from_millis(400)).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let used = Post::legacy(&list)
        .header("mcp-session-id", &id)
        .send(address)
        .await;
    assert_eq!(used.status, 200);
    drop(stream);
    tokio::time::sleep(Duration::from_millis(400)).await;
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    assert_eq!(
        Post::legacy(&list)
            .header("mcp-session-id", &id)
            .send(address)
            .await
            .status,
        404
    );
    assert_eq!(open().await.status, 200);
}

// X-PROG-04.
#[tokio::test]
async fn so_many_events_wait_for_a_client_that_does_not_read() {
    let chatty = Tool::new(
        "chatty",
        "Talks.",
        |context: Context, _: NoArguments| async move {
            for progress in 1..=100_u32 {
                context.progress(progress.into(), None);
            }
            Ok("done")
        },
    );
    let mut settings = HttpSettings::default();
    settings.max_events = 10;
    let session = Session::open(&hello().tool(chatty).build().unwrap(), settings, json!({})).await;
    let mut stream = session
        .post(&with_token(call(1, "chatty", json!({}))))
        .await;
    let mut news = 0;
    loop {
        let (_, message) = stream.message().await.unwrap();
        if message["id"] == 1 {
            break;
        }
        news += 1;
    }
    assert_eq!(news, 10, "the first ten found room, the answer always does");
}

// S-SHM-26.
#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let mut settings = HttpSettings::default();
    settings.keep_alive = Duration::from_millis(20);
    let session = Session::open(&hello().build().unwrap(), settings, json!({})).await;
    let mut stream = session.get(None).await;
    for _ in 0..3 {
        assert_eq!(stream.event().await.unwrap(), ": still here");
    }
}

// S-BATCH-03.
#[tokio::test]
async fn x_batch_01_batches_over_http() {
    let address = start(&hello().build().unwrap(), HttpSettings::default()).await;
    let session = Session::at(address, "2025-03-26", json!({})).await;
    let batch = json!([call(1, "hello", json!({})), {"jsonrpc": "2.0", "id": 2, "method": "ping"}]);
    let answers = session.post(&batch).await.json().await;
    assert_eq!(answers.as_array().unwrap().len(), 2);
    let told = json!([{"jsonrpc": "2.0", "method": "notifications/initialized"}]);
    assert_eq!(session.post(&told).await.status, 202);
}

/// A tool that tells its progress a hundred times, in messages of one length.
fn chatty() -> Tool {
    Tool::new(
        "chatty",
        "Talks.",
        |context: Context, _: NoArguments| async move {
            for progress in 101..=200_u32 {
                context.progress_with(progress.into(), None, &"x".repeat(100));
            }
            Ok("done")
        },
    )
}

#[tokio::test]
async fn so_many_bytes_wait_for_a_client_that_does_not_read() {
    let server = hello().tool(chatty()).build().unwrap();
    let mut length = 0_usize;
    // The first run learns how long a message is; the others put the limit at and beside it.
    for (messages, surplus) in [(100, 0), (5, 0), (6, 1), (5, -1)] {
        let mut settings = HttpSettings::default();
        if length > 0 {
            settings.max_event_bytes = (5 * length).saturating_add_signed(surplus);
        }
        let session = Session::open(&server, settings, json!({})).await;
        let mut stream = session
            .post(&with_token(call(1, "chatty", json!({}))))
            .await;
        let mut news = 0;
        let answer = loop {
            let (_, message) = stream.message().await.unwrap();
            if message["id"] == 1 {
                break message;
            }
            length = message.to_string().len();
            news += 1;
        };
        assert_eq!(news, messages, "{surplus} bytes beside five messages");
        assert_eq!(text(&answer), "done", "the answer always finds room");
    }
}

#[tokio::test]
async fn so_many_finished_streams_are_kept_for_clients_that_come_back() {
    let mut settings = HttpSettings::default();
    settings.max_streams = 2;
    let session = Session::open(
        &hello().tool(chatty()).build().unwrap(),
        settings,
        json!({}),
    )
    .await;
    let mut firsts = Vec::new();
    for id in 1..=3 {
        let mut stream = session
            .post(&with_token(call(id, "chatty", json!({}))))
            .await;
        firsts.push(stream.message().await.unwrap().0);
        while stream.event().await.is_some() {}
    }
    // The third made room for itself; the second is there as a whole.
    assert_eq!(session.get(firsts[0].as_deref()).await.status, 400);
    for (first, id) in [(&firsts[1], 2), (&firsts[2], 3)] {
        let mut again = session.get(first.as_deref()).await;
        assert_eq!(again.status, 200);
        let mut last = Value::Null;
        while let Some((_, message)) = again.message().await {
            last = message;
        }
        assert_eq!(last["id"], id);
    }
}

#[tokio::test]
async fn a_subscription_that_does_not_keep_up_ends() {
    let mut settings = HttpSettings::default();
    settings.max_events = 5;
    let server = hello().list_changes().build().unwrap();
    let address = start(&server, settings).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = modern("sub", "subscriptions/listen", filter);
    let mut stream = Post::modern(&listen).send(address).await;
    let (_, acknowledged) = stream.message().await.unwrap();
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    // Nothing is read meanwhile: this test and the server share a thread.
    for _ in 0..100 {
        server.changes().tools_changed();
    }
    let mut news = 0;
    let last = loop {
        let (_, message) = stream.message().await.unwrap();
        if message["id"] == "sub" {
            break message;
        }
        news += 1;
    };
    // Changes have four times the room of progress; then the client is sent to look for itself.
    assert_eq!(news, 20);
    assert_eq!(last["result"]["resultType"], "complete");
    assert_eq!(stream.event().await, None);
}

// S-SHM-25, S-SHM-26, S-PROG-06.
#[tokio::test]
async fn news_from_another_thread_do_not_wait_for_the_answer() {
    let (open, gate) = std::sync::mpsc::channel();
    let gate = std::sync::Mutex::new(gate);
    let slow = Tool::blocking("slow", "Blocks.", move |context, _: NoArguments| {
        context.progress(1.0, None);
        gate.lock().unwrap().recv()?;
        Ok("done")
    });
    let address = start(
        &hello().tool(slow).build().unwrap(),
        HttpSettings::default(),
    )
    .await;
    let request = modern(
        "slow",
        "tools/call",
        json!({"name": "slow", "arguments": {}}),
    );
    let mut stream = Post::modern(&with_token(request)).send(address).await;
    assert_eq!(stream.header("x-accel-buffering"), Some("no"));
    let (_, news) = stream.message().await.unwrap();
    assert_eq!(news["params"]["progress"], 1.0);
    open.send(()).unwrap();
    let (_, answer) = stream.message().await.unwrap();
    assert_eq!(text(&answer), "done");
    assert_eq!(stream.event().await, None, "the answer ends the stream");
}

#[tokio::test]
async fn s_subm_06_news_of_a_request_never_use_a_subscription() {
    let chatty = Tool::new("talk", "x", |context: Context, _: NoArguments| async move {
        context.progress(1.0, None);
        context.log(LogLevel::Error, "said");
        Ok("done")
    });
    let server = hello().tool(chatty).logging().list_changes();
    let server = server.build().unwrap();
    let address = start(&server, HttpSettings::default()).await;
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let listen = modern("sub", "subscriptions/listen", filter);
    let mut listening = Post::modern(&listen).send(address).await;
    listening.message().await.unwrap();
    let mut request = with_token(modern(
        "talk",
        "tools/call",
        json!({"name": "talk", "arguments": {}}),
    ));
    request["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("debug");
    let mut talking = Post::modern(&request).send(address).await;
    for method in ["notifications/progress", "notifications/message"] {
        assert_eq!(talking.message().await.unwrap().1["method"], method);
    }
    assert_eq!(text(&talking.message().await.unwrap().1), "done");
    server.changes().tools_changed();
    let (_, news) = listening.message().await.unwrap();
    assert_eq!(news["method"], "notifications/tools/list_changed");
}
