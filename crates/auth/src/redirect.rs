//! Receives the answer to a login on this machine (RFC 8252 section 7.3).
//!
//! Owns a listener on the loopback address that serves one login: it reads a few bounded requests,
//! lets the login judge them, shows a plain page, and goes away. It knows nothing of OAuth, and
//! nothing it received appears on a page.

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use super::error::AuthorizationError;
use super::login::{Judgement, Login};
use super::secret::Secret;

/// The longest request head that is read: a code and a state with room to spare.
pub(crate) const MAX_REQUEST: usize = 16 * 1024;

/// How many connections are open at once. Browsers open a few in advance and leave them idle.
pub(crate) const MAX_CONNECTIONS: usize = 16;

/// How long one connection may take to say what it wants.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

const PATH: &str = "/callback";

/// Which port the answer comes back to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RedirectPort {
    /// Any free one. Authorization servers must accept every loopback port (RFC 8252).
    #[default]
    Any,
    /// This one, for authorization servers that compare the whole address.
    Fixed(u16),
}

/// A listener for one answer.
pub(crate) struct RedirectListener {
    listener: TcpListener,
    uri: String,
}

impl RedirectListener {
    pub(crate) async fn bind(port: RedirectPort) -> Result<Self, AuthorizationError> {
        let number = match port {
            RedirectPort::Any => 0,
            RedirectPort::Fixed(number) => number,
        };
        let failed = |error: io::Error| AuthorizationError::Browser {
            problem: format!("the answer cannot be received on port {number}: {error}"),
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, number))
            .await
            .map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            uri: format!("http://127.0.0.1:{port}{PATH}"),
        })
    }

    /// The address that the answer is to be sent to.
    pub(crate) fn uri(&self) -> &str {
        &self.uri
    }

    /// Waits for the answer to this login. Strangers get an error page and change nothing.
    pub(crate) async fn answer(
        self,
        login: Arc<Login>,
        patience: Duration,
    ) -> Result<Secret, AuthorizationError> {
        match tokio::time::timeout(patience, self.serve(login)).await {
            Ok(answer) => answer,
            Err(_) => Err(AuthorizationError::LoginTimedOut { after: patience }),
        }
    }

    async fn serve(self, login: Arc<Login>) -> Result<Secret, AuthorizationError> {
        // Dropping the set at the end closes what is still open.
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                    // A connection that failed before it began is none.
                    if let Ok((stream, _)) = accepted {
                        connections.spawn(attend(stream, Arc::clone(&login)));
                    }
                }
                Some(attended) = connections.join_next() => {
                    if let Ok(Some(answer)) = attended {
                        return answer;
                    }
                }
            }
        }
    }
}

/// Serves one connection; gives the end of the login if it brought it.
async fn attend(
    mut stream: TcpStream,
    login: Arc<Login>,
) -> Option<Result<Secret, AuthorizationError>> {
    let head = tokio::time::timeout(REQUEST_TIMEOUT, read_head(&mut stream)).await;
    let target = head.ok().flatten().and_then(|head| target(&head));
    let (page, outcome) = match target {
        None => (Page::NotFound, None),
        Some(answer) => match login.judge(&answer) {
            Judgement::Stray => (Page::Stray, None),
            Judgement::Final(Ok(code)) => (Page::Done, Some(Ok(code))),
            Judgement::Final(Err(error)) => (Page::Failed, Some(Err(error))),
        },
    };
    // The page is a courtesy: whether it arrives changes nothing.
    let _ = tokio::time::timeout(REQUEST_TIMEOUT, show(&mut stream, page)).await;
    outcome
}

/// The head of a request, if it ends within the limit.
async fn read_head(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    loop {
        let mut chunk = [0; 2048];
        let count = stream.read(&mut chunk).await.ok()?;
        head.extend_from_slice(chunk.get(..count)?);
        if head.windows(4).any(|window| window == b"\r\n\r\n") {
            return Some(head);
        }
        if count == 0 || head.len() > MAX_REQUEST {
            return None;
        }
    }
}

/// The fields of a request for the right path.
fn target(head: &[u8]) -> Option<Vec<(String, String)>> {
    let line = head.split(|byte| *byte == b'\r').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (method, target, version) = (words.next()?, words.next()?, words.next()?);
    if method != "GET" || !target.starts_with('/') || !version.starts_with("HTTP/1.") {
        return None;
    }
    let url = Url::parse(&format!("http://127.0.0.1{target}")).ok()?;
    (url.path() == PATH).then(|| url.query_pairs().into_owned().collect())
}

#[derive(Clone, Copy)]
enum Page {
    Done,
    Failed,
    Stray,
    NotFound,
}

async fn show(stream: &mut TcpStream, page: Page) -> io::Result<()> {
    let (status, text) = match page {
        Page::Done => (
            "200 OK",
            "The login is finished. You can close this window.",
        ),
        Page::Failed => (
            "400 Bad Request",
            "The login failed. The program that started it says why.",
        ),
        Page::Stray => ("400 Bad Request", "This answer belongs to no login."),
        Page::NotFound => ("404 Not Found", "There is nothing here."),
    };
    let body = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Login</title><p>{text}</p></html>"
    );
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none'\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n\
         {body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_one_path_is_there() {
        let check = |head: &str, expected: Option<&[(&str, &str)]>| {
            let found = target(head.as_bytes());
            let expected: Option<Vec<(String, String)>> = expected.map(|pairs| {
                let owned = pairs
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
                owned.collect()
            });
            assert_eq!(found, expected, "{head}");
        };
        check(
            "GET /callback?code=a%20b&state=c HTTP/1.1\r\n\r\n",
            Some(&[("code", "a b"), ("state", "c")]),
        );
        check("GET /callback HTTP/1.1\r\n\r\n", Some(&[]));
        check("GET /favicon.ico HTTP/1.1\r\n\r\n", None);
        check("GET /callback/x?code=a HTTP/1.1\r\n\r\n", None);
        check("POST /callback?code=a HTTP/1.1\r\n\r\n", None);
        check("GET http://evil/callback?code=a HTTP/1.1\r\n\r\n", None);
        check("GET @evil/callback HTTP/1.1\r\n\r\n", None);
        check("GET /callback\r\n\r\n", None);
        check("\u{fffd}\r\n\r\n", None);
    }
}
