//! Resources that change by the clock: whoever watches one is told each time.
//!
//! Owns which of them tick. One ticks from the moment somebody watches it until nobody does, so
//! that a server nobody watches does nothing.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::time::sleep;

use crate::changes::Changes;
use crate::kernel::Kernel;

/// The resources that tick at present, by URI: at most as many as are registered.
#[derive(Default)]
pub(crate) struct Ticking {
    running: Mutex<HashSet<String>>,
}

impl Ticking {
    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.running.lock()
    }
}

/// Somebody watches `uri` from now on. If that is a resource that ticks, it does.
pub(crate) fn watched(kernel: &Arc<Kernel>, uri: &str) {
    if period(kernel, uri).is_none() || !kernel.ticking.lock().insert(uri.to_owned()) {
        return;
    }
    let uri = uri.to_owned();
    let kernel = Arc::downgrade(kernel);
    tokio::spawn(async move {
        // A server that is gone, and a resource that is no longer registered, stop ticking.
        while let Some(pause) = kernel.upgrade().and_then(|kernel| next(&kernel, &uri)) {
            sleep(pause).await;
            if let Some(kernel) = kernel.upgrade() {
                Changes::new(kernel).resource_updated(&uri);
            }
        }
    });
}

/// The time to the next tick; none if there is to be none. Whoever comes to watch after that
/// starts the ticking anew: the lock is held over both looks.
fn next(kernel: &Kernel, uri: &str) -> Option<Duration> {
    let mut running = kernel.ticking.lock();
    let pause = period(kernel, uri).filter(|_| kernel.subscribers.is_watched(uri));
    if pause.is_none() {
        running.remove(uri);
    }
    pause
}

fn period(kernel: &Kernel, uri: &str) -> Option<Duration> {
    let catalog = kernel.catalog();
    catalog.resources.get(uri).and_then(|it| it.period)
}
