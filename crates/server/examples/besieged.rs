//! A healthy client beside attacks on the HTTP face (fault 70): its latency with each attack held
//! up beside it, and how much memory the server took. Run by hand:
//!
//! `cargo run --release -p attache-server --example besieged`
//!
//! The attacker takes processor time too, on the same machine. So calls go by turns to the server
//! under attack and to another one, which is left alone; what the attack costs is the difference.

use std::error::Error;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use attache_server::http::{self, HttpSettings};
use attache_server::{Context, NoArguments, Server, Tool};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::runtime::Runtime;

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// How many calls the healthy client makes each time, and how long it rests between two.
const CALLS: usize = 2000;
const REST: Duration = Duration::from_millis(1);

/// The pause of an attacker between two blows: the attack shall hold resources, not the processor.
const BLOW: Duration = Duration::from_secs(1);

/// How long it takes until all attackers are there.
const RISE: Duration = Duration::from_secs(1);

fn main() -> Result<()> {
    // As `attache serve --http` does it: what one client sends holds up one thread.
    if std::env::args().any(|argument| argument == "--serve") {
        let mut threads = tokio::runtime::Builder::new_multi_thread();
        let runtime = threads.worker_threads(4).enable_all().build()?;
        return runtime.block_on(serve());
    }
    let client = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    client.block_on(compare())
}

