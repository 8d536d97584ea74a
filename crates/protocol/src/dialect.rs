//! Messages that are no part of the protocol but that some servers expect, after the manner of the
//! language server protocol (seeds rows 1 and 2).
//!
//! They are sent only to a server whose settings ask for them.

use crate::mcp::method::{methods, notifications};
use crate::wire::record::record;
use crate::{EmptyResult, NoParams, RequestId};

methods! {
    /// Asks the server to get ready to leave.
    LspShutdown = "shutdown" (NoParams) -> EmptyResult;
}

notifications! {
    /// A request is no longer wanted.
    LspCancel = "$/cancelRequest" (LspCancelParams);
    /// The server shall leave.
    LspExit = "exit" (NoParams);
}

record! {
    /// Which request is no longer wanted.
    pub struct LspCancelParams {
        /// The request.
        id: RequestId = required "id",
    }
}

impl LspCancelParams {
    /// The request of that id is no longer wanted.
    pub fn new(id: impl Into<RequestId>) -> Self {
        Self {
            id: id.into(),
            extra: Default::default(),
        }
    }
}
