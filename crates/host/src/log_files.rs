//! A log file per server: its stderr, its log messages, its states.
//!
//! Owns the form of a line, the folder's layout and the rotation by size. A line is one line: what
//! would move a terminal's cursor is written as an escape (S13), and it is cut at a limit. Secrets
//! are removed before lines come here.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::config::ServerName;

/// A file that has grown to this size is put aside.
pub const FILE_BYTES: u64 = 1024 * 1024;
/// How many files that were put aside are kept, the newest as `.1`.
pub const FILES_ASIDE: u32 = 2;
/// The longest line; the rest is cut.
const LONGEST_LINE: usize = 8 * 1024;

/// The log file of a server, below a folder.
pub fn log_path(folder: &Path, server: &ServerName) -> PathBuf {
    folder.join(format!("{server}.log"))
}

/// A file that was put aside.
fn aside(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    name.into()
}

/// One line as it is written: time, source, text.
pub(crate) fn line(at_ms: u64, source: &str, text: &str) -> String {
    let mut line = String::with_capacity(text.len() + 48);
    write_time(&mut line, at_ms);
    line.push(' ');
    line.push_str(source);
    line.push_str(": ");
    for character in text.chars() {
        if line.len() >= LONGEST_LINE {
            line.push('…');
            break;
        }
        match character {
            '\t' => line.push('\t'),
            character if character.is_control() => line.extend(character.escape_default()),
            character => line.push(character),
        }
    }
    line.push('\n');
    line
}

/// Writes a time as RFC 3339 in UTC, with milliseconds.
fn write_time(line: &mut String, at_ms: u64) {
    let (seconds, milliseconds) = (at_ms / 1000, at_ms % 1000);
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = date_of(days);
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    // Writing to a string cannot fail.
    let _ = write!(
        line,
        "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milliseconds:03}Z"
    );
}

/// The date of a day counted from 1970-01-01, by the calendar's cycle of 400 years, in which years
/// begin in March so that the leap day comes last.
fn date_of(days: u64) -> (u64, u64, u64) {
    const DAYS_BEFORE_1970: u64 = 719_468;
    const CYCLE: u64 = 146_097;
    let days = days + DAYS_BEFORE_1970;
    let of_cycle = days % CYCLE;
    let year_of_cycle = (of_cycle - of_cycle / 1460 + of_cycle / 36_524 - of_cycle / 146_096) / 365;
    let of_year = of_cycle - (365 * year_of_cycle + year_of_cycle / 4 - year_of_cycle / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = match month_from_march {
        0..=9 => month_from_march + 3,
        _ => month_from_march - 9,
    };
    let year = days / CYCLE * 400 + year_of_cycle + u64::from(month <= 2);
    (year, month, day)
}

/// The open log files of a host. Used by one thread.
pub(crate) struct LogFiles {
    folder: PathBuf,
    open: HashMap<ServerName, Option<OpenLog>>,
    file_bytes: u64,
}

struct OpenLog {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFiles {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self {
            folder,
            open: HashMap::new(),
            file_bytes: FILE_BYTES,
        }
    }

    /// Appends a whole line. A log that cannot be opened is not tried again and again.
    pub(crate) fn append(&mut self, server: &ServerName, line: &str) {
        let folder = &self.folder;
        let log = self
            .open
            .entry(server.clone())
            .or_insert_with(|| OpenLog::open(log_path(folder, server)));
        let Some(open) = log else { return };
        if open.bytes > 0 && open.bytes + line.len() as u64 > self.file_bytes {
            put_aside(&open.path);
            *log = OpenLog::open(log_path(&self.folder, server));
        }
        if let Some(open) = log
            && open.file.write_all(line.as_bytes()).is_ok()
        {
            open.bytes += line.len() as u64;
        }
    }
}

impl OpenLog {
    fn open(path: PathBuf) -> Option<Self> {
        fs::create_dir_all(path.parent()?).ok()?;
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        for_the_user_alone(&mut options);
        let file = options.open(&path).ok()?;
        let bytes = file.metadata().ok()?.len();
        Some(Self { path, file, bytes })
    }
}

/// Makes room: each file aside moves on by one, the last one goes.
fn put_aside(path: &Path) {
    for number in (1..FILES_ASIDE).rev() {
        // A file that is not there need not move.
        let _ = fs::rename(aside(path, number), aside(path, number + 1));
    }
    let _ = fs::rename(path, aside(path, 1));
}

#[cfg(unix)]
fn for_the_user_alone(options: &mut OpenOptions) {
    use std::os::unix::fs::OpenOptionsExt as _;
    options.mode(0o600);
}

#[cfg(not(unix))]
fn for_the_user_alone(_options: &mut OpenOptions) {}

#[cfg(test)]
mod tests {
    use attache_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn a_line_is_one_line_without_commands_to_a_terminal() {
        let text = "red \u{1b}[31m\nnext\tcolumn \u{7}é";
        assert_eq!(
            line(1_700_000_000_123, "stderr", text),
            "2023-11-14T22:13:20.123Z stderr: red \\u{1b}[31m\\nnext\tcolumn \\u{7}é\n"
        );
        let cut = line(0, "stderr", &"x".repeat(3 * LONGEST_LINE));
        assert!(cut.len() < LONGEST_LINE + 8 && cut.ends_with("x…\n"));
    }

    #[test]
    fn days_become_dates() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (58, (1970, 2, 28)),
            (59, (1970, 3, 1)),
            (789, (1972, 2, 29)),
            (11_016, (2000, 2, 29)),
            (20_512, (2026, 2, 28)),
            (20_513, (2026, 3, 1)),
            (47_540, (2100, 2, 28)),
            (47_541, (2100, 3, 1)),
        ] {
            assert_eq!(date_of(days), date, "{days}");
        }
    }

    #[test]
    fn a_full_file_is_put_aside_and_the_oldest_goes() {
        let scratch = Scratch::new("logs").unwrap();
        let server = ServerName::new("notes").unwrap();
        let mut logs = LogFiles::new(scratch.path().to_owned());
        logs.file_bytes = 10;
        for text in ["first\n", "1234\n", "second\n", "third\n", "fourth\n"] {
            logs.append(&server, text);
        }
        let path = log_path(scratch.path(), &server);
        let read = |path: PathBuf| fs::read_to_string(path).unwrap();
        assert_eq!(read(path.clone()), "fourth\n");
        assert_eq!(read(aside(&path, 1)), "third\n");
        assert_eq!(read(aside(&path, 2)), "second\n");
        assert!(!aside(&path, 3).exists());
        // Another run goes on where this one ended.
        let mut later = LogFiles::new(scratch.path().to_owned());
        later.append(&server, "fifth\n");
        assert_eq!(read(path), "fourth\nfifth\n");
    }

    #[test]
    fn a_line_at_the_limit_fits() {
        let scratch = Scratch::new("logs").unwrap();
        let server = ServerName::new("notes").unwrap();
        let mut logs = LogFiles::new(scratch.path().to_owned());
        logs.file_bytes = 10;
        logs.append(&server, "1234\n");
        logs.append(&server, "5678\n");
        let path = log_path(scratch.path(), &server);
        assert!(!aside(&path, 1).exists());
        logs.append(&server, "\n");
        assert!(aside(&path, 1).exists());
    }
}
