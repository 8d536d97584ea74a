//! The binary in a pseudo-terminal, with the time at which each byte came out of it.

use std::io::{Read as _, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, PtySize, native_pty_system};

use crate::Result;

/// The end of a synchronized update, and so of a frame (DEC 2026).
const END_OF_FRAME: &[u8] = b"\x1b[?2026l";
/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

const ENTER: &str = "\r";
pub(crate) const ESC: &str = "\u{1b}";
const F2: &str = "\u{1b}OQ";

/// A terminal with the UI in it.
pub(crate) struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    chunks: Receiver<(Instant, Vec<u8>)>,
    screen: vt100::Parser,
    pub(crate) started: Instant,
    _pair: portable_pty::PtyPair,
}

impl Terminal {
    /// Starts `attache ui` with a folder as its home.
    pub(crate) fn start(program: &str, home: &Path, size: (u16, u16)) -> Result<Self> {
        let mut command = CommandBuilder::new(program);
        command.arg("ui");
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        for variable in ["NO_COLOR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
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
            screen: vt100::Parser::new(size.1.try_into()?, size.0.try_into()?, 0),
            started,
            _pair: pair,
        })
    }

    /// What is on the screen by what was read so far.
    pub(crate) fn rows(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits for the next end of a frame; when it was there.
    pub(crate) fn frame(&mut self) -> Result<Instant> {
        let mut tail: Vec<u8> = Vec::new();
        loop {
            let (at, chunk) = self.next("frame")?;
            tail.extend(chunk);
            if tail
                .windows(END_OF_FRAME.len())
                .any(|it| it == END_OF_FRAME)
            {
                return Ok(at);
            }
            let kept = tail.len().saturating_sub(END_OF_FRAME.len());
            tail.drain(..kept);
        }
    }

    /// Waits until the screen shows something; when it did.
    pub(crate) fn until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> Result<Instant> {
        let mut at = Instant::now();
        while !is_there(&self.rows()) {
            at = self.next(what)?.0;
        }
        Ok(at)
    }

    /// Waits until the screen shows a text; when it did.
    pub(crate) fn see(&mut self, text: &str) -> Result<Instant> {
        self.until(text, |rows| rows.contains(text))
    }

    fn next(&mut self, what: &str) -> Result<(Instant, Vec<u8>)> {
        match self.chunks.recv_timeout(PATIENCE) {
            Ok((at, chunk)) => {
                self.screen.process(&chunk);
                Ok((at, chunk))
            }
            Err(_) => Err(format!("no {what:?} on:\n{}", self.rows()).into()),
        }
    }

    /// Reads what is drawn until nothing is for so long.
    pub(crate) fn settle(&mut self, quiet: Duration) {
        while let Ok((_, chunk)) = self.chunks.recv_timeout(quiet) {
            self.screen.process(&chunk);
        }
    }

    fn catch_up(&mut self) {
        while let Ok((_, chunk)) = self.chunks.try_recv() {
            self.screen.process(&chunk);
        }
    }

    /// Presses keys; when they were pressed.
    pub(crate) fn key(&mut self, keys: &str) -> Result<Instant> {
        self.catch_up();
        let pressed = Instant::now();
        self.keyboard.write_all(keys.as_bytes())?;
        self.keyboard.flush()?;
        Ok(pressed)
    }

    /// From a key to the end of its frame.
    pub(crate) fn key_to_frame(&mut self, keys: &str) -> Result<Duration> {
        let pressed = self.key(keys)?;
        Ok(self.frame()?.duration_since(pressed))
    }

    /// Goes back so often.
    pub(crate) fn back(&mut self, times: usize) -> Result<()> {
        for _ in 0..times {
            self.key(ESC)?;
            // What follows Esc at once would be taken for a part of it.
            self.settle(Duration::from_millis(150));
        }
        Ok(())
    }

    /// Runs the tool that a filter of the list leaves.
    pub(crate) fn run(&mut self, tool: &str) -> Result<()> {
        self.key(&format!("/{tool}"))?;
        self.see("1 of ")?;
        self.key(ENTER)?;
        self.key(ENTER)?;
        self.see("[ run ]")?;
        self.key(F2)?;
        Ok(())
    }

    pub(crate) fn process(&self) -> u32 {
        self.child.process_id().unwrap_or(0)
    }

    /// Quits; how long that took.
    pub(crate) fn leave(mut self) -> Result<Duration> {
        let pressed = self.key("q")?;
        self.child.wait()?;
        Ok(pressed.elapsed())
    }
}
