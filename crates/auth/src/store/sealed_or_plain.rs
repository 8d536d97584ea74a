//! Credentials sealed where there is a vault for their key, and in files for their owner alone where
//! there is none.
//!
//! Owns that choice and nothing of how either is done. A machine without a keyring is ordinary: a
//! server, a container, a session over the network.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::OnceCell;

use super::file::FileStore;
use super::sealed::{KeyVault, SealedStore};
use super::{CredentialStore, Entry, EntryLock, blocking};
use crate::BoxFuture;
use crate::error::AuthorizationError;
use crate::secret::Secret;

/// The folder of sealed entries, within that of the others.
const SEALED: &str = "sealed";

/// Keeps credentials sealed if the vault can be used, and in files otherwise. The choice is made
/// when first needed and holds for the life of the store.
pub struct SealedOrPlain {
    plain: FileStore,
    sealed: SealedStore,
    vault: Arc<dyn KeyVault>,
    choice: OnceCell<Choice>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Sealed,
    Plain,
}

impl SealedOrPlain {
    /// Keeps credentials in this folder, and the key of sealed ones in this vault.
    pub fn new(folder: impl Into<PathBuf>, vault: Arc<dyn KeyVault>) -> Self {
        let folder = folder.into();
        Self {
            sealed: SealedStore::new(folder.join(SEALED), vault.clone()),
            plain: FileStore::new(folder),
            vault,
            choice: OnceCell::new(),
        }
    }

    async fn choice(&self) -> Choice {
        let make = || async {
            let vault = self.vault.clone();
            let usable = blocking(move || Ok(vault.load().is_ok())).await;
            match usable {
                Ok(true) => Choice::Sealed,
                Ok(false) | Err(_) => Choice::Plain,
            }
        };
        *self.choice.get_or_init(make).await
    }
}

impl CredentialStore for SealedOrPlain {
    fn load<'a>(
        &'a self,
        entry: &'a Entry,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthorizationError>> {
        Box::pin(async move {
            if self.choice().await == Choice::Sealed {
                let sealed = self.sealed.load(entry).await?;
                if sealed.is_some() {
                    return Ok(sealed);
                }
            }
            // It may be from a time without a keyring.
            self.plain.load(entry).await
        })
    }

    fn save<'a>(
        &'a self,
        entry: &'a Entry,
        text: Secret,
    ) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        Box::pin(async move {
            match self.choice().await {
                Choice::Sealed => {
                    self.sealed.save(entry, text).await?;
                    self.plain.delete(entry).await
                }
                Choice::Plain => self.plain.save(entry, text).await,
            }
        })
    }

    fn delete<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        Box::pin(async move {
            self.sealed.delete(entry).await?;
            self.plain.delete(entry).await
        })
    }

    /// One lock for both, as processes need not agree on the choice.
    fn lock<'a>(
        &'a self,
        entry: &'a Entry,
        patience: Duration,
    ) -> BoxFuture<'a, Result<EntryLock, AuthorizationError>> {
        self.plain.lock(entry, patience)
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::sealed::tests::TestVault;
    use super::*;

    fn entry() -> Entry {
        Entry::of_server(&Url::parse("https://a.b/mcp").unwrap())
    }

    /// Whether a file below the folder holds the text as it is.
    fn holds(folder: &std::path::Path, text: &str) -> bool {
        std::fs::read_dir(folder).unwrap().any(|file| {
            let path = file.unwrap().path();
            match path.is_dir() {
                true => holds(&path, text),
                false => std::fs::read_to_string(&path).unwrap().contains(text),
            }
        })
    }

    #[tokio::test]
    async fn with_a_vault_nothing_readable_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Arc::new(TestVault::default());
        let store = || SealedOrPlain::new(folder.path(), vault.clone());
        // Something is there from a time without a vault.
        let plain = FileStore::new(folder.path());
        plain.save(&entry(), Secret::new("old")).await.unwrap();
        let loaded = store().load(&entry()).await.unwrap();
        assert_eq!(loaded, Some(Secret::new("old")));

        let secret = Secret::new("hunter2");
        store().save(&entry(), secret.clone()).await.unwrap();
        assert_eq!(store().load(&entry()).await.unwrap(), Some(secret));
        assert!(!holds(folder.path(), "hunter") && !holds(folder.path(), "old"));
        store().delete(&entry()).await.unwrap();
        assert_eq!(store().load(&entry()).await.unwrap(), None);
    }

    #[tokio::test]
    async fn without_a_vault_files_do() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Arc::new(TestVault::default());
        vault.fails_with("there is none");
        let store = || SealedOrPlain::new(folder.path(), vault.clone());
        let secret = Secret::new("hunter2");
        store().save(&entry(), secret.clone()).await.unwrap();
        assert_eq!(store().load(&entry()).await.unwrap(), Some(secret));
        assert!(holds(folder.path(), "hunter2"));
        store().delete(&entry()).await.unwrap();
        assert_eq!(store().load(&entry()).await.unwrap(), None);
    }

    /// Two processes may choose differently, and still do one thing at a time.
    #[tokio::test]
    async fn the_lock_is_the_same_for_both() {
        let folder = tempfile::tempdir().unwrap();
        let broken = Arc::new(TestVault::default());
        broken.fails_with("there is none");
        let sealed = SealedOrPlain::new(folder.path(), Arc::new(TestVault::default()));
        let plain = SealedOrPlain::new(folder.path(), broken);
        let short = Duration::from_millis(50);
        let held = sealed.lock(&entry(), short).await.unwrap();
        let busy = plain.lock(&entry(), short).await.unwrap_err();
        assert_eq!(busy, AuthorizationError::Busy { after: short });
        drop(held);
        plain.lock(&entry(), short).await.unwrap();
    }
}
