//! Streamable HTTP over real sockets: who may call, what must match, which status comes back.

use std::sync::Arc;
use std::time::Duration;

use attache_server::http::HttpSettings;
use attache_server::protocol::{Json, Revision};
use attache_server::{Context, NoArguments, Principal, Server, TaskSupport, Tool};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::http_client::{Post, start};
use crate::support::{call, hello, initialize, modern, modern_with, text};

fn hello_call(id: u64) -> Value {
    modern(id, "tools/call", json!({"name": "hello", "arguments": {}}))
}

// S-SHM-08, S-SHM-09, S-SHM-11, X-SHM-12, S-SHM-19, X-SHM-24.
#[tokio::test]
async fn s11_headers_and_body_must_say_the_same() {
    let schema = json!({"type": "object", "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
    }});
    let tool = Tool::raw("mirror", "Mirrors.", Json::from(schema), |_, _| async {
        Ok("ok")
    });
    let address = start(
        &hello().tool(tool).build().unwrap(),
        HttpSettings::default(),
    )
    .await;
    let mirror = |arguments: Value| {
        modern(
            1,
            "tools/call",
            json!({"name": "mirror", "arguments": arguments}),
        )
    };
    let both = mirror(json!({"region": "Ünï", "count": 42}));
    let with = |member: &str, value: Value| {
        let mut request = hello_call(1);
        request["params"][member] = value;
        request
    };
    let with_uri = |name: Value| {
        let mut request = with("uri", json!(5));
        request["params"]["name"] = name;
        request
    };
    let list = || Post::modern(&modern(1, "tools/list", json!({})));
    for (name, post, expected) in [
        ("good", list(), 200),
        ("no version", list().without("mcp-protocol-version"), 400),
        ("no method", list().without("mcp-method"), 400),
        (
            "other method",
            list().header("mcp-method", "prompts/list"),
            400,
        ),
        ("other case", list().header("mcp-method", "TOOLS/LIST"), 400),
        (
            "other case of a header's name",
            list()
                .without("mcp-method")
                .header("MCP-Method", "tools/list"),
            200,
        ),
        ("good call", Post::modern(&hello_call(1)), 200),
        (
            "blanks",
            Post::modern(&hello_call(1)).header("mcp-name", "  hello\t"),
            200,
        ),
        (
            "encoded",
            Post::modern(&hello_call(1)).header("mcp-name", "=?base64?aGVsbG8=?="),
            200,
        ),
        (
            "no name",
            Post::modern(&hello_call(1)).without("mcp-name"),
            400,
        ),
        (
            "other name",
            Post::modern(&hello_call(1)).header("mcp-name", "mirror"),
            400,
        ),
        (
            "bad base64",
            Post::modern(&hello_call(1)).header("mcp-name", "=?base64?aGVsbG8?="),
            400,
        ),
        (
            "mirrored",
            Post::modern(&both)
                .header("mcp-param-region", "=?base64?w5xuw68=?=")
                .header("mcp-param-count", "042"),
            200,
        ),
        (
            "one missing",
            Post::modern(&both).header("mcp-param-count", "42"),
            400,
        ),
        (
            "one differs",
            Post::modern(&both)
                .header("mcp-param-region", "x")
                .header("mcp-param-count", "42"),
            400,
        ),
        (
            "big integer",
            Post::modern(&mirror(json!({"count": 9_007_199_254_740_993_u64})))
                .header("mcp-param-count", "9007199254740993.0"),
            200,
        ),
        (
            "other big integer",
            Post::modern(&mirror(json!({"count": 9_007_199_254_740_993_u64})))
                .header("mcp-param-count", "9007199254740992"),
            400,
        ),
        ("misfit elsewhere", Post::modern(&with_uri(json!("hello"))), 200),
        (
            "misfit elsewhere and other name",
            Post::modern(&with_uri(json!("hello"))).header("mcp-name", "mirror"),
            400,
        ),
        (
            "misfit name",
            Post::modern(&with_uri(json!(5))).header("mcp-name", "hello"),
            400,
        ),
        (
            "unreadable metadata",
            Post::modern(&with("_meta", json!(7))),
            400,
        ),
        (
            "params in order",
            Post::modern(&hello_call(1)).body(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[{},"hello"]}"#,
            ),
            400,
        ),
        (
            "one name twice",
            Post::modern(&hello_call(1)).body(
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","name":"mirror"}}"#,
            ),
            400,
        ),
        ("null is absent", Post::modern(&mirror(json!({}))), 200),
        (
            "nothing to mirror",
            Post::modern(&mirror(json!({}))).header("mcp-param-region", "x"),
            400,
        ),
    ] {
        let answered = post.send(address).await;
        assert_eq!(answered.status, expected, "{name}");
        let body = answered.json().await;
        assert_eq!(
            body["error"]["code"] == -32020,
            expected == 400,
            "{name}: {body}"
        );
        assert_eq!(body["id"], 1, "{name}");
    }
}

