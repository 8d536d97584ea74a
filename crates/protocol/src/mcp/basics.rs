//! Params and results shared by many methods.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::record::record;
use crate::{Extra, Json};

record! {
    /// No params of its own.
    #[derive(Default)]
    pub struct NoParams {}
}

/// A result that says only that the work is done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EmptyResult {
    /// Metadata.
    pub meta: Option<Json>,
    /// Whatever it holds besides.
    pub extra: Extra,
}

const META: &str = "_meta";

impl Serialize for EmptyResult {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let meta = self.meta.iter().map(|meta| (META, meta));
        serializer.collect_map(meta.chain(self.extra.iter()))
    }
}

impl<'de> Deserialize<'de> for EmptyResult {
    /// A server that has nothing to say may say `null` (seeds-vs-spec row 3). No other result may
    /// (fault 71).
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut extra = Option::<Extra>::deserialize(deserializer)?.unwrap_or_default();
        let meta = extra.remove(META);
        Ok(Self { meta, extra })
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
