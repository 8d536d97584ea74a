//! The web as these tests see it: servers that compute their answers, and a client that follows
//! nothing, so that every byte on the wire is the tests' own.

use std::collections::HashMap;

use attache_testkit::http::{Answer, HttpRequest, HttpScript, HttpServer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use url::Url;

/// Starts a server that answers with a function.
pub(crate) async fn serve(
    answer: impl Fn(&HttpRequest) -> Answer + Send + Sync + 'static,
) -> HttpServer {
    HttpScript::computed(answer).start().await.unwrap()
}

/// An address at a server.
pub(crate) fn at(server: &HttpServer, path: &str) -> Url {
    Url::parse(&format!("{}{path}", server.origin())).unwrap()
}

/// The fields that a request carries.
pub(crate) trait Fields {
    /// Those of its address.
    fn query_fields(&self) -> HashMap<String, String>;

    /// Those of the form in its body.
    fn form_fields(&self) -> HashMap<String, String>;
}

impl Fields for HttpRequest {
    fn query_fields(&self) -> HashMap<String, String> {
        fields(self.query.as_bytes())
    }

    fn form_fields(&self) -> HashMap<String, String> {
        fields(&self.body)
    }
}

fn fields(encoded: &[u8]) -> HashMap<String, String> {
    url::form_urlencoded::parse(encoded).into_owned().collect()
}

/// An answer as a client sees it.
pub(crate) struct Page {
    pub(crate) status: http::StatusCode,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: String,
}

/// Makes one GET request, following nothing.
pub(crate) async fn get(url: &Url, headers: &[(http::HeaderName, http::HeaderValue)]) -> Page {
    let address = url.socket_addrs(|| None).unwrap();
    let mut stream = TcpStream::connect(&*address).await.unwrap();
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let host = url.authority();
    let mut request = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n");
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
    Page {
        status: status.parse().unwrap(),
        headers,
        body: body.to_owned(),
    }
}
