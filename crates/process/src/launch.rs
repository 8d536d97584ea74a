//! What to start: program, arguments, working directory and environment.
//!
//! Owns the description of a child process and the choice of its environment.
//! Refuses to start anything.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::PathBuf;

/// A server to be started as a child process.
///
/// `Debug` shows the names of the variables but never their values, which are
/// often secrets (SECURITY S12).
#[derive(Clone, PartialEq, Eq)]
pub struct Launch {
    /// The program: a bare name is searched in the absolute folders of the child's `PATH`;
    /// a path with a separator is taken relative to the child's working directory.
    pub program: OsString,
    /// The arguments after the program's name. They need not be UTF-8.
    pub args: Vec<OsString>,
    /// The working directory; without one the child gets ours.
    pub cwd: Option<PathBuf>,
    /// What the child's environment starts from.
    pub environment: Environment,
    /// Variables set on top of `environment`.
    pub vars: BTreeMap<OsString, OsString>,
    /// How firmly the child's tree is tied to this process.
    pub guardianship: Guardianship,
}

/// What a child's environment starts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Environment {
    /// Everything this process has.
    Inherit,
    /// Only [`ALLOWED_VARIABLES`] and the families that its documentation names.
    #[default]
    AllowList,
}

/// How a child's process tree is tied to the life of this process.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Guardianship {
    /// A guardian where [`guardian::enable`](super::guardian::enable) was called
    /// on Linux; otherwise the same as [`Guardianship::ProcessGroup`].
    #[default]
    Automatic,
    /// A guardian run from this executable, whose `main` calls
    /// [`guardian::enable`](super::guardian::enable). Linux only; elsewhere
    /// starting fails.
    Helper(PathBuf),
    /// No guardian. On Unix the child leads a process group of its own that is
    /// killed as a whole, but a member that leaves the group escapes, and if this
    /// process is killed outright the children only notice that their standard
    /// input has closed. On Windows the child process alone is certain to end.
    ProcessGroup,
}

/// Variables that a child receives under [`Environment::AllowList`].
///
/// They say who and where the user is, in which language and time zone, and how
/// programs are found. Three families are allowed besides: `LC_*`, the `XDG_*`
/// directories, and the proxy variables (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`,
/// `NO_PROXY`, in either case), because package runners cannot download behind a
/// proxy without them. A proxy whose address carries credentials is withheld.
///
/// Variables that choose which code an interpreter loads (`NODE_OPTIONS`,
/// `PYTHONPATH`, `LD_PRELOAD`), agents' sockets, and everything else that may
/// hold a secret must be named for the server that needs them.
#[cfg(not(windows))]
pub const ALLOWED_VARIABLES: &[&str] = &[
    "HOME",
    "LANG",
    "LANGUAGE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
];

/// Variables that a child receives under [`Environment::AllowList`].
///
/// They say who and where the user is, where the system and its programs are, and
/// how programs are found; most runtimes do not start without them. The proxy
/// variables (`HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY`, `NO_PROXY`) are allowed
/// besides, unless the address carries credentials. Everything else must be named
/// for the server that needs it.
#[cfg(windows)]
pub const ALLOWED_VARIABLES: &[&str] = &[
    "ALLUSERSPROFILE",
    "APPDATA",
    "COMMONPROGRAMFILES",
    "COMMONPROGRAMFILES(X86)",
    "COMPUTERNAME",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "NUMBER_OF_PROCESSORS",
    "OS",
    "PATH",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PROGRAMFILES(X86)",
    "PROGRAMW6432",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "TZ",
    "USERDOMAIN",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];

/// Families of allowed variables, known by how their names begin.
const ALLOWED_PREFIXES: &[&str] = &["LC_", "XDG_"];

/// Allowed unless the value carries credentials; compared without case.
const PROXY_VARIABLES: &[&str] = &["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"];

impl Launch {
    /// Describes `program` without arguments, in our working directory, with the
    /// allowed part of our environment, guarded where that is possible.
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            args: Vec::new(),
            cwd: None,
            environment: Environment::default(),
            vars: BTreeMap::new(),
            guardianship: Guardianship::default(),
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, args: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets the working directory.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// Chooses what the environment starts from.
    #[must_use]
    pub fn environment(mut self, environment: Environment) -> Self {
        self.environment = environment;
        self
    }

