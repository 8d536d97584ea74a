//! The server under test: a stdio MCP server whose own time is small and equal
//! for every client.
//!
//! It owns the answers of the benchmark: `echo`, `text` (a result of a chosen
//! size) and a tool list of a chosen length. It walks only the members it
//! needs, answers from bytes built beforehand, and writes once per read. It
//! refuses to know which client is speaking.
//!
//! `bench-server [TOOLS]`: the length of the tool list, 2 unless told.
//! `bench-server --http`: the same answers over HTTP.

#[path = "../serving_http.rs"]
mod serving_http;

use std::collections::HashMap;
use std::io::{self, Read, Write};

/// One read takes at most what a Linux pipe holds.
const READ_BYTES: usize = 64 * 1024;
/// A line that grows beyond this is no request of the benchmark.
const REQUEST_LIMIT: usize = 1024 * 1024;
/// The largest text that may be asked for.
const TEXT_LIMIT: usize = 64 * 1024 * 1024;
/// Space before a prebuilt text for the head that carries the request's id.
const HEAD_ROOM: usize = 256;

const OLDER_REVISION: &str = "2025-06-18";
const NEWER_REVISION: &str = "2025-11-25";
/// What every text consists of. Quotes and line ends make decoding honest work.
const TEXT_LINE: &str =
    "The answer to \"how large is large\" is counted in lines such as this one.\n";

fn main() -> io::Result<()> {
    if std::env::args().nth(1).as_deref() == Some("--http") {
        return serving_http::serve(|| {
            let mut server = Server::new(2, io::sink());
            move |message| {
                server.answer(message)?;
                Ok(std::mem::take(&mut server.output))
            }
        });
    }
    let tools = std::env::args()
        .nth(1)
        .and_then(|count| count.parse().ok())
        .unwrap_or(2);
    let mut server = Server::new(tools, io::stdout().lock());
    let mut input = io::stdin().lock();
    let mut pending = Vec::with_capacity(READ_BYTES);
    let mut chunk = vec![0; READ_BYTES];
    loop {
        let count = input.read(&mut chunk)?;
        if count == 0 {
            return Ok(());
        }
        pending.extend_from_slice(&chunk[..count]);
        let mut start = 0;
        while let Some(length) = pending[start..].iter().position(|byte| *byte == b'\n') {
            server.answer(&pending[start..start + length])?;
            start += length + 1;
        }
        pending.drain(..start);
        if pending.len() > REQUEST_LIMIT {
            return Err(io::Error::other("a request is longer than the limit"));
        }
        server.flush()?;
    }
}

/// The answers, and the output that collects them until the read is used up.
struct Server<W> {
    tool_list: Vec<u8>,
    /// Prebuilt texts by size: head room, then the answer after its head.
    texts: HashMap<usize, Vec<u8>>,
    output: Vec<u8>,
    sink: W,
}

