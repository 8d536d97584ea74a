//! Measures a console from outside: how long `attache web` takes from its start to a page that can
//! be used, how much memory it holds, and how many bytes the page has.
//!
//! `cargo run -p attache-web --example measure -- path/to/attache`

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: usize = 10;

type Failure = Box<dyn std::error::Error>;

#[expect(clippy::print_stdout, reason = "what it measures is what it is for")]
fn main() -> Result<(), Failure> {
    let program = std::env::args()
        .nth(1)
        .ok_or("say which program: target/release/attache")?;
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push(round(&program)?);
    }
    rounds.sort_by_key(|round| round.usable);
    let median = &rounds[ROUNDS / 2];
    println!(
        "started     {:>8.1} ms  the link is printed",
        milliseconds(median.linked)
    );
    println!(
        "usable      {:>8.1} ms  page, script, style, snapshot and tools are there",
        milliseconds(median.usable)
    );
    println!(
        "page        {:>8} bytes compressed, {} plain, {} requests",
        median.compressed, median.plain, median.requests
    );
    println!("memory      {:>8} kB resident", median.resident_kb);
    Ok(())
}

struct Round {
    linked: Duration,
    usable: Duration,
    compressed: usize,
    plain: usize,
    requests: usize,
    resident_kb: u64,
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

fn round(program: &str) -> Result<Round, Failure> {
    let began = Instant::now();
    let mut console = Command::new(program)
        .args(["web", "demo"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let measured = console
        .stderr
        .take()
        .ok_or_else(|| Failure::from("no stderr"))
        .and_then(|stderr| {
            let mut line = String::new();
            BufReader::new(stderr).read_line(&mut line)?;
            let linked = began.elapsed();
            use_page(&line, began, linked, console.id())
        });
    console.kill()?;
    console.wait()?;
    measured
}

fn use_page(line: &str, began: Instant, linked: Duration, process: u32) -> Result<Round, Failure> {
    let (_, address) = line.trim().split_once("http://").ok_or("no link")?;
    let (address, token) = address.split_once("/#token=").ok_or("no token")?;
    let page = String::from_utf8(fetch(address, token, "/", "identity")?)?;
    let files = page.split('"').filter(|it| it.starts_with("/assets/"));
    let files: Vec<&str> = files.collect();
    let mut compressed = page.len();
    for file in &files {
        compressed += fetch(address, token, file, "gzip")?.len();
    }
    for path in ["/api/v1/snapshot", "/api/v1/tools?view=brief"] {
        fetch(address, token, path, "identity")?;
    }
    let usable = began.elapsed();
    let mut plain = page.len();
    for file in &files {
        plain += fetch(address, token, file, "identity")?.len();
    }
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let resident = resident.and_then(|it| it.split_whitespace().next()?.parse().ok());
    Ok(Round {
        linked,
        usable,
        compressed,
        plain,
        requests: files.len() + 3,
        resident_kb: resident.unwrap_or(0),
    })
}

fn fetch(address: &str, token: &str, path: &str, encoding: &str) -> Result<Vec<u8>, Failure> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
         Accept-Encoding: {encoding}\r\nConnection: close\r\n\r\n"
    )?;
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let end = bytes
        .windows(4)
        .position(|it| it == b"\r\n\r\n")
        .ok_or("no head")?;
    match bytes.starts_with(b"HTTP/1.1 200") {
        true => Ok(bytes.split_off(end + 4)),
        false => Err(format!("{path}: {}", String::from_utf8_lossy(&bytes[..end])).into()),
    }
}
