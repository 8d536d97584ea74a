//! Pinned definitions of tools: what each server's tools were when they were first used, or when
//! the user last approved them (S4, S26).
//!
//! Pins are the user's: they are kept in the state folder, one file for each server as it is
//! described, so that another server of the same name has pins of its own. A [`Lock`] beside the
//! configuration can only make them stricter. Owns what was approved and how a tool stands to it;
//! who is asked and when is decided elsewhere.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use attache_client::protocol::Tool;
use parking_lot::{Mutex, MutexGuard};
use serde::{Deserialize, Serialize};

use super::definition::{DiffLine, Pin, Tools, difference, differing};
use super::lock::Lock;
use crate::config::{ServerConfig, ServerName};
use crate::manifest::fingerprint;
use crate::names::ToolName;
use crate::state_file;

/// The version of the file's form.
const VERSION: u32 = 1;
/// How many digits of a description's digest tell files apart; the file holds all of them.
const DIGITS_IN_NAME: usize = 16;

/// After how long another change of a file has another time, on any file system.
const SETTLED: Duration = Duration::from_secs(3);

/// The definitions that were approved.
#[derive(Debug, Default)]
pub struct Pins {
    folder: Option<PathBuf>,
    lock: Option<Lock>,
    /// What was read or approved so far.
    known: Mutex<BTreeMap<PinnedServer, Known>>,
}

/// The pins of a server.
#[derive(Debug)]
struct Known {
    /// None if it was never used.
    tools: Option<Tools>,
    /// Which state of the file they were read from, if another one would show.
    of: Option<FileState>,
}

impl From<Option<Tools>> for Known {
    fn from(tools: Option<Tools>) -> Self {
        Self { tools, of: None }
    }
}

/// How a file that is rewritten can be told from what it was: its time of change and its length.
#[derive(Debug, PartialEq, Eq)]
struct FileState(SystemTime, u64);

impl FileState {
    /// None if there is no file, or it was changed so lately that the next change might not show.
    fn of(file: &Path) -> Option<Self> {
        let found = std::fs::metadata(file).ok()?;
        let changed = found.modified().ok()?;
        let is_settled = changed.elapsed().is_ok_and(|age| age >= SETTLED);
        is_settled.then_some(Self(changed, found.len()))
    }
}

/// A server as pins know it: its name, and a digest of how it is reached.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PinnedServer {
    name: ServerName,
    description: String,
}

impl PinnedServer {
    /// The server of a configuration. What only the host looks at does not make it another one.
    pub fn of(config: &ServerConfig) -> Self {
        Self {
            name: config.name.clone(),
            description: fingerprint(config),
        }
    }
}

/// A file of pins.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    version: u32,
    server: String,
    description: String,
    tools: Tools,
}

/// How a tool stands to what was approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PinState {
    /// It was never approved.
    New,
    /// It is what was approved.
    Same,
    /// It is something else now.
    Drifted(Drift),
    /// The lock file names its server and does not list it.
    NotLocked {
        /// The lock file.
        file: PathBuf,
    },
}

/// How a tool differs from what was approved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// The tool.
    pub name: ToolName,
    /// The lock file, if that is what it differs from, and not the user's own pin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<PathBuf>,
    /// Where it differs, such as `inputSchema.properties.path.type`.
    pub paths: Vec<String>,
    /// The difference, line by line.
    pub lines: Vec<DiffLine>,
}

impl Pins {
    /// Pins that end with the program.
    pub fn in_memory() -> Self {
        Self::default()
    }

