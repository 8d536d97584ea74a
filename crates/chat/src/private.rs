//! Files for the user alone.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes a folder that only the user can look into.
pub(crate) fn folder(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a file that only the user can read, in place of a former one.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    options().truncate(true).open(path)
}

/// Opens a file that only the user can read, to add to its end.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    options().read(true).append(true).open(path)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
