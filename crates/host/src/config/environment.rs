//! What the configuration needs to know of the machine and the user.
//!
//! A value that the caller fills in: the library reads no environment on its own (invariant 11),
//! and tests make up a whole home folder.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The operating systems whose places for files differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Platform {
    /// Linux and other systems after the manner of XDG.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl Platform {
    /// The one this was built for.
    pub const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::MacOs
        } else {
            Self::Linux
        }
    }
}

/// The environment variables, the working folder and the platform.
#[derive(Clone, Debug)]
pub struct UserEnvironment {
    variables: BTreeMap<String, String>,
    working_folder: PathBuf,
    platform: Platform,
}

impl UserEnvironment {
    /// Takes the variables and the working folder of a process; `std::env::vars_os()` gives the
    /// former. Variables that are not UTF-8 cannot be named in a configuration and are left out.
    pub fn new(
        variables: impl IntoIterator<Item = (OsString, OsString)>,
        working_folder: impl Into<PathBuf>,
    ) -> Self {
        let variables = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            variables,
            working_folder: working_folder.into(),
            platform: Platform::current(),
        }
    }

    /// The same on another platform.
    #[must_use]
    pub fn on(mut self, platform: Platform) -> Self {
        self.platform = platform;
        self
    }

    /// The platform.
    pub fn platform(&self) -> Platform {
        self.platform
    }

    /// The working folder.
    pub fn working_folder(&self) -> &Path {
        &self.working_folder
    }

    /// The value of a variable.
    pub fn variable(&self, name: &str) -> Option<&str> {
        if let Some(value) = self.variables.get(name) {
            return Some(value);
        }
        // Names of variables have no case on Windows.
        let same = |known: &&String| known.eq_ignore_ascii_case(name);
        match self.platform {
            Platform::Windows => {
                let known = self.variables.keys().find(same)?;
                self.variables.get(known).map(String::as_str)
            }
            Platform::Linux | Platform::MacOs => None,
        }
    }

    /// The names of all variables.
    pub fn variable_names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().map(String::as_str)
    }

    /// The user's home folder.
    pub fn home(&self) -> Option<PathBuf> {
        match self.platform {
            Platform::Windows => self.folder("USERPROFILE").or_else(|| self.folder("HOME")),
            Platform::Linux | Platform::MacOs => self.folder("HOME"),
        }
    }

    /// Where programs keep the user's settings: `~/.config`, `~/Library/Application Support`,
    /// `%APPDATA%`.
    pub fn settings_folder(&self) -> Option<PathBuf> {
        match self.platform {
            Platform::Linux => self.xdg("XDG_CONFIG_HOME", ".config"),
            Platform::MacOs => Some(self.home()?.join("Library/Application Support")),
            Platform::Windows => self.folder("APPDATA"),
        }
    }

    /// Attaché's own folder for configuration. On macOS too it is in `~/.config`, where people look
    /// for the files of command line programs.
    pub fn config_folder(&self) -> Option<PathBuf> {
        let folder = match self.platform {
            Platform::Windows => self.folder("APPDATA"),
            Platform::Linux | Platform::MacOs => self.xdg("XDG_CONFIG_HOME", ".config"),
        };
        Some(folder?.join("attache"))
    }

    /// Attaché's own folder for what it remembers: trust, answers, manifests, logs.
    pub fn state_folder(&self) -> Option<PathBuf> {
        let folder = match self.platform {
            Platform::Windows => self.folder("LOCALAPPDATA"),
            Platform::Linux | Platform::MacOs => self.xdg("XDG_STATE_HOME", ".local/state"),
        };
        Some(folder?.join("attache"))
    }

    /// Attaché's own folder for what it can make again, such as indexes.
    pub fn cache_folder(&self) -> Option<PathBuf> {
        let folder = match self.platform {
            Platform::Windows => self.folder("LOCALAPPDATA"),
            Platform::MacOs => Some(self.home()?.join("Library/Caches")),
            Platform::Linux => self.xdg("XDG_CACHE_HOME", ".cache"),
        };
        Some(folder?.join("attache"))
    }

    fn xdg(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        self.folder(variable)
            .or_else(|| Some(self.home()?.join(below_home)))
    }

    /// A folder that a variable names; a relative one is no folder, as XDG demands.
    fn folder(&self, variable: &str) -> Option<PathBuf> {
        let folder = PathBuf::from(self.variable(variable)?);
        let absolute = folder.is_absolute() || self.platform == Platform::Windows;
        (absolute && !folder.as_os_str().is_empty()).then_some(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(platform: Platform, variables: &[(&str, &str)]) -> UserEnvironment {
        let variables = variables
            .iter()
            .map(|(name, value)| (name.into(), value.into()));
        UserEnvironment::new(variables, "/home/me/project").on(platform)
    }

    #[test]
    fn folders_follow_the_platform() {
        let linux = environment(Platform::Linux, &[("HOME", "/home/me")]);
        assert_eq!(
            linux.config_folder(),
            Some("/home/me/.config/attache".into())
        );
        assert_eq!(
            linux.state_folder(),
            Some("/home/me/.local/state/attache".into())
        );
        assert_eq!(linux.cache_folder(), Some("/home/me/.cache/attache".into()));
        let moved = [("HOME", "/home/me"), ("XDG_CONFIG_HOME", "/cfg")];
        let moved = environment(Platform::Linux, &moved);
        assert_eq!(moved.config_folder(), Some("/cfg/attache".into()));
        assert_eq!(moved.settings_folder(), Some("/cfg".into()));
        let relative = [("HOME", "/home/me"), ("XDG_CONFIG_HOME", "cfg")];
        let relative = environment(Platform::Linux, &relative);
        assert_eq!(relative.settings_folder(), Some("/home/me/.config".into()));
        let mac = environment(Platform::MacOs, &[("HOME", "/Users/me")]);
        assert_eq!(
            mac.settings_folder(),
            Some("/Users/me/Library/Application Support".into())
        );
        let windows = environment(Platform::Windows, &[("AppData", "C:/Users/me/AppData")]);
        assert_eq!(
            windows.settings_folder(),
            Some("C:/Users/me/AppData".into())
        );
        let bare = environment(Platform::Linux, &[]);
        assert_eq!((bare.home(), bare.config_folder()), (None, None));
    }
}
