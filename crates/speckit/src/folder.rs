//! The folder of a project, and the folders of its specs.
//!
//! Owns which paths are allowed and how a file is replaced. A path that a caller names leads below
//! the project and nowhere else: no `..`, no hidden folder, no symbolic link on the way, because a
//! repository may bring links and a model may make up paths (S15). Links are looked for before a
//! file is touched; a process of the same user that swaps folders meanwhile could write there
//! itself.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest file that is read or written.
pub const LARGEST_FILE: u64 = 4 * 1024 * 1024;
/// Where the documents lie as they were last written, beside them.
const WRITTEN_FOLDER: &str = ".attache";
/// The file whose lock a run holds.
const LOCK: &str = "lock";
/// Which feature is being worked on.
const ACTIVE: [&str; 2] = [".specify", "feature.json"];

/// Why a file of a spec cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The path leads out of the project.
    #[error("{named} is not below {}; name a folder like specs/001-short-name in it", root.display())]
    Outside {
        /// What was named.
        named: String,
        /// The project.
        root: PathBuf,
    },
    /// A part of the path is no plain name.
    #[error("{named} has \"..\" or a hidden folder in it; name a folder like specs/001-short-name")]
    NotPlain {
        /// What was named.
        named: String,
    },
    /// A symbolic link, pipe or device is in the way.
    #[error("{} is a link or no plain file; nothing is read or written through it", .0.display())]
    Link(PathBuf),
    /// The file is too large.
    #[error("{} is larger than {LARGEST_FILE} bytes", .0.display())]
    TooLarge(PathBuf),
    /// Another run works in the folder.
    #[error("another run is working in {}; wait for it, or cancel it", .0.display())]
    Busy(PathBuf),
    /// The system refuses.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// A project: the folder that specs lie in, and its name as an absolute path without links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// The project in this folder.
    ///
    /// # Errors
    /// If it is no folder.
    pub fn open(folder: &Path) -> Result<Self, FolderError> {
        let failed = |source| FolderError::Io {
            doing: "open the folder",
            path: folder.to_path_buf(),
            source,
        };
        let root = folder.canonicalize().map_err(failed)?;
        match root.is_dir() {
            true => Ok(Self { root }),
            false => Err(failed(io::ErrorKind::NotADirectory.into())),
        }
    }

    /// The nearest folder from `start` upwards that has specs, spec-kit's own folder, or a
    /// repository in it; otherwise `start` itself. The home folder and what is above it count only
    /// as the start.
    ///
    /// # Errors
    /// If `start` is no folder.
    pub fn find(start: &Path, home: Option<&Path>) -> Result<Self, FolderError> {
        let start = Self::open(start)?;
        let is_project = |folder: &&Path| {
            [ACTIVE[0], crate::SPECS_FOLDER, ".git"]
                .iter()
                .any(|name| folder.join(name).symlink_metadata().is_ok())
        };
        let home = home.and_then(|home| home.canonicalize().ok());
        let below_home = |folder: &&Path| home.as_deref() != Some(*folder);
        let found = start
            .root
            .ancestors()
            .take_while(below_home)
            .find(is_project);
        Ok(match found {
            Some(root) => Self {
                root: root.to_path_buf(),
            },
            None => start,
        })
    }

    /// The folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a spec, which need not exist yet. The name is absolute, or relative to the
    /// project.
    ///
    /// # Errors
    /// If it leads anywhere but below the project, or over a link.
    pub fn spec(&self, named: &str) -> Result<SpecFolder, FolderError> {
        let path = Path::new(named);
        let not_plain = || FolderError::NotPlain {
            named: named.to_owned(),
        };
        let outside = || FolderError::Outside {
            named: named.to_owned(),
            root: self.root.clone(),
        };
        if path.components().any(|it| it == Component::ParentDir) || named.contains('\0') {
            return Err(not_plain());
        }
        let below = if path.has_root() || path.is_absolute() {
            // The project may be named over a link above it, as /tmp is on some systems.
            let is_root = |it: &&Path| it.canonicalize().is_ok_and(|it| it == self.root);
            let above = path.ancestors().find(is_root).ok_or_else(outside)?;
            path.strip_prefix(above).map_err(|_| outside())?
        } else {
            path
        };
        let mut parts = Vec::new();
        for part in below.components() {
            match part {
                Component::CurDir => {}
                Component::Normal(name) if !name.as_encoded_bytes().starts_with(b".") => {
                    parts.push(name.to_owned());
                }
                _ => return Err(not_plain()),
            }
        }
        if parts.is_empty() {
            return Err(outside());
        }
        let folder = SpecFolder {
            project: self.clone(),
            below: parts,
        };
        folder.check_way(&[])?;
        Ok(folder)
    }

    /// Notes which feature is being worked on, where spec-kit looks for it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn set_active(&self, spec: &SpecFolder) -> Result<(), FolderError> {
        let [folder, file] = ACTIVE;
        let folder = plain_folder(&self.root, folder)?;
        let directory = serde_json::json!({ "feature_directory": spec.shown() });
        write_in(&folder, file, &format!("{directory:#}\n"))
    }

    /// The feature that is being worked on, as it is written.
    pub fn active(&self) -> Option<String> {
        let [folder, file] = ACTIVE;
        let text = read_plain(&self.root.join(folder).join(file)).ok()??;
        let value: serde_json::Value = serde_json::from_str(&text).ok()?;
        Some(value.get("feature_directory")?.as_str()?.to_owned())
    }
}

