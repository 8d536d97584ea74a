//! Why a server could not be started.
//!
//! Owns the kinds of failure and the sentences for them (FAULTS 13). Refuses to
//! know how processes are started, beyond the operating system's error codes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// A server that could not be started, with everything that was tried.
#[derive(Debug)]
pub struct SpawnError {
    program: OsString,
    tried: Vec<PathBuf>,
    cwd: Option<PathBuf>,
    kind: SpawnErrorKind,
}

/// What kept a server from starting.
#[derive(Debug)]
#[non_exhaustive]
pub enum SpawnErrorKind {
    /// No file of that name is where it was looked for.
    NotFound,
    /// The file is there but cannot be run: no permission, a directory, or not a
    /// program of this system.
    NotExecutable,
    /// The file is there, but the interpreter that its first line names is not.
    InterpreterMissing,
    /// The working directory is missing, not a directory, or closed to us.
    BadWorkingDirectory,
    /// Arguments and environment together exceed what the system accepts.
    TooLarge,
    /// An argument or variable that no process can receive: one with a NUL byte, or
    /// a variable whose name is empty or contains `=`.
    Unrepresentable,
    /// The system has no processes, descriptors or memory left.
    ResourceLimit(io::Error),
    /// The guardian did not do its part; the text says how.
    Guardian(String),
    /// Anything else the operating system said.
    Other(io::Error),
}

impl SpawnError {
    pub(super) fn new(program: &OsStr, cwd: Option<&Path>, kind: SpawnErrorKind) -> Self {
        Self {
            program: program.to_owned(),
            tried: Vec::new(),
            cwd: cwd.map(Path::to_owned),
            kind,
        }
    }

    pub(super) fn with_tried(mut self, tried: Vec<PathBuf>) -> Self {
        self.tried = tried;
        self
    }

    /// The program as it was asked for.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// The files that were looked at, in order; empty if the search never began.
    pub fn tried(&self) -> &[PathBuf] {
        &self.tried
    }

    /// The working directory that the server was to have, if one was named.
    pub fn cwd(&self) -> Option<&Path> {
        self.cwd.as_deref()
    }

    /// What kept the server from starting.
    pub fn kind(&self) -> &SpawnErrorKind {
        &self.kind
    }

    /// One directory may have been looked at for several spellings of the name.
    fn directories_searched(&self) -> usize {
        let parents: BTreeSet<_> = self.tried.iter().filter_map(|path| path.parent()).collect();
        parents.len()
    }
}

impl fmt::Display for SpawnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot start `{}`: ", self.program.display())?;
        let last = self.tried.last().map(|path| path.display());
        match (&self.kind, last) {
            (SpawnErrorKind::NotFound, Some(path)) if is_path(&self.program) => {
                write!(f, "there is no file {path}; check the path")
            }
            (SpawnErrorKind::NotFound, _) => match self.directories_searched() {
                0 => f.write_str("PATH is empty; give the program's full path"),
                1 => f.write_str(
                    "not found in PATH (looked in 1 directory); install it or give its full path",
                ),
                count => write!(
                    f,
                    "not found in PATH (looked in {count} directories); \
                     install it or give its full path"
                ),
            },
            (SpawnErrorKind::NotExecutable, Some(path)) => write!(
                f,
                "{path} cannot be executed; make it executable, or start it through its interpreter"
            ),
            (SpawnErrorKind::NotExecutable, None) => {
                f.write_str("it cannot be executed; make it executable")
            }
            (SpawnErrorKind::InterpreterMissing, path) => {
                f.write_str("the interpreter named in the first line of ")?;
                match path {
                    Some(path) => write!(f, "{path}")?,
                    None => f.write_str("the file")?,
                }
                f.write_str(" is missing; install it, or install the program again")
            }
            (SpawnErrorKind::BadWorkingDirectory, _) => {
                f.write_str("the working directory ")?;
                if let Some(cwd) = &self.cwd {
                    write!(f, "{} ", cwd.display())?;
                }
                f.write_str("cannot be entered; create it or name another")
            }
            (SpawnErrorKind::TooLarge, _) => f.write_str(
                "its arguments and environment are larger than the system accepts; shorten them",
            ),
            (SpawnErrorKind::Unrepresentable, _) => f.write_str(
                "an argument or variable contains a NUL byte, or a variable's name is empty or \
                 contains `=`; correct it",
            ),
            (SpawnErrorKind::ResourceLimit(error), _) => write!(
                f,
                "the system refused another process ({error}); \
                 close some programs or raise the limit"
            ),
            (SpawnErrorKind::Guardian(reason), _) => {
                write!(f, "its guardian process failed: {reason}")
            }
            (SpawnErrorKind::Other(error), _) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for SpawnError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            SpawnErrorKind::ResourceLimit(error) | SpawnErrorKind::Other(error) => Some(error),
            _ => None,
        }
    }
}