// S-SHM-03.
#[tokio::test]
async fn s_shm_10_errors_of_the_modern_era_have_their_status() {
    let address = start(&hello().build().unwrap(), HttpSettings::default()).await;
    let unknown_version = {
        let mut request = modern(1, "tools/list", json!({}));
        request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v9");
        Post::modern(&request).header("mcp-protocol-version", "v9")
    };
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}});
    for (post, status, code) in [
        (Post::modern(&modern(1, "no/such", json!({}))), 404, -32601),
        (
            Post::modern(&modern(1, "initialize", json!({}))),
            404,
            -32601,
        ),
        (Post::modern(&bare), 400, -32602),
        (unknown_version, 400, -32022),
        (
            Post::modern(&modern(1, "tools/call", json!({"name": "nobody"}))),
            400,
            -32602,
        ),
        (Post::modern(&bare).body("{broken"), 400, -32700),
        (Post::modern(&bare).body("[]"), 400, -32600),
        (
            Post::modern(&bare).body(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            400,
            -32600,
        ),
    ] {
        let answered = post.send(address).await;
        assert_eq!(answered.status, status);
        assert_eq!(answered.json().await["error"]["code"], code);
    }
    let told = json!({"jsonrpc": "2.0", "method": "notifications/x", "params": {}});
    let accepted = Post::modern(&told).send(address).await;
    assert_eq!(accepted.status, 202);
    assert_eq!(accepted.header("content-length"), Some("0"));
}

// S-SHL-02, S-SHL-03, S-SHM-01, S-AUTH-02.
#[tokio::test]
async fn s1_strangers_are_turned_away() {
    let settings = HttpSettings::default().bearer_token("secret");
    let address = start(&hello().build().unwrap(), settings).await;
    let post = || Post::modern(&hello_call(1)).header("authorization", "Bearer secret");
    for (name, post, expected) in [
        ("good", post(), 200),
        ("no token", post().without("authorization"), 401),
        (
            "other token",
            post().header("authorization", "Bearer x"),
            401,
        ),
        (
            "rebound host",
            post().header("host", "evil.example.com"),
            403,
        ),
        (
            "other origin",
            post().header("origin", "https://evil.example.com"),
            403,
        ),
        (
            "own origin",
            post().header("origin", "http://localhost:3000"),
            200,
        ),
        ("form", post().header("content-type", "text/plain"), 415),
        (
            "no stream",
            post().header("accept", "application/json"),
            406,
        ),
        (
            "put",
            Post::method("PUT").header("authorization", "Bearer secret"),
            405,
        ),
    ] {
        assert_eq!(post.send(address).await.status, expected, "{name}");
    }
}

// S-SHL-17.
#[tokio::test]
async fn s_shm_30_a_modern_server_takes_posts_only() {
    let server = hello().revisions([Revision::V2026_07_28]).build().unwrap();
    let address = start(&server, HttpSettings::default()).await;
    for method in ["GET", "DELETE"] {
        assert_eq!(Post::method(method).send(address).await.status, 405);
    }
    let answered = Post::modern(&hello_call(1))
        .header("mcp-session-id", "x")
        .send(address)
        .await;
    assert_eq!(
        (answered.status, answered.header("mcp-session-id")),
        (200, None)
    );
}

#[tokio::test]
async fn fault_61_a_body_has_a_greatest_length() {
    let mut settings = HttpSettings::default();
    settings.max_body = 1000;
    let address = start(&hello().build().unwrap(), settings).await;
    let padded = |length: usize| {
        let message = hello_call(1).to_string();
        let padding = " ".repeat(length - message.len());
        Post::modern(&hello_call(1)).body(&format!("{message}{padding}"))
    };
    assert_eq!(padded(1000).send(address).await.status, 200);
    assert_eq!(padded(1001).send(address).await.status, 413);
}

