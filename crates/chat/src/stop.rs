//! The person's wish to stop what is going on.

use std::sync::Arc;

use tokio::sync::watch;

/// Raised by a signal or a key, looked at by whatever takes its time. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<bool>>);

impl Stop {
    /// Not raised.
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Stops what is going on.
    pub fn raise(&self) {
        self.0.send_replace(true);
    }

    /// Lets what comes next go on.
    pub fn clear(&self) {
        self.0.send_replace(false);
    }

    /// Whether it is raised.
    pub fn is_raised(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is raised.
    pub async fn raised(&self) {
        let mut receiver = self.0.subscribe();
        if receiver.wait_for(|raised| *raised).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Default for Stop {
    fn default() -> Self {
        Self::new()
    }
}
