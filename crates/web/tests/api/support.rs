//! A console with servers of a script, and a client that says exactly what a test wants to say.

use std::net::SocketAddr;
use std::time::Duration;

use attache::host::Lifetime;
use attache::host::questions::Askable;
use attache::{ElicitationModes, Host, SamplingTools};
use attache_testkit::chaos::{Launch, Script};
use attache_testkit::guard::within;
use attache_testkit::scratch::Scratch;
use attache_web::{Exposure, KEPT_EVENTS, Listeners, Server, Token};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

/// A console that is being served.
pub(crate) struct Rig {
    pub(crate) addresses: Vec<SocketAddr>,
    pub(crate) token: String,
    pub(crate) host: Host,
    pub(crate) launches: Vec<Launch>,
    stop: Option<oneshot::Sender<()>>,
    serving: Option<JoinHandle<()>>,
    _state: Scratch,
}

/// How a console of a test differs.
pub(crate) struct Options {
    pub(crate) kept_events: usize,
    pub(crate) patience: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            kept_events: KEPT_EVENTS,
            patience: None,
        }
    }
}

/// An answer of HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            let value = value.trim().to_owned();
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// What failed: kind and origin.
    pub(crate) fn failure(&self) -> (String, String) {
        let error = &self.json()["error"];
        let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        (text("kind"), text("origin"))
    }
}

impl Rig {
    pub(crate) async fn new(scripts: &[(&str, Script)]) -> Self {
        Self::with(scripts, Options::default()).await
    }

    pub(crate) async fn with(scripts: &[(&str, Script)], options: Options) -> Self {
        let state = Scratch::new("web").unwrap();
        let mut builder = Host::builder()
            .lifetime(Lifetime::Kept)
            .state_folder(state.path())
            .askable(Askable {
                elicitation: Some(ElicitationModes::FormAndUrl),
                sampling: Some(SamplingTools::Refused),
                roots: false,
            })
            .keep_events(options.kept_events);
        let mut launches = Vec::new();
        for (name, script) in scripts {
            let launch = script.launch().unwrap();
            let mut server = attache::Server::stdio(&launch.program, &launch.args);
            for (key, value) in &launch.env {
                server = server.env(key, value);
            }
            builder = builder.server(name, server);
            launches.push(launch);
        }
        let host = builder.start();
        let listeners = Listeners::loopback(0).await.unwrap();
        let addresses = listeners.addresses().to_vec();
        let token = Token::random().unwrap();
        let text = token.as_str().to_owned();
        let mut server = Server::new(host.clone(), token, listeners, Exposure::Loopback, &[]);
        if let Some(patience) = options.patience {
            server = server.impatient(patience, patience);
        }
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server.serve(async move {
            let _ = stopped.await;
        }));
        Self {
            addresses,
            token: text,
            host,
            launches,
            stop: Some(stop),
            serving: Some(serving),
            _state: state,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.addresses[0]
    }

