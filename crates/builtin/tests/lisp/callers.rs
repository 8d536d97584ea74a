//! Whose session a name means, when several callers reach one server over HTTP.

use attache_builtin::lisp;
use attache_client::{Client, EraChoice, Server};
use attache_server::Principal;
use attache_server::http::{self, HttpSettings};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{evaluator, run};

/// A server that knows two people by their tokens, and its address.
async fn serve() -> String {
    let server = lisp::server(evaluator()).unwrap();
    let settings = HttpSettings::default().authenticate(|token| {
        let is_known = ["ada", "bob"].contains(&token);
        is_known.then(|| Principal::named(token))
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(http::serve(
        listener,
        server,
        settings,
        std::future::pending(),
    ));
    format!("http://{address}/mcp")
}

async fn connect(url: &str, era: EraChoice, token: &str) -> Client {
    Server::http(url)
        .era(era)
        .header("authorization", format!("Bearer {token}"))
        .connect()
        .await
        .unwrap()
}

/// Evaluates in the session `s`; the text of the answer and the state of the session.
async fn evaluate(client: &Client, code: &str) -> (String, Value) {
    let arguments = json!({"code": code, "session": "s"});
    let answer = client.call(lisp::TOOL, arguments).await.unwrap();
    let structured = answer.structured().unwrap();
    (answer.text(), structured["session"]["state"].clone())
}

/// A modern client has no connection that could stand for it, and a legacy one is given a new
/// session of MCP whenever it comes back, without its user knowing. What stays is who it is, so
/// the definitions stay with that (S10).
pub(crate) fn over_http_a_session_belongs_to_who_asks_and_outlives_connections() {
    run(async {
        let url = serve().await;
        let first = connect(&url, EraChoice::Legacy, "ada").await;
        let defined = evaluate(&first, "(define x 'ada)").await;
        assert_eq!(defined, (String::new(), json!("new")));
        first.close().await;
        for era in [EraChoice::Legacy, EraChoice::Modern] {
            let again = connect(&url, era, "ada").await;
            let kept = evaluate(&again, "x").await;
            assert_eq!(kept, ("ada".to_owned(), json!("continued")));
            again.close().await;
        }
        let other = connect(&url, EraChoice::Modern, "bob").await;
        let (text, state) = evaluate(&other, "x").await;
        assert!(text.starts_with("unbound error"), "{text}");
        assert_eq!(state, "new");
        evaluate(&other, "(define x 'bob)").await;
        let first = connect(&url, EraChoice::Modern, "ada").await;
        assert_eq!(evaluate(&first, "x").await.0, "ada");
    });
}
