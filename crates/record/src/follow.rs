//! A recording that is still being made, read as it grows.
//!
//! The recorder holds the file's lock as long as it records, so whether it has ended can be seen,
//! however it ended. The recorder is not slowed down by readers, and does not know of them.

use std::fs::{File, TryLockError};
use std::io::{self, BufReader, Read, Seek as _};
use std::path::Path;
use std::time::Duration;

use crate::error::RecordError;
use crate::file::is_compressed;
use crate::reader::Reader;

/// How often to look for more.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);

impl Reader {
    /// Opens a file whose recording may be going on. Reading waits for what comes, until the
    /// recorder has ended.
    pub fn follow(path: &Path) -> Result<Self, RecordError> {
        let open = |source| RecordError::Open {
            path: path.to_path_buf(),
            source,
        };
        let not_followed = |problem| {
            Err(RecordError::NotFollowed {
                path: path.to_path_buf(),
                problem,
            })
        };
        if is_compressed(path) {
            return not_followed("it is compressed; record into a file without .gz");
        }
        // Opening a pipe would wait, and reading it would take what it holds away from others.
        if !std::fs::metadata(path).map_err(open)?.is_file() {
            return not_followed("it is no regular file; record into one");
        }
        let file = File::open(path).map_err(open)?;
        Self::new(BufReader::new(Growing(file)))
    }
}

/// A file that ends when its recorder has.
struct Growing(File);

impl Growing {
    /// Whether nothing more comes: the recorder is gone, or has begun the file anew.
    fn has_ended(&mut self) -> io::Result<bool> {
        if self.0.metadata()?.len() < self.0.stream_position()? {
            return Ok(true);
        }
        match self.0.try_lock_shared() {
            Ok(()) => self.0.unlock().map(|()| true),
            Err(TryLockError::WouldBlock) => Ok(false),
            // Where there are no locks only the user knows when it ends.
            Err(TryLockError::Error(_)) => Ok(false),
        }
    }
}

impl Read for Growing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let length = self.0.read(buffer)?;
            if length > 0 {
                return Ok(length);
            }
            if self.has_ended()? {
                // What the recorder wrote between the two looks.
                return self.0.read(buffer);
            }
            std::thread::sleep(LOOK_INTERVAL);
        }
    }
}
