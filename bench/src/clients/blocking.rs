//! The simplest real client: one thread, one buffered reader, every answer
//! parsed into a `serde_json::Value` and matched by its id.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Serialize;
use serde_json::{Value, json};

use super::{BlockingConnection, ECHO, MESSAGE, expect};
use crate::Result;
use crate::control::ServerCommand;

/// A server process and the ids given out so far.
pub(crate) struct Blocking {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    last_id: u64,
}

#[derive(Serialize)]
struct Request<'a> {
    jsonrpc: &'static str,
    id: u64,
    method: &'a str,
    params: &'a Value,
}

impl Blocking {
    fn frame(&mut self, method: &str, params: &Value, frames: &mut Vec<u8>) -> Result<u64> {
        self.last_id += 1;
        let request = Request {
            jsonrpc: "2.0",
            id: self.last_id,
            method,
            params,
        };
        serde_json::to_writer(&mut *frames, &request)?;
        frames.push(b'\n');
        Ok(self.last_id)
    }

    /// Reads until the answer comes; what carries no id is a notification.
    fn answer(&mut self, id: u64) -> Result<Value> {
        loop {
            self.line.clear();
            if self.output.read_line(&mut self.line)? == 0 {
                return Err("the server closed its output".into());
            }
            let mut answer: Value = serde_json::from_str(&self.line)?;
            if answer.get("id").is_none() {
                continue;
            }
            expect(&answer["id"].as_u64(), &Some(id))?;
            return match answer.get_mut("result") {
                Some(result) => Ok(result.take()),
                None => Err(format!("the server refused: {}", answer["error"]).into()),
            };
        }
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value> {
        let mut frame = Vec::with_capacity(256);
        let id = self.frame(method, params, &mut frame)?;
        self.input.write_all(&frame)?;
        self.answer(id)
    }
}

impl BlockingConnection for Blocking {
    fn open(server: &ServerCommand) -> Result<Self> {
        let mut server = Command::new(&server.program)
            .args(&server.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = server.stdin.take().ok_or("the server has no input")?;
        let output = server.stdout.take().ok_or("the server has no output")?;
        let mut connection = Self {
            server,
            input,
            output: BufReader::new(output),
            line: String::new(),
            last_id: 0,
        };
        connection.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "blocking", "version": "1"},
            }),
        )?;
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        connection
            .input
            .write_all(format!("{initialized}\n").as_bytes())?;
        Ok(connection)
    }

    fn echo(&mut self) -> Result<()> {
        let result = self.request("tools/call", &echo_params())?;
        expect(&text_of(&result), &ECHO)
    }

    fn echo_together(&mut self, width: usize) -> Result<()> {
        let mut frames = Vec::with_capacity(256 * width);
        let mut ids = Vec::with_capacity(width);
        for _ in 0..width {
            ids.push(self.frame("tools/call", &echo_params(), &mut frames)?);
        }
        self.input.write_all(&frames)?;
        for id in ids {
            let result = self.answer(id)?;
            expect(&text_of(&result), &ECHO)?;
        }
        Ok(())
    }

    fn text(&mut self, bytes: usize) -> Result<()> {
        let result = self.request(
            "tools/call",
            &json!({"name": "text", "arguments": {"bytes": bytes}}),
        )?;
        expect(&text_of(&result).len(), &bytes)
    }

    fn list(&mut self, tools: usize) -> Result<()> {
        let result = self.request("tools/list", &json!({}))?;
        expect(&result["tools"].as_array().map(Vec::len), &Some(tools))
    }

    fn close(mut self) -> Result<()> {
        drop(self.input);
        self.server.wait()?;
        Ok(())
    }
}

fn echo_params() -> Value {
    json!({"name": "echo", "arguments": {"message": MESSAGE}})
}

fn text_of(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_default()
}
