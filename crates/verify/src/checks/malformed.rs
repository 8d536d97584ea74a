//! Input that no client should send, and that no server may fall over.
//!
//! A server that dies or stops answering fails; one that lives on and says something else than the
//! specification expects is warned about.

use std::time::Duration;

use attache_protocol::Revision;
use serde_json::{Value, json};

use super::check;
use crate::bench::Bench;
use crate::check::{Check, Finding, broken, doubtful, kept, not_offered, not_testable};
use crate::peer::{Opening, Peer, Trouble};
use crate::watch::Watch;

pub(super) const CHECKS: &[Check] = &[
    check!(
        "malformed.broken-json",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01", "X-BASE-05"],
        "Is a message that is no JSON refused with -32700?",
        Shared(broken_json)
    ),
    check!(
        "malformed.not-an-object",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01", "X-BASE-01"],
        "Are a number, a text and an empty object refused with -32600?",
        Shared(not_an_object)
    ),
    check!(
        "malformed.jsonrpc",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01", "X-BASE-01"],
        "Is a request without \"jsonrpc\":\"2.0\" refused with -32600?",
        Shared(jsonrpc)
    ),
    check!(
        "malformed.ids",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01", "X-BASE-02"],
        "Are requests refused whose id is null, fractional, a boolean or an object?",
        Shared(bad_ids)
    ),
    check!(
        "malformed.method",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01"],
        "Is a request refused whose method is missing or no text?",
        Shared(bad_method)
    ),
    check!(
        "malformed.params",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01"],
        "Is a request refused whose params are a text or a list?",
        Shared(bad_params)
    ),
    check!(
        "malformed.batch",
        Malformed,
        Should,
        STRUCTURED,
        Any,
        ["X-BATCH-04"],
        "Is a batch refused with -32600?",
        Shared(batch_refused)
    ),
    check!(
        "malformed.batch-2025-03-26",
        Malformed,
        Must,
        LEGACY,
        Any,
        ["X-BATCH-01", "S-BATCH-03"],
        "Is each request of a batch answered in 2025-03-26, the revision that has them?",
        Alone(batch_served)
    ),
    check!(
        "malformed.empty-batch",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-BATCH-05"],
        "Is an empty batch refused with -32600?",
        Shared(empty_batch)
    ),
    check!(
        "malformed.stray-response",
        Malformed,
        Should,
        LEGACY,
        Any,
        ["X-BASE-05"],
        "Is a response to a request that was never made ignored?",
        Shared(stray_response)
    ),
    check!(
        "malformed.not-utf8",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-BASE-09", "X-ERR-01"],
        "Does the server survive bytes that are not UTF-8?",
        Shared(not_utf8)
    ),
    check!(
        "malformed.long-message",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-BASE-05"],
        "Does the server survive a message of 1 MiB?",
        Shared(long_message)
    ),
    check!(
        "malformed.deep-message",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-BASE-26"],
        "Does the server survive 10 000 nested lists?",
        Shared(deep_message)
    ),
    check!(
        "malformed.framing",
        Malformed,
        Must,
        ALL,
        Stdio,
        ["X-STDIO-01"],
        "Are lines the only borders: half lines, two lines in one write, empty lines, CRLF?",
        Shared(framing)
    ),
    check!(
        "malformed.mutated",
        Malformed,
        Should,
        ALL,
        Any,
        ["X-ERR-01", "X-STDIO-01"],
        "Does the server survive 48 messages with bytes changed by chance?",
        Alone(mutated)
    ),
];

/// A request that is refused for another reason than its method.
fn method(peer: &Peer) -> &'static str {
    match peer.is_modern() {
        true => "server/discover",
        false => "ping",
    }
}

/// Sends each message and looks at what it comes to. Only the first complaint is told.
async fn refused(peer: &mut Peer, messages: &[Vec<u8>], codes: &[i64]) -> Result<Finding, Trouble> {
    let mut doubts = Vec::new();
    for bytes in messages {
        peer.leftovers();
        peer.send_bytes(bytes).await?;
        let status = peer.settled().await?;
        peer.fence().await?;
        let came = peer.leftovers();
        let response = came.iter().find(|message| message.method().is_none());
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
        match response.map(|message| &message.value) {
            Some(value) if value.get("error").is_some() => {
                let code = value["error"]["code"].as_i64().unwrap_or_default();
                if !codes.contains(&code) {
                    doubts.push(format!("{shown} was refused with {code}"));
                }
            }
            Some(_) => doubts.push(format!("{shown} was answered with a result")),
            None if status.is_some_and(|status| status >= 400) => {}
            None => doubts.push(format!("{shown} was passed over in silence")),
        }
    }
    let expected: Vec<String> = codes.iter().map(i64::to_string).collect();
    Ok(match doubts.as_slice() {
        [] => kept(format!("refused with {}", expected.join(" or "))),
        some => broken(crate::check::list(some)),
    })
}

