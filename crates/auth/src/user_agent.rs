//! How a person gets to a login page.
//!
//! Owns the seam to whoever can show a page. The library itself never prints: a face supplies a
//! [`UserAgent`] and hears from [`LoginEvent`] what to tell the person.
//!
//! [`LoginEvent`]: super::LoginEvent

use std::process::Stdio;

use tokio::process::Command;
use url::Url;

use super::BoxFuture;

/// Something that can show a web page to a person.
pub trait UserAgent: Send + Sync {
    /// Shows the page. An error says why it could not be shown; the login then waits for the person
    /// to open it by other means. The address was checked before: it is https, or http on this
    /// machine (S5).
    fn open<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Result<(), String>>;
}

/// The browser of this machine, started without a shell (S5).
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemBrowser;

impl UserAgent for SystemBrowser {
    fn open<'a>(&'a self, url: &'a Url) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let (program, arguments) = opener();
            let status = Command::new(program)
                .args(arguments)
                .arg(url.as_str())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .await;
            match status {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(format!("{program} failed: {status}")),
                Err(error) => Err(format!("{program} cannot be started: {error}")),
            }
        })
    }
}

/// The program that opens an address, and what goes before the address.
fn opener() -> (&'static str, &'static [&'static str]) {
    if cfg!(target_os = "macos") {
        ("/usr/bin/open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    }
}
