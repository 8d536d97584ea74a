//! Params and results shared by many methods.

use crate::Json;
use crate::record::record;

record! {
    /// No params of its own.
    #[derive(Default)]
    pub struct NoParams {}
}

record! {
    /// A result that says only that the work is done.
    #[derive(Default)]
    pub struct EmptyResult {
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// The params of a list: where the page begins.
    #[derive(Default)]
    pub struct PageParams {
        /// A cursor a former page gave; absent for the first page.
        cursor: Option<String> = optional "cursor",
    }
}
