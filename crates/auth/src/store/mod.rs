//! Where credentials are kept between runs.
//!
//! Owns the seam and the names of entries. A store keeps opaque texts; their meaning is for
//! `credentials`. Beside keeping them it offers a lock that holds across processes, because two
//! programs that renew one token at once lose it: the authorization server takes the second use of
//! a refresh token for theft (fault 62).

mod file;
#[cfg(feature = "keyring")]
mod keyring;
mod lock;
mod memory;
mod sealed;
mod sealed_or_plain;

use std::fmt;
use std::time::Duration;

use ring::digest;
use url::Url;

use super::BoxFuture;
use super::error::AuthorizationError;
use super::resource_metadata;
use super::secret::Secret;

pub use file::FileStore;
#[cfg(feature = "keyring")]
pub use keyring::SystemKeyring;
pub use memory::MemoryStore;
pub use sealed::{KEY_LENGTH, KeyVault, SealedStore};
pub use sealed_or_plain::SealedOrPlain;

/// The longest text of one entry: the longest tokens, a key, and room for names.
pub const MAX_ENTRY_LENGTH: usize = 64 * 1024;

/// Keeps credentials. All methods may be called from many tasks and processes at once.
pub trait CredentialStore: Send + Sync {
    /// The text of an entry, if there is one.
    fn load<'a>(
        &'a self,
        entry: &'a Entry,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthorizationError>>;

    /// Replaces the text of an entry, as a whole or not at all.
    fn save<'a>(
        &'a self,
        entry: &'a Entry,
        text: Secret,
    ) -> BoxFuture<'a, Result<(), AuthorizationError>>;

    /// Removes an entry; it is no error if there is none.
    fn delete<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), AuthorizationError>>;

    /// Waits until nobody else, in any process, holds the lock of this entry, and takes it until
    /// the guard is dropped. The end of a process frees its locks.
    fn lock<'a>(
        &'a self,
        entry: &'a Entry,
        patience: Duration,
    ) -> BoxFuture<'a, Result<EntryLock, AuthorizationError>>;
}

/// The name of something that is kept.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Entry {
    kind: EntryKind,
    subject: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum EntryKind {
    /// The tokens for a server, by its address.
    Tokens,
    /// This client's registration, by issuer (C-AUTH-13).
    Registration,
    /// The key of a sealed store. Only its lock is used: the key itself is elsewhere.
    Key,
}

impl Entry {
    /// The tokens for a server.
    pub fn of_server(server: &Url) -> Self {
        Self {
            kind: EntryKind::Tokens,
            subject: resource_metadata::canonical(server),
        }
    }

    pub(crate) fn registration(issuer: &str) -> Self {
        Self {
            kind: EntryKind::Registration,
            subject: issuer.to_owned(),
        }
    }

    fn key() -> Self {
        Self {
            kind: EntryKind::Key,
            subject: String::new(),
        }
    }

    /// What the entry is about: the address of a server or an issuer.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// A name that is unique, fit for files on every system, and the same in every process.
    pub fn file_name(&self) -> String {
        let kind = match self.kind {
            EntryKind::Tokens => "tokens",
            EntryKind::Registration => "registration",
            EntryKind::Key => "key",
        };
        let digest = digest::digest(&digest::SHA256, self.subject.as_bytes());
        let mut name = format!("{kind}-");
        for byte in digest.as_ref() {
            name.push_str(&format!("{byte:02x}"));
        }
        name
    }
}

/// Holds the lock of an entry until it is dropped.
pub struct EntryLock {
    _held: Box<dyn Send + Sync>,
}

impl EntryLock {
    /// Wraps whatever holds the lock.
    pub fn new(held: impl Send + Sync + 'static) -> Self {
        Self {
            _held: Box::new(held),
        }
    }
}

impl fmt::Debug for EntryLock {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("EntryLock")
    }
}

fn failed(problem: impl Into<String>) -> AuthorizationError {
    AuthorizationError::Storage {
        problem: problem.into(),
    }
}

/// Runs something that blocks where it may.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, AuthorizationError> + Send + 'static,
) -> Result<T, AuthorizationError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(failed(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_files() {
        let of_server = |text| Entry::of_server(&Url::parse(text).unwrap()).file_name();
        let tokens = of_server("https://a.b/mcp");
        assert_eq!(tokens.len(), "tokens-".len() + 64);
        assert!(
            tokens
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-')
        );
        assert_eq!(tokens, of_server("https://A.b:443/mcp/"));
        assert_ne!(tokens, of_server("https://a.b/mcp2"));
        assert_ne!(
            tokens.split_once('-').unwrap().0,
            Entry::registration("https://a.b/mcp")
                .file_name()
                .split_once('-')
                .unwrap()
                .0
        );
    }
}
