//! Streamable HTTP as 2026-07-28 has it: mirrored headers, statuses, no sessions.

use serde_json::{Value, json};

use super::check;
use super::http_both::{modern, post, send, wire};
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered};
use crate::http::{NO_SUCH_SESSION, Response};
use crate::peer::Trouble;
use crate::trace::Exchange;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "headers.version-mismatch",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-09"],
        "Is a version header that differs from the body refused with 400 and -32020?",
        Alone(version_mismatch)
    ),
    check!(
        "headers.missing-version",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-11", "S-SHM-09"],
        "Is a request without the version header refused?",
        Alone(missing_version)
    ),
    check!(
        "headers.missing-method",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-09"],
        "Is a request without Mcp-Method refused with 400 and -32020?",
        Alone(missing_method)
    ),
    check!(
        "headers.wrong-method",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-09", "X-SHM-12"],
        "Is an Mcp-Method that differs from the body, be it in case, refused with -32020?",
        Alone(wrong_method)
    ),
    check!(
        "headers.missing-name",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-09"],
        "Is a call without Mcp-Name refused with 400 and -32020?",
        Alone(missing_name)
    ),
    check!(
        "headers.wrong-name",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-09"],
        "Is an Mcp-Name that differs from the body refused with 400 and -32020?",
        Alone(wrong_name)
    ),
    check!(
        "headers.encoded-name",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-08"],
        "Is an encoded Mcp-Name decoded before it is compared?",
        Alone(encoded_name)
    ),
    check!(
        "headers.bad-encoding",
        Headers,
        Must,
        MODERN,
        Http,
        ["S-SHM-09", "S-SHM-08"],
        "Is an Mcp-Name that is encoded badly refused with 400 and -32020?",
        Alone(bad_encoding)
    ),
    check!(
        "headers.name-case",
        Headers,
        Must,
        MODERN,
        Http,
        ["X-SHM-12"],
        "Are names of headers read whatever their case?",
        Alone(name_case)
    ),
    check!(
        "http.unknown-method",
        Http,
        Must,
        MODERN,
        Http,
        ["S-SHM-10"],
        "Is an unknown method answered with 404 and -32601?",
        Alone(unknown_method)
    ),
    check!(
        "http.unknown-version",
        Http,
        Must,
        MODERN,
        Http,
        ["S-SHM-10"],
        "Is an unsupported version answered with 400 and -32022?",
        Alone(unknown_version)
    ),
    check!(
        "http.post-only",
        Http,
        Should,
        MODERN,
        Http,
        ["S-SHM-30"],
        "Are GET and DELETE answered with 405 by a server of the modern era only?",
        Alone(post_only)
    ),
    check!(
        "sessions.gone",
        Sessions,
        Should,
        MODERN,
        Http,
        ["S-SHM-30"],
        "Is a session id ignored, and none given?",
        Alone(sessions_gone)
    ),
    check!(
        "http.unbuffered",
        Http,
        Should,
        MODERN,
        Http,
        ["S-SHM-26"],
        "Do streams carry X-Accel-Buffering: no?",
        Alone(unbuffered)
    ),
];

fn discover(bench: &Bench) -> Value {
    modern(bench, 1, "server/discover", json!({}))
}

/// A call of a tool that no server has.
fn call(bench: &Bench, name: &str) -> Value {
    modern(
        bench,
        1,
        "tools/call",
        json!({"name": name, "arguments": {}}),
    )
}

/// 400 and -32020.
fn mismatch(response: &Response) -> Finding {
    match (response.status, response.code()) {
        (400, Some(-32020)) => kept("400 and -32020"),
        (400, _) => doubtful(response.summary()),
        _ => broken(response.summary()),
    }
}

async fn refused(bench: &Bench, exchange: Exchange) -> Result<Finding, Trouble> {
    let response = send(bench, &wire(bench)?, exchange).await?;
    Ok(mismatch(&response))
}

async fn version_mismatch(bench: &Bench) -> Result<Finding, Trouble> {
    let exchange = post(bench, &discover(bench)).with("MCP-Protocol-Version", "2025-11-25");
    let response = send(bench, &wire(bench)?, exchange).await?;
    Ok(match response.status {
        // A server of both eras may read it as a legacy request, and refuse it as one.
        400 if bench.spoken.legacy => kept(response.summary()),
        _ => mismatch(&response),
    })
}

async fn missing_version(bench: &Bench) -> Result<Finding, Trouble> {
    let exchange = post(bench, &discover(bench)).without("MCP-Protocol-Version");
    let response = send(bench, &wire(bench)?, exchange).await?;
    Ok(match (response.status, bench.spoken.legacy) {
        (400.., _) => kept(response.summary()),
        (status, true) => doubtful(format!("HTTP {status}")),
        (status, false) => broken(format!("served with HTTP {status}")),
    })
}

