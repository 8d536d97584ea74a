//! Credentials in encrypted files.
//!
//! The key is kept elsewhere, in the keyring of the operating system. Only the key is: keyrings have
//! tight limits for the size of an entry (2,560 bytes on Windows, less than many tokens), ask the
//! person about each entry, and lock nothing between processes. Files have none of these limits.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use parking_lot::Mutex;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use zeroize::Zeroizing;

use super::file::FileStore;
use super::{CredentialStore, Entry, EntryLock, blocking, failed};
use crate::BoxFuture;
use crate::error::AuthorizationError;
use crate::secret::Secret;

/// The length of the key in bytes.
pub const KEY_LENGTH: usize = 32;

/// Where the key of a [`SealedStore`] is kept. Both methods may block.
pub trait KeyVault: Send + Sync {
    /// The key, if there is one.
    fn load(&self) -> Result<Option<Zeroizing<Vec<u8>>>, String>;

    /// Keeps a new key.
    fn save(&self, key: &[u8]) -> Result<(), String>;
}

/// Keeps credentials in files encrypted with the key of a vault (AES-256-GCM).
pub struct SealedStore {
    files: FileStore,
    vault: Arc<dyn KeyVault>,
    key: Arc<Mutex<Option<Arc<LessSafeKey>>>>,
}

/// Whether a missing key is made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IfMissing {
    Make,
    Leave,
}

impl SealedStore {
    /// Keeps credentials in this folder and their key in this vault.
    pub fn new(folder: impl Into<PathBuf>, vault: Arc<dyn KeyVault>) -> Self {
        Self {
            files: FileStore::new(folder),
            vault,
            key: Arc::default(),
        }
    }

    /// The key from the vault. A new one is made under a lock, so that two processes that need the
    /// first key make one.
    async fn key(
        &self,
        if_missing: IfMissing,
    ) -> Result<Option<Arc<LessSafeKey>>, AuthorizationError> {
        let known = self.key.lock().clone();
        if known.is_some() {
            return Ok(known);
        }
        let _lock = match if_missing {
            IfMissing::Make => Some(self.files.lock(&Entry::key(), KEY_PATIENCE).await?),
            IfMissing::Leave => None,
        };
        let vault = Arc::clone(&self.vault);
        let key = blocking(move || obtain(&*vault, if_missing)).await?;
        let Some(key) = key else {
            return Ok(None);
        };
        let key = Arc::new(key);
        let mut kept = self.key.lock();
        *kept = Some(Arc::clone(&key));
        Ok(Some(key))
    }
}

/// How long another process may take to make the key; the person may have to unlock the keyring.
const KEY_PATIENCE: Duration = Duration::from_secs(60);

fn obtain(
    vault: &dyn KeyVault,
    if_missing: IfMissing,
) -> Result<Option<LessSafeKey>, AuthorizationError> {
    let unusable = |problem: String| failed(format!("the keyring: {problem}"));
    let usable = |bytes: &[u8]| {
        let key = UnboundKey::new(&AES_256_GCM, bytes);
        let key = key.map_err(|_| unusable("its key for credentials is damaged".to_owned()))?;
        Ok(Some(LessSafeKey::new(key)))
    };
    if let Some(bytes) = vault.load().map_err(unusable)? {
        return usable(&bytes);
    }
    if if_missing == IfMissing::Leave {
        return Ok(None);
    }
    let mut bytes = Zeroizing::new([0; KEY_LENGTH]);
    fill(&mut *bytes)?;
    vault.save(&*bytes).map_err(unusable)?;
    usable(&*bytes)
}

fn fill(bytes: &mut [u8]) -> Result<(), AuthorizationError> {
    let filled = SystemRandom::new().fill(bytes);
    filled.map_err(|_| failed("the system gives no random numbers"))
}

/// Encrypts a text for one entry: in another place it cannot be read.
fn seal(key: &LessSafeKey, entry: &Entry, text: &Secret) -> Result<Secret, AuthorizationError> {
    let mut nonce = [0; NONCE_LEN];
    fill(&mut nonce)?;
    let mut sealed = text.expose().as_bytes().to_vec();
    let name = Aad::from(entry.file_name());
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), name, &mut sealed)
        .map_err(|_| failed("encryption failed"))?;
    let mut bytes = nonce.to_vec();
    bytes.append(&mut sealed);
    Ok(Secret::new(STANDARD_NO_PAD.encode(bytes)))
}

/// Decrypts what [`seal`] made. What another key made, or another hand changed, counts as absent:
/// the worst that follows is another login.
fn unseal(key: &LessSafeKey, entry: &Entry, sealed: &Secret) -> Option<Secret> {
    let mut bytes = STANDARD_NO_PAD.decode(sealed.expose()).ok()?;
    let (nonce, text) = bytes.split_at_mut_checked(NONCE_LEN)?;
    let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
    let text = key
        .open_in_place(nonce, Aad::from(entry.file_name()), text)
        .ok()?;
    std::str::from_utf8(text).ok().map(Secret::new)
}

