//! Measures the chat as a person meets it: the real binary in a pseudo-terminal, and a model whose
//! tokens are sent at known times.
//!
//! `cargo run --release -p attache-chat --example measure-chat -- target/release/attache`

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use attache_testkit::scratch::Scratch;
use attache_testkit::terminal::{CommandBuilder, Terminal};

const PATIENCE: Duration = Duration::from_secs(30);
/// Between the head of an answer and its first token, and between that and the end.
const PAUSE: Duration = Duration::from_millis(20);
/// What is typed to end the chat.
const QUIT: &str = "/quit\r";
const STARTS: usize = 20;
const ANSWERS: usize = 50;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let program = std::env::args().nth(1).ok_or("name the attache binary")?;
    let program = std::fs::canonicalize(program)?.display().to_string();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let home = Scratch::new("chat-numbers")?;
    let folder = home.path().join(".config/attache");
    std::fs::create_dir_all(&folder)?;
    let config = format!(
        "[chat]\nendpoint = \"http://{}/v1\"\nmodel = \"measured\"\n",
        listener.local_addr()?
    );
    std::fs::write(folder.join("attache.toml"), config)?;
    let (sender, sent) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            // A client that went away ends this answer only.
            let _ = answer(stream, number, &sender);
        }
    });

    let mut ready = Vec::new();
    for _ in 0..STARTS {
        let mut terminal = open(&program, &home)?;
        ready.push(prompt(&mut terminal)?.duration_since(terminal.started()));
        terminal.leave(QUIT)?;
    }
    say("process start to prompt (must 30 ms)", ready)?;

    let mut terminal = open(&program, &home)?;
    prompt(&mut terminal)?;
    let mut shown = Vec::new();
    for _ in 0..ANSWERS {
        terminal.key("tell me\r")?;
        let (number, at) = sent.recv_timeout(PATIENCE)?;
        let seen = terminal.see(&format!("token{number:04}"))?;
        shown.push(seen.saturating_duration_since(at));
        prompt(&mut terminal)?;
    }
    say("token sent to token shown (must 5 ms)", shown)?;
    let memory = resident(terminal.process())?;
    line(&format!(
        "memory after {ANSWERS} answers (must 25 MB): {memory:.1} MB"
    ))?;
    terminal.leave(QUIT)?;
    Ok(())
}

/// One answer of the model, whose token says which it is; tells when that was sent.
fn answer(mut stream: TcpStream, number: usize, sent: &Sender<(usize, Instant)>) -> Result<()> {
    let mut request = BufReader::new(stream.try_clone()?);
    let mut method = String::new();
    request.read_line(&mut method)?;
    if !method.starts_with("POST") {
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
        return Ok(());
    }
    let mut length = 0;
    loop {
        let mut header = String::new();
        request.read_line(&mut header)?;
        let header = header.trim().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if header.is_empty() {
            break;
        }
    }
    request.read_exact(&mut vec![0; length])?;
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    std::thread::sleep(PAUSE);
    let event = format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"token{number:04} \"}}}}]}}\n\n"
    );
    let at = Instant::now();
    stream.write_all(event.as_bytes())?;
    sent.send((number, at))?;
    std::thread::sleep(PAUSE);
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n\
               data: [DONE]\n\n";
    stream.write_all(end.as_bytes())?;
    Ok(())
}

fn open(program: &str, home: &Scratch) -> Result<Terminal> {
    let mut command = CommandBuilder::new(program);
    command.arg("chat");
    Ok(Terminal::start(command, home.path(), (120, 40))?)
}

/// Waits until the chat asks for a message: its prompt is the last thing on the screen.
fn prompt(terminal: &mut Terminal) -> Result<Instant> {
    Ok(terminal.until("prompt", |rows| rows.trim_end().ends_with("\n>"))?)
}

/// Resident memory in MB.
fn resident(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    let kilobytes: f64 = number.unwrap_or("0").parse()?;
    Ok(kilobytes / 1024.0)
}

fn say(what: &str, mut times: Vec<Duration>) -> Result<()> {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let show = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    line(&format!(
        "{what}: p50 {}, p99 {} (n = {})",
        show(at(50)),
        show(at(99)),
        times.len()
    ))
}

fn line(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}
