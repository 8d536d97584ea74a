//! What a tap adds to a call: the same calls to the same server, with and without it, in turns.
//!
//! ```sh
//! cargo build --release -p attache-cli
//! cargo run --release -p attache-record --example tap-latency -- target/release/attache
//! ```

#![expect(clippy::print_stdout, reason = "it reports")]

use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// How many calls go one way before the other way has its turn.
const TURN: usize = 500;
const TURNS: usize = 40;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
}

impl Server {
    fn start(words: &[&str]) -> Result<Self, Box<dyn Error>> {
        let mut child = Command::new(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().ok_or("no stdin")?;
        let output = BufReader::new(child.stdout.take().ok_or("no stdout")?);
        let mut server = Self {
            child,
            input,
            output,
            line: String::new(),
        };
        server.ask(HELLO)?;
        writeln!(server.input, "{READY}")?;
        Ok(server)
    }

    fn ask(&mut self, message: &str) -> Result<Duration, Box<dyn Error>> {
        let line = format!("{message}\n");
        let began = Instant::now();
        self.input.write_all(line.as_bytes())?;
        self.line.clear();
        self.output.read_line(&mut self.line)?;
        let took = began.elapsed();
        match self.line.contains("\"result\"") {
            true => Ok(took),
            false => Err(format!("the answer is {}", self.line).into()),
        }
    }

    fn call(&mut self, id: usize) -> Result<Duration, Box<dyn Error>> {
        self.ask(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"message":"hello"}}}}}}"#
        ))
    }

    fn stop(mut self) -> Result<(), Box<dyn Error>> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let attache = std::env::args()
        .nth(1)
        .ok_or("give the path of the attache binary")?;
    let file = std::env::temp_dir().join(format!("tap-latency-{}.mcprec", std::process::id()));
    let file = file.display().to_string();
    let server = [attache.as_str(), "serve", "demo", "--era", "legacy"];
    let tap = [
        &[attache.as_str(), "tap", "--record", &file, "--"],
        &server[..],
    ]
    .concat();
    // Two more processes in the way cost two more wake-ups, whatever they do: that is the floor.
    let bare = format!("cat | '{attache}' serve demo --era legacy | cat");
    let bare = ["sh", "-c", &bare];
    let mut ways = [
        Server::start(&server)?,
        Server::start(&tap)?,
        Server::start(&bare)?,
    ];
    let mut took = [Vec::new(), Vec::new(), Vec::new()];
    let mut id = 0;
    for turn in 0..TURNS {
        for (way, took) in ways.iter_mut().zip(&mut took) {
            for _ in 0..TURN {
                id += 1;
                let time = way.call(id)?;
                // The first turn warms up.
                if turn > 0 {
                    took.push(time.as_nanos() as f64 / 1e3);
                }
            }
        }
    }
    for way in ways {
        way.stop()?;
    }
    let at = |times: &mut Vec<f64>, part: f64| {
        times.sort_by(f64::total_cmp);
        times[((times.len() - 1) as f64 * part) as usize]
    };
    let [mut direct, mut tapped, mut bare] = took;
    println!("{} calls each way, µs", direct.len());
    for (name, part) in [("p50", 0.5), ("p90", 0.9), ("p99", 0.99)] {
        let (without, with) = (at(&mut direct, part), at(&mut tapped, part));
        let bare = at(&mut bare, part);
        println!(
            "{name}: {without:.1} without, {with:.1} with the tap, {bare:.1} through cat: {:.1} added, \
             {:.1} more than cat",
            with - without,
            with - bare
        );
    }
    let kept = std::fs::metadata(&file)?.len();
    println!("recorded {kept} bytes");
    std::fs::remove_file(&file)?;
    Ok(())
}
