//! What HTTP adds in both eras: statuses, content types, and who may ask at all.

use attache_protocol::Era;
use serde_json::{Value, json};
use url::{Host, Url};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered, not_testable};
use crate::http::{HttpWire, Response};
use crate::peer::{Opening, Peer, Trouble, http_headers, modern_meta};
use crate::target::Target;
use crate::trace::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "http.origin",
        Http,
        Must,
        ALL,
        Http,
        ["S-SHL-02", "S-SHL-03", "S-SHM-01"],
        "Is a request from a page of another origin refused with 403?",
        Alone(origin)
    ),
    check!(
        "http.host",
        Http,
        Should,
        ALL,
        Http,
        ["S-SHL-02", "S-SHL-04"],
        "Does a server on this machine refuse a Host that is not its own?",
        Alone(host)
    ),
    check!(
        "http.answer-type",
        Http,
        Must,
        ALL,
        Http,
        ["S-SHL-08", "S-SHM-03"],
        "Is a request answered with JSON or a stream of events?",
        Alone(answer_type)
    ),
    check!(
        "http.notification",
        Http,
        Must,
        ALL,
        Http,
        ["S-SHL-07", "S-SHM-03"],
        "Is a notification answered with 202 and no body?",
        Alone(notification)
    ),
];

/// The way to the server.
pub(super) fn wire(bench: &Bench) -> Result<HttpWire, Trouble> {
    match &bench.target {
        Target::Http(http) => Ok(HttpWire::open(http)?.0),
        Target::Stdio(_) | Target::Sse(_) => {
            Err(Trouble::NotStarted("there is no address".to_owned()))
        }
    }
}

/// A correct opening request of the era.
pub(super) fn opening(bench: &Bench) -> Value {
    let version = bench.revision.to_string();
    match bench.revision.era() {
        Era::Legacy => json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": Peer::initialize_params(&version),
        }),
        Era::Modern => modern(bench, 1, "server/discover", json!({})),
    }
}

/// A correct modern request.
pub(super) fn modern(bench: &Bench, id: u64, method: &str, mut params: Value) -> Value {
    params["_meta"] = json!(modern_meta(&bench.revision.to_string()));
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A POST of a message with the headers that belong to it.
pub(super) fn post(bench: &Bench, message: &Value) -> Exchange {
    Exchange {
        verb: "POST",
        headers: http_headers(message, bench.revision, None, None),
        body: Some(message.to_string().into_bytes()),
    }
}

impl Exchange {
    pub(super) fn with(mut self, name: &str, value: &str) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(super) fn without(mut self, name: &str) -> Self {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }
}

/// Sends it, and reads until the answer to a request is there.
pub(super) async fn send(
    bench: &Bench,
    wire: &HttpWire,
    exchange: Exchange,
) -> Result<Response, Trouble> {
    let patience = bench.within(bench.patience());
    let has_answer = |response: &Response| {
        let messages = response.messages();
        response.is_stream()
            && messages
                .iter()
                .any(|it| it.get("id").is_some() && it.get("method").is_none())
    };
    let response = wire
        .exchange(exchange, &bench.trace, patience, has_answer)
        .await;
    if let Err(Trouble::Silent(_)) = response {
        // A wait that was cut short says nothing about the server.
        bench.check_time()?;
    }
    response
}

async fn origin(bench: &Bench) -> Result<Finding, Trouble> {
    let wire = wire(bench)?;
    let exchange = post(bench, &opening(bench)).with("Origin", "http://attacker.example");
    let response = send(bench, &wire, exchange).await?;
    Ok(match response.status {
        403 => kept("403"),
        400..500 => doubtful(format!("refused with {}, not 403", response.status)),
        status => broken(format!("served with HTTP {status}")),
    })
}

async fn host(bench: &Bench) -> Result<Finding, Trouble> {
    let Target::Http(target) = &bench.target else {
        return Ok(not_testable("there is no address"));
    };
    let is_local = Url::parse(&target.url).is_ok_and(|url| match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost",
        None => false,
    });
    if !is_local {
        return Ok(not_offered("the server is not on this machine"));
    }
    let wire = wire(bench)?;
    let exchange = post(bench, &opening(bench)).with("Host", "attacker.example");
    let response = send(bench, &wire, exchange).await?;
    Ok(match response.status {
        400..500 => kept(format!("refused with {}", response.status)),
        status => broken(format!(
            "a page whose name was pointed at this machine is served: HTTP {status}"
        )),
    })
}

async fn answer_type(bench: &Bench) -> Result<Finding, Trouble> {
    let wire = wire(bench)?;
    let response = send(bench, &wire, post(bench, &opening(bench))).await?;
    let kind = response
        .header("content-type")
        .unwrap_or_default()
        .to_owned();
    let is_known = kind.starts_with("application/json") || kind.starts_with("text/event-stream");
    Ok(match (response.status, is_known) {
        (200, true) => kept(kind),
        (200, false) => broken(format!("the content type is {kind:?}")),
        _ => broken(response.summary()),
    })
}

async fn notification(bench: &Bench) -> Result<Finding, Trouble> {
    let peer = Peer::open(bench, Opening::Whole).await?;
    let wire = wire(bench)?;
    let message = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {
        "requestId": "never-sent",
    }});
    let headers = http_headers(
        &message,
        peer.revision,
        peer.version(),
        peer.session.as_deref(),
    );
    let exchange = Exchange {
        verb: "POST",
        headers,
        body: Some(message.to_string().into_bytes()),
    };
    let response = send(bench, &wire, exchange).await?;
    let is_empty = response.body.trim().is_empty();
    Ok(match (response.status, is_empty) {
        (202, true) => kept("202"),
        (202, false) => broken("202 with a body"),
        // Refusing it is allowed as well.
        (400..500, _) => doubtful(response.summary()),
        _ => broken(response.summary()),
    })
}
