//! Measures the UI as a person meets it: the real binary in a pseudo-terminal.
//!
//! `cargo run --release -p attache-tui --example numbers -- target/release/attache`
//!
//! A frame ends where the terminal is told so (DEC 2026), so the times are those from a key to the
//! last byte of its frame, the way through the pseudo-terminal included.

use std::error::Error;
use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use attache_testkit::chaos::{Action, Launch, Script, When};
use attache_testkit::scratch::Scratch;
use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};
use serde_json::json;

const END_OF_FRAME: &[u8] = b"\x1b[?2026l";
const PATIENCE: Duration = Duration::from_secs(60);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    chunks: Receiver<(Instant, Vec<u8>)>,
    started: Instant,
    _pair: portable_pty::PtyPair,
}

impl Terminal {
    fn start(program: &str, home: &Path, words: &[&str], size: (u16, u16)) -> Result<Self> {
        let mut command = CommandBuilder::new(program);
        command.args(words);
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        command.cwd(home);
        let pair = native_pty_system().openpty(PtySize {
            rows: size.1,
            cols: size.0,
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

    /// Waits for bytes; when they were there.
    fn wait_for(&mut self, wanted: &[u8]) -> Result<Instant> {
        let mut seen: Vec<u8> = Vec::new();
        loop {
            match self.chunks.recv_timeout(PATIENCE) {
                Ok((at, chunk)) => {
                    seen.extend(chunk);
                    if seen.windows(wanted.len()).any(|window| window == wanted) {
                        return Ok(at);
                    }
                    let kept = seen.len().saturating_sub(wanted.len());
                    seen.drain(..kept.min(seen.len()));
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Err(format!("no {:?}", String::from_utf8_lossy(wanted)).into());
                }
            }
        }
    }

    /// Lets everything be drawn that still is.
    fn settle(&mut self, quiet: Duration) {
        while self.chunks.recv_timeout(quiet).is_ok() {}
    }

    fn key(&mut self, keys: &str) -> Result<Instant> {
        self.keyboard.write_all(keys.as_bytes())?;
        self.keyboard.flush()?;
        Ok(Instant::now())
    }

    /// From a key to the end of its frame.
    fn key_to_frame(&mut self, keys: &str) -> Result<Duration> {
        while self.chunks.try_recv().is_ok() {}
        let pressed = self.key(keys)?;
        Ok(self.wait_for(END_OF_FRAME)?.duration_since(pressed))
    }

    fn process(&self) -> u32 {
        self.child.process_id().unwrap_or(0)
    }

    fn leave(mut self) -> Result<Duration> {
        let pressed = self.key("q")?;
        self.child.wait()?;
        Ok(pressed.elapsed())
    }
}

/// Resident memory in MB, and how often its threads have gone to sleep and woken up.
fn resident(process: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    let kilobytes: f64 = number.unwrap_or("0").parse()?;
    Ok(kilobytes / 1024.0)
}

fn switches(process: u32) -> Result<u64> {
    let mut sum = 0;
    for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
        let status = std::fs::read_to_string(task?.path().join("status"))?;
        for line in status.lines().filter(|line| line.contains("ctxt_switches")) {
            sum += line
                .split_whitespace()
                .nth(1)
                .unwrap_or("0")
                .parse::<u64>()?;
        }
    }
    Ok(sum)
}

fn say(what: &str, mut times: Vec<Duration>) -> Result<()> {
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let show = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    line(&format!(
        "{what}: p50 {}, p99 {}, worst {} (n = {})",
        show(at(50)),
        show(at(99)),
        show(at(100)),
        times.len()
    ))
}

fn line(text: &str) -> Result<()> {
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

fn home_of(launch: &Launch) -> Result<Scratch> {
    let home = Scratch::new("ui-numbers")?;
    let folder = home.path().join(".config/attache");
    std::fs::create_dir_all(&folder)?;
    let arguments: Vec<String> = launch.args.iter().map(|word| format!("{word:?}")).collect();
    let table = format!(
        "[log]\ncalls = 'off'\n[servers.many]\ncommand = {:?}\nargs = [{}]\n",
        launch.program,
        arguments.join(", ")
    );
    std::fs::write(folder.join("attache.toml"), table)?;
    Ok(home)
}

fn main() -> Result<()> {
    let program = std::env::args().nth(1).ok_or("name the attache binary")?;
    let program = std::fs::canonicalize(program)?.display().to_string();
    let empty = Scratch::new("ui-empty")?;
    let mut first = Vec::new();
    for _ in 0..20 {
        let mut terminal = Terminal::start(&program, empty.path(), &["ui"], (120, 40))?;
        first.push(
            terminal
                .wait_for(END_OF_FRAME)?
                .duration_since(terminal.started),
        );
        terminal.leave()?;
    }
    say("process start to first frame", first)?;

    let mut idle = Terminal::start(&program, empty.path(), &["ui"], (120, 40))?;
    idle.wait_for(b"echo")?;
    idle.settle(Duration::from_secs(3));
    let before = switches(idle.process())?;
    std::thread::sleep(Duration::from_secs(10));
    // A thread that ended in between takes its count with it.
    let woken = switches(idle.process())?.saturating_sub(before);
    let memory = resident(idle.process())?;
    line(&format!(
        "idle: {woken} context switches in 10 s, {memory:.1} MB"
    ))?;
    idle.leave()?;

    let names = (0..10_000).map(|number| {
        json!({"name": format!("tool_{number:05}_of_many"), "description": "One of many.",
               "inputSchema": {"type": "object", "properties": {"x": {"type": "string"}}}})
    });
    let note = json!({"level": "info", "data": "a line of log that is about as long as they are, \
                      with an identifier 0123456789"});
    let launch = Script::legacy("2025-11-25")
        .tools(names)
        .on(
            When::tool("flood"),
            [
                Action::flood(1_000_000, "notifications/message", note),
                Action::text("done"),
            ],
        )
        .launch()?;
    let home = home_of(&launch)?;
    let mut many = Terminal::start(&program, home.path(), &["ui"], (120, 40))?;
    many.wait_for(b"tools")?;
    many.settle(Duration::from_secs(2));
    line(&format!(
        "10,000 tools: {:.1} MB",
        resident(many.process())?
    ))?;
    many.key_to_frame("/")?;
    let mut typed = Vec::new();
    for round in 0..40 {
        for letter in ["t", "o", "9", "_", "m"] {
            typed.push(many.key_to_frame(letter)?);
        }
        for _ in 0..5 {
            typed.push(many.key_to_frame("\u{7f}")?);
        }
        if round == 0 {
            many.settle(Duration::from_millis(100));
        }
    }
    say("key to frame, 10,000 tools, filter", typed)?;
    many.key("\r\u{1b}")?;
    many.settle(Duration::from_millis(300));
    many.leave()?;

    let mut large = Terminal::start(&program, home.path(), &["ui"], (200, 60))?;
    large.wait_for(b"tools")?;
    large.settle(Duration::from_secs(2));
    let mut frames = Vec::new();
    for _ in 0..150 {
        frames.push(large.key_to_frame("\u{4}")?);
        frames.push(large.key_to_frame("\u{15}")?);
    }
    say("half a page at 200x60", frames)?;
    large.leave()?;

    flood(&program, home.path())
}

/// A server that says a million lines as fast as it can, while keys are pressed.
fn flood(program: &str, home: &Path) -> Result<()> {
    let mut terminal = Terminal::start(program, home, &["ui"], (120, 40))?;
    terminal.wait_for(b"tools")?;
    terminal.settle(Duration::from_secs(2));
    terminal.key("/flood")?;
    terminal.settle(Duration::from_millis(300));
    terminal.key("\r\r")?;
    terminal.settle(Duration::from_millis(300));
    terminal.key("\u{1b}OQ")?;
    terminal.wait_for(b"Running")?;
    let began = Instant::now();
    let mut times = Vec::new();
    while began.elapsed() < Duration::from_secs(10) {
        while terminal.chunks.try_recv().is_ok() {}
        let pressed = terminal.key(":")?;
        times.push(terminal.wait_for(b"go to")?.duration_since(pressed));
        terminal.key("\u{1b}")?;
        std::thread::sleep(Duration::from_millis(60));
    }
    say("key to frame in a flood of log messages", times)?;
    terminal.key("6")?;
    terminal.settle(Duration::from_secs(3));
    line(&format!(
        "after the flood: {:.1} MB",
        resident(terminal.process())?
    ))?;
    terminal.key("\u{3}\u{3}")?;
    terminal.child.wait()?;
    Ok(())
}