    /// Sets one variable on top of the environment; the last of equal names wins.
    #[must_use]
    pub fn var(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.vars.insert(name.into(), value.into());
        self
    }

    /// Chooses how the child's tree is tied to this process.
    #[must_use]
    pub fn guardianship(mut self, guardianship: Guardianship) -> Self {
        self.guardianship = guardianship;
        self
    }

    /// The program and its arguments.
    pub fn words(&self) -> impl Iterator<Item = &OsStr> {
        let args = self.args.iter().map(OsString::as_os_str);
        std::iter::once(self.program.as_os_str()).chain(args)
    }

    /// The whole environment of the child, given ours.
    pub(super) fn composed_environment(
        &self,
        ours: impl Iterator<Item = (OsString, OsString)>,
    ) -> Vec<(OsString, OsString)> {
        let base = ours.filter(|(name, value)| match self.environment {
            Environment::Inherit => true,
            Environment::AllowList => is_allowed(name, value),
        });
        let composed: BTreeMap<_, _> = base
            .chain(self.vars.clone())
            .map(|(name, value)| (comparable(&name), (name, value)))
            .collect();
        composed.into_values().collect()
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.vars.keys().collect();
        f.debug_struct("Launch")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("cwd", &self.cwd)
            .field("environment", &self.environment)
            .field("vars", &names)
            .field("guardianship", &self.guardianship)
            .finish()
    }
}

/// A name in the form in which the platform compares variable names.
fn comparable(name: &OsStr) -> OsString {
    if cfg!(windows) {
        name.to_ascii_uppercase()
    } else {
        name.to_owned()
    }
}

fn is_allowed(name: &OsStr, value: &OsStr) -> bool {
    let name = comparable(name);
    // Every allowed name is ASCII, so a name that is not UTF-8 is not allowed.
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_proxy = PROXY_VARIABLES
        .iter()
        .any(|proxy| proxy.eq_ignore_ascii_case(name));
    ALLOWED_VARIABLES.contains(&name)
        || ALLOWED_PREFIXES
            .iter()
            .any(|prefix| name.starts_with(prefix))
        || (is_proxy && !value.as_encoded_bytes().contains(&b'@'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    #[cfg(unix)]
    #[test]
    fn the_allow_list_keeps_what_servers_need_and_no_secrets() {
        let ours = pairs(&[
            ("AWS_SECRET_ACCESS_KEY", "s3cret"),
            ("HOME", "/home/u"),
            ("LC_TIME", "C"),
            ("LD_PRELOAD", "/x.so"),
            ("NODE_OPTIONS", "--require=x"),
            ("PATH", "/bin"),
            ("SSH_AUTH_SOCK", "/s"),
            ("XDG_CONFIG_HOME", "/c"),
            ("https_proxy", "http://proxy:8080"),
            ("HTTP_PROXY", "http://user:word@proxy:8080"),
        ]);
        assert_eq!(
            Launch::new("x").composed_environment(ours.into_iter()),
            pairs(&[
                ("HOME", "/home/u"),
                ("LC_TIME", "C"),
                ("PATH", "/bin"),
                ("XDG_CONFIG_HOME", "/c"),
                ("https_proxy", "http://proxy:8080"),
            ])
        );
    }

    #[test]
    fn named_variables_override_and_the_last_one_wins() {
        let ours = pairs(&[("HOME", "/home/u"), ("SECRET", "1")]);
        let launch = Launch::new("x")
            .environment(Environment::Inherit)
            .var("HOME", "/first")
            .var("HOME", "/second");
        assert_eq!(
            launch.composed_environment(ours.into_iter()),
            pairs(&[("HOME", "/second"), ("SECRET", "1")])
        );
    }

    #[test]
    fn debug_output_names_variables_and_hides_their_values() {
        let launch = Launch::new("server").args(["-v"]).var("TOKEN", "hunter2");
        let shown = format!("{launch:?}");
        assert!(shown.contains("TOKEN"), "{shown}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
