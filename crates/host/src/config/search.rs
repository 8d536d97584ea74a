//! Where the configuration file is.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Origin, UserEnvironment};

/// The name of the file.
pub const FILE_NAME: &str = "attache.toml";

/// A configuration file and whose word it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The file.
    pub file: PathBuf,
    /// Whose word it is.
    pub origin: Origin,
}

impl Found {
    /// The same file under the true name of its folder, which is where its servers start (S21).
    ///
    /// A project's file that is a link is refused: what was approved for one folder would count in
    /// another. The user's own file may be one, as in a folder of dotfiles.
    pub(crate) fn in_its_folder(mut self) -> io::Result<Self> {
        let is_link = || fs::symlink_metadata(&self.file).is_ok_and(|it| it.is_symlink());
        match self.origin {
            Origin::Project if is_link() => {
                return Err(io::Error::other(
                    "it is a link, and a project's file counts only in its own folder; copy it \
                     here, or name the file it leads to with --config",
                ));
            }
            Origin::Project | Origin::Named => {}
            Origin::User | Origin::Program => return Ok(self),
        }
        // A folder that is not there is for the reader to tell.
        if let (Some(folder), Some(name)) = (self.file.parent(), self.file.file_name())
            && let Ok(folder) = fs::canonicalize(folder)
        {
            self.file = folder.join(name);
        }
        Ok(self)
    }
}

/// Finds the configuration file: the one the user named, else the nearest `attache.toml` in the
/// working folder and those above it, else the one in the user's configuration folder.
///
/// A named file is not checked for existence: that it is missing is for the reader to say.
pub fn find(named: Option<&Path>, environment: &UserEnvironment) -> Option<Found> {
    if let Some(named) = named {
        return Some(Found {
            file: environment.working_folder().join(named),
            origin: Origin::Named,
        });
    }
    let of_user = user_file(environment);
    for folder in environment.working_folder().ancestors() {
        let file = folder.join(FILE_NAME);
        if file.is_file() {
            // Inside the configuration folder the user's own file is not a stranger's.
            let own = of_user.as_ref() == Some(&file);
            let origin = if own { Origin::User } else { Origin::Project };
            return Some(Found { file, origin });
        }
    }
    let file = of_user.filter(|file| file.is_file())?;
    Some(Found {
        file,
        origin: Origin::User,
    })
}

/// Where the user's own file is or would be.
pub fn user_file(environment: &UserEnvironment) -> Option<PathBuf> {
    Some(environment.config_folder()?.join(FILE_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use attache_testkit::scratch::Scratch;

    #[test]
    fn named_then_upwards_then_the_users_own() {
        let scratch = Scratch::new("search").unwrap();
        let home = scratch.path().join("home");
        let deep = home.join("project/src/deep");
        let config = home.join(".config/attache");
        fs::create_dir_all(&deep).unwrap();
        fs::create_dir_all(&config).unwrap();
        let environment = |folder: &Path| {
            let variables = [("HOME".into(), home.clone().into_os_string())];
            UserEnvironment::new(variables, folder).on(super::super::Platform::Linux)
        };
        assert_eq!(find(None, &environment(&deep)), None);

        let own = config.join(FILE_NAME);
        fs::write(&own, "").unwrap();
        let found = |file: &Path, origin| {
            Some(Found {
                file: file.into(),
                origin,
            })
        };
        assert_eq!(find(None, &environment(&deep)), found(&own, Origin::User));
        assert_eq!(find(None, &environment(&config)), found(&own, Origin::User));

        let project = home.join("project").join(FILE_NAME);
        fs::write(&project, "").unwrap();
        assert_eq!(
            find(None, &environment(&deep)),
            found(&project, Origin::Project)
        );
        fs::create_dir(deep.join(FILE_NAME)).unwrap();
        assert_eq!(
            find(None, &environment(&deep)),
            found(&project, Origin::Project),
            "a folder of that name is no file"
        );
        let named = find(Some(Path::new("other.toml")), &environment(&deep));
        assert_eq!(named, found(&deep.join("other.toml"), Origin::Named));
    }
}
