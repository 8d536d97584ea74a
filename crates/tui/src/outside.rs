//! Programs outside: the clipboard's, the pager, the editor, the system's opener.

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::message::OpenWhat;

/// The programs that take a text into the clipboard, by what has to be set for them to work.
const CLIPBOARDS: [(&str, &str, &[&str]); 3] = [
    ("WAYLAND_DISPLAY", "wl-copy", &[]),
    ("DISPLAY", "xclip", &["-selection", "clipboard"]),
    ("HOME", "pbcopy", &[]),
];

/// Hands a text to a program of the desktop's clipboard; false if there is none.
pub(crate) fn copy(text: &str) -> bool {
    CLIPBOARDS.iter().any(|(variable, program, arguments)| {
        std::env::var_os(variable).is_some() && feed(program, arguments, text).is_ok()
    })
}

fn feed(program: &str, arguments: &[&str], text: &str) -> io::Result<()> {
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(text.as_bytes())?;
    }
    // It stays for as long as it owns the clipboard; a thread sees to its end.
    std::thread::spawn(move || child.wait());
    Ok(())
}

/// The words of a command in the environment.
fn words(variables: &[&str], default: &str) -> Vec<String> {
    let value = variables.iter().find_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.trim().is_empty()).then_some(value)
    });
    let value = value.unwrap_or_else(|| default.to_owned());
    value.split_whitespace().map(str::to_owned).collect()
}

/// Shows a text in the pager and waits until the person leaves it.
pub(crate) fn page(text: &str) -> io::Result<()> {
    let words = words(&["PAGER"], "less");
    let Some((program, arguments)) = words.split_first() else {
        return Ok(());
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A person who leaves early closes the pipe.
        let _ = stdin.write_all(text.as_bytes());
    }
    child.wait().map(drop)
}

/// A file of its own folder that only the user can read; both go with it.
struct PrivateFile {
    folder: PathBuf,
    path: PathBuf,
}

impl PrivateFile {
    fn new(extension: &str, bytes: &[u8]) -> io::Result<Self> {
        let clean: String = extension
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(8)
            .collect();
        let extension = if clean.is_empty() {
            "bin".to_owned()
        } else {
            clean
        };
        for attempt in 0..100_u32 {
            let name = format!("attache-{}-{attempt}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let mut builder = std::fs::DirBuilder::new();
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            match builder.create(&folder) {
                Ok(()) => {
                    let path = folder.join(format!("attache.{extension}"));
                    let file = Self { folder, path };
                    std::fs::write(&file.path, bytes)?;
                    return Ok(file);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("no free name for a temporary folder"))
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// Lets the person edit a text in their editor; none if they left it without success.
pub(crate) fn edit(text: &str, extension: &str) -> io::Result<Option<String>> {
    let file = PrivateFile::new(extension, text.as_bytes())?;
    let words = words(&["VISUAL", "EDITOR"], "vi");
    let Some((program, arguments)) = words.split_first() else {
        return Ok(None);
    };
    let status = Command::new(program)
        .args(arguments)
        .arg(&file.path)
        .status()
        .map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    match status.success() {
        true => Ok(Some(std::fs::read_to_string(&file.path)?)),
        false => Ok(None),
    }
}

/// Hands something to the system's opener.
pub(crate) fn open(what: &OpenWhat) -> io::Result<()> {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let (word, file): (OsString, Option<PrivateFile>) = match what {
        OpenWhat::Url(url) => {
            // Anything else could name a program or a file.
            if !(url.starts_with("https://") || url.starts_with("http://")) {
                return Err(io::Error::other("only http and https addresses are opened"));
            }
            (url.into(), None)
        }
        OpenWhat::Bytes(bytes, extension) => {
            let file = PrivateFile::new(extension, bytes)?;
            (file.path.clone().into(), Some(file))
        }
    };
    let mut child = Command::new(program)
        .arg(word)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| io::Error::other(format!("{program}: {error}")))?;
    // Openers return before the program has read the file, so it stays until the system clears it.
    std::mem::forget(file);
    std::thread::spawn(move || child.wait());
    Ok(())
}
