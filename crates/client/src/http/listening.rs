//! The stream on which a legacy server speaks unasked, kept up in the background (fault 60).

use std::sync::Arc;

use attache_protocol::SseParser;

use super::events::{Opened, StreamEnd};
use super::session::Session;
use super::streamable::Shared;
use crate::connection::Link;

impl Shared {
    /// Listens from now on, instead of any listening before.
    pub(super) fn listen(self: &Arc<Self>, session: Arc<Session>) {
        let shared = self.clone();
        let task = self.spawn(async move {
            if let Some(link) = shared.link() {
                shared.keep_listening(&link, &session).await;
            }
        });
        if let Some(former) = self.listening.lock().replace(task) {
            former.abort();
        }
    }

    /// A server that offers no such stream is left in peace; one that cuts it is asked again,
    /// ever more slowly while nothing comes (faults 58 and 59).
    async fn keep_listening(self: &Arc<Self>, link: &Arc<Link>, session: &Arc<Session>) {
        let mut parser = SseParser::new(self.limits.frame);
        let mut opened_before = false;
        let mut failures = 0;
        loop {
            let former = parser.last_event_id().map(str::to_owned);
            match self.open_stream(session, former.as_deref()).await {
                Opened::Stream(mut stream) => {
                    if opened_before && former.is_none() {
                        // Nothing says what was missed, so anything may have been.
                        link.report_gap();
                    }
                    opened_before = true;
                    let before = link.received();
                    let end = self.pump(link, None, &mut stream, &mut parser).await;
                    if let StreamEnd::TooLong(limit) = end {
                        link.violation(format!("an event is longer than {limit} bytes"));
                    }
                    if link.received() > before {
                        failures = 0;
                    }
                }
                Opened::SessionLost if opened_before => {
                    // The new session has a stream of its own.
                    let _ = self.renew(link, session).await;
                    return;
                }
                Opened::SessionLost | Opened::Refused => return,
                Opened::Failed => {}
            }
            self.pause(parser.retry_ms(), failures).await;
            failures = failures.saturating_add(1);
            parser = parser.continued();
        }
    }
}
