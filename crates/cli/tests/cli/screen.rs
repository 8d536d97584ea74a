//! What a person sees: the command on a terminal of a given size, as the rows of its screen.

use std::fs::OpenOptions;
use std::io::{Read as _, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, SlavePty, native_pty_system};

/// How long anything may take that a test waits for on a screen: twenty servers start meanwhile.
const PATIENCE: Duration = Duration::from_secs(240);

/// What the test writes behind the last word of a command, to know that it has read all of it: a
/// title for the window, which no row shows.
const END: &str = "\u{1b}]2;the end\u{7}";

/// The command on a terminal whose rows can be read.
pub(crate) struct Screen {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    seen: Arc<Mutex<Seen>>,
    device: PathBuf,
    master: Box<dyn MasterPty + Send>,
    _slave: Box<dyn SlavePty + Send>,
}

struct Seen {
    terminal: vt100::Parser,
    bytes: Vec<u8>,
}

impl Screen {
    /// Runs the command there, with a folder as home and working folder, and that folder's `bin`
    /// before the system's programs.
    pub(crate) fn start(folder: &Path, words: &[&str], columns: u16, rows: u16) -> Self {
        Self::start_with(folder, words, &[], columns, rows)
    }

    /// The same with variables.
    pub(crate) fn start_with(
        folder: &Path,
        words: &[&str],
        variables: &[(&str, &str)],
        columns: u16,
        rows: u16,
    ) -> Self {
        let mut command = CommandBuilder::new(env!("CARGO_BIN_EXE_attache"));
        command.args(words);
        for variable in [
            "NO_COLOR",
            "XDG_CONFIG_HOME",
            "XDG_STATE_HOME",
            "COLUMNS",
            "COLORFGBG",
        ] {
            command.env_remove(variable);
        }
        command.env("HOME", folder);
        let path = format!(
            "{}:/usr/local/bin:/usr/bin:/bin",
            folder.join("bin").display()
        );
        command.env("PATH", path);
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd(folder);
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let pair = native_pty_system().openpty(size).unwrap();
        let child = pair.slave.spawn_command(command).unwrap();
        let mut reader = pair.master.try_clone_reader().unwrap();
        let keyboard = pair.master.take_writer().unwrap();
        let device = pair.master.tty_name().unwrap();
        let seen = Arc::new(Mutex::new(Seen {
            terminal: vt100::Parser::new(rows.try_into().unwrap(), columns.try_into().unwrap(), 0),
            bytes: Vec::new(),
        }));
        let shared = seen.clone();
        std::thread::spawn(move || {
            let mut chunk = [0; 4096];
            while let Ok(length @ 1..) = reader.read(&mut chunk) {
                let mut seen = shared.lock().unwrap();
                seen.terminal.process(&chunk[..length]);
                seen.bytes.extend_from_slice(&chunk[..length]);
            }
        });
        Self {
            child,
            keyboard,
            seen,
            device,
            master: pair.master,
            _slave: pair.slave,
        }
    }

    /// The rows of the screen, without what is blank at their ends and below.
    pub(crate) fn rows(&self) -> String {
        let seen = self.seen.lock().unwrap();
        let rows: Vec<String> = seen.terminal.screen().rows(0, u16::MAX).collect();
        let rows: Vec<&str> = rows.iter().map(|row| row.trim_end()).collect();
        rows.join("\n").trim_end().to_owned()
    }

    /// Waits until the screen shows something.
    #[track_caller]
    pub(crate) fn wait_for(&self, what: &str, mut is_there: impl FnMut(&str) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_there(&self.rows()) {
            assert!(Instant::now() < deadline, "no {what} on:\n{}", self.rows());
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn type_in(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.keyboard.flush().unwrap();
    }

    /// Gives the terminal another size.
    #[cfg(feature = "ui")]
    pub(crate) fn resize(&mut self, columns: u16, rows: u16) {
        let size = PtySize {
            rows,
            cols: columns,
            pixel_width: 0,
            pixel_height: 0,
        };
        let mut seen = self.seen.lock().unwrap();
        let (high, wide) = (rows.try_into().unwrap(), columns.try_into().unwrap());
        seen.terminal.screen_mut().set_size(high, wide);
        self.master.resize(size).unwrap();
    }

    /// The colour of what is drawn in a cell.
    #[cfg(feature = "ui")]
    pub(crate) fn foreground(&self, row: u16, column: u16) -> vt100::Color {
        let seen = self.seen.lock().unwrap();
        seen.terminal.screen().cell(row, column).unwrap().fgcolor()
    }

    /// Waits until the command has read what was typed.
    #[cfg(feature = "ui")]
    #[track_caller]
    pub(crate) fn wait_until_read(&self) {
        let device = OpenOptions::new().read(true).open(&self.device).unwrap();
        let deadline = Instant::now() + PATIENCE;
        while rustix::io::ioctl_fionread(&device).unwrap() > 0 {
            assert!(Instant::now() < deadline, "unread on:\n{}", self.rows());
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether a full-screen program has the terminal.
    #[cfg(feature = "ui")]
    pub(crate) fn is_full_screen(&self) -> bool {
        self.seen
            .lock()
            .unwrap()
            .terminal
            .screen()
            .alternate_screen()
    }

    /// Everything that was written to the terminal.
    #[cfg(feature = "ui")]
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.seen.lock().unwrap().bytes.clone()
    }

    /// The process of the command.
    #[cfg(feature = "ui")]
    pub(crate) fn process(&self) -> u32 {
        self.child.process_id().unwrap()
    }

    /// Waits until it has ended: its exit code, and the rows it leaves.
    #[track_caller]
    pub(crate) fn finish(mut self) -> (u32, String) {
        let deadline = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(Instant::now() < deadline, "no end:\n{}", self.rows());
            std::thread::sleep(Duration::from_millis(2));
        };
        let mut device = OpenOptions::new().write(true).open(&self.device).unwrap();
        device.write_all(END.as_bytes()).unwrap();
        let has_all = || {
            let seen = self.seen.lock().unwrap();
            let end = END.as_bytes();
            seen.bytes.windows(end.len()).any(|window| window == end)
        };
        while !has_all() {
            assert!(Instant::now() < deadline, "no end of:\n{}", self.rows());
            std::thread::sleep(Duration::from_millis(1));
        }
        (status.exit_code(), self.rows())
    }
}
