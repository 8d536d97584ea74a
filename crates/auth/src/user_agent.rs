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
            let mut opening = opening(url);
            let program = opening.as_std().get_program().to_owned();
            let program = program.display();
            match opening.status().await {
                Ok(status) if status.success() => Ok(()),
                Ok(status) => Err(format!("{program} failed: {status}")),
                Err(error) => Err(format!("{program} cannot be started: {error}")),
            }
        })
    }
}

/// The command that opens an address. The address is one argument of the program, and no shell
/// reads it.
fn opening(url: &Url) -> Command {
    let (program, arguments) = opener();
    let mut command = Command::new(program);
    command.args(arguments).arg(url.as_str());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
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

#[cfg(test)]
mod tests {
    use super::*;

    // C-SEC-06.
    #[test]
    fn s5_an_address_is_one_argument_that_no_shell_reads() {
        for hostile in [
            "https://example.org/$(touch x)?a=`id`&b=;rm",
            "https://example.org/%22%20--version",
        ] {
            let url = Url::parse(hostile).unwrap();
            let command = opening(&url);
            let command = command.as_std();
            let program = command.get_program().to_str().unwrap();
            for shell in ["sh", "bash", "cmd", "cmd.exe", "powershell"] {
                assert_ne!(program, shell);
            }
            let arguments: Vec<_> = command.get_args().collect();
            assert_eq!(arguments.last().unwrap().to_str(), Some(url.as_str()));
            assert_eq!(arguments.len(), opener().1.len() + 1);
        }
    }
}
