//! Finding the program before starting it.
//!
//! Owns the search that the operating system would otherwise do without telling
//! where it looked, and the check of everything that can be checked beforehand.
//! Refuses to start anything, and to search anywhere but the child's own `PATH`.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::{env, io};

use super::error::is_path;
use super::{Launch, SpawnError, SpawnErrorKind};

/// Where programs are searched when the child has no `PATH`, as the C library does.
const DEFAULT_PATH: &str = if cfg!(windows) { "" } else { "/bin:/usr/bin" };

/// Extensions of programs when the child has no `PATHEXT`.
const DEFAULT_EXTENSIONS: &str = ".COM;.EXE;.BAT;.CMD";

/// Most bytes of program, arguments, directory and environment together. Linux
/// refuses more than 6 MiB whatever the limits are, so this cuts off nothing that
/// could have run.
pub(super) const LAUNCH_LIMIT: usize = 8 * 1024 * 1024;

/// A launch with every choice made: nothing is left to search or to inherit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Prepared {
    /// The file to execute, absolute.
    pub(super) program: PathBuf,
    /// What the child sees as its own name: the program as it was asked for.
    pub(super) name: OsString,
    pub(super) args: Vec<OsString>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Prepared {
    /// Resolves `launch`. This touches the file system.
    pub(super) fn new(launch: &Launch) -> Result<Self, SpawnError> {
        let fail = |kind| SpawnError::new(&launch.program, launch.cwd.as_deref(), kind);
        let environment = launch.composed_environment(env::vars_os());
        check_representable(launch, &environment).map_err(fail)?;

        let cwd = match &launch.cwd {
            None => None,
            Some(cwd) => {
                let cwd = std::path::absolute(cwd)
                    .map_err(|_| fail(SpawnErrorKind::BadWorkingDirectory))?;
                if !can_enter(&cwd) {
                    return Err(fail(SpawnErrorKind::BadWorkingDirectory));
                }
                Some(cwd)
            }
        };

        let mut tried = Vec::new();
        let program = find(&launch.program, cwd.as_deref(), &environment, &mut tried)
            .map_err(|kind| fail(kind).with_tried(tried))?;
        Ok(Self {
            program,
            name: launch.program.clone(),
            args: launch.args.clone(),
            cwd,
            environment,
        })
    }

    /// The command that starts this launch; standard streams are the caller's part.
    pub(super) fn command(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.args)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        if let Some(cwd) = &self.cwd {
            command.current_dir(cwd);
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::arg0(&mut command, &self.name);
        command
    }

    /// The error for what the system said to starting this launch.
    pub(super) fn start_error(&self, error: io::Error) -> SpawnError {
        // The directory may have gone since it was checked, and the system reports
        // that with the same code as a missing program.
        let directory_lost = self.cwd.as_deref().is_some_and(|cwd| !can_enter(cwd));
        self.error(if directory_lost {
            SpawnErrorKind::BadWorkingDirectory
        } else {
            SpawnErrorKind::from_start(error)
        })
    }

    pub(super) fn error(&self, kind: SpawnErrorKind) -> SpawnError {
        SpawnError::new(&self.name, self.cwd.as_deref(), kind)
            .with_tried(vec![self.program.clone()])
    }
}

/// Refuses what no process can receive, before anything is started for it.
fn check_representable(
    launch: &Launch,
    environment: &[(OsString, OsString)],
) -> Result<(), SpawnErrorKind> {
    let cwd = launch.cwd.as_ref().map(|cwd| cwd.as_os_str());
    let texts = launch
        .args
        .iter()
        .map(OsString::as_os_str)
        .chain([launch.program.as_os_str()])
        .chain(cwd)
        .chain(
            environment
                .iter()
                .flat_map(|(name, value)| [name.as_os_str(), value]),
        );
    let mut size = 0_usize;
    for text in texts {
        if text.as_encoded_bytes().contains(&0) {
            return Err(SpawnErrorKind::Unrepresentable);
        }
        size = size.saturating_add(text.len());
    }
    if size > LAUNCH_LIMIT {
        return Err(SpawnErrorKind::TooLarge);
    }
    let nameable = |name: &OsStr| !name.is_empty() && !name.as_encoded_bytes().contains(&b'=');
    if !launch.vars.keys().all(|name| nameable(name)) {
        return Err(SpawnErrorKind::Unrepresentable);
    }
    Ok(())
}

/// Searches `program` the way the child itself would, noting every file looked at;
/// the last one noted is the one the answer is about.
fn find(
    program: &OsStr,
    cwd: Option<&Path>,
    environment: &[(OsString, OsString)],
    tried: &mut Vec<PathBuf>,
) -> Result<PathBuf, SpawnErrorKind> {
    let in_cwd = |path: &Path| {
        let joined = cwd.map_or_else(|| path.to_owned(), |cwd| cwd.join(path));
        std::path::absolute(joined).map_err(SpawnErrorKind::Other)
    };
    let directories = if is_path(program) {
        vec![PathBuf::new()]
    } else {
        let path = variable(environment, "PATH").unwrap_or(OsStr::new(DEFAULT_PATH));
        // A relative entry, such as an empty one, would find a program in whatever folder the
        // child starts in (S21).
        env::split_paths(path)
            .filter(|directory| directory.is_absolute())
            .collect()
    };

    let mut not_executable = None;
    for directory in directories {
        let base = in_cwd(&directory.join(program))?;
        for candidate in spellings(base, environment) {
            if can_execute(&candidate) {
                return Ok(candidate);
            }
            if not_executable.is_none() && candidate.exists() {
                not_executable = Some(candidate.clone());
            }
            tried.push(candidate);
        }
    }
    match not_executable {
        Some(found) => {
            tried.retain(|candidate| *candidate != found);
            tried.push(found);
            Err(SpawnErrorKind::NotExecutable)
        }
        None => Err(SpawnErrorKind::NotFound),
    }
}

