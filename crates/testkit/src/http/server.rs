//! The listener and its connections: reads requests, plays answers, keeps a record.

use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::answer::{Answer, Body, Ending, Piece};
use super::request::HttpRequest;
use super::script::{HttpScript, Kind};
use super::usual;

/// A running server. It stops when it is dropped.
#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    listening: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    script: Mutex<HttpScript>,
    requests: Mutex<Vec<HttpRequest>>,
    changed: Notify,
    connections: AtomicUsize,
    sessions: AtomicUsize,
    /// How many answers were given up because the client had gone.
    abandoned: AtomicUsize,
}

impl Shared {
    /// Waits until a message of this method has come.
    async fn has_come(&self, method: &str) {
        loop {
            let changed = self.changed.notified();
            if lock(&self.requests).iter().any(|it| it.method() == method) {
                return;
            }
            changed.await;
        }
    }
}

impl HttpServer {
    pub(super) async fn start(script: HttpScript) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            changed: Notify::new(),
            connections: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
            abandoned: AtomicUsize::new(0),
        });
        let listening = tokio::spawn(listen(listener, shared.clone()));
        Ok(Self {
            address,
            shared,
            listening,
        })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("{}/mcp", self.origin())
    }

    /// Where it listens, without a path.
    pub fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// All requests so far.
    pub fn requests(&self) -> Vec<HttpRequest> {
        lock(&self.shared.requests).clone()
    }

    /// The requests whose message is of this method.
    pub fn requests_of(&self, method: &str) -> Vec<HttpRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.method() == method);
        requests
    }

    /// How many messages of this method have come.
    pub fn count_of(&self, method: &str) -> usize {
        self.requests_of(method).len()
    }

    /// The requests with this verb.
    pub fn requests_by(&self, verb: &str) -> Vec<HttpRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.verb == verb);
        requests
    }

    /// The requests for this path.
    pub fn requests_at(&self, path: &str) -> Vec<HttpRequest> {
        let mut requests = self.requests();
        requests.retain(|request| request.path == path);
        requests
    }

    /// How many connections were accepted.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// How many answers the client did not wait for.
    pub fn abandoned(&self) -> usize {
        self.shared.abandoned.load(Ordering::SeqCst)
    }

    /// Waits until `condition` holds; checked whenever anything happens.
    ///
    /// # Panics
    ///
    /// If it does not hold within ten seconds.
    pub async fn wait_until(&self, condition: impl Fn(&Self) -> bool) {
        let waited = tokio::time::timeout(Duration::from_secs(10), async {
            loop {
                let changed = self.shared.changed.notified();
                if condition(self) {
                    return;
                }
                changed.await;
            }
        });
        assert!(
            waited.await.is_ok(),
            "the server waited in vain; it was told {:?}",
            self.requests()
                .iter()
                .map(HttpRequest::method)
                .collect::<Vec<_>>()
        );
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn listen(listener: TcpListener, shared: Arc<Shared>) {
    // Dropping the set ends the connections with the listener.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let number = shared.connections.fetch_add(1, Ordering::SeqCst) + 1;
        shared.changed.notify_waiters();
        let shared = shared.clone();
        connections.spawn(async move {
            // A client may go away at any point; that is its right.
            let _ = serve(stream, number, &shared).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, number: usize, shared: &Shared) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (input, output) = stream.into_split();
    let mut input = BufReader::new(input);
    let mut output = Output {
        half: output,
        written: 0,
        slice: None,
        ending: Ending::Orderly,
    };
    while let Some(request) = HttpRequest::read(&mut input, number).await? {
        lock(&shared.requests).push(request.clone());
        let answer = lock(&shared.script).answer(&request);
        shared.changed.notify_waiters();
        let played = play(&answer, &request, &mut input, &mut output, shared).await;
        match played {
            Ok(After::NextRequest) if request.header("connection") != Some("close") => {}
            Ok(_) => return Ok(()),
            Err(error) => {
                shared.abandoned.fetch_add(1, Ordering::SeqCst);
                shared.changed.notify_waiters();
                return Err(error);
            }
        }
    }
    Ok(())
}

/// What becomes of a connection after an answer.
enum After {
    NextRequest,
    Close,
}

async fn play(
    answer: &Answer,
    request: &HttpRequest,
    input: &mut BufReader<OwnedReadHalf>,
    output: &mut Output,
    shared: &Shared,
) -> io::Result<After> {
    output.written = 0;
    output.slice = answer.slice;
    output.ending = answer.ending;
    tokio::select! {
        () = tokio::time::sleep(answer.delay) => {}
        gone = gone(input) => return Err(gone),
    }
    if answer.ending == Ending::Stall {
        output.write(b"HTTP/1.1 200 OK\r\nContent-Ty").await?;
        return Err(gone(input).await);
    }
    let message = request.message();
    let kind = lock(&shared.script).kind.clone();
    let mut head = head(answer, &message, &kind, shared);
    let done = match &answer.body {
        Body::Usual => {
            let body = usual::message(&kind, &message).to_string();
            whole(output, head, body.as_bytes()).await?
        }
        Body::Bytes(body) => {
            let body = filled(body, &message, request.header("host"));
            whole(output, head, &body).await?
        }
        Body::Events(pieces) => {
            head.push_str("Transfer-Encoding: chunked\r\n\r\n");
            tokio::select! {
                done = stream(output, &head, pieces, &message, shared) => done?,
                gone = gone(input) => return Err(gone),
            }
        }
        Body::Endless(pattern) => {
            head.push_str("Transfer-Encoding: chunked\r\n\r\n");
            let mut done = output.write(head.as_bytes()).await?;
            while !done {
                done = output.write(&chunk(&pattern.repeat(64))).await?;
            }
            done
        }
    };
    match answer.ending {
        Ending::Hold => Err(gone(input).await),
        _ if done => Ok(After::Close),
        _ => Ok(After::NextRequest),
    }
}

/// Waits until the client closes the connection. Clients do not send a second request before the
/// first is answered.
async fn gone(input: &mut BufReader<OwnedReadHalf>) -> io::Error {
    use tokio::io::AsyncBufReadExt as _;
    match input.fill_buf().await {
        Ok([]) => io::ErrorKind::UnexpectedEof.into(),
        Ok(_) => io::Error::other("a second request before the answer"),
        Err(error) => error,
    }
}

fn head(answer: &Answer, message: &Value, kind: &Kind, shared: &Shared) -> String {
    let mut head = format!("HTTP/1.1 {} Scripted\r\n", answer.status);
    if let Some(content_type) = &answer.content_type {
        head.push_str(&format!("Content-Type: {content_type}\r\n"));
    }
    let opens = matches!(kind, Kind::Legacy(_)) && message["method"] == "initialize";
    if opens && answer.status == 200 {
        let number = shared.sessions.fetch_add(1, Ordering::SeqCst) + 1;
        head.push_str(&format!("Mcp-Session-Id: session-{number}\r\n"));
    }
    for (name, value) in &answer.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head
}

async fn whole(output: &mut Output, mut head: String, body: &[u8]) -> io::Result<bool> {
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(body);
    output.write(&bytes).await
}

async fn stream(
    output: &mut Output,
    head: &str,
    pieces: &[Piece],
    message: &Value,
    shared: &Shared,
) -> io::Result<bool> {
    let kind = lock(&shared.script).kind.clone();
    let mut done = output.write(head.as_bytes()).await?;
    for piece in pieces {
        let text = match piece {
            Piece::Pause(pause) => {
                tokio::time::sleep(*pause).await;
                continue;
            }
            Piece::Until(method) => {
                shared.has_come(method).await;
                continue;
            }
            Piece::Text(text) => filled(text.as_bytes(), message, None),
            Piece::Usual => format!("data: {}\n\n", usual::message(&kind, message)).into_bytes(),
        };
        done = done || output.write(&chunk(&text)).await?;
    }
    if !done && output.ending == Ending::Orderly {
        output.write(b"0\r\n\r\n").await?;
    }
    Ok(done)
}

fn chunk(bytes: &[u8]) -> Vec<u8> {
    let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
    chunk.extend_from_slice(bytes);
    chunk.extend_from_slice(b"\r\n");
    chunk
}

/// Puts what only the request knows where the script left a place for it.
fn filled(bytes: &[u8], message: &Value, host: Option<&str>) -> Vec<u8> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text
            .replace("\"$id\"", &message["id"].to_string())
            .replace("$host", host.unwrap_or("$host"))
            .into_bytes(),
        Err(_) => bytes.to_vec(),
    }
}

/// Writes in slices, and stops where the answer says so.
struct Output {
    half: OwnedWriteHalf,
    written: usize,
    slice: Option<usize>,
    ending: Ending,
}

impl Output {
    /// Writes bytes; true when the connection is to end here.
    async fn write(&mut self, bytes: &[u8]) -> io::Result<bool> {
        let limit = match self.ending {
            Ending::CutAfter(limit) | Ending::ResetAfter(limit) => limit,
            _ => usize::MAX,
        };
        let allowed = bytes.len().min(limit - self.written.min(limit));
        for slice in bytes[..allowed].chunks(self.slice.unwrap_or(allowed.max(1))) {
            self.half.write_all(slice).await?;
            if self.slice.is_some() {
                // The client gets to see each slice by itself.
                tokio::task::yield_now().await;
            }
        }
        self.written += allowed;
        if self.written < limit {
            return Ok(false);
        }
        if matches!(self.ending, Ending::ResetAfter(_)) {
            // Closing without lingering makes it a reset.
            self.half.as_ref().set_zero_linger()?;
        }
        Ok(true)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