fn bytes(message: &Value) -> Vec<u8> {
    message.to_string().into_bytes()
}

async fn broken_json(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let messages = [br#"{"jsonrpc":"2.0","id":9001,"method":"#.to_vec()];
    refused(peer, &messages, &[-32700]).await
}

async fn not_an_object(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let messages = [b"42".to_vec(), b"\"text\"".to_vec(), b"{}".to_vec()];
    refused(peer, &messages, &[-32600]).await
}

async fn jsonrpc(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let name = method(peer);
    let mut without = peer.message(&json!(9002), name, json!({}));
    if let Value::Object(fields) = &mut without {
        fields.remove("jsonrpc");
    }
    let mut old = peer.message(&json!(9003), name, json!({}));
    old["jsonrpc"] = json!("1.0");
    refused(peer, &[bytes(&without), bytes(&old)], &[-32600]).await
}

async fn bad_ids(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let name = method(peer);
    let ids = [Value::Null, json!(1.5), json!(true), json!({"a": 1})];
    let messages = ids.map(|id| bytes(&peer.message(&id, name, json!({}))));
    refused(peer, &messages, &[-32600]).await
}

async fn bad_method(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let mut number = peer.message(&json!(9005), "", json!({}));
    number["method"] = json!(7);
    let messages = [
        bytes(&json!({"jsonrpc": "2.0", "id": 9004})),
        bytes(&number),
    ];
    refused(peer, &messages, &[-32600]).await
}

async fn bad_params(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let name = match peer.offers("tools") {
        true => "tools/list",
        false => method(peer),
    };
    let with = |id: u64, params: Value| {
        bytes(&json!({"jsonrpc": "2.0", "id": id, "method": name, "params": params}))
    };
    let messages = [with(9006, json!("text")), with(9007, json!([1]))];
    // Over modern HTTP the headers say what the params lack, and that may be found first.
    let codes: &[i64] = match bench.is_http() && peer.is_modern() {
        true => &[-32600, -32602, -32020],
        false => &[-32600, -32602],
    };
    refused(peer, &messages, codes).await
}

async fn batch_refused(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let name = method(peer);
    let batch = json!([peer.message(&json!(9008), name, json!({}))]);
    refused(peer, &[bytes(&batch)], &[-32600, -32700]).await
}

async fn empty_batch(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    refused(peer, &[b"[]".to_vec()], &[-32600, -32700]).await
}

async fn batch_served(bench: &Bench) -> Result<Finding, Trouble> {
    let opened = Peer::open_as(bench, Revision::V2025_03_26, Opening::Whole).await;
    let mut peer = match opened {
        Ok(peer) => peer,
        Err(Trouble::Refused(_)) => return Ok(not_offered("it does not speak 2025-03-26")),
        Err(trouble) => return Err(trouble),
    };
    if peer.revision != Revision::V2025_03_26 {
        return Ok(not_offered("it does not speak 2025-03-26"));
    }
    let ping = |id: u64| json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    let note = json!({"jsonrpc": "2.0", "method": "notifications/attache-verify-unknown"});
    peer.send(&json!([ping(9101), note, ping(9102)])).await?;
    let status = peer.settled().await?;
    let came = peer.listen(Duration::from_millis(700)).await?;
    let mut answered = Vec::new();
    for message in &came {
        let messages = match &message.value {
            Value::Array(messages) => messages.clone(),
            single => vec![single.clone()],
        };
        let results = messages.into_iter().filter(|it| it.get("result").is_some());
        answered.extend(results.map(|it| it["id"].clone()));
    }
    let wanted = [json!(9101), json!(9102)];
    Ok(match wanted.iter().all(|id| answered.contains(id)) {
        true => kept("both requests of the batch were answered"),
        false => match (came.iter().find(|it| it.method().is_none()), status) {
            (Some(message), _) => broken(format!("a batch was answered with {}", message.value)),
            (None, Some(status)) => broken(format!("a batch was answered with HTTP {status}")),
            (None, None) => broken("a batch was passed over in silence"),
        },
    })
}

async fn stray_response(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    peer.leftovers();
    peer.send(&json!({"jsonrpc": "2.0", "id": "never-asked", "result": {}}))
        .await?;
    peer.settled().await?;
    peer.fence().await?;
    let came = peer.leftovers();
    let answer = came.iter().find(|message| message.method().is_none());
    Ok(match answer {
        Some(answer) => broken(format!("answered with {}", answer.value)),
        None => kept("nothing came"),
    })
}

async fn not_utf8(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let message = b"{\"jsonrpc\":\"2.0\",\"id\":9009,\"method\":\"\xff\xfe\"}".to_vec();
    refused(peer, &[message], &[-32700, -32600, -32601, -32602]).await
}

/// Anything but death and silence will do.
async fn survived(peer: &mut Peer, message: &[u8]) -> Result<Finding, Trouble> {
    peer.leftovers();
    peer.send_bytes(message).await?;
    let status = peer.settled().await?;
    peer.fence().await?;
    let came = peer.leftovers();
    let response = came.iter().find(|message| message.method().is_none());
    Ok(kept(match (response, status) {
        (Some(message), _) if message.value.get("error").is_some() => {
            format!("refused with {}", message.value["error"]["code"])
        }
        (Some(_), _) => "answered".to_owned(),
        (None, Some(status)) => format!("HTTP {status}"),
        (None, None) => "passed over in silence".to_owned(),
    }))
}

async fn long_message(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let padding = "x".repeat(1024 * 1024);
    let message = peer.message(&json!(9010), method(peer), json!({"padding": padding}));
    bench
        .trace
        .reproduce_by("a ping with a member of 1 MiB in its params".to_owned());
    survived(peer, &bytes(&message)).await
}

async fn deep_message(peer: &mut Peer, _: &Bench) -> Result<Finding, Trouble> {
    let depth = 10_000;
    let message = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":9011,\"method\":\"{}\",\"params\":{{\"deep\":{}{}}}}}",
        method(peer),
        "[".repeat(depth),
        "]".repeat(depth)
    );
    survived(peer, message.as_bytes()).await
}

