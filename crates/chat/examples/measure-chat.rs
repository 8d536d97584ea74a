//! Measures the chat as a person meets it: the real binary in a pseudo-terminal, and a model whose
//! tokens are sent at known times.
//!
//! `cargo run --release -p attache-chat --example measure-chat -- target/release/attache`

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use attache_testkit::scratch::Scratch;
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

const PATIENCE: Duration = Duration::from_secs(30);
/// Between the head of an answer and its first token, and between that and the end.
const PAUSE: Duration = Duration::from_millis(20);
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
        let mut terminal = Terminal::start(&program, home.path())?;
        let there = terminal.wait_for("> ")?;
        ready.push(there.duration_since(terminal.started));
        terminal.leave()?;
    }
    say("process start to prompt (must 30 ms)", ready)?;

    let mut terminal = Terminal::start(&program, home.path())?;
    terminal.wait_for("> ")?;
    let mut shown = Vec::new();
    for _ in 0..ANSWERS {
        terminal.type_in("tell me\r")?;
        let (number, at) = sent.recv_timeout(PATIENCE)?;
        let seen = terminal.wait_for(&format!("token{number:04}"))?;
        shown.push(seen.saturating_duration_since(at));
        terminal.wait_for("> ")?;
    }
    say("token sent to token shown (must 5 ms)", shown)?;
    let memory = resident(terminal.child.process_id().unwrap_or(0))?;
    line(&format!(
        "memory after {ANSWERS} answers (must 25 MB): {memory:.1} MB"
    ))?;
    terminal.leave()
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

struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    chunks: Receiver<(Instant, Vec<u8>)>,
    started: Instant,
    _pair: portable_pty::PtyPair,
}

impl Terminal {
    fn start(program: &str, home: &Path) -> Result<Self> {
        let mut command = CommandBuilder::new(program);
        command.args(["chat"]);
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        command.cwd(home);
        let pair = native_pty_system().openpty(PtySize {
            rows: 40,
            cols: 120,
            pixel_width: 0,
            pixel_height: 0,
        })?;
        let mut reader = pair.master.try_clone_reader()?;
        let keyboard = pair.master.take_writer()?;
        let (sender, chunks) = channel();
        let started = Instant::now();
        let child = pair.slave.spawn_command(command)?;
        std::thread::spawn(move || {
            let mut chunk = [0; 65536];
            while let Ok(length @ 1..) = reader.read(&mut chunk) {
                let _ = sender.send((Instant::now(), chunk[..length].to_vec()));
            }
        });
        Ok(Self {
            child,
            keyboard,
            chunks,
            started,
            _pair: pair,
        })
    }

    /// Waits for a text; when it was there.
    fn wait_for(&mut self, wanted: &str) -> Result<Instant> {
        let mut seen: Vec<u8> = Vec::new();
        loop {
            let (at, chunk) = self.chunks.recv_timeout(PATIENCE).map_err(|_| {
                format!("no {wanted:?} behind {:?}", String::from_utf8_lossy(&seen))
            })?;
            seen.extend(chunk);
            if seen
                .windows(wanted.len())
                .any(|window| window == wanted.as_bytes())
            {
                return Ok(at);
            }
        }
    }

    fn type_in(&mut self, keys: &str) -> Result<()> {
        self.keyboard.write_all(keys.as_bytes())?;
        Ok(self.keyboard.flush()?)
    }

    fn leave(mut self) -> Result<()> {
        self.type_in("/quit\r")?;
        self.child.wait()?;
        Ok(())
    }
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
