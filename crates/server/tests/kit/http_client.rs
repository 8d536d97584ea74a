//! A client of raw HTTP/1.1, so that every header is the test's own choice.

use std::net::SocketAddr;

use attache_server::Server;
use attache_server::http::{self, HttpSettings};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Serves on a port of loopback until the test ends.
pub(crate) async fn start(server: &Server, settings: HttpSettings) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = http::serve(listener, server.clone(), settings, std::future::pending());
    tokio::spawn(serving);
    address
}

/// A request to be sent.
pub(crate) struct Post {
    method: &'static str,
    headers: Vec<(String, String)>,
    body: String,
}

impl Post {
    /// A legacy POST.
    pub(crate) fn legacy(message: &Value) -> Self {
        Self {
            method: "POST",
            headers: Vec::new(),
            body: message.to_string(),
        }
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
    }

    /// A modern POST with the headers its body asks for.
    pub(crate) fn modern(message: &Value) -> Self {
        let mut post = Self::legacy(message)
            .header("mcp-protocol-version", crate::support::MODERN)
            .header("mcp-method", message["method"].as_str().unwrap_or_default());
        let params = &message["params"];
        let name = ["name", "uri", "taskId"]
            .iter()
            .find_map(|it| params[it].as_str());
        if let Some(name) = name {
            post = post.header("mcp-name", name);
        }
        post
    }

    pub(crate) fn method(method: &'static str) -> Self {
        Self {
            method,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    /// Sets a header, instead of one of the same name.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(it, _)| it != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(it, _)| it != name);
        self
    }

    pub(crate) fn body(mut self, body: &str) -> Self {
        self.body = body.to_owned();
        self
    }

    /// Sends it over a connection of its own.
    pub(crate) async fn send(self, address: SocketAddr) -> Answered {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut text = format!("{} /mcp HTTP/1.1\r\n", self.method);
        if !self.headers.iter().any(|(name, _)| name == "host") {
            text.push_str(&format!("host: {address}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!(
            "content-length: {}\r\n\r\n{}",
            self.body.len(),
            self.body
        ));
        stream.write_all(text.as_bytes()).await.unwrap();
        Answered::read(stream).await
    }
}

/// An answer whose body may still be coming.
pub(crate) struct Answered {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    stream: BufReader<TcpStream>,
    /// Bytes of the present chunk that were not read yet.
    pending: String,
}

impl Answered {
    pub(crate) async fn read(stream: TcpStream) -> Self {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
            match line.trim_end().split_once(": ") {
                Some((name, value)) => headers.push((name.to_lowercase(), value.to_owned())),
                None => break,
            }
        }
        Self {
            status,
            headers,
            stream,
            pending: String::new(),
        }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(it, _)| it == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type") == Some("text/event-stream")
    }

    /// The whole body as JSON.
    pub(crate) async fn json(mut self) -> Value {
        let length: usize = self.header("content-length").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The next event as it was written, without the empty line behind it; `None` at the end.
    pub(crate) async fn event(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.pending.split_once("\n\n") {
                let (event, rest) = (event.to_owned(), rest.to_owned());
                self.pending = rest;
                return Some(event);
            }
            let mut size = String::new();
            self.stream.read_line(&mut size).await.unwrap();
            let size = usize::from_str_radix(size.trim_end(), 16).unwrap();
            let mut chunk = vec![0; size + 2];
            self.stream.read_exact(&mut chunk).await.unwrap();
            if size == 0 {
                return None;
            }
            self.pending
                .push_str(std::str::from_utf8(&chunk[..size]).unwrap());
        }
    }

    /// The next event that carries a message, with its id.
    pub(crate) async fn message(&mut self) -> Option<(Option<String>, Value)> {
        loop {
            let event = self.event().await?;
            let field = |name: &str| {
                event
                    .lines()
                    .find_map(|line| line.strip_prefix(name))
                    .map(str::to_owned)
            };
            if let Some(data) = field("data: ").filter(|data| !data.is_empty()) {
                return Some((field("id: "), serde_json::from_str(&data).unwrap()));
            }
        }
    }
}
