//! A session that the server has forgotten is begun anew, once, whoever finds out (fault 56).

use std::sync::Arc;

use attache_protocol::frame::{MetaFields, Params};
use attache_protocol::{
    Initialize, InitializeResult, Initialized, Method as _, NoParams, Payload, shortened,
};

use super::session::Session;
use super::streamable::Shared;
use crate::connection::{Failure, Link, Patience, ProgressWish, TimeLeft};
use crate::error::CloseReason;
use crate::settings::InitializedNotice;

impl Shared {
    /// The session after `lost`. Many may ask at once; one of them does the work.
    pub(super) async fn renew(
        self: &Arc<Self>,
        link: &Arc<Link>,
        lost: &Arc<Session>,
    ) -> Result<Arc<Session>, Failure> {
        let begin = || async {
            if lost.is_proven() {
                self.begin_again(link).await
            } else {
                Err(Failure::OutcomeUnknown(CloseReason::SessionLost))
            }
        };
        // Boxed, as a renewal happens inside a request and makes requests itself.
        let renewed = Box::pin(lost.successor.get_or_try_init(begin)).await?;
        Ok(renewed.clone())
    }

    async fn begin_again(self: &Arc<Self>, link: &Arc<Link>) -> Result<Arc<Session>, Failure> {
        let introduction = self.introduction.lock().clone();
        let introduction = introduction.ok_or(Failure::NotSent(CloseReason::SessionLost))?;
        let payload = self.ask(link, Initialize::NAME, &introduction).await?;
        let result: InitializeResult = payload
            .decode()
            .map_err(|error| Failure::Protocol(shortened(error)))?;
        let settled = self.revision.get().map(|revision| revision.as_str());
        if settled != Some(&result.protocol_version) {
            return Err(Failure::Protocol(format!(
                "the new session would speak revision {}",
                shortened(&result.protocol_version)
            )));
        }
        let session = self
            .session()
            .ok_or(Failure::NotSent(CloseReason::SessionLost))?;
        if link.quirks.initialized == InitializedNotice::Send {
            link.notify::<Initialized>(&NoParams::default());
        }
        for (method, params) in self.told.all() {
            // What the server does not agree to any more is gone.
            let _ = self.ask(link, method, &params).await;
        }
        link.report_gap();
        Ok(session)
    }

    /// One request of the transport itself.
    async fn ask(
        &self,
        link: &Arc<Link>,
        method: &str,
        params: &Params,
    ) -> Result<Payload, Failure> {
        let no_meta = MetaFields::default();
        let whole = self.timeouts.request;
        let patience = Patience::While(TimeLeft::new(link, whole, whole, None));
        let mut pending = link.begin(method, params, &no_meta, ProgressWish::None, patience)?;
        pending.answered().await
    }
}
