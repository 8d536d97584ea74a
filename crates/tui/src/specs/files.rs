//! Files of specs, read and written on threads of their own.
//!
//! Owns what a thread was asked and what it brings back. Knows nothing of what is drawn.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::SystemTime;

use attache_speckit::{Project, SpecFolder, SpecList, list};

use crate::component::Waker;

/// What tells one state of a file from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
}

/// A document of a spec: the folder of the spec from the project on, and the name of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) spec: String,
    pub(super) file: String,
}

/// A text and the state of the file it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) text: String,
    pub(super) stamp: Option<Stamp>,
}

/// Why a document was not saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NotSaved {
    /// Somebody else wrote it since it was read.
    Changed,
    /// The system refuses.
    Failed(String),
}

/// What a thread brings back.
#[derive(Debug)]
pub(super) enum Brought {
    List(Result<(PathBuf, SpecList), String>),
    /// Nothing inside if there is no such document.
    Document(Place, Result<Option<Read>, String>),
    Saved(Place, Result<Option<Stamp>, NotSaved>),
}

/// The way to the threads and back.
#[derive(Debug)]
pub(super) struct Files {
    start: PathBuf,
    specs_directory: String,
    waker: Waker,
    sender: Sender<Brought>,
    receiver: Receiver<Brought>,
    is_listing: bool,
    /// Another listing is wanted behind the one that runs.
    wants_listing: bool,
}

impl Files {
    pub(super) fn new(start: PathBuf, specs_directory: String, waker: Waker) -> Self {
        let (sender, receiver) = channel();
        Self {
            start,
            specs_directory,
            waker,
            sender,
            receiver,
            is_listing: false,
            wants_listing: false,
        }
    }

    pub(super) fn specs_directory(&self) -> &str {
        &self.specs_directory
    }

    pub(super) fn set_specs_directory(&mut self, folder: String) {
        self.specs_directory = folder;
    }

    /// Lists the specs, or once more behind a listing that runs.
    pub(super) fn list(&mut self) {
        if self.is_listing {
            self.wants_listing = true;
            return;
        }
        self.is_listing = true;
        let (start, folder) = (self.start.clone(), self.specs_directory.clone());
        self.spawn(move || Brought::List(listed(&start, &folder)));
    }

    pub(super) fn read(&self, place: Place) {
        let start = self.start.clone();
        self.spawn(move || {
            let read = read(&start, &place);
            Brought::Document(place, read)
        });
    }

    /// Saves a document, unless it has another state than this one.
    pub(super) fn save(&self, place: Place, text: String, expected: Expected) {
        let start = self.start.clone();
        self.spawn(move || {
            let saved = save(&start, &place, &text, expected);
            Brought::Saved(place, saved)
        });
    }

    /// The next thing that a thread has brought back.
    pub(super) fn next(&mut self) -> Option<Brought> {
        let brought = self.receiver.try_recv().ok()?;
        if matches!(brought, Brought::List(_)) {
            self.is_listing = false;
            if std::mem::take(&mut self.wants_listing) {
                self.list();
            }
        }
        Some(brought)
    }

    fn spawn(&self, work: impl FnOnce() -> Brought + Send + 'static) {
        let (sender, waker) = (self.sender.clone(), self.waker.clone());
        std::thread::spawn(move || {
            // A pane that is gone wants nothing.
            let _ = sender.send(work());
            waker.wake();
        });
    }
}

/// In which state a document may be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// As it was read.
    As(Option<Stamp>),
    /// In any: the person has decided.
    Any,
}

fn project(start: &Path) -> Result<Project, String> {
    let home = std::env::home_dir();
    Project::find(start, home.as_deref()).map_err(|error| error.to_string())
}

fn listed(start: &Path, folder: &str) -> Result<(PathBuf, SpecList), String> {
    let project = project(start)?;
    let specs = list(&project, folder).map_err(|error| error.to_string())?;
    Ok((project.root().to_path_buf(), specs))
}

fn folder(start: &Path, place: &Place) -> Result<SpecFolder, String> {
    let project = project(start)?;
    project.spec(&place.spec).map_err(|error| error.to_string())
}

fn read(start: &Path, place: &Place) -> Result<Option<Read>, String> {
    let folder = folder(start, place)?;
    // The state is taken first: what is written in between counts as a change.
    let stamp = stamp(&folder, place);
    let text = folder
        .read(&place.file)
        .map_err(|error| error.to_string())?;
    Ok(text.map(|text| Read { text, stamp }))
}

fn save(
    start: &Path,
    place: &Place,
    text: &str,
    expected: Expected,
) -> Result<Option<Stamp>, NotSaved> {
    let folder = folder(start, place).map_err(NotSaved::Failed)?;
    if let Expected::As(expected) = expected
        && stamp(&folder, place) != expected
    {
        return Err(NotSaved::Changed);
    }
    let written = folder.write_edit(&place.file, text);
    written.map_err(|error| NotSaved::Failed(error.to_string()))?;
    Ok(stamp(&folder, place))
}

fn stamp(folder: &SpecFolder, place: &Place) -> Option<Stamp> {
    let found = folder.path().join(&place.file).symlink_metadata().ok()?;
    Some(Stamp {
        modified: found.modified().ok(),
        bytes: found.len(),
    })
}