#[tokio::test]
async fn so_many_requests_run_and_wait() {
    let gate = Arc::new(Semaphore::new(0));
    let opened = Arc::clone(&gate);
    let wait = Tool::new("wait", "Waits.", move |_, _: NoArguments| {
        let gate = Arc::clone(&opened);
        async move {
            gate.acquire().await?.forget();
            Ok("done")
        }
    });
    let mut settings = HttpSettings::default();
    (settings.limits.max_running, settings.limits.max_waiting) = (1, 1);
    let address = start(&hello().tool(wait).build().unwrap(), settings).await;
    let request = |id: u64| {
        Post::modern(&modern(
            id,
            "tools/call",
            json!({"name": "wait", "arguments": {}}),
        ))
    };
    let running: Vec<_> = (1..=3)
        .map(|id| tokio::spawn(request(id).send(address)))
        .collect();
    let mut statuses = Vec::new();
    // The one that finds no room is answered at once; the others wait for the gate.
    let mut running = running.into_iter().collect::<Vec<_>>();
    let refused = loop {
        if let Some(place) = running
            .iter()
            .position(tokio::task::JoinHandle::is_finished)
        {
            break running.remove(place).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(refused.status, 503);
    gate.add_permits(2);
    for answered in running {
        statuses.push(answered.await.unwrap().status);
    }
    assert_eq!(statuses, [200, 200]);
}

// S-SHM-03, S-PROG-06.
#[tokio::test]
async fn s_shm_28_closing_a_modern_response_cancels_its_request() {
    let (started, stopped) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (starting, stopping) = (Arc::clone(&started), Arc::clone(&stopped));
    let wait = Tool::new("wait", "Waits.", move |context: Context, _: NoArguments| {
        let (starting, stopping) = (Arc::clone(&starting), Arc::clone(&stopping));
        async move {
            struct Tell(Arc<Semaphore>);
            impl Drop for Tell {
                fn drop(&mut self) {
                    self.0.add_permits(1);
                }
            }
            let _tell = Tell(stopping);
            context.progress(1.0, None);
            starting.add_permits(1);
            std::future::pending::<()>().await;
            Ok("never")
        }
    });
    let address = start(
        &hello().tool(wait).build().unwrap(),
        HttpSettings::default(),
    )
    .await;
    for token in [None, Some(json!("t"))] {
        let mut request = modern(1, "tools/call", json!({"name": "wait", "arguments": {}}));
        if let Some(token) = token {
            request["params"]["_meta"]["progressToken"] = token;
        }
        let post = tokio::spawn(Post::modern(&request).send(address));
        started.acquire().await.unwrap().forget();
        if request["params"]["_meta"].get("progressToken").is_some() {
            let mut answered = post.await.unwrap();
            assert!(answered.is_stream());
            let (id, news) = answered.message().await.unwrap();
            assert_eq!(
                (id, &news["method"]),
                (None, &json!("notifications/progress"))
            );
            drop(answered);
        } else {
            post.abort();
        }
        let gone = tokio::time::timeout(Duration::from_secs(20), stopped.acquire());
        gone.await.unwrap().unwrap().forget();
    }
}

// S-SHL-32, S-SEC-08.
#[tokio::test]
async fn s10_sessions_tasks_and_states_belong_to_their_principal() {
    let tool = Tool::new(
        "ask",
        "Asks.",
        |context: Context, _: NoArguments| async move {
            context
                .elicit(attache_server::protocol::ElicitParams {
                    message: "?".to_owned(),
                    ..Default::default()
                })
                .await?;
            Ok(context.principal().as_str().to_owned())
        },
    );
    let server = Server::builder("test", "1").tool(tool).build().unwrap();
    let settings = HttpSettings::default().authenticate(|token| {
        ["ada", "bob"]
            .contains(&token)
            .then(|| Principal::named(token))
    });
    let address = start(&server, settings).await;
    let bearer = |post: Post, who: &str| post.header("authorization", &format!("Bearer {who}"));
    let opened = bearer(Post::legacy(&initialize("2025-11-25", json!({}))), "ada")
        .send(address)
        .await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (who, expected) in [("ada", 200), ("bob", 404)] {
        let post = bearer(Post::legacy(&list), who).header("mcp-session-id", &session);
        assert_eq!(post.send(address).await.status, expected);
    }
    let ask = |state: Value| {
        let mut params = json!({"name": "ask", "arguments": {}});
        if !state.is_null() {
            params["requestState"] = state;
            params["inputResponses"] = json!({"input-1": {"action": "decline"}});
        }
        Post::modern(&crate::support::modern_with(
            1,
            "tools/call",
            params,
            json!({"elicitation": {}}),
        ))
    };
    let first = bearer(ask(Value::Null), "ada")
        .send(address)
        .await
        .json()
        .await;
    let state = first["result"]["requestState"].clone();
    let stolen = bearer(ask(state.clone()), "bob").send(address).await;
    assert_eq!(stolen.status, 400);
    let own = bearer(ask(state), "ada").send(address).await.json().await;
    assert_eq!(text(&own), "ada");
}

// X-TSKX-13, S-TSKE-18.
#[tokio::test]
async fn s10_a_subscription_is_told_of_the_tasks_of_its_principal_only() {
    let tool = Tool::new("wait", "Waits.", |_, _: NoArguments| async {
        std::future::pending::<()>().await;
        Ok("never")
    });
    let server = hello().tool(tool.tasks(TaskSupport::Required));
    let settings = HttpSettings::default().authenticate(|token| Some(Principal::named(token)));
    let address = start(&server.build().unwrap(), settings).await;
    let extension = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let send = |who: &str, method: &str, params: Value| {
        let request = modern_with(1, method, params, extension.clone());
        let post = Post::modern(&request).header("authorization", &format!("Bearer {who}"));
        post.send(address)
    };
    let begun = json!({"name": "wait", "arguments": {}});
    let begun = send("ada", "tools/call", begun).await.json().await;
    let task = begun["result"]["taskId"].clone();
    let filter = json!({"notifications": {"taskIds": [task, "unknown"]}});
    let mut ada = send("ada", "subscriptions/listen", filter.clone()).await;
    let mut bob = send("bob", "subscriptions/listen", filter).await;
    for (stream, expected) in [(&mut ada, json!([task])), (&mut bob, json!([]))] {
        let (_, granted) = stream.message().await.unwrap();
        assert_eq!(granted["params"]["notifications"]["taskIds"], expected);
    }
    let ended = send("ada", "tasks/cancel", json!({"taskId": task})).await;
    assert_eq!(ended.status, 200);
    let (_, news) = ada.message().await.unwrap();
    assert_eq!(news["params"]["status"], "cancelled");
}

#[tokio::test]
async fn fault_72_one_id_for_all_requests_of_a_session_is_served_over_http() {
    let (started, gate) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(0)));
    let (starting, opened) = (Arc::clone(&started), Arc::clone(&gate));
    let schema = Json::from(json!({"type": "object"}));
    let wait = Tool::raw("wait", "Waits.", schema, move |_, arguments: Json| {
        let (starting, opened) = (Arc::clone(&starting), Arc::clone(&opened));
        async move {
            starting.add_permits(1);
            opened.acquire().await?.forget();
            Ok(arguments.to_string())
        }
    });
    let server = hello().tool(wait).build().unwrap();
    let address = start(&server, HttpSettings::default()).await;
    let session = Post::legacy(&initialize("2025-11-25", json!({})))
        .send(address)
        .await;
    let session = session.header("mcp-session-id").unwrap().to_owned();
    let post = |message: &Value| {
        let post = Post::legacy(message).header("mcp-session-id", &session);
        post.send(address)
    };
    let calls: Vec<_> = (1..=3)
        .map(|number| tokio::spawn(post(&call(1, "wait", json!({"n": number})))))
        .collect();
    started.acquire_many(3).await.unwrap().forget();
    // Nothing tells which of them a cancellation means.
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 1}});
    assert_eq!(post(&cancel).await.status, 202);
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    let listed = post(&list).await.json().await;
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), 2);
    gate.add_permits(3);
    for (number, answered) in (1..).zip(calls) {
        let answer = answered.await.unwrap().json().await;
        assert_eq!(answer["id"], 1);
        assert_eq!(text(&answer), format!("{{\"n\":{number}}}"));
    }
    // A single one is cancelled as ever.
    let last = tokio::spawn(post(&call(1, "wait", json!({}))));
    started.acquire().await.unwrap().forget();
    assert_eq!(post(&cancel).await.status, 202);
    let mut ended = last.await.unwrap();
    assert_eq!(ended.message().await, None, "no answer comes");
}

// S-SHL-08, S-SHL-23.
#[tokio::test]
async fn both_eras_share_one_path() {
    let address = start(&hello().build().unwrap(), HttpSettings::default()).await;
    let answered = Post::modern(&hello_call(1))
        .send(address)
        .await
        .json()
        .await;
    assert_eq!(text(&answered), "hello");
    let opened = Post::legacy(&initialize("2025-06-18", json!({})))
        .send(address)
        .await;
    let session = opened.header("mcp-session-id").unwrap().to_owned();
    assert!(session.bytes().all(|it| (0x21..=0x7e).contains(&it)));
    let in_session = |message: &Value| Post::legacy(message).header("mcp-session-id", &session);
    let called =
        in_session(&call(2, "hello", json!({}))).header("mcp-protocol-version", "2025-06-18");
    assert_eq!(text(&called.send(address).await.json().await), "hello");
    // A version nobody knows (S-SHL-31), and a batch outside of 2025-03-26.
    let post =
        in_session(&call(3, "hello", json!({}))).header("mcp-protocol-version", "1999-01-01");
    assert_eq!(post.send(address).await.status, 400);
    let post = in_session(&json!([call(4, "hello", json!({}))]));
    assert_eq!(post.send(address).await.status, 400);
}