async fn compare() -> Result<()> {
    say(["attack", "p50", "p99", "left alone", "", "ratio", "memory"]);
    for attack in [
        Attack::None,
        Attack::Heads,
        Attack::Bodies,
        Attack::Sessions,
        Attack::Streams,
    ] {
        let (mut process, address) = start().await?;
        let (mut alone, alone_address) = start().await?;
        let attackers = attack.begin(address)?;
        // Half of the calls are made while the attack builds up, and only the others count.
        measure([address, alone_address]).await?;
        let [attacked, left_alone] = measure([address, alone_address]).await?;
        say([
            &format!("{attack:?}"),
            &format!("{:?}", attacked.p50),
            &format!("{:?}", attacked.p99),
            &format!("{:?}", left_alone.p50),
            &format!("{:?}", left_alone.p99),
            &format!(
                "{:.2}×",
                attacked.p99.as_secs_f64() / left_alone.p99.as_secs_f64()
            ),
            &peak(&process)?,
        ]);
        attackers.shutdown_background();
        process.kill().await?;
        alone.kill().await?;
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a program that is run by hand")]
fn say(row: [&str; 7]) {
    for cell in row {
        print!("{cell:>13}");
    }
    println!();
}

/// How long the calls to one server took.
struct Latency {
    p50: Duration,
    p99: Duration,
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self {
            p50: times[CALLS / 2],
            p99: times[CALLS * 99 / 100],
        }
    }
}

async fn serve() -> Result<()> {
    let hello = Tool::new("hello", "Says hello.", |_, _: NoArguments| async {
        Ok("hello")
    });
    let talk = Tool::new(
        "talk",
        "Talks for three megabytes.",
        |context: Context, _: NoArguments| async move {
            for progress in 1..=3_u32 {
                context.progress_with(progress.into(), None, &"x".repeat(1 << 20));
            }
            Ok("done")
        },
    );
    let server = Server::builder("besieged", "1").tool(hello).tool(talk);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    announce(listener.local_addr()?);
    let forever = std::future::pending();
    http::serve(listener, server.build()?, HttpSettings::default(), forever).await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the parent reads the address")]
fn announce(address: SocketAddr) {
    println!("{address}");
}

async fn start() -> Result<(Child, SocketAddr)> {
    let mut process = Command::new(std::env::current_exe()?)
        .arg("--serve")
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let output = process.stdout.take().ok_or("the server has no output")?;
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).await?;
    Ok((process, line.trim().parse()?))
}

/// The most memory the server ever had.
fn peak(process: &Child) -> Result<String> {
    let id = process.id().ok_or("the server has ended")?;
    let status = std::fs::read_to_string(format!("/proc/{id}/status"))?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    Ok(line.unwrap_or("unknown").trim().to_owned())
}

/// Calls a tool over and over, by turns at both servers.
async fn measure(addresses: [SocketAddr; 2]) -> Result<[Latency; 2]> {
    let mut clients = addresses.map(Healthy::new);
    for _ in 0..CALLS {
        for client in &mut clients {
            client.call().await?;
            tokio::time::sleep(REST).await;
        }
    }
    Ok(clients.map(|client| Latency::of(client.times)))
}

/// A client that behaves.
struct Healthy {
    address: SocketAddr,
    request: String,
    connection: Option<BufReader<TcpStream>>,
    times: Vec<Duration>,
}

impl Healthy {
    fn new(address: SocketAddr) -> Self {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
        let headers =
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: hello\r\n";
        Self {
            address,
            request: post(address, headers, body),
            connection: None,
            times: Vec::with_capacity(CALLS),
        }
    }

    /// Connects again when the server has closed the connection.
    async fn call(&mut self) -> Result<()> {
        loop {
            let started = Instant::now();
            let mut stream = match self.connection.take() {
                Some(stream) => stream,
                None => BufReader::new(TcpStream::connect(self.address).await?),
            };
            stream.write_all(self.request.as_bytes()).await?;
            let Some((head, _)) = answer(&mut stream).await? else {
                continue;
            };
            if !head.starts_with("HTTP/1.1 200") {
                return Err(format!("the healthy client was refused: {head}").into());
            }
            self.times.push(started.elapsed());
            self.connection = Some(stream);
            return Ok(());
        }
    }
}

fn post(address: SocketAddr, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n\
         accept: application/json, text/event-stream\r\n{headers}content-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The head and the JSON body of an answer; none if the connection was closed.
async fn answer(stream: &mut BufReader<TcpStream>) -> Result<Option<(String, Vec<u8>)>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(Ok(0), str::parse)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(Some((head, body)))
}

#[derive(Clone, Copy, Debug)]
enum Attack {
    None,
    /// 1,500 requests whose heads do not end.
    Heads,
    /// 60 bodies of four megabytes without their last byte.
    Bodies,
    /// `initialize`, over and over.
    Sessions,
    /// Calls whose streams of three megabytes are kept, in sessions of two clients.
    Streams,
}

impl Attack {
    fn attackers(self) -> usize {
        match self {
            Self::None => 0,
            Self::Heads => 1500,
            Self::Bodies => 60,
            Self::Sessions => 100,
            Self::Streams => 2,
        }
    }

    /// Attacks from a thread of its own, which the healthy client does not share.
    fn begin(self, address: SocketAddr) -> std::io::Result<Runtime> {
        let attackers = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let count = self.attackers();
        let body: Arc<str> = match self {
            Self::Bodies => post(address, "", &" ".repeat(4 * 1024 * 1024)).into(),
            _ => "".into(),
        };
        for number in 0..count {
            let body = Arc::clone(&body);
            attackers.spawn(async move {
                tokio::time::sleep(RISE.mul_f64(number as f64 / count as f64)).await;
                loop {
                    // What the server does to an attacker is no error: the next blow follows.
                    let _ = self.strike(address, &body).await;
                    tokio::time::sleep(BLOW).await;
                }
            });
        }
        Ok(attackers)
    }

    async fn strike(self, address: SocketAddr, body: &str) -> Result<()> {
        let mut stream = TcpStream::connect(address).await?;
        let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;
        match self {
            Self::None => {}
            Self::Heads => stream.write_all(b"POST /mcp HTTP/1.1\r\nx: ").await?,
            Self::Bodies => {
                stream.write_all(&body.as_bytes()[..body.len() - 1]).await?;
            }
            Self::Sessions => {
                let request = post(address, "connection: close\r\n", initialize);
                stream.write_all(request.as_bytes()).await?;
            }
            Self::Streams => {
                let mut stream = BufReader::new(stream);
                let request = post(address, "", initialize);
                stream.write_all(request.as_bytes()).await?;
                let (head, _) = answer(&mut stream).await?.ok_or("closed")?;
                let session = head
                    .lines()
                    .find(|line| line.starts_with("mcp-session-id: "))
                    .ok_or("there is no session")?;
                let talk = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"talk","arguments":{},"_meta":{"progressToken":1}}}"#;
                let headers = format!("{session}\r\nconnection: close\r\n");
                for _ in 0..64 {
                    let mut stream = TcpStream::connect(address).await?;
                    let request = post(address, &headers, talk);
                    stream.write_all(request.as_bytes()).await?;
                    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
                    tokio::time::sleep(BLOW / 20).await;
                }
                return Ok(());
            }
        }
        // Holds on until the server lets go.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
        Ok(())
    }
}
