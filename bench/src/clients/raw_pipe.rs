//! The limit: bytes built beforehand go down the pipe, bytes come back until
//! the line ends. Nothing is parsed.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{BlockingConnection, MESSAGE, expect};
use crate::Result;
use crate::control::ServerCommand;

const READ_BYTES: usize = 64 * 1024;
/// Calls of one batch must fit a pipe in both directions, or both sides wait.
const BATCH_LIMIT: usize = 64;

/// A server process and its two pipes.
pub(crate) struct RawPipe {
    server: Child,
    input: ChildStdin,
    output: ChildStdout,
    /// The answer read last.
    answer: Vec<u8>,
    chunk: Vec<u8>,
    one_call: Vec<u8>,
    calls: Vec<u8>,
}

impl RawPipe {
    /// Sends bytes and keeps what comes back until this many lines are there.
    fn exchange(&mut self, request: &[u8], lines: usize) -> Result<()> {
        self.input.write_all(request)?;
        self.answer.clear();
        let mut missing = lines;
        while missing > 0 {
            let count = self.output.read(&mut self.chunk)?;
            if count == 0 {
                return Err("the server closed its output".into());
            }
            let chunk = &self.chunk[..count];
            missing -= chunk
                .iter()
                .filter(|byte| **byte == b'\n')
                .count()
                .min(missing);
            self.answer.extend_from_slice(chunk);
        }
        Ok(())
    }
}

impl BlockingConnection for RawPipe {
    fn open(server: &ServerCommand) -> Result<Self> {
        let mut server = Command::new(&server.program)
            .args(&server.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = server.stdin.take().ok_or("the server has no input")?;
        let output = server.stdout.take().ok_or("the server has no output")?;
        let mut pipe = Self {
            server,
            input,
            output,
            answer: Vec::new(),
            chunk: vec![0; READ_BYTES],
            one_call: echo_call(1).into_bytes(),
            calls: (1..=BATCH_LIMIT)
                .map(echo_call)
                .collect::<String>()
                .into_bytes(),
        };
        pipe.exchange(
            concat!(
                r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw-pipe","version":"1"}}}"#,
                "\n"
            )
            .as_bytes(),
            1,
        )?;
        pipe.input.write_all(
            concat!(
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "\n"
            )
            .as_bytes(),
        )?;
        Ok(pipe)
    }

    fn echo(&mut self) -> Result<()> {
        let call = std::mem::take(&mut self.one_call);
        let outcome = self.exchange(&call, 1);
        self.one_call = call;
        outcome
    }

    fn echo_together(&mut self, width: usize) -> Result<()> {
        expect(&width, &BATCH_LIMIT)?;
        let calls = std::mem::take(&mut self.calls);
        let outcome = self.exchange(&calls, width);
        self.calls = calls;
        outcome
    }

    fn text(&mut self, bytes: usize) -> Result<()> {
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"text","arguments":{{"bytes":{bytes}}}}}}}"#
        ) + "\n";
        self.exchange(call.as_bytes(), 1)?;
        expect(&(self.answer.len() > bytes), &true)
    }

    fn list(&mut self, _tools: usize) -> Result<()> {
        self.exchange(
            concat!(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#, "\n").as_bytes(),
            1,
        )
    }

    fn close(mut self) -> Result<()> {
        drop(self.input);
        self.server.wait()?;
        Ok(())
    }
}

fn echo_call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"{MESSAGE}"}}}}}}"#
    ) + "\n"
}
