//! Telling how far a run has come.

use std::time::Duration;

use attache_server::Context;
use parking_lot::Mutex;

/// How often a silent agent is told of, so that the caller's clock sees a sign of life.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How many lines of output count for half of the way to the next step.
const HALF_WAY: f64 = 25.0;
/// The longest message, in characters.
const LONGEST_MESSAGE: usize = 200;

/// The progress of one call. Values always rise, however much is said: lines of output move it on
/// its way to the next step, without reaching it.
pub(super) struct Steps {
    context: Context,
    total: f64,
    /// How far apart steps are.
    stride: f64,
    at: Mutex<At>,
}

#[derive(Default)]
struct At {
    /// The step that was reached last.
    step: f64,
    /// What was told last.
    value: f64,
    /// How much was said since that step.
    lines: f64,
}

impl Steps {
    pub(super) fn new(context: &Context, total: f64, stride: f64) -> Self {
        Self {
            context: context.clone(),
            total,
            stride,
            at: Mutex::new(At::default()),
        }
    }

    /// A step is reached.
    pub(super) fn reach(&self, value: f64, message: &str) {
        let mut at = self.at.lock();
        *at = At {
            step: value.max(at.step),
            value: value.max(at.value),
            lines: 0.0,
        };
        self.tell(at.value, message);
    }

    /// Something happens on the way to the next step.
    pub(super) fn creep(&self, message: &str) {
        let mut at = self.at.lock();
        at.lines += 1.0;
        let way = self.stride * at.lines / (at.lines + HALF_WAY);
        at.value = at.value.max(at.step + way);
        self.tell(at.value, message);
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