/// The folder of one spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecFolder {
    project: Project,
    below: Vec<OsString>,
}

/// Held while a run works in a folder; others are told that it is busy.
#[derive(Debug)]
pub struct Working {
    _lock: File,
}

impl SpecFolder {
    /// Its absolute path.
    pub fn path(&self) -> PathBuf {
        let mut path = self.project.root.clone();
        path.extend(&self.below);
        path
    }

    /// Its path from the project on, with slashes.
    pub fn shown(&self) -> String {
        let parts: Vec<_> = self.below.iter().map(|it| it.to_string_lossy()).collect();
        parts.join("/")
    }

    /// Its own name.
    pub fn name(&self) -> String {
        let name = self.below.last();
        name.map(|it| it.to_string_lossy().into_owned())
            .unwrap_or_default()
    }

    /// The project it is in.
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The text of a document, if there is one.
    ///
    /// # Errors
    /// If it is no plain file, too large, or no text.
    pub fn read(&self, file: &str) -> Result<Option<String>, FolderError> {
        self.check_way(&[file])?;
        read_plain(&self.path().join(file))
    }

    /// A document as it was last written here; nothing if it came from elsewhere.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn as_written(&self, file: &str) -> Result<Option<String>, FolderError> {
        self.check_way(&[WRITTEN_FOLDER, file])?;
        read_plain(&self.path().join(WRITTEN_FOLDER).join(file))
    }

    /// Puts a document in place in one step, and remembers what of it is ours: `text` is what
    /// readers see, `ours` what would stand there without a person's edits.
    ///
    /// # Errors
    /// If the folder or the file cannot be written, or a link is in the way.
    pub fn write(&self, file: &str, text: &str, ours: &str) -> Result<(), FolderError> {
        let folder = self.make()?;
        write_in(&folder, file, text)?;
        let written = plain_folder(&folder, WRITTEN_FOLDER)?;
        write_in(&written, file, ours)
    }

    /// Puts a document in place in one step, as a person's own: what is remembered of ours stays.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_edit(&self, file: &str, text: &str) -> Result<(), FolderError> {
        write_in(&self.make()?, file, text)
    }

    /// The same in a folder below, such as `checklists`.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn write_below(&self, folder: &str, file: &str, text: &str) -> Result<(), FolderError> {
        let folder = plain_folder(&self.make()?, folder)?;
        write_in(&folder, file, text)
    }

    /// Claims the folder for one run, in this process or another.
    ///
    /// # Errors
    /// [`FolderError::Busy`] while another run has it.
    pub fn work(&self) -> Result<Working, FolderError> {
        let written = plain_folder(&self.make()?, WRITTEN_FOLDER)?;
        let path = written.join(LOCK);
        refuse_links(&path)?;
        let io = |source| FolderError::Io {
            doing: "lock",
            path: path.clone(),
            source,
        };
        let mut options = OpenOptions::new();
        let options = options.create(true).truncate(false).write(true);
        let lock = options.open(&path).map_err(io)?;
        match lock.try_lock() {
            Ok(()) => Ok(Working { _lock: lock }),
            Err(fs::TryLockError::WouldBlock) => Err(FolderError::Busy(self.path())),
            Err(fs::TryLockError::Error(source)) => Err(io(source)),
        }
    }

    /// Makes the folder, and those above it in the project.
    fn make(&self) -> Result<PathBuf, FolderError> {
        let mut path = self.project.root.clone();
        for part in &self.below {
            path = plain_folder(&path, part)?;
        }
        Ok(path)
    }

    /// Refuses links on the way to the folder and on to what is named in it.
    fn check_way(&self, further: &[&str]) -> Result<(), FolderError> {
        let mut path = self.project.root.clone();
        let further = further.iter().map(OsString::from);
        for part in self.below.iter().cloned().chain(further) {
            path.push(part);
            refuse_links(&path)?;
        }
        Ok(())
    }
}

