//! The reading side of a call log. Needs no lock: files are only appended to and deleted.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use attache_client::protocol::Json;

use super::record::{Action, CallRecord, Line};
use super::store::{Damaged, files, path, read_lines};

/// The longest file with arguments or a result that is read.
const LONGEST_STORED: u64 = 64 * 1024 * 1024;

/// Which calls are wanted.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this server only.
    pub server: Option<String>,
    /// With this name only: a tool's or prompt's own, or a resource's URI.
    pub name: Option<String>,
    /// Begun at this time or later, in milliseconds since 1970.
    pub since_ms: u64,
    /// So many at the most, the latest.
    pub most: usize,
    /// Also what faces were told to change.
    pub actions: bool,
}

impl Filter {
    fn wants(&self, call: &CallRecord) -> bool {
        let Some(began) = &call.began else {
            return false;
        };
        let is = |wanted: &Option<String>, found: Option<&str>| {
            wanted.is_none() || wanted.as_deref() == found
        };
        (self.actions || !Action::is(&began.method))
            && is(&self.server, began.server.as_deref())
            && is(&self.name, Some(&began.name))
            && began.at_ms >= self.since_ms
    }
}

/// What a log tells.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// The calls, oldest first.
    pub calls: Vec<CallRecord>,
    /// How many lines could not be read.
    pub damaged: usize,
    /// How many calls were not written down.
    pub lost: u64,
}

/// Reads the calls in the log of a folder. A log that is not there has none.
pub fn history(folder: &Path, filter: &Filter) -> io::Result<History> {
    let mut read = Reading::default();
    // From the newest file back, until there are enough.
    for first in files(folder)?.into_iter().rev() {
        read.file(folder, first)?;
        let wanted = read.calls.values().filter(|call| filter.wants(call));
        if wanted.count() >= filter.most {
            break;
        }
    }
    let mut calls: Vec<CallRecord> = read.calls.into_values().collect();
    calls.retain(|call| filter.wants(call));
    calls.drain(..calls.len().saturating_sub(filter.most));
    Ok(History {
        calls,
        damaged: read.damaged,
        lost: read.lost,
    })
}

/// The call of that number, or the latest one.
pub fn find(folder: &Path, number: Option<u64>) -> io::Result<Option<CallRecord>> {
    let Some(number) = number else {
        let latest = Filter {
            most: 1,
            ..Filter::default()
        };
        return Ok(history(folder, &latest)?.calls.pop());
    };
    let mut read = Reading::default();
    // The end of a call may be in a later file than its beginning.
    let files = files(folder)?;
    let from = files.partition_point(|first| *first <= number);
    for first in &files[from.saturating_sub(1)..] {
        read.file(folder, *first)?;
        if let Some(call) = read.calls.get(&number)
            && call.ended.is_some()
        {
            break;
        }
        read.calls.retain(|known, _| *known == number);
    }
    Ok(read.calls.remove(&number))
}

/// A value that has a file of its own, because it was too long for a line.
pub fn stored(folder: &Path, name: &str) -> io::Result<Json> {
    // The name comes from a file that people may edit.
    if name.contains(['/', '\\']) || name.starts_with('.') {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let mut text = String::new();
    let file = File::open(folder.join(name))?;
    file.take(LONGEST_STORED).read_to_string(&mut text)?;
    Ok(Json::parse(&text)?)
}

#[derive(Default)]
struct Reading {
    calls: BTreeMap<u64, CallRecord>,
    damaged: usize,
    lost: u64,
}

impl Reading {
    fn file(&mut self, folder: &Path, first: u64) -> io::Result<()> {
        match read_lines(&path(folder, first), |line| self.line(line)) {
            // Another process has just deleted it, because it is old.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            read => read,
        }
    }

    fn line(&mut self, line: Result<Line, Damaged>) {
        let Ok(line) = line else {
            self.damaged += 1;
            return;
        };
        self.lost += line.lost;
        if line.n == 0 {
            return;
        }
        let call = self.calls.entry(line.n).or_default();
        call.number = line.n;
        call.began = call.began.take().or(line.began);
        call.ended = call.ended.take().or(line.ended);
    }
}
