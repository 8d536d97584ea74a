//! A small real HTTP server and client on the loopback address, so that tests need no HTTP library
//! of their own and every byte on the wire is theirs.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::Url;

/// A server that answers with a function and remembers what it was asked.
pub(crate) struct Web {
    origin: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: HashMap<String, String>,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
}

impl Asked {
    /// The body as a form.
    pub(crate) fn form(&self) -> HashMap<String, String> {
        url::form_urlencoded::parse(self.body.as_bytes())
            .into_owned()
            .collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: String::new(),
        }
    }

    pub(crate) fn json(status: u16, body: &serde_json::Value) -> Self {
        let mut reply = Self::status(status).header("Content-Type", "application/json");
        reply.body = body.to_string();
        reply
    }

    /// Takes the request and never answers.
    pub(crate) fn silence() -> Self {
        Self::status(0)
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

impl Web {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let log = Arc::clone(&asked);
        let answer = Arc::new(answer);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (log, answer) = (Arc::clone(&log), Arc::clone(&answer));
                tokio::spawn(async move { attend(stream, &log, &*answer).await });
            }
        });
        Self {
            origin,
            asked,
            task,
        }
    }

    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        Url::parse(&format!("{}{path}", self.origin)).unwrap()
    }

    /// All requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// The requests for one path.
    pub(crate) fn asked_for(&self, path: &str) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|asked| asked.path == path);
        asked
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn attend(
    mut stream: TcpStream,
    log: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&Asked) -> Reply + Send + Sync),
) {
    let Some(asked) = read_request(&mut stream).await else {
        return;
    };
    log.lock().unwrap().push(asked.clone());
    let reply = answer(&asked);
    if reply.status == 0 {
        // Waits for the other side to lose patience.
        let _ = stream.read(&mut [0; 1]).await;
        return;
    }
    let mut text = format!("HTTP/1.1 {} Status\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str(&format!("Content-Length: {}\r\n\r\n", reply.body.len()));
    text.push_str(&reply.body);
    let _ = stream.write_all(text.as_bytes()).await;
    let _ = stream.shutdown().await;
}

async fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let asked = parse(head, body);
            let wanted: usize = asked
                .header("content-length")
                .map_or(0, |length| length.parse().unwrap());
            if body.len() >= wanted {
                return Some(asked);
            }
        }
        let mut chunk = [0; 4096];
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
        }
    }
}

fn parse(head: &str, body: &str) -> Asked {
    let mut lines = head.lines();
    let mut words = lines.next().unwrap().split(' ');
    let method = words.next().unwrap().to_owned();
    let url = Url::parse(&format!("http://host{}", words.next().unwrap())).unwrap();
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    Asked {
        method,
        path: url.path().to_owned(),
        query: url.query_pairs().into_owned().collect(),
        headers,
        body: body.to_owned(),
    }
}

/// An answer as a client sees it.
pub(crate) struct Answer {
    pub(crate) status: http::StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

/// Makes one GET request, following nothing.
pub(crate) async fn get(url: &Url, headers: &[(http::HeaderName, http::HeaderValue)]) -> Answer {
    let address = url.socket_addrs(|| None).unwrap();
    let mut stream = TcpStream::connect(&*address).await.unwrap();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = url.authority();
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
    request.push_str("\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap();
    let mut headers = http::HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
        let name: http::HeaderName = name.parse().unwrap();
        headers.append(name, value.parse().unwrap());
    }
    Answer {
        status: status.parse().unwrap(),
        headers,
        body: body.to_owned(),
    }
}
