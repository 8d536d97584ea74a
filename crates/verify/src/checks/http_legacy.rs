//! Streamable HTTP as 2025-03-26 to 2025-11-25 have it: sessions, streams, resumption.

use std::collections::BTreeSet;
use std::time::Duration;

use attache_protocol::Revision;
use serde_json::{Value, json};

use super::check;
use super::http_both::{opening, post, send, wire};
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered, not_testable};
use crate::http::{HttpWire, NO_SUCH_SESSION, Response};
use crate::peer::{Opening, Peer, Trouble, http_headers};
use crate::trace::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "http.get",
        Http,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-17", "S-SHL-01"],
        "Is a GET answered with a stream of events or 405?",
        Alone(get)
    ),
    check!(
        "http.get-no-responses",
        Http,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-18", "S-SHL-19"],
        "Does no response travel on the stream of a GET?",
        Alone(get_no_responses)
    ),
    check!(
        "http.stream-ends",
        Http,
        Should,
        STREAMABLE,
        Http,
        ["S-SHL-12"],
        "Does a stream end after the response it is for?",
        Alone(stream_ends)
    ),
    check!(
        "http.primed-stream",
        Http,
        Should,
        NEWEST_LEGACY,
        Http,
        ["S-SHL-09"],
        "Does a stream begin with an event that has an id and no data?",
        Alone(primed_stream)
    ),
    check!(
        "headers.bad-version",
        Headers,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-31"],
        "Is a version in the header that does not exist refused with 400?",
        Alone(bad_version)
    ),
    check!(
        "headers.no-version",
        Headers,
        Should,
        STREAMABLE,
        Http,
        ["S-SHL-30"],
        "Is a request without a version header served as 2025-03-26?",
        Alone(no_version)
    ),
    check!(
        "sessions.id",
        Sessions,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-23"],
        "Is a session id visible ASCII, and another one for each session?",
        Alone(session_id)
    ),
    check!(
        "sessions.missing",
        Sessions,
        Should,
        STREAMABLE,
        Http,
        ["S-SHL-25"],
        "Is a request without a session id refused with 400 where sessions are used?",
        Alone(missing_session)
    ),
    check!(
        "sessions.unknown",
        Sessions,
        Should,
        STREAMABLE,
        Http,
        ["S-SHL-26"],
        "Is a session id that does not exist refused with 404?",
        Alone(unknown_session)
    ),
    check!(
        "sessions.ended",
        Sessions,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-26"],
        "Is the id of a session that was ended refused with 404?",
        Alone(ended_session)
    ),
    check!(
        "resumption.event-ids",
        Resumption,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-20"],
        "Are event ids unique over the streams of a session?",
        Alone(event_ids)
    ),
    check!(
        "resumption.replay",
        Resumption,
        Must,
        STREAMABLE,
        Http,
        ["S-SHL-22"],
        "Does a resumed stream replay no message of another stream?",
        Alone(replay)
    ),
];

/// An opened session, and requests in it.
struct Session {
    wire: HttpWire,
    peer: Peer,
}

impl Session {
    async fn open(bench: &Bench) -> Result<Self, Trouble> {
        Ok(Self {
            wire: wire(bench)?,
            peer: Peer::open(bench, Opening::Whole).await?,
        })
    }

    fn post(&self, message: &Value) -> Exchange {
        Exchange {
            verb: "POST",
            headers: http_headers(
                message,
                self.peer.revision,
                self.peer.version(),
                self.peer.session.as_deref(),
            ),
            body: Some(message.to_string().into_bytes()),
        }
    }

    fn get(&self) -> Exchange {
        let message = Value::Null;
        let mut exchange = Exchange {
            verb: "GET",
            body: None,
            ..self.post(&message)
        };
        exchange = exchange.without("Content-Type");
        exchange.with("Accept", "text/event-stream")
    }
}