    /// What every proper request has.
    pub(crate) fn usual(&self) -> Vec<(String, String)> {
        vec![
            ("Host".to_owned(), self.address().to_string()),
            ("Authorization".to_owned(), format!("Bearer {}", self.token)),
        ]
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        let path = format!("/api/v1{path}");
        request(self.address(), "GET", &path, &self.usual(), None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        let path = format!("/api/v1{path}");
        request(self.address(), "DELETE", &path, &self.usual(), None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &str) -> Answer {
        self.send("POST", path, body).await
    }

    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Answer {
        let mut headers = self.usual();
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        let path = format!("/api/v1{path}");
        request(self.address(), method, &path, &headers, Some(body)).await
    }

    /// Calls a tool as a person and gives the whole call.
    pub(crate) async fn call(&self, server: &str, tool: &str, arguments: &str) -> Answer {
        let body = format!(
            r#"{{"server_name":"{server}","tool_name":"{tool}","arguments":{arguments},"wait":true,"origin":"person"}}"#
        );
        self.post("/use_mcp_tool", &body).await
    }

    /// The events behind a number.
    pub(crate) async fn events(&self, after: u64) -> EventReader {
        let reader = EventReader::open(self, &format!("/api/v1/events?after={after}"), &[]).await;
        assert_eq!(reader.status, 200);
        reader
    }

    /// Ends the console and its servers.
    pub(crate) async fn close(mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(serving) = self.serving.take() {
            within("the console to end", serving).await.unwrap();
        }
        within("the servers to end", self.host.close()).await;
    }
}

/// Makes one request on a connection of its own.
pub(crate) async fn request(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: Option<&str>,
) -> Answer {
    let work = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if let Some(body) = body {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        // A server that refuses early need not read the rest.
        let _ = stream.write_all(body.unwrap_or_default().as_bytes()).await;
        answer(&mut stream).await
    };
    within(&format!("{method} {path}"), work).await
}

/// Reads an answer to the end of its connection.
pub(crate) async fn answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    // A connection that is reset after an early refusal has said all it has to say.
    let _ = stream.read_to_end(&mut bytes).await;
    let text = String::from_utf8(bytes).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|it| it.parse().ok());
    Answer {
        status: status.unwrap_or(0),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Told {
    pub(crate) id: Option<u64>,
    pub(crate) event: String,
    pub(crate) data: Value,
}

/// A reader of an event stream.
pub(crate) struct EventReader {
    pub(crate) status: u16,
    lines: BufReader<TcpStream>,
    text: String,
}

impl EventReader {
    pub(crate) async fn open(rig: &Rig, path: &str, more: &[(&str, &str)]) -> Self {
        let mut stream = TcpStream::connect(rig.address()).await.unwrap();
        let mut head = format!("GET {path} HTTP/1.1\r\n");
        for (name, value) in rig.usual() {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        for (name, value) in more {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        stream
            .write_all(format!("{head}\r\n").as_bytes())
            .await
            .unwrap();
        let mut lines = BufReader::new(stream);
        let mut status = 0;
        loop {
            let mut line = String::new();
            within("the head of a stream", lines.read_line(&mut line))
                .await
                .unwrap();
            if status == 0 {
                status = line.split(' ').nth(1).unwrap().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        Self {
            status,
            lines,
            text: String::new(),
        }
    }

    /// The next event; comments are left out. None when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Told> {
        loop {
            if let Some((piece, rest)) = self.text.split_once("\n\n") {
                let told = parse(piece);
                self.text = rest.to_owned();
                match told {
                    Some(told) => return Some(told),
                    None => continue,
                }
            }
            within("an event", self.chunk()).await?;
        }
    }

    /// Reads until an event satisfies a condition; gives that one.
    pub(crate) async fn until(&mut self, mut wanted: impl FnMut(&Told) -> bool) -> Told {
        loop {
            let told = self.next().await.expect("the stream goes on");
            if wanted(&told) {
                return told;
            }
        }
    }

    pub(crate) async fn named(&mut self, event: &str) -> Told {
        self.until(|told| told.event == event).await
    }

    async fn chunk(&mut self) -> Option<()> {
        let mut size = String::new();
        self.lines.read_line(&mut size).await.ok()?;
        let size = usize::from_str_radix(size.trim(), 16).ok()?;
        let mut bytes = vec![0; size + 2];
        self.lines.read_exact(&mut bytes).await.ok()?;
        self.text
            .push_str(std::str::from_utf8(&bytes[..size]).unwrap());
        (size > 0).then_some(())
    }
}

fn parse(piece: &str) -> Option<Told> {
    let field = |name: &str| {
        let mut lines = piece.lines();
        lines.find_map(|line| line.strip_prefix(&format!("{name}: ")))
    };
    Some(Told {
        id: field("id").map(|id| id.parse().unwrap()),
        event: field("event")?.to_owned(),
        data: serde_json::from_str(field("data")?).unwrap(),
    })
}
