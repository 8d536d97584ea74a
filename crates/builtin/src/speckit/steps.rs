//! Telling how far a run has come.

use std::time::Duration;

use attache_server::Context;
use parking_lot::Mutex;

/// How often a silent agent is told of, so that the caller's clock sees a sign of life.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How much of the way to the next step a line of output counts.
const CREEP: f64 = 0.04;
/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 200;

/// The progress of one call. Values always rise; lines of output move it a little towards the next
/// step, without reaching it.
pub(super) struct Steps {
    context: Context,
    total: f64,
    at: Mutex<f64>,
}

impl Steps {
    pub(super) fn new(context: &Context, total: f64) -> Self {
        Self {
            context: context.clone(),
            total,
            at: Mutex::new(0.0),
        }
    }

    /// A step is reached.
    pub(super) fn reach(&self, value: f64, message: &str) {
        let mut at = self.at.lock();
        *at = at.max(value);
        self.tell(*at, message);
    }

    /// Something happens on the way to a step.
    pub(super) fn creep(&self, towards: f64, message: &str) {
        let mut at = self.at.lock();
        *at += (towards - *at).max(0.0) * CREEP;
        self.tell(*at, message);
    }

    fn tell(&self, value: f64, message: &str) {
        let message: String = message.chars().take(LONGEST_MESSAGE).collect();
        self.context
            .progress_with(value, Some(self.total), &message);
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }
}