impl<W: Write> Server<W> {
    fn new(tools: usize, sink: W) -> Self {
        Self {
            tool_list: tool_list(tools),
            texts: HashMap::new(),
            output: Vec::with_capacity(READ_BYTES),
            sink,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.output.is_empty() {
            self.sink.write_all(&self.output)?;
            self.sink.flush()?;
            self.output.clear();
        }
        Ok(())
    }

    /// Answers one line. A line without an id and a method needs no answer.
    fn answer(&mut self, line: &[u8]) -> io::Result<()> {
        let (Some(id), Some(method)) = (member(line, b"id"), member(line, b"method")) else {
            return Ok(());
        };
        let params = member(line, b"params").unwrap_or(b"{}");
        match method {
            b"\"tools/call\"" => self.call(id, params)?,
            b"\"tools/list\"" => {
                begin(&mut self.output, id);
                self.output.extend_from_slice(&self.tool_list);
            }
            b"\"ping\"" => self.finish(id, b"\"result\":{}}\n"),
            b"\"initialize\"" => {
                let revision = match member(params, b"protocolVersion") {
                    Some(asked) if asked == format!("\"{OLDER_REVISION}\"").as_bytes() => {
                        OLDER_REVISION
                    }
                    _ => NEWER_REVISION,
                };
                let result = format!(
                    r#""result":{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"bench-server","version":"1"}}}}}}"#
                );
                self.finish(id, result.as_bytes());
                self.output.push(b'\n');
            }
            _ => self.refuse(id, -32601, "Method not found"),
        }
        Ok(())
    }

    fn call(&mut self, id: &[u8], params: &[u8]) -> io::Result<()> {
        let arguments = member(params, b"arguments").unwrap_or(b"{}");
        match member(params, b"name") {
            Some(b"\"echo\"") => {
                let Some([b'"', message @ .., b'"']) = member(arguments, b"message") else {
                    self.refuse(id, -32602, "echo needs a string named message");
                    return Ok(());
                };
                self.finish(id, br#""result":{"content":[{"type":"text","text":"Echo: "#);
                self.output.extend_from_slice(message);
                self.output.extend_from_slice(b"\"}]}}\n");
                Ok(())
            }
            Some(b"\"text\"") => {
                let size = member(arguments, b"bytes")
                    .and_then(|digits| std::str::from_utf8(digits).ok())
                    .and_then(|digits| digits.parse().ok())
                    .filter(|size| *size <= TEXT_LIMIT);
                match size {
                    Some(size) => self.text(id, size),
                    None => {
                        self.refuse(id, -32602, "text needs a number named bytes");
                        Ok(())
                    }
                }
            }
            _ => {
                self.refuse(id, -32602, "Unknown tool");
                Ok(())
            }
        }
    }

    /// Writes a text straight from its prebuilt bytes: the head goes into the
    /// room before it, so that nothing large is copied.
    fn text(&mut self, id: &[u8], size: usize) -> io::Result<()> {
        self.flush()?;
        let answer = self
            .texts
            .entry(size)
            .or_insert_with(|| prebuilt_text(size));
        let mut head = Vec::with_capacity(HEAD_ROOM);
        begin(&mut head, id);
        let Some(start) = HEAD_ROOM.checked_sub(head.len()) else {
            return Err(io::Error::other("a request id is longer than the limit"));
        };
        answer[start..HEAD_ROOM].copy_from_slice(&head);
        self.sink.write_all(&answer[start..])?;
        self.sink.flush()
    }

    fn finish(&mut self, id: &[u8], rest: &[u8]) {
        begin(&mut self.output, id);
        self.output.extend_from_slice(rest);
    }

    fn refuse(&mut self, id: &[u8], code: i32, message: &str) {
        let error = format!(r#""error":{{"code":{code},"message":"{message}"}}}}"#);
        self.finish(id, error.as_bytes());
        self.output.push(b'\n');
    }
}

/// What every answer begins with; the id is given back as it came.
fn begin(output: &mut Vec<u8>, id: &[u8]) {
    output.extend_from_slice(br#"{"jsonrpc":"2.0","id":"#);
    output.extend_from_slice(id);
    output.push(b',');
}

fn prebuilt_text(size: usize) -> Vec<u8> {
    let mut answer = vec![b' '; HEAD_ROOM];
    answer.extend_from_slice(br#""result":{"content":[{"type":"text","text":""#);
    for byte in TEXT_LINE.bytes().cycle().take(size) {
        match byte {
            b'"' => answer.extend_from_slice(b"\\\""),
            b'\n' => answer.extend_from_slice(b"\\n"),
            plain => answer.push(plain),
        }
    }
    answer.extend_from_slice(b"\"}]}}\n");
    answer
}

/// A tool list of the given length, as wide as tools in the wild are.
fn tool_list(count: usize) -> Vec<u8> {
    let callable = [
        r#"{"name":"echo","description":"Gives the message back.","inputSchema":{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}}"#,
        r#"{"name":"text","description":"Gives a text of the size asked for.","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"}},"required":["bytes"]}}"#,
    ];
    let listed_only = (callable.len()..count).map(|number| {
        format!(
            r#"{{"name":"search_records_{number}","title":"Search records {number}","description":"Searches the records of collection {number} and returns the best matches first.\nUse \"exact\" for identifiers; everything else is matched by words.","inputSchema":{{"type":"object","properties":{{"query":{{"type":"string","description":"Words or an identifier to look for","minLength":1}},"mode":{{"type":"string","enum":["exact","words","prefix"],"default":"words"}},"limit":{{"type":"integer","minimum":1,"maximum":100,"default":10}},"fields":{{"type":"array","items":{{"type":"string"}},"description":"Fields to return; all of them when absent"}}}},"required":["query"],"additionalProperties":false}},"annotations":{{"readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}}}}"#
        )
    });
    let tools: Vec<String> = callable
        .iter()
        .map(ToString::to_string)
        .chain(listed_only)
        .collect();
    format!("\"result\":{{\"tools\":[{}]}}}}\n", tools.join(",")).into_bytes()
}

/// The raw value of a member of a JSON object, found without decoding anything.
/// Text that is no object simply has no members.
fn member<'a>(object: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut at = skip_space(object, 0);
    if object.get(at) != Some(&b'{') {
        return None;
    }
    at += 1;
    loop {
        at = skip_space(object, at);
        let key_end = value_end(object, at)?;
        let key = object.get(at + 1..key_end.checked_sub(1)?)?;
        at = skip_space(object, key_end);
        if object.get(at) != Some(&b':') {
            return None;
        }
        let value_start = skip_space(object, at + 1);
        at = value_end(object, value_start)?;
        if key == name {
            return object.get(value_start..at);
        }
        at = skip_space(object, at);
        if object.get(at) != Some(&b',') {
            return None;
        }
        at += 1;
    }
}

fn skip_space(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// Where the value that begins at `at` ends.
fn value_end(text: &[u8], mut at: usize) -> Option<usize> {
    let mut depth = 0usize;
    loop {
        match text.get(at)? {
            b'"' => at = string_end(text, at)?,
            b'{' | b'[' => {
                depth += 1;
                at += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                at += 1;
            }
            _ if depth > 0 => at += 1,
            _ => {
                let start = at;
                while text
                    .get(at)
                    .is_some_and(|byte| !matches!(byte, b',' | b'}' | b']' | b':'))
                    && !text[at].is_ascii_whitespace()
                {
                    at += 1;
                }
                return (at > start).then_some(at);
            }
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn string_end(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(tools: usize, lines: &[&str]) -> String {
        let mut sink = Vec::new();
        let mut server = Server::new(tools, &mut sink);
        for line in lines {
            server.answer(line.as_bytes()).unwrap();
        }
        server.flush().unwrap();
        drop(server);
        String::from_utf8(sink).unwrap()
    }

    #[test]
    fn members_are_found_in_any_order_and_nesting() {
        let cases: [(&str, &str, Option<&str>); 8] = [
            (r#"{"id":1,"method":"x"}"#, "id", Some("1")),
            (
                r#"{"params":{"id":9},"id":"a\"b"}"#,
                "id",
                Some(r#""a\"b""#),
            ),
            (r#"{"params":["}",{"id":9}],"id":2}"#, "id", Some("2")),
            (r#" { "a" : { } , "id" : -3 } "#, "id", Some("-3")),
            (r#"{"method":"x"}"#, "id", None),
            ("[1,2]", "id", None),
            (r#"{"id":"#, "id", None),
            ("}", "id", None),
        ];
        for (object, name, expected) in cases {
            let found = member(object.as_bytes(), name.as_bytes());
            assert_eq!(
                found.map(|value| std::str::from_utf8(value).unwrap()),
                expected,
                "{object}"
            );
        }
    }

    #[test]
    fn an_echo_gives_the_message_and_the_id_back() {
        assert_eq!(
            answers(
                2,
                &[
                    r#"{"method":"tools/call","params":{"name":"echo","arguments":{"message":"a\"b"}},"jsonrpc":"2.0","id":"q"}"#
                ]
            ),
            "{\"jsonrpc\":\"2.0\",\"id\":\"q\",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"Echo: a\\\"b\"}]}}\n"
        );
    }

    #[test]
    fn every_answer_is_one_line_of_json() {
        let output = answers(
            1000,
            &[
                r#"{"jsonrpc":"2.0","id":0,"method":"server/discover"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}"#,
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#,
                r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"text","arguments":{"bytes":1000}}}"#,
                r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#,
            ],
        );
        let answers: Vec<serde_json::Value> = output
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64()).collect();
        assert_eq!(ids, [0, 1, 2, 3, 4].map(Some));
        assert_eq!(answers[0]["error"]["code"], -32601);
        assert_eq!(answers[1]["result"]["protocolVersion"], "2025-06-18");
        assert_eq!(
            answers[2]["result"]["tools"].as_array().unwrap().len(),
            1000
        );
        let text = answers[3]["result"]["content"][0]["text"].as_str().unwrap();
        assert_eq!(text.len(), 1000);
        assert!(text.starts_with(TEXT_LINE));
    }

    #[test]
    fn a_text_beyond_the_limit_is_refused() {
        let ask = |bytes: usize| {
            answers(
                2,
                &[&format!(
                    r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"text","arguments":{{"bytes":{bytes}}}}}}}"#
                )],
            )
        };
        assert!(ask(TEXT_LIMIT).contains("\"result\""));
        assert!(ask(TEXT_LIMIT + 1).contains("-32602"));
    }
}
