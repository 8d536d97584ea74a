//! Load over stdio: requests built beforehand, answers counted by their line ends.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;

/// How many calls are on their way at once when there are many.
pub(crate) const IN_FLIGHT: usize = 64;

pub(crate) struct StdioServer {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl StdioServer {
    pub(crate) fn start(kit: &str) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["serve", kit, "stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no stdin")?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut server = Self {
            child,
            stdin,
            stdout: BufReader::with_capacity(256 * 1024, stdout),
            line: Vec::new(),
        };
        server.exchange(br#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
"#)?;
        server
            .stdin
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(server)
    }

    /// One call after the other; gives the time of the middle one.
    pub(crate) fn sequential(&mut self, calls: usize) -> Result<Duration> {
        let mut times = Vec::with_capacity(calls);
        for id in 1..=calls {
            let request = request(id);
            let started = Instant::now();
            self.exchange(request.as_bytes())?;
            times.push(started.elapsed());
            self.check()?;
        }
        times.sort_unstable();
        Ok(times[calls / 2])
    }

    /// Many calls at once, again and again; gives calls per second.
    pub(crate) fn in_flight(&mut self, batches: usize) -> Result<f64> {
        let batch: String = (1..=IN_FLIGHT).map(request).collect();
        let started = Instant::now();
        for _ in 0..batches {
            self.stdin.write_all(batch.as_bytes())?;
            for _ in 0..IN_FLIGHT {
                self.read_line()?;
            }
            self.check()?;
        }
        Ok((batches * IN_FLIGHT) as f64 / started.elapsed().as_secs_f64())
    }

    /// How much processor time the server has used, all threads together.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let used = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let used = used.split(' ').next().unwrap_or_default();
            nanoseconds += used.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }

    fn exchange(&mut self, request: &[u8]) -> Result<()> {
        self.stdin.write_all(request)?;
        self.read_line()
    }

    fn read_line(&mut self) -> Result<()> {
        self.line.clear();
        match self.stdout.read_until(b'\n', &mut self.line)? {
            0 => Err("the server has gone".into()),
            _ => Ok(()),
        }
    }

    fn check(&self) -> Result<()> {
        let line = String::from_utf8_lossy(&self.line);
        match line.contains("hello, server") {
            true => Ok(()),
            false => Err(format!("not the expected answer: {line}").into()),
        }
    }
}

fn request(id: usize) -> String {
    format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"echo\",\"arguments\":{{\"message\":\"hello, server\"}}}}}}\n"
    )
}

impl Drop for StdioServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