impl CredentialStore for SealedStore {
    fn load<'a>(
        &'a self,
        entry: &'a Entry,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthorizationError>> {
        Box::pin(async move {
            // Without a file the keyring need not be opened.
            let Some(sealed) = self.files.load(entry).await? else {
                return Ok(None);
            };
            let key = self.key(IfMissing::Leave).await?;
            Ok(key.and_then(|key| unseal(&key, entry, &sealed)))
        })
    }

    fn save<'a>(
        &'a self,
        entry: &'a Entry,
        text: Secret,
    ) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        Box::pin(async move {
            let Some(key) = self.key(IfMissing::Make).await? else {
                return Err(failed("the keyring gives no key"));
            };
            self.files.save(entry, seal(&key, entry, &text)?).await
        })
    }

    fn delete<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        self.files.delete(entry)
    }

    fn lock<'a>(
        &'a self,
        entry: &'a Entry,
        patience: Duration,
    ) -> BoxFuture<'a, Result<EntryLock, AuthorizationError>> {
        self.files.lock(entry, patience)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use url::Url;

    use super::*;

    /// A vault that can be emptied, spoilt and locked.
    #[derive(Default)]
    pub(crate) struct TestVault {
        key: Mutex<Option<Vec<u8>>>,
        problem: Mutex<Option<String>>,
        saves: Mutex<u32>,
    }

    impl TestVault {
        /// From now on it cannot be used.
        pub(crate) fn fails_with(&self, problem: &str) {
            *self.problem.lock() = Some(problem.to_owned());
        }
    }

    impl KeyVault for TestVault {
        fn load(&self) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
            match &*self.problem.lock() {
                Some(problem) => Err(problem.clone()),
                None => Ok(self.key.lock().clone().map(Zeroizing::new)),
            }
        }

        fn save(&self, key: &[u8]) -> Result<(), String> {
            *self.saves.lock() += 1;
            *self.key.lock() = Some(key.to_vec());
            Ok(())
        }
    }

    fn entry(path: &str) -> Entry {
        Entry::of_server(&Url::parse(&format!("https://a.b/{path}")).unwrap())
    }

    #[tokio::test]
    async fn files_hold_nothing_readable() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Arc::new(TestVault::default());
        let store = || SealedStore::new(folder.path(), vault.clone());
        assert_eq!(store().load(&entry("x")).await.unwrap(), None);
        let text = Secret::new("hunter2");
        store().save(&entry("x"), text.clone()).await.unwrap();
        assert_eq!(store().load(&entry("x")).await.unwrap(), Some(text));
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let bytes = std::fs::read(file.unwrap().path()).unwrap();
            assert!(!String::from_utf8_lossy(&bytes).contains("hunter"));
        }

        // In the place of another entry it is worth nothing.
        let path = |entry: &Entry| folder.path().join(format!("{}.json", entry.file_name()));
        std::fs::copy(path(&entry("x")), path(&entry("y"))).unwrap();
        assert_eq!(store().load(&entry("y")).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_lost_or_changed_key_costs_a_login_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Arc::new(TestVault::default());
        let store = || SealedStore::new(folder.path(), vault.clone());
        store().save(&entry("x"), Secret::new("old")).await.unwrap();
        for lost in [None, Some(vec![7; KEY_LENGTH])] {
            *vault.key.lock() = lost;
            assert_eq!(store().load(&entry("x")).await.unwrap(), None);
        }
        store().save(&entry("x"), Secret::new("new")).await.unwrap();
        assert_eq!(
            store().load(&entry("x")).await.unwrap(),
            Some(Secret::new("new"))
        );

        *vault.key.lock() = Some(vec![7; 5]);
        let error = store().load(&entry("x")).await.unwrap_err().to_string();
        assert!(error.contains("damaged"), "{error}");
        vault.fails_with("it is locked");
        let error = store()
            .save(&entry("x"), Secret::new("t"))
            .await
            .unwrap_err();
        assert!(
            error.to_string().contains("the keyring: it is locked"),
            "{error}"
        );
    }

    #[tokio::test]
    async fn many_make_one_key() {
        let folder = tempfile::tempdir().unwrap();
        let vault = Arc::new(TestVault::default());
        let mut saves = tokio::task::JoinSet::new();
        for number in 0..8 {
            let store = SealedStore::new(folder.path(), vault.clone());
            saves.spawn(async move {
                let entry = entry(&number.to_string());
                store.save(&entry, Secret::new("t")).await.unwrap();
            });
        }
        saves.join_all().await;
        assert_eq!(*vault.saves.lock(), 1);
    }

    #[test]
    fn what_was_not_sealed_is_not_opened() {
        let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[1; KEY_LENGTH]).unwrap());
        let sealed = seal(&key, &entry("x"), &Secret::new("t")).unwrap();
        assert_eq!(unseal(&key, &entry("x"), &sealed), Some(Secret::new("t")));
        let short = sealed.expose()[..8].to_owned();
        for text in ["", "%", "AAAA", &short] {
            assert_eq!(unseal(&key, &entry("x"), &Secret::new(text)), None);
        }
    }
}