    /// Pins kept below a folder of the user's, which need not exist yet.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: Some(folder.into()),
            ..Self::default()
        }
    }

    /// Forgets what was read, so that what other programs have approved or forgotten since counts.
    pub fn reread(&self) {
        if self.folder.is_some() {
            self.known().clear();
        }
    }

    /// The same, with a lock file that has to be satisfied too.
    pub fn tightened_by(mut self, lock: Option<Lock>) -> Self {
        self.lock = lock;
        self
    }

    /// The lock file, if it names this server.
    pub fn lock_of(&self, server: &PinnedServer) -> Option<&Path> {
        let lock = self.lock.as_ref()?;
        lock.tools(&server.name).map(|_| lock.file())
    }

    /// Whether a call of this tool has to be compared with something that was approved.
    ///
    /// A file that cannot be understood is an error, here and wherever pins are asked: it must not
    /// silently approve.
    pub fn binds(&self, server: &PinnedServer, tool: &str) -> io::Result<bool> {
        if self.lock_of(server).is_some() {
            return Ok(true);
        }
        self.with(server, |tools| {
            tools.is_some_and(|tools| tools.contains_key(tool))
        })
    }

    /// Whether this server was used before.
    pub fn knows(&self, server: &PinnedServer) -> io::Result<bool> {
        self.with(server, |tools| tools.is_some())
    }

    /// How a tool stands to what was approved: to the lock file first, then to the user's pin.
    pub fn state(&self, server: &PinnedServer, tool: &Tool) -> io::Result<PinState> {
        let now = Pin::of(tool);
        if let Some(lock) = &self.lock
            && let Some(locked) = lock.tools(&server.name)
        {
            let file = lock.file();
            match locked.get(&tool.name) {
                None => {
                    return Ok(PinState::NotLocked {
                        file: file.to_path_buf(),
                    });
                }
                Some(pin) if pin.digest != now.digest => {
                    let drift = drift(server, tool, pin, &now, Some(file));
                    return Ok(PinState::Drifted(drift));
                }
                Some(_) => {}
            }
        }
        self.own_state_of(server, tool, &now)
    }

    /// How a tool stands to the user's own pin, whatever a lock file says.
    pub fn own_state(&self, server: &PinnedServer, tool: &Tool) -> io::Result<PinState> {
        self.own_state_of(server, tool, &Pin::of(tool))
    }

    fn own_state_of(&self, server: &PinnedServer, tool: &Tool, now: &Pin) -> io::Result<PinState> {
        let compare = |tools: Option<&Tools>| match tools.and_then(|tools| tools.get(&tool.name)) {
            None => PinState::New,
            Some(pin) if pin.digest == now.digest => PinState::Same,
            Some(pin) => PinState::Drifted(drift(server, tool, pin, now, None)),
        };
        let state = self.with(server, compare)?;
        if !matches!(state, PinState::Drifted(_)) || self.is_current(server) {
            return Ok(state);
        }
        // The user may have approved it meanwhile, by another process.
        self.known().remove(server);
        self.with(server, compare)
    }

    /// Whether the file still says what is known. Reading it for each of thousands of tools would
    /// take minutes.
    fn is_current(&self, server: &PinnedServer) -> bool {
        let Some(file) = self.file(server) else {
            return true;
        };
        let now = FileState::of(&file);
        let known = self.known();
        now.is_some() && known.get(server).is_some_and(|known| known.of == now)
    }

    /// Pins all tools of a server that was never used before; one that was is left as it is.
    /// Writes a file, and blocks for as long as the disk does.
    pub fn first_use<'a>(
        &self,
        server: &PinnedServer,
        tools: impl IntoIterator<Item = &'a Tool>,
    ) -> io::Result<()> {
        let seen = pins_of(tools);
        self.change(server, |tools| tools.or(Some(seen)))
    }

    /// Approves tools as they are now. Other tools of the server keep their pins, also those that
    /// another process has approved meanwhile. Writes a file, and blocks for as long as the disk
    /// does.
    pub fn accept<'a>(
        &self,
        server: &PinnedServer,
        tools: impl IntoIterator<Item = &'a Tool>,
    ) -> io::Result<()> {
        let accepted = pins_of(tools);
        self.change(server, |tools| {
            let mut tools = tools.unwrap_or_default();
            tools.extend(accepted);
            Some(tools)
        })
    }

    /// The change is made in memory also if it cannot be written, so that it holds at least for
    /// this program; the error tells.
    fn change(
        &self,
        server: &PinnedServer,
        change: impl FnOnce(Option<Tools>) -> Option<Tools>,
    ) -> io::Result<()> {
        let Some(file) = self.file(server) else {
            let mut known = self.known();
            let tools = known.remove(server).and_then(|known| known.tools);
            known.insert(server.clone(), change(tools).into());
            return Ok(());
        };
        let mut change = Some(change);
        let mut changed = None;
        let written = state_file::update::<io::Error>(&file, |text| {
            let former = text.map(|text| parse(&file, &text, server)).transpose()?;
            let apply = change.take();
            changed = apply.and_then(|change| change(former.clone()));
            match &changed {
                Some(tools) if former.as_ref() != Some(tools) => write(server, tools).map(Some),
                _ => Ok(None),
            }
        });
        match (change, &written) {
            // What is in the file is not understood, so nothing is put in its place.
            (Some(_), Err(error)) if error.kind() == io::ErrorKind::InvalidData => return written,
            (Some(change), _) => {
                let known = self.known();
                let tools = known.get(server).and_then(|known| known.tools.clone());
                changed = change(tools);
            }
            (None, _) => {}
        }
        self.known().insert(server.clone(), changed.into());
        written
    }

    fn with<R>(
        &self,
        server: &PinnedServer,
        look: impl FnOnce(Option<&Tools>) -> R,
    ) -> io::Result<R> {
        if let Some(known) = self.known().get(server) {
            return Ok(look(known.tools.as_ref()));
        }
        let read = match self.file(server) {
            Some(file) => Known {
                of: FileState::of(&file),
                tools: match state_file::read(&file)? {
                    Some(text) => Some(parse(&file, &text, server)?),
                    None => None,
                },
            },
            None => None.into(),
        };
        let mut known = self.known();
        let known = known.entry(server.clone()).or_insert(read);
        Ok(look(known.tools.as_ref()))
    }

    fn file(&self, server: &PinnedServer) -> Option<PathBuf> {
        let description = server.description.get(..DIGITS_IN_NAME)?;
        let name = format!("{}-{description}.json", server.name);
        Some(self.folder.as_ref()?.join(name))
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<PinnedServer, Known>> {
        self.known.lock()
    }
}

