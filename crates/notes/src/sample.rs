//! A few notes to try things out with.

use std::io;
use std::path::{Path, PathBuf};

const NOTES: &[(&str, &str)] = &[
    (
        "morning-meditation-2024-12-01.md",
        include_str!("../sample/morning-meditation-2024-12-01.md"),
    ),
    (
        "Morning Routine.md",
        include_str!("../sample/Morning Routine.md"),
    ),
    (
        "breath/Counting.md",
        include_str!("../sample/breath/Counting.md"),
    ),
    ("breath/Rest.md", include_str!("../sample/breath/Rest.md")),
];

/// The folder `notes-sample` in `parent` with a few notes. Those that are there stay as they are.
///
/// # Errors
/// What the system says when they cannot be written.
pub fn sample_folder(parent: &Path) -> io::Result<PathBuf> {
    let folder = parent.join("notes-sample");
    for (path, text) in NOTES {
        let file = folder.join(path);
        if let Some(above) = file.parent() {
            std::fs::create_dir_all(above)?;
        }
        match std::fs::File::create_new(&file) {
            Ok(mut file) => io::Write::write_all(&mut file, text.as_bytes())?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Ok(folder)
}