fn ping(id: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

/// How long a stream is listened to that may never say anything.
const LISTEN: Duration = Duration::from_millis(600);

async fn get(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let response = session
        .wire
        .exchange(session.get(), &bench.trace, LISTEN * 4, |_| true)
        .await?;
    Ok(match response.status {
        405 => kept("405"),
        200 if response.is_stream() => kept("a stream of events"),
        200 => broken(format!(
            "200 with the content type {:?}",
            response.header("content-type").unwrap_or_default()
        )),
        status => broken(format!("HTTP {status}")),
    })
}

async fn get_no_responses(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let listening = session
        .wire
        .exchange(session.get(), &bench.trace, LISTEN * 2, |it| {
            it.status != 200
        });
    let asking = async {
        tokio::time::sleep(LISTEN / 3).await;
        send(bench, &session.wire, session.post(&ping("beside"))).await
    };
    let (heard, answered) = tokio::join!(listening, asking);
    answered?;
    let heard = match heard {
        Ok(response) if response.status == 200 => response,
        Ok(response) => return Ok(not_offered(format!("a GET is {}", response.summary()))),
        // A stream that sends nothing, not even its head, carries no response either.
        Err(_) => return Ok(kept("nothing came")),
    };
    let messages = heard.messages();
    let response = messages.iter().find(|it| it.get("method").is_none());
    Ok(match response {
        Some(message) => broken(format!("{message} came")),
        None => kept(format!("{} messages, no response", messages.len())),
    })
}

/// A streamed answer to a request, read to its end.
async fn streamed(bench: &Bench, session: &Session, id: &str) -> Result<Option<Response>, Trouble> {
    let exchange = session.post(&ping(id));
    let response = session
        .wire
        .exchange(exchange, &bench.trace, bench.within(LISTEN * 3), |_| false)
        .await?;
    Ok(Some(response).filter(Response::is_stream))
}

const NO_STREAM: &str = "requests are answered with JSON, not with a stream";

async fn stream_ends(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let Some(response) = streamed(bench, &session, "ends").await? else {
        return Ok(not_offered(NO_STREAM));
    };
    let has_answer = response.messages().iter().any(|it| it["id"] == "ends");
    Ok(match (has_answer, response.is_over) {
        (true, true) => kept("it ends"),
        (true, false) => broken("the stream stays open"),
        (false, _) => broken("the stream has no response"),
    })
}

async fn primed_stream(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let Some(response) = streamed(bench, &session, "primed").await? else {
        return Ok(not_offered(NO_STREAM));
    };
    Ok(match response.events.first() {
        Some(event) if event.id.is_some() && event.data.is_empty() => kept("it does"),
        Some(event) if event.id.is_none() => {
            not_offered("events have no ids, so nothing can be resumed")
        }
        _ => broken("the first event has data"),
    })
}

async fn bad_version(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    if session.peer.revision < Revision::V2025_06_18 {
        return Ok(not_offered("the header came with 2025-06-18"));
    }
    let exchange = session
        .post(&ping("v"))
        .with("MCP-Protocol-Version", "1999-01-01");
    let response = send(bench, &session.wire, exchange).await?;
    Ok(match response.status {
        400 => kept("400"),
        401..500 => doubtful(response.summary()),
        _ => broken(response.summary()),
    })
}

async fn no_version(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let exchange = session.post(&ping("v")).without("MCP-Protocol-Version");
    let response = send(bench, &session.wire, exchange).await?;
    Ok(match response.status {
        200 => kept("served"),
        _ => broken(response.summary()),
    })
}

async fn session_id(bench: &Bench) -> Result<Finding, Trouble> {
    let wire = wire(bench)?;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let response = send(bench, &wire, post(bench, &opening(bench))).await?;
        ids.extend(response.headers.get("mcp-session-id").cloned());
    }
    let [one, other] = ids.as_slice() else {
        return Ok(not_offered("it has no sessions"));
    };
    let is_visible = |byte: &u8| (0x21..=0x7e).contains(byte);
    Ok(if !one.as_bytes().iter().all(is_visible) {
        broken(format!("the id {one:?}"))
    } else if one == other {
        broken("two sessions have the same id")
    } else if one.len() < 16 {
        doubtful(format!("an id of {} characters can be guessed", one.len()))
    } else {
        kept(format!("{} characters, different ones", one.len()))
    })
}

