//! A program in a pseudo-terminal, with the screen it draws and the time at which each part of it
//! was there.
//!
//! Owns the reading of the terminal, one chunk after the other, so that a moment belongs to the
//! screen as it was then. Refuses to know what the program shows.

use std::io::{self, Read as _, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

pub use portable_pty::CommandBuilder;
use portable_pty::{Child, MasterPty, PtySize, SlavePty, native_pty_system};

/// The end of a synchronized update, and so of a frame (DEC 2026).
const END_OF_FRAME: &[u8] = b"\x1b[?2026l";
/// How long anything may take that is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// The Enter key.
pub const ENTER: &str = "\r";
/// The Esc key.
pub const ESC: &str = "\u{1b}";

/// A terminal with a program in it.
pub struct Terminal {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    chunks: Receiver<(Instant, Vec<u8>)>,
    screen: vt100::Parser,
    started: Instant,
    // Both ends stay open until the last byte is read.
    _master: Box<dyn MasterPty + Send>,
    _slave: Box<dyn SlavePty + Send>,
}

impl Terminal {
    /// Starts a program with a folder as its home and working folder, on so many columns and rows.
    pub fn start(
        mut command: CommandBuilder,
        home: &Path,
        (columns, rows): (u16, u16),
    ) -> io::Result<Self> {
        command.env("HOME", home);
        command.env("TERM", "xterm-256color");
        for variable in ["NO_COLOR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
            command.env_remove(variable);
        }
        command.cwd(home);
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let (high, wide) = (rows.try_into(), columns.try_into());
        let screen = vt100::Parser::new(
            high.map_err(io::Error::other)?,
            wide.map_err(io::Error::other)?,
            0,
        );
        let pair = native_pty_system()
            .openpty(size)
            .map_err(io::Error::other)?;
        let mut reader = pair.master.try_clone_reader().map_err(io::Error::other)?;
        let keyboard = pair.master.take_writer().map_err(io::Error::other)?;
        let (sender, chunks) = channel();
        let started = Instant::now();
        let child = pair
            .slave
            .spawn_command(command)
            .map_err(io::Error::other)?;
        std::thread::spawn(move || {
            let mut chunk = [0; 65536];
            while let Ok(length @ 1..) = reader.read(&mut chunk) {
                // What comes after the terminal was dropped is of no interest.
                let _ = sender.send((Instant::now(), chunk[..length].to_vec()));
            }
        });
        Ok(Self {
            child,
            keyboard,
            chunks,
            screen,
            started,
            _master: pair.master,
            _slave: pair.slave,
        })
    }

    /// When the program was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The id of the program's process.
    pub fn process(&self) -> u32 {
        self.child.process_id().unwrap_or(0)
    }

    /// What is on the screen by what was read so far.
    pub fn rows(&self) -> String {
        self.screen.screen().contents()
    }

    /// Waits for the next end of a frame; when it was there.
    pub fn frame(&mut self) -> io::Result<Instant> {
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
    pub fn until(&mut self, what: &str, is_there: impl Fn(&str) -> bool) -> io::Result<Instant> {
        let mut at = Instant::now();
        while !is_there(&self.rows()) {
            at = self.next(what)?.0;
        }
        Ok(at)
    }

    /// Waits until the screen shows a text; when it did.
    pub fn see(&mut self, text: &str) -> io::Result<Instant> {
        self.until(text, |rows| rows.contains(text))
    }

    fn next(&mut self, what: &str) -> io::Result<(Instant, Vec<u8>)> {
        match self.chunks.recv_timeout(PATIENCE) {
            Ok((at, chunk)) => {
                self.screen.process(&chunk);
                Ok((at, chunk))
            }
            Err(_) => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!("no {what:?} on:\n{}", self.rows()),
            )),
        }
    }

    /// Reads what is drawn until nothing is for so long.
    pub fn settle(&mut self, quiet: Duration) {
        while let Ok((_, chunk)) = self.chunks.recv_timeout(quiet) {
            self.screen.process(&chunk);
        }
    }

    /// Presses keys; when they were pressed.
    pub fn key(&mut self, keys: &str) -> io::Result<Instant> {
        self.settle(Duration::ZERO);
        let pressed = Instant::now();
        self.keyboard.write_all(keys.as_bytes())?;
        self.keyboard.flush()?;
        Ok(pressed)
    }

    /// From a key to the end of the next frame.
    pub fn key_to_frame(&mut self, keys: &str) -> io::Result<Duration> {
        let pressed = self.key(keys)?;
        Ok(self.frame()?.duration_since(pressed))
    }

    /// Presses the keys that end the program, and waits until it has; how long that took.
    pub fn leave(mut self, keys: &str) -> io::Result<Duration> {
        let pressed = self.key(keys)?;
        self.child.wait()?;
        Ok(pressed.elapsed())
    }
}

impl Drop for Terminal {
    /// Hangs up, so that a program whose test or measurement failed does not stay.
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = self.child.kill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::Scratch;

    #[test]
    #[cfg(unix)]
    fn a_program_is_typed_at_and_read() {
        let home = Scratch::new("terminal").unwrap();
        let mut command = CommandBuilder::new("sh");
        command.args([
            "-c",
            r"read word; printf '\033[2;3Hsaid %s\033[?2026l' $word; read end",
        ]);
        let mut terminal = Terminal::start(command, home.path(), (20, 5)).unwrap();
        let typed = terminal.key("yes\n").unwrap();
        let framed = terminal.frame().unwrap();
        assert!(terminal.started() <= typed && typed <= framed);
        assert_eq!(terminal.rows(), "yes\n  said yes");
        assert!(terminal.process() > 0);
        terminal.leave("\n").unwrap();
    }
}
