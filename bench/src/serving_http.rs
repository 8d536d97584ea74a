//! The server of the benchmark over HTTP/1.1: one thread for all connections, one read and one
//! write for each request, the answer as JSON. Its own time is small and equal for every client. A
//! thread for each connection would wake a thread for each request, which costs more than the
//! answer and is felt by whoever shares the cores.

use std::io::{self, Write as _};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{LocalSet, spawn_local};

/// A head that grows beyond this is no request of the benchmark.
const HEAD_LIMIT: usize = 16 * 1024;

/// Listens on a free port of the loopback interface, tells it on standard output, and serves until
/// standard input ends. `answerer` makes what answers the messages of one connection.
pub(crate) fn serve<A>(answerer: impl Fn() -> A + 'static) -> io::Result<()>
where
    A: FnMut(&[u8]) -> io::Result<Vec<u8>> + 'static,
{
    std::thread::spawn(|| {
        // However the input ends, the benchmark is over.
        let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let mut output = io::stdout().lock();
        writeln!(output, "{}", listener.local_addr()?.port())?;
        output.flush()?;
        loop {
            let (connection, _) = listener.accept().await?;
            let answer = answerer();
            spawn_local(async {
                // A client may close its connection at any time.
                let _ = converse(connection, answer).await;
            });
        }
    })
}

async fn converse(
    mut connection: TcpStream,
    mut answer: impl FnMut(&[u8]) -> io::Result<Vec<u8>>,
) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut received = Vec::with_capacity(HEAD_LIMIT);
    loop {
        let request = loop {
            if let Some(request) = Request::in_bytes(&received) {
                break request;
            }
            if connection.read_buf(&mut received).await? == 0 {
                return Ok(());
            }
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
        connection.write_all(&reply).await?;
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