/// A session that has an id.
async fn with_id(bench: &Bench) -> Result<Option<(Session, String)>, Trouble> {
    let session = Session::open(bench).await?;
    let id = session.peer.session.clone();
    Ok(id.map(|id| (session, id)))
}

const NO_SESSIONS: &str = "it has no sessions";

async fn missing_session(bench: &Bench) -> Result<Finding, Trouble> {
    let Some((session, _)) = with_id(bench).await? else {
        return Ok(not_offered(NO_SESSIONS));
    };
    let exchange = session.post(&ping("s")).without("Mcp-Session-Id");
    let response = send(bench, &session.wire, exchange).await?;
    Ok(match response.status {
        400 => kept("400"),
        _ => broken(response.summary()),
    })
}

async fn unknown_session(bench: &Bench) -> Result<Finding, Trouble> {
    let Some((session, _)) = with_id(bench).await? else {
        return Ok(not_offered(NO_SESSIONS));
    };
    let exchange = session
        .post(&ping("s"))
        .with("Mcp-Session-Id", NO_SUCH_SESSION);
    let response = send(bench, &session.wire, exchange).await?;
    Ok(match response.status {
        404 => kept("404"),
        _ => broken(response.summary()),
    })
}

async fn ended_session(bench: &Bench) -> Result<Finding, Trouble> {
    let Some((session, _)) = with_id(bench).await? else {
        return Ok(not_offered(NO_SESSIONS));
    };
    let delete = Exchange {
        verb: "DELETE",
        ..session.get()
    };
    let deleted = send(bench, &session.wire, delete).await?;
    match deleted.status {
        200..300 => {}
        405 => return Ok(not_offered("a client cannot end a session here")),
        _ => return Ok(not_testable(format!("DELETE is {}", deleted.summary()))),
    }
    let response = send(bench, &session.wire, session.post(&ping("s"))).await?;
    Ok(match response.status {
        404 => kept("404"),
        _ => broken(response.summary()),
    })
}

async fn event_ids(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let mut ids = BTreeSet::new();
    for number in 0..3 {
        let Some(response) = streamed(bench, &session, &format!("ids-{number}")).await? else {
            return Ok(not_offered(NO_STREAM));
        };
        for id in response.events.iter().filter_map(|event| event.id.clone()) {
            if !ids.insert(id.clone()) {
                return Ok(broken(format!("the id {id:?} comes twice")));
            }
        }
    }
    Ok(match ids.len() {
        0 => not_offered("events have no ids"),
        count => kept(format!("{count} ids")),
    })
}

async fn replay(bench: &Bench) -> Result<Finding, Trouble> {
    let session = Session::open(bench).await?;
    let Some(first) = streamed(bench, &session, "replay-1").await? else {
        return Ok(not_offered(NO_STREAM));
    };
    streamed(bench, &session, "replay-2").await?;
    let Some(id) = first.events.iter().find_map(|event| event.id.clone()) else {
        return Ok(not_offered("events have no ids"));
    };
    let exchange = session.get().with("Last-Event-ID", &id);
    let resumed = session
        .wire
        .exchange(exchange, &bench.trace, LISTEN, |_| false)
        .await?;
    if resumed.status != 200 {
        return Ok(not_offered(format!("resuming is {}", resumed.summary())));
    }
    let messages = resumed.messages();
    let foreign = messages.iter().find(|it| it["id"] == "replay-2");
    Ok(match foreign {
        Some(message) => broken(format!("{message} belongs to another stream")),
        None => kept(format!("{} messages of its own", messages.len())),
    })
}