async fn missing_method(bench: &Bench) -> Result<Finding, Trouble> {
    refused(bench, post(bench, &discover(bench)).without("Mcp-Method")).await
}

async fn wrong_method(bench: &Bench) -> Result<Finding, Trouble> {
    let wire = wire(bench)?;
    for method in ["tools/list", "SERVER/DISCOVER"] {
        let exchange = post(bench, &discover(bench)).with("Mcp-Method", method);
        let response = send(bench, &wire, exchange).await?;
        let finding = mismatch(&response);
        if !matches!(finding, Finding::Kept(_)) {
            return Ok(finding);
        }
    }
    Ok(kept("400 and -32020"))
}

async fn missing_name(bench: &Bench) -> Result<Finding, Trouble> {
    let message = call(bench, "attache-verify-no-such-tool");
    refused(bench, post(bench, &message).without("Mcp-Name")).await
}

async fn wrong_name(bench: &Bench) -> Result<Finding, Trouble> {
    let message = call(bench, "attache-verify-no-such-tool");
    let exchange = post(bench, &message).with("Mcp-Name", "another-tool");
    refused(bench, exchange).await
}

async fn encoded_name(bench: &Bench) -> Result<Finding, Trouble> {
    let message = call(bench, "attache-verify-ü");
    let response = send(bench, &wire(bench)?, post(bench, &message)).await?;
    Ok(match response.code() {
        Some(-32020) => broken("the encoded name was compared as it is: -32020"),
        _ => kept(response.summary()),
    })
}

async fn bad_encoding(bench: &Bench) -> Result<Finding, Trouble> {
    let message = call(bench, "attache-verify-ü");
    let exchange = post(bench, &message).with("Mcp-Name", "=?base64?***?=");
    refused(bench, exchange).await
}

async fn name_case(bench: &Bench) -> Result<Finding, Trouble> {
    let mut exchange = post(bench, &discover(bench));
    for (name, _) in &mut exchange.headers {
        *name = name.to_ascii_lowercase();
    }
    let response = send(bench, &wire(bench)?, exchange).await?;
    Ok(match response.status {
        200 => kept("served"),
        _ => broken(response.summary()),
    })
}

async fn unknown_method(bench: &Bench) -> Result<Finding, Trouble> {
    let message = modern(bench, 1, "attache-verify/no-such-method", json!({}));
    let response = send(bench, &wire(bench)?, post(bench, &message)).await?;
    Ok(match (response.status, response.code()) {
        (404, Some(-32601)) => kept("404 and -32601"),
        _ => broken(response.summary()),
    })
}

async fn unknown_version(bench: &Bench) -> Result<Finding, Trouble> {
    let mut message = discover(bench);
    message["params"]["_meta"][crate::peer::VERSION_KEY] = json!("2099-01-01");
    let exchange = post(bench, &message).with("MCP-Protocol-Version", "2099-01-01");
    let response = send(bench, &wire(bench)?, exchange).await?;
    Ok(match (response.status, response.code()) {
        (400, Some(-32022)) => kept("400 and -32022"),
        _ => broken(response.summary()),
    })
}

async fn post_only(bench: &Bench) -> Result<Finding, Trouble> {
    if bench.spoken.legacy {
        return Ok(not_offered("it serves legacy clients as well"));
    }
    let wire = wire(bench)?;
    let mut complaints = Vec::new();
    for verb in ["GET", "DELETE"] {
        let exchange = Exchange {
            verb,
            body: None,
            ..post(bench, &discover(bench))
        };
        let response = send(bench, &wire, exchange).await?;
        if response.status != 405 {
            complaints.push(format!("{verb} is HTTP {}", response.status));
        }
    }
    Ok(Finding::of(&complaints, "405"))
}

async fn sessions_gone(bench: &Bench) -> Result<Finding, Trouble> {
    let exchange = post(bench, &discover(bench)).with("Mcp-Session-Id", NO_SUCH_SESSION);
    let response = send(bench, &wire(bench)?, exchange).await?;
    Ok(match (response.status, response.header("mcp-session-id")) {
        (200, None) => kept("served, and none given"),
        (200, Some(_)) => broken("a session id is given"),
        _ => broken(response.summary()),
    })
}

async fn unbuffered(bench: &Bench) -> Result<Finding, Trouble> {
    let message = modern(
        bench,
        1,
        "subscriptions/listen",
        json!({
            "notifications": {"toolsListChanged": true},
        }),
    );
    let exchange = post(bench, &message);
    let patience = bench.within(bench.patience());
    let response = wire(bench)?
        .exchange(exchange, &bench.trace, patience, |_| true)
        .await?;
    if !response.is_stream() {
        return Ok(not_offered("it gives no stream to listen to"));
    }
    Ok(match response.header("x-accel-buffering") {
        Some("no") => kept("they do"),
        _ => broken("the header is not there"),
    })
}