/// A folder that is there afterwards, and no link.
fn plain_folder(above: &Path, name: impl AsRef<Path>) -> Result<PathBuf, FolderError> {
    let path = above.join(name);
    refuse_links(&path)?;
    match fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match path.is_dir() {
            true => Ok(path),
            false => Err(FolderError::Link(path)),
        },
        Err(source) => Err(FolderError::Io {
            doing: "make the folder",
            path,
            source,
        }),
    }
}

/// Refuses what is neither a plain file nor a folder.
fn refuse_links(path: &Path) -> Result<(), FolderError> {
    match path.symlink_metadata() {
        Ok(found) if found.is_file() || found.is_dir() => Ok(()),
        Ok(_) => Err(FolderError::Link(path.to_path_buf())),
        // What is not there yet leads nowhere.
        Err(_) => Ok(()),
    }
}

fn read_plain(path: &Path) -> Result<Option<String>, FolderError> {
    refuse_links(path)?;
    let io = |source| FolderError::Io {
        doing: "read",
        path: path.to_path_buf(),
        source,
    };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(io(error)),
    };
    let mut text = String::new();
    let length = file.take(LARGEST_FILE + 1).read_to_string(&mut text);
    match length.map_err(io)? as u64 > LARGEST_FILE {
        true => Err(FolderError::TooLarge(path.to_path_buf())),
        false => Ok(Some(text)),
    }
}

fn write_in(folder: &Path, file: &str, text: &str) -> Result<(), FolderError> {
    let path = folder.join(file);
    refuse_links(&path)?;
    if text.len() as u64 > LARGEST_FILE {
        return Err(FolderError::TooLarge(path));
    }
    replace(&path, text).map_err(|source| FolderError::Io {
        doing: "write",
        path,
        source,
    })
}