/// Of tools with the same name the first counts, as it does for calls.
pub(super) fn pins_of<'a>(tools: impl IntoIterator<Item = &'a Tool>) -> Tools {
    let mut pins = Tools::new();
    for tool in tools {
        let pin = || Pin::of(tool);
        pins.entry(tool.name.clone()).or_insert_with(pin);
    }
    pins
}

fn drift(
    server: &PinnedServer,
    tool: &Tool,
    approved: &Pin,
    now: &Pin,
    lock: Option<&Path>,
) -> Drift {
    Drift {
        name: ToolName::new(server.name.clone(), &*tool.name),
        lock: lock.map(Path::to_path_buf),
        paths: differing(approved, now),
        lines: difference(approved, now),
    }
}

fn write(server: &PinnedServer, tools: &Tools) -> io::Result<String> {
    let stored = Stored {
        version: VERSION,
        server: server.name.to_string(),
        description: server.description.clone(),
        tools: tools.clone(),
    };
    let mut text = serde_json::to_string_pretty(&stored)?;
    text.push('\n');
    if text.len() as u64 > state_file::LARGEST {
        let message = format!("the tools of {} are too long to be pinned", server.name);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
    }
    Ok(text)
}

fn parse(file: &Path, text: &str, server: &PinnedServer) -> io::Result<Tools> {
    let invalid = |why: String| {
        let message = format!(
            "{}: {why}; delete the file and approve the tools anew with `attache trust {}`",
            file.display(),
            server.name
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    };
    let stored: Stored = serde_json::from_str(text)
        .map_err(|error| invalid(format!("this is no file of pinned tools: {error}")))?;
    if stored.version != VERSION {
        return Err(invalid(format!(
            "version {} is not known, only {VERSION}",
            stored.version
        )));
    }
    if stored.server != server.name.as_str() || stored.description != server.description {
        return Err(invalid("it belongs to another server".to_owned()));
    }
    for (tool, pin) in &stored.tools {
        if !pin.is_sound() {
            return Err(invalid(format!(
                "the digest of {tool} does not belong to its definition"
            )));
        }
    }
    Ok(stored.tools)
}

#[cfg(test)]
#[path = "pins_tests.rs"]
mod tests;
