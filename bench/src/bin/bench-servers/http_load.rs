//! Load over HTTP: connections that stay open, requests built beforehand.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;

use crate::Result;

/// How many connections call at once when there are many.
pub(crate) const CONNECTIONS: usize = 32;

pub(crate) struct HttpServer {
    child: Child,
    runtime: Runtime,
    connections: Vec<Connection>,
}

struct Connection {
    stream: tokio::io::BufReader<TcpStream>,
    body: Vec<u8>,
    line: String,
}

impl HttpServer {
    pub(crate) fn start(kit: &str) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", kit, "http"])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut address = String::new();
        BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut address)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut connections = Vec::new();
        for _ in 0..CONNECTIONS {
            let stream = runtime.block_on(TcpStream::connect(address.trim()))?;
            stream.set_nodelay(true)?;
            connections.push(Connection {
                stream: tokio::io::BufReader::new(stream),
                body: Vec::new(),
                line: String::new(),
            });
        }
        Ok(Self {
            child,
            runtime,
            connections,
        })
    }

    /// One call after the other over one connection; gives the time of the middle one.
    pub(crate) fn sequential(&mut self, calls: usize) -> Result<Duration> {
        let connection = &mut self.connections[0];
        self.runtime.block_on(async {
            let mut times = Vec::with_capacity(calls);
            for id in 1..=calls {
                let request = request(id);
                let started = Instant::now();
                connection.exchange(&request).await?;
                times.push(started.elapsed());
            }
            times.sort_unstable();
            Ok(times[calls / 2])
        })
    }

    /// All connections at once; gives calls per second.
    pub(crate) fn concurrent(&mut self, calls_each: usize) -> Result<f64> {
        let started = Instant::now();
        let runtime = &self.runtime;
        let connections = std::mem::take(&mut self.connections);
        let connections = runtime.block_on(async {
            let mut running = tokio::task::JoinSet::new();
            for mut connection in connections {
                running.spawn(async move {
                    let request = request(1);
                    for _ in 0..calls_each {
                        connection.exchange(&request).await?;
                    }
                    Ok::<_, Box<dyn std::error::Error + Send + Sync>>(connection)
                });
            }
            running
                .join_all()
                .await
                .into_iter()
                .collect::<Result<Vec<_>>>()
        })?;
        self.connections = connections;
        Ok((calls_each * CONNECTIONS) as f64 / started.elapsed().as_secs_f64())
    }
}

impl Connection {
    async fn exchange(&mut self, request: &str) -> Result<()> {
        self.stream.get_mut().write_all(request.as_bytes()).await?;
        let mut length = 0;
        loop {
            self.line.clear();
            if self.stream.read_line(&mut self.line).await? == 0 {
                return Err("the server has closed the connection".into());
            }
            let line = self.line.trim_end();
            if line.is_empty() {
                break;
            }
            if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse()?;
            }
        }
        self.body.resize(length, 0);
        self.stream.read_exact(&mut self.body).await?;
        let body = String::from_utf8_lossy(&self.body);
        match body.contains("hello, server") {
            true => Ok(()),
            false => Err(format!("not the expected answer: {body}").into()),
        }
    }
}

/// A call of the modern era, which both kits serve without a session.
fn request(id: usize) -> String {
    let body = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"message\":\"hello, server\"}},\"_meta\":{{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\",\"io.modelcontextprotocol/clientInfo\":{{\"name\":\"bench\",\"version\":\"1\"}},\"io.modelcontextprotocol/clientCapabilities\":{{}}}}}}}}"
    );
    let length = body.len();
    format!(
        "POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: echo\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
