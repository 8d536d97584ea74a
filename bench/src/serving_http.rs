//! The server of the benchmark over HTTP/1.1: a thread for each connection, one read and one write
//! for each request, the answer as JSON. Its own time is small and equal for every client.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

/// A head that grows beyond this is no request of the benchmark.
const HEAD_LIMIT: usize = 16 * 1024;

/// Listens on a free port of the loopback interface, tells it on standard output, and serves until
/// standard input ends. `answerer` makes what answers the messages of one connection.
pub(crate) fn serve<A>(answerer: impl Fn() -> A + Clone + Send + 'static) -> io::Result<()>
where
    A: FnMut(&[u8]) -> io::Result<Vec<u8>>,
{
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let mut output = io::stdout().lock();
    writeln!(output, "{}", listener.local_addr()?.port())?;
    output.flush()?;
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let answerer = answerer.clone();
            std::thread::spawn(move || {
                // A client may close its connection at any time.
                let _ = converse(connection, answerer());
            });
        }
    });
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}

fn converse(
    mut connection: TcpStream,
    mut answer: impl FnMut(&[u8]) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut received = Vec::with_capacity(HEAD_LIMIT);
    let mut chunk = vec![0; 64 * 1024];
    loop {
        let request = loop {
            if let Some(request) = Request::in_bytes(&received) {
                break request;
            }
            let count = connection.read(&mut chunk)?;
            if count == 0 {
                return Ok(());
            }
            received.extend_from_slice(&chunk[..count]);
        };
        let reply = match request.verb {
            Verb::Post => {
                let body = answer(&received[request.body.clone()])?;
                let status = if body.is_empty() {
                    "202 Accepted"
                } else {
                    "200 OK"
                };
                let mut reply = format!(
                    "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                )
                .into_bytes();
                reply.extend_from_slice(&body);
                reply
            }
            Verb::Other => b"HTTP/1.1 405 None\r\nContent-Length: 0\r\n\r\n".to_vec(),
        };
        connection.write_all(&reply)?;
        received.drain(..request.body.end);
    }
}

enum Verb {
    Post,
    Other,
}

/// A whole request within the bytes that came.
struct Request {
    verb: Verb,
    body: std::ops::Range<usize>,
}

impl Request {
    fn in_bytes(bytes: &[u8]) -> Option<Self> {
        let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
        let text = std::str::from_utf8(&bytes[..head]).ok()?;
        let length = text
            .lines()
            .filter_map(|line| line.split_once(':'))
            .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
            .and_then(|(_, value)| value.trim().parse::<usize>().ok())
            .unwrap_or(0);
        let end = head + length;
        (bytes.len() >= end).then_some(Self {
            verb: if bytes.starts_with(b"POST ") {
                Verb::Post
            } else {
                Verb::Other
            },
            body: head..end,
        })
    }
}