async fn framing(peer: &mut Peer, bench: &Bench) -> Result<Finding, Trouble> {
    let name = method(peer);
    let one = peer.message(&json!("half"), name, json!({})).to_string();
    let two = peer.message(&json!("two"), name, json!({})).to_string();
    let three = peer.message(&json!("three"), name, json!({})).to_string();
    let four = peer.message(&json!("crlf"), name, json!({})).to_string();
    for text in [&one, &two, &three, &four] {
        let sent: Value = serde_json::from_str(text).unwrap_or(Value::Null);
        peer.books.note_sent(&sent);
    }
    let (begin, end) = one.split_at(one.len() / 2);
    peer.send_unfinished(begin.as_bytes()).await?;
    tokio::time::sleep(Duration::from_millis(60)).await;
    peer.send_unfinished(format!("{end}\n{two}\n{three}\n").as_bytes())
        .await?;
    let mut complaints = Vec::new();
    for (id, how) in [
        ("half", "a line in two writes"),
        ("two", "two lines in one write"),
        ("three", "two lines in one write"),
    ] {
        let answer = peer.answer_or_silence(&json!(id), bench.patience()).await?;
        if answer.is_none() {
            complaints.push(format!("{how}: not answered"));
            break;
        }
    }
    // The grammar of lines is the only duty; these two are what careful servers bear as well.
    peer.leftovers();
    peer.send_unfinished(format!("\n{four}\r\n").as_bytes())
        .await?;
    let answer = peer
        .answer_or_silence(&json!("crlf"), Duration::from_secs(2))
        .await?;
    peer.fence().await?;
    peer.leftovers();
    if !complaints.is_empty() {
        return Ok(broken(crate::check::list(&complaints)));
    }
    Ok(match answer {
        Some(_) => kept("all of them were answered"),
        None => doubtful("a line that ends with CRLF is not answered"),
    })
}

/// How many messages are changed by chance.
const MUTATIONS: usize = 48;

async fn mutated(bench: &Bench) -> Result<Finding, Trouble> {
    // Who reads such a message otherwise than we do answers ids that we did not send.
    let bench = &Bench {
        watch: Watch::default(),
        ..bench.clone()
    };
    let mut peer = Peer::open(bench, Opening::Whole).await?;
    let mut random = fastrand::Rng::with_seed(bench.seed);
    let name = method(&peer);
    for number in 0..MUTATIONS {
        let message = peer.message(&json!(20_000 + number), name, json!({}));
        let mut changed = bytes(&message);
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..changed.len());
            match random.u8(0..3) {
                0 => changed[at] = random.u8(0x20..0x7f),
                1 => changed.insert(at, random.u8(..)),
                _ => drop(changed.remove(at)),
            }
        }
        changed.retain(|byte| *byte != b'\n' && *byte != b'\r');
        peer.send_bytes(&changed).await?;
    }
    if bench.is_http() {
        peer.settled().await?;
    }
    match peer.fence().await {
        Ok(()) => Ok(kept(format!("{MUTATIONS} messages, seed {}", bench.seed))),
        Err(Trouble::TimeIsUp) => Ok(not_testable("the time for all checks is up")),
        Err(trouble) => Err(trouble),
    }
}
