//! The keyring of the operating system as a vault: Keychain, Credential Manager, Secret Service.
//!
//! This is the one module that knows them. It keeps a single small entry, the key of a
//! [`SealedStore`](super::SealedStore).

use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};
use zeroize::Zeroizing;

use super::sealed::KeyVault;

/// The name of the entry within its service.
const USER: &str = "credentials key";

/// The keyring of the person who runs this process.
#[derive(Clone, Debug)]
pub struct SystemKeyring {
    service: String,
}

impl SystemKeyring {
    /// Uses the entry of this service, usually the name of the program.
    pub fn new(service: impl Into<String>) -> Self {
        Self {
            service: service.into(),
        }
    }

    fn entry(&self) -> Result<Entry, Error> {
        #[cfg(target_os = "macos")]
        let store = apple_native_keyring_store::keychain::Store::new()?;
        #[cfg(windows)]
        let store = windows_native_keyring_store::Store::new()?;
        #[cfg(all(unix, not(target_os = "macos")))]
        let store = zbus_secret_service_keyring_store::Store::new()?;
        store.build(&self.service, USER, None)
    }
}

impl KeyVault for SystemKeyring {
    fn load(&self) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
        let secret = self.entry().and_then(|entry| entry.get_secret());
        match secret {
            Ok(secret) => Ok(Some(Zeroizing::new(secret))),
            Err(Error::NoEntry) => Ok(None),
            Err(error) => Err(told(&error)),
        }
    }

    fn save(&self, key: &[u8]) -> Result<(), String> {
        let saved = self.entry().and_then(|entry| entry.set_secret(key));
        saved.map_err(|error| told(&error))
    }
}

/// Some errors carry what was read, so only those known to be harmless are shown whole.
fn told(error: &Error) -> String {
    match error {
        Error::NoStorageAccess(_) => "it is locked or there is none".to_owned(),
        Error::PlatformFailure(problem) => problem.to_string(),
        _ => "its entry cannot be used".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On a machine without a keyring the remedy is told; on one with a keyring this entry is
    /// absent. Either way the call works from within a runtime.
    #[tokio::test]
    async fn the_keyring_answers_from_a_task() {
        let keyring = SystemKeyring::new("attache test, never saved");
        let loaded = tokio::task::spawn_blocking(move || keyring.load()).await;
        match loaded.unwrap() {
            Ok(found) => assert_eq!(found, None),
            Err(problem) => assert!(!problem.is_empty()),
        }
    }
}