/// Puts a whole file in place in one step: a reader sees the old text or the new one, also when
/// the disk is full. The file keeps its rights.
///
/// # Errors
/// If the draft cannot be written or put in place; then the former file is as it was.
pub fn replace(path: &Path, text: &str) -> io::Result<()> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let made = MADE.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}-{made}~", std::process::id()));
    let draft = path.with_file_name(name);
    let rights = fs::metadata(path).ok().map(|former| former.permissions());
    let written = || -> io::Result<()> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&draft)?;
        if let Some(rights) = rights {
            file.set_permissions(rights)?;
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    let written = written();
    if written.is_err() {
        // The draft is of no use any more.
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use attache_testkit::scratch::Scratch;

    use super::*;

    fn project() -> (Scratch, Project) {
        let scratch = Scratch::new("speckit-folder").unwrap();
        let project = Project::open(scratch.path()).unwrap();
        (scratch, project)
    }

    /// S15: what is named leads below the project.
    #[test]
    fn paths_lead_below_the_project_only() {
        let (_scratch, project) = project();
        let root = project.root().display().to_string();
        for named in [
            "specs/001-a",
            "./specs/001-a",
            &format!("{root}/specs/001-a"),
        ] {
            let spec = project.spec(named).unwrap();
            assert_eq!(spec.shown(), "specs/001-a", "{named}");
        }
        for named in [
            "",
            ".",
            "..",
            "../x",
            "specs/../../x",
            "/etc",
            "/",
            ".git/x",
            "specs/.hidden",
            &root,
            &format!("{root}/../x"),
        ] {
            assert!(project.spec(named).is_err(), "{named}");
        }
    }

    /// S15: a link on the way, for the folder or for a document, is refused.
    #[cfg(unix)]
    #[test]
    fn links_are_refused() {
        use std::os::unix::fs::symlink;
        let (scratch, project) = project();
        let elsewhere = Scratch::new("speckit-elsewhere").unwrap();
        symlink(elsewhere.path(), scratch.path().join("specs")).unwrap();
        assert!(matches!(
            project.spec("specs/001-a"),
            Err(FolderError::Link(_))
        ));
        let spec = project.spec("other/001-a").unwrap();
        spec.write("spec.md", "one", "one").unwrap();
        for hidden in [".attache", "checklists"] {
            let _ = fs::remove_dir_all(spec.path().join(hidden));
            symlink(elsewhere.path(), spec.path().join(hidden)).unwrap();
        }
        assert!(spec.write("spec.md", "two", "two").is_err());
        assert!(spec.write_below("checklists", "x.md", "x").is_err());
        assert!(spec.work().is_err());
        let target = elsewhere.write("target", "theirs").unwrap();
        symlink(&target, spec.path().join("plan.md")).unwrap();
        assert!(spec.read("plan.md").is_err());
        assert!(spec.write_edit("plan.md", "ours").is_err());
        assert_eq!(fs::read_to_string(target).unwrap(), "theirs");
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_run_at_a_time_works_in_a_folder() {
        let (_scratch, project) = project();
        let spec = project.spec("specs/001-a").unwrap();
        let first = spec.work().unwrap();
        assert!(matches!(spec.work(), Err(FolderError::Busy(_))));
        drop(first);
        spec.work().unwrap();
    }

    #[test]
    fn files_are_replaced_whole_and_bounded() {
        let (_scratch, project) = project();
        let spec = project.spec("specs/001-a").unwrap();
        assert_eq!(spec.read("spec.md").unwrap(), None);
        spec.write("spec.md", "seen", "ours").unwrap();
        assert_eq!(spec.read("spec.md").unwrap().as_deref(), Some("seen"));
        assert_eq!(spec.as_written("spec.md").unwrap().as_deref(), Some("ours"));
        let largest = "x".repeat(usize::try_from(LARGEST_FILE).unwrap());
        spec.write_edit("spec.md", &largest).unwrap();
        assert_eq!(spec.read("spec.md").unwrap().unwrap().len(), largest.len());
        assert!(matches!(
            spec.write_edit("spec.md", &format!("{largest}x")),
            Err(FolderError::TooLarge(_))
        ));
        let left: Vec<_> = fs::read_dir(spec.path()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn the_active_feature_is_noted() {
        let (_scratch, project) = project();
        assert_eq!(project.active(), None);
        let spec = project.spec("specs/001-a").unwrap();
        project.set_active(&spec).unwrap();
        assert_eq!(project.active().as_deref(), Some("specs/001-a"));
    }

    #[test]
    fn a_project_is_found_from_inside() {
        let (scratch, project) = project();
        let inner = scratch.path().join("src/deep");
        fs::create_dir_all(&inner).unwrap();
        fs::create_dir(scratch.path().join("specs")).unwrap();
        assert_eq!(Project::find(&inner, None).unwrap(), project);
        let home = Some(scratch.path());
        let alone = Project::find(&inner, home).unwrap();
        assert_eq!(alone, Project::open(&inner).unwrap());
    }
}
