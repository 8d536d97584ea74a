//! Credentials that end with the process.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{CredentialStore, Entry, EntryLock};
use crate::BoxFuture;
use crate::error::AuthorizationError;
use crate::secret::Secret;

/// Keeps credentials in memory. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct MemoryStore {
    texts: Arc<Mutex<HashMap<Entry, Secret>>>,
    turns: Arc<Mutex<HashMap<Entry, Arc<tokio::sync::Semaphore>>>>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }
}

impl CredentialStore for MemoryStore {
    fn load<'a>(
        &'a self,
        entry: &'a Entry,
    ) -> BoxFuture<'a, Result<Option<Secret>, AuthorizationError>> {
        let texts = self.texts.lock();
        let text = texts.get(entry).cloned();
        Box::pin(async { Ok(text) })
    }

    fn save<'a>(
        &'a self,
        entry: &'a Entry,
        text: Secret,
    ) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        let mut texts = self.texts.lock();
        texts.insert(entry.clone(), text);
        Box::pin(async { Ok(()) })
    }

    fn delete<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), AuthorizationError>> {
        let mut texts = self.texts.lock();
        texts.remove(entry);
        Box::pin(async { Ok(()) })
    }

    fn lock<'a>(
        &'a self,
        entry: &'a Entry,
        patience: Duration,
    ) -> BoxFuture<'a, Result<EntryLock, AuthorizationError>> {
        let one = || Arc::new(tokio::sync::Semaphore::new(1));
        let mut turns = self.turns.lock();
        let turn = Arc::clone(turns.entry(entry.clone()).or_insert_with(one));
        Box::pin(async move {
            match tokio::time::timeout(patience, turn.acquire_owned()).await {
                Ok(Ok(permit)) => Ok(EntryLock::new(permit)),
                _ => Err(AuthorizationError::Busy { after: patience }),
            }
        })
    }
}