impl SpawnErrorKind {
    /// Classifies what the system said to starting a program that was there when it
    /// was looked for.
    pub(super) fn from_start(error: io::Error) -> Self {
        use io::ErrorKind;
        if let Some(limit) = Self::resource_limit(&error) {
            return limit;
        }
        match error.kind() {
            // The file was found a moment ago, so it is its interpreter that is not.
            ErrorKind::NotFound => Self::InterpreterMissing,
            ErrorKind::PermissionDenied => Self::NotExecutable,
            ErrorKind::ArgumentListTooLong => Self::TooLarge,
            ErrorKind::InvalidInput => Self::Unrepresentable,
            _ if is_not_a_program(&error) => Self::NotExecutable,
            _ => Self::Other(error),
        }
    }

    /// Classifies a failure to get pipes or sockets from the system.
    #[cfg(unix)]
    pub(super) fn from_system(error: io::Error) -> Self {
        Self::resource_limit(&error).unwrap_or(Self::Other(error))
    }

    #[cfg(unix)]
    fn resource_limit(error: &io::Error) -> Option<Self> {
        use rustix::io::Errno;
        let code = error.raw_os_error()?;
        [
            Errno::AGAIN,
            Errno::NOMEM,
            Errno::MFILE,
            Errno::NFILE,
            Errno::TOOMANYREFS,
            Errno::NOBUFS,
        ]
        .iter()
        .any(|limit| limit.raw_os_error() == code)
        .then(|| Self::ResourceLimit(io::Error::from_raw_os_error(code)))
    }

    #[cfg(not(unix))]
    fn resource_limit(error: &io::Error) -> Option<Self> {
        (error.kind() == io::ErrorKind::OutOfMemory)
            .then(|| Self::ResourceLimit(io::ErrorKind::OutOfMemory.into()))
    }
}

#[cfg(unix)]
fn is_not_a_program(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error())
}

#[cfg(not(unix))]
fn is_not_a_program(error: &io::Error) -> bool {
    /// Windows: "is not a valid application for this system".
    const ERROR_BAD_EXE_FORMAT: i32 = 193;
    error.raw_os_error() == Some(ERROR_BAD_EXE_FORMAT)
}

/// Whether a program was named by a path rather than by a bare name.
pub(super) fn is_path(program: &OsStr) -> bool {
    Path::new(program).components().count() != 1
        || program
            .as_encoded_bytes()
            .iter()
            .any(|byte| std::path::is_separator(char::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(program: &str, tried: &[&str], kind: SpawnErrorKind, text: &str) {
        let error = SpawnError::new(program.as_ref(), Some(Path::new("/srv")), kind)
            .with_tried(tried.iter().map(PathBuf::from).collect());
        assert_eq!(
            error.to_string(),
            format!("cannot start `{program}`: {text}")
        );
    }

    #[test]
    fn every_sentence_says_what_happened_and_what_to_do() {
        check(
            "foo",
            &["/bin/foo", "/usr/bin/foo"],
            SpawnErrorKind::NotFound,
            "not found in PATH (looked in 2 directories); install it or give its full path",
        );
        check(
            "foo",
            &["/bin/foo"],
            SpawnErrorKind::NotFound,
            "not found in PATH (looked in 1 directory); install it or give its full path",
        );
        check(
            "foo",
            &[],
            SpawnErrorKind::NotFound,
            "PATH is empty; give the program's full path",
        );
        check(
            "./foo",
            &["/srv/foo"],
            SpawnErrorKind::NotFound,
            "there is no file /srv/foo; check the path",
        );
        check(
            "foo",
            &["/bin/foo"],
            SpawnErrorKind::NotExecutable,
            "/bin/foo cannot be executed; make it executable, or start it through its interpreter",
        );
        check(
            "foo",
            &["/bin/foo"],
            SpawnErrorKind::InterpreterMissing,
            "the interpreter named in the first line of /bin/foo is missing; \
             install it, or install the program again",
        );
        check(
            "foo",
            &[],
            SpawnErrorKind::BadWorkingDirectory,
            "the working directory /srv cannot be entered; create it or name another",
        );
        check(
            "foo",
            &[],
            SpawnErrorKind::Guardian("it went away".into()),
            "its guardian process failed: it went away",
        );
    }

    #[cfg(unix)]
    #[test]
    fn system_errors_find_their_kind() {
        use rustix::io::Errno;
        let kind_of = |errno: Errno| {
            let kind = SpawnErrorKind::from_start(errno.into());
            format!("{kind:?}")
                .split(['(', ' '])
                .next()
                .unwrap()
                .to_owned()
        };
        for (errno, kind) in [
            (Errno::NOENT, "InterpreterMissing"),
            (Errno::ACCESS, "NotExecutable"),
            (Errno::NOEXEC, "NotExecutable"),
            (Errno::TOOBIG, "TooLarge"),
            (Errno::INVAL, "Unrepresentable"),
            (Errno::AGAIN, "ResourceLimit"),
            (Errno::NOMEM, "ResourceLimit"),
            (Errno::MFILE, "ResourceLimit"),
            (Errno::IO, "Other"),
        ] {
            assert_eq!(kind_of(errno), kind, "{errno:?}");
        }
    }
}
