//! Progress of a request, and its cancellation.

use crate::mcp::method::notifications;
use crate::wire::record::record;
use crate::{Json, RequestId};

notifications! {
    /// A request has come further.
    Progress = "notifications/progress" (ProgressParams);
    /// A request is no longer wanted.
    Cancelled = "notifications/cancelled" (CancelledParams);
}

/// The name under which a request wants to hear of its progress (X-PROG-01).
pub type ProgressToken = RequestId;

record! {
    /// How far a request has come.
    pub struct ProgressParams {
        /// The token of the request.
        progress_token: ProgressToken = required "progressToken",
        /// How far; rises each time (X-PROG-02).
        progress: f64 = required "progress",
        /// How far it goes in all, if known.
        total: Option<f64> = optional "total",
        /// What is being done (from 2025-03-26).
        message: Option<String> = optional "message",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl ProgressParams {
    /// The request of that token has come as far as `progress`.
    pub fn new(progress_token: ProgressToken, progress: f64) -> Self {
        Self {
            progress_token,
            progress,
            total: None,
            message: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// Which request is no longer wanted.
    #[derive(Default)]
    pub struct CancelledParams {
        /// The request; absent only when a task is meant (2025-11-25).
        request_id: Option<RequestId> = optional "requestId",
        /// Why.
        reason: Option<String> = optional "reason",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

impl CancelledParams {
    /// The request is no longer wanted, for that reason.
    pub fn new(request_id: impl Into<RequestId>, reason: impl Into<String>) -> Self {
        Self {
            request_id: Some(request_id.into()),
            reason: Some(reason.into()),
            ..Self::default()
        }
    }
}