/// The files that a program's path can mean: on Windows, where `npx` is found as
/// `npx.cmd`, also every extension of the child's `PATHEXT`.
fn spellings(base: PathBuf, environment: &[(OsString, OsString)]) -> Vec<PathBuf> {
    if !cfg!(windows) {
        return vec![base];
    }
    let extensions = variable(environment, "PATHEXT").unwrap_or(OsStr::new(DEFAULT_EXTENSIONS));
    let extensions = extensions.to_string_lossy();
    let with_extension = extensions
        .split(';')
        .filter(|extension| !extension.is_empty())
        .map(|extension| {
            let mut path = base.clone().into_os_string();
            path.push(extension);
            PathBuf::from(path)
        });
    // A name that has an extension already is tried as it is; one without is a
    // script for another system, which npm likes to put next to the real one.
    let as_it_is = base.extension().is_some().then(|| base.clone());
    as_it_is.into_iter().chain(with_extension).collect()
}

fn variable<'a>(environment: &'a [(OsString, OsString)], name: &str) -> Option<&'a OsStr> {
    environment
        .iter()
        .find(|(key, _)| {
            if cfg!(windows) {
                key.eq_ignore_ascii_case(name)
            } else {
                key == name
            }
        })
        .map(|(_, value)| value.as_os_str())
}

#[cfg(unix)]
fn can_execute(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn can_execute(path: &Path) -> bool {
    path.is_file()
}

#[cfg(unix)]
fn can_enter(directory: &Path) -> bool {
    directory.is_dir() && rustix::fs::access(directory, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(not(unix))]
fn can_enter(directory: &Path) -> bool {
    directory.is_dir()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use attache_testkit::scratch::Scratch;

    use super::*;

    /// A directory of its own with files of the given modes.
    struct Folder(Scratch);

    impl Folder {
        fn with(files: &[(&str, u32)]) -> Self {
            let folder = Scratch::new("resolve").unwrap();
            for (name, mode) in files {
                let path = folder.write(name, "#!/bin/sh\n").unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
            }
            Self(folder)
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }
    }

    fn prepare(launch: &Launch) -> Result<PathBuf, (String, Vec<PathBuf>)> {
        match Prepared::new(launch) {
            Ok(prepared) => Ok(prepared.program),
            Err(error) => Err((format!("{:?}", error.kind()), error.tried().to_vec())),
        }
    }

    fn search_path(folders: &[&Folder]) -> OsString {
        env::join_paths(folders.iter().map(|folder| folder.0.path())).unwrap()
    }

    #[test]
    fn the_first_executable_in_the_child_s_own_path_wins() {
        let none = Folder::with(&[]);
        let plain = Folder::with(&[("server", 0o644)]);
        let first = Folder::with(&[("server", 0o755)]);
        let second = Folder::with(&[("server", 0o755)]);
        let path = search_path(&[&none, &plain, &first, &second]);
        let launch = Launch::new("server").var("PATH", path);
        assert_eq!(prepare(&launch), Ok(first.path("server")));
    }

    #[test]
    fn a_search_without_success_names_every_file_it_looked_at() {
        let none = Folder::with(&[]);
        let plain = Folder::with(&[("server", 0o644)]);
        let launch = |folders: &[&Folder]| Launch::new("server").var("PATH", search_path(folders));
        assert_eq!(
            prepare(&launch(&[&none])),
            Err(("NotFound".into(), vec![none.path("server")]))
        );
        assert_eq!(
            prepare(&launch(&[&plain, &none])),
            Err((
                "NotExecutable".into(),
                vec![none.path("server"), plain.path("server")]
            ))
        );
        assert_eq!(
            prepare(&Launch::new("server").var("PATH", "")),
            Err(("NotFound".into(), vec![]))
        );
    }

    #[test]
    fn relative_paths_are_those_of_the_child_s_working_directory() {
        let folder = Folder::with(&[("server", 0o755)]);
        let found = Ok(folder.path("server"));
        assert_eq!(
            prepare(&Launch::new("./server").cwd(folder.0.path())),
            found
        );
    }

    #[test]
    fn s21_relative_entries_of_the_path_are_not_searched() {
        let folder = Folder::with(&[("server", 0o755)]);
        for path in [".", "", ":/nonexistent", "./:/nonexistent:.."] {
            let launch = Launch::new("server").cwd(folder.0.path()).var("PATH", path);
            let (kind, tried) = prepare(&launch).unwrap_err();
            assert_eq!(kind, "NotFound", "PATH={path}");
            assert!(
                tried.iter().all(|it| it.starts_with("/nonexistent")),
                "{tried:?}"
            );
        }
    }

    #[test]
    fn what_no_process_can_receive_is_refused_beforehand() {
        for launch in [
            Launch::new("sh").args(["a\0b"]),
            Launch::new("s\0h"),
            Launch::new("sh").var("NAME", "a\0b"),
            Launch::new("sh").var("NA=ME", "value"),
            Launch::new("sh").var("", "value"),
        ] {
            let refused = prepare(&launch).unwrap_err().0;
            assert_eq!(refused, "Unrepresentable", "{launch:?}");
        }
    }

    #[test]
    fn a_launch_at_the_limit_is_taken_and_one_beyond_is_not() {
        let program = "server";
        let mut launch = Launch::new(program).args(["x".repeat(LAUNCH_LIMIT - program.len())]);
        assert!(check_representable(&launch, &[]).is_ok());
        launch.args[0].push("x");
        assert!(matches!(
            check_representable(&launch, &[]),
            Err(SpawnErrorKind::TooLarge)
        ));
    }
}
