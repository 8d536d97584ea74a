//! The strict server that a client is judged by. Plain threads and pipes: it answers one message
//! after the other and writes everything down.

use std::fs::File;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Entry, From, LOG_FILE, SCENARIO_FILE, Scenario};
use crate::peer::{CAPABILITIES_KEY, VERSION_KEY};

/// The cursor of the second page, which no client could make up.
pub(super) const SECOND_PAGE: &str = "page ☃ 2/=+%20";
/// What a client has to give back as it is.
pub(super) const REQUEST_STATE: &str = "opaque ☃ {\"round\":1}\t";
/// The id of the request for roots.
pub(super) const ROOTS_ID: &str = "server-roots";
/// The id of the early ping.
pub(super) const PING_ID: u64 = 4711;
/// How long the answer to `initialize` is held back, so that haste shows.
const HOLD: Duration = Duration::from_millis(150);

/// Plays the scenario of a folder on standard input and output, until the input ends.
///
/// # Errors
/// If the folder cannot be used, or the client is gone.
pub fn serve(folder: &Path) -> io::Result<()> {
    let scenario: Scenario = serde_json::from_slice(&std::fs::read(folder.join(SCENARIO_FILE))?)?;
    let log = File::options()
        .create(true)
        .append(true)
        .open(folder.join(LOG_FILE))?;
    let log = Log(Arc::new(Mutex::new(log)));
    let mut server = Server {
        scenario,
        log: log.clone(),
    };
    // Clients must not take it for an error.
    let _ = writeln!(io::stderr(), "strict server: ready");
    // Lines are written down when they come, even while an answer is held back.
    let (sender, messages) = mpsc::channel();
    let reader = std::thread::spawn(move || read(&log, &sender));
    for message in messages {
        server.receive(&message)?;
    }
    match reader.join() {
        Ok(read) => read,
        Err(_) => Err(io::Error::other("the reader of standard input is gone")),
    }
}

fn read(log: &Log, sender: &mpsc::Sender<Value>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    loop {
        let mut line = Vec::new();
        if input.read_until(b'\n', &mut line)? == 0 {
            return log.note(From::EndOfInput, "", Value::Null);
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches(['\r', '\n']);
        let value: Value = serde_json::from_slice(&line).unwrap_or(Value::Null);
        log.note(From::Client, text, value.clone())?;
        if sender.send(value).is_err() {
            return Ok(());
        }
    }
}

/// The file that everything is written down in.
#[derive(Clone)]
struct Log(Arc<Mutex<File>>);

impl Log {
    fn note(&self, from: From, text: &str, value: Value) -> io::Result<()> {
        let entry = Entry {
            from,
            text: text.to_owned(),
            value,
        };
        let mut line = serde_json::to_vec(&entry)?;
        line.push(b'\n');
        self.0.lock().write_all(&line)
    }
}

struct Server {
    scenario: Scenario,
    log: Log,
}

impl Server {
    fn send(&mut self, message: &Value) -> io::Result<()> {
        let text = message.to_string();
        self.log.note(From::Server, &text, message.clone())?;
        let mut output = io::stdout().lock();
        output.write_all(text.as_bytes())?;
        output.write_all(b"\n")?;
        output.flush()
    }

    fn receive(&mut self, message: &Value) -> io::Result<()> {
        let Some(method) = message["method"].as_str() else {
            return Ok(());
        };
        let Some(id) = message.get("id") else {
            return self.notified(method);
        };
        let answer = match self.scenario {
            Scenario::Modern => modern(method, &message["params"]),
            _ => self.legacy(method, message)?,
        };
        let answer = match answer {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
        };
        self.send(&answer)
    }

    fn notified(&mut self, method: &str) -> io::Result<()> {
        if method == "notifications/initialized" && self.scenario == Scenario::Legacy {
            self.send(&json!({"jsonrpc": "2.0", "id": ROOTS_ID, "method": "roots/list"}))?;
        }
        Ok(())
    }

    fn legacy(&mut self, method: &str, message: &Value) -> io::Result<Answer> {
        let params = &message["params"];
        Ok(match method {
            "initialize" => {
                if self.scenario == Scenario::Legacy {
                    self.send(&json!({"jsonrpc": "2.0", "id": PING_ID, "method": "ping"}))?;
                    let note = "notifications/attache-verify-unknown";
                    self.send(&json!({"jsonrpc": "2.0", "method": note, "params": {"a": 1}}))?;
                }
                std::thread::sleep(HOLD);
                let version = match self.scenario {
                    Scenario::Old => "2024-11-05",
                    Scenario::Unknown => "2099-01-01",
                    _ => "2025-11-25",
                };
                Ok(json!({
                    "protocolVersion": version,
                    "capabilities": {"tools": {"listChanged": true}},
                    "serverInfo": {"name": "strict", "version": "1"},
                }))
            }
            "ping" => Ok(json!({})),
            "tools/list" => page(params, SECOND_PAGE),
            "tools/call" => {
                if let Some(token) = params["_meta"].get("progressToken") {
                    for progress in 1..3 {
                        let params = json!({"progressToken": token, "progress": progress});
                        let method = "notifications/progress";
                        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}))?;
                    }
                }
                Ok(call(params))
            }
            _ => Err(json!({"code": -32601, "message": "Method not found"})),
        })
    }
}

type Answer = Result<Value, Value>;

fn call(params: &Value) -> Value {
    json!({"content": [
        {"type": "text", "text": params["arguments"].to_string()},
        {"type": "of-the-future", "what": 1},
    ]})
}

/// Two pages of tools.
fn page(params: &Value, second: &str) -> Answer {
    let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
    match params["cursor"].as_str() {
        None => Ok(json!({"tools": [tool("one")], "nextCursor": second})),
        Some(cursor) if cursor == second => Ok(json!({"tools": [tool("two")]})),
        Some(_) => Err(json!({"code": -32602, "message": "Invalid cursor"})),
    }
}

fn modern(method: &str, params: &Value) -> Answer {
    let meta = &params["_meta"];
    let version = meta[VERSION_KEY].as_str();
    if version.is_some_and(|version| version != "2026-07-28") {
        return Err(
            json!({"code": -32022, "message": "Unsupported version", "data": {
                "supported": ["2026-07-28"], "requested": version,
            }}),
        );
    }
    if version.is_none() && method == "initialize" {
        return Err(
            json!({"code": -32022, "message": "Only 2026-07-28 is spoken here", "data": {
                "supported": ["2026-07-28"], "requested": params["protocolVersion"],
            }}),
        );
    }
    if version.is_none() || !meta[CAPABILITIES_KEY].is_object() {
        return Err(json!({"code": -32602, "message": "Metadata is missing"}));
    }
    let mut result = match method {
        "server/discover" => json!({
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
        }),
        "tools/list" => {
            let mut page = page(params, "")?;
            page["ttlMs"] = json!(0);
            page["cacheScope"] = json!("private");
            page
        }
        "tools/call" if params.get("requestState").is_none() => {
            return Ok(named(json!({
                "resultType": "input_required", "requestState": REQUEST_STATE,
            })));
        }
        "tools/call" if params["requestState"] != REQUEST_STATE => {
            return Err(json!({"code": -32602, "message": "The state was altered"}));
        }
        "tools/call" => call(params),
        _ => return Err(json!({"code": -32601, "message": "Method not found"})),
    };
    result["resultType"] = json!("complete");
    Ok(named(result))
}

fn named(mut result: Value) -> Value {
    let info = json!({"name": "strict", "version": "1"});
    result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": info});
    result
}
