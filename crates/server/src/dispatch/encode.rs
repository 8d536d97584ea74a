//! Results on their way to the wire, in the shape of their revision.

use attache_protocol::{
    CallToolResult, CompleteResult, DiscoverResult, EmptyResult, Era, ExtTask, GetPromptResult,
    InputRequired, Json, ListenResult, PromptPage, ReadResourceResult, RequestId, ResourcePage,
    Revision, TemplatePage, ToolPage,
};
use serde::Serialize;

use crate::caching::Caching;
use crate::kernel::Kernel;
use crate::service::Answer;

/// A modern result: its kind and hints for caches around what the method declares.
#[derive(Serialize)]
struct Modern<'a, R> {
    #[serde(rename = "resultType")]
    kind: &'static str,
    #[serde(rename = "ttlMs", skip_serializing_if = "Option::is_none")]
    ttl_ms: Option<i64>,
    #[serde(rename = "cacheScope", skip_serializing_if = "Option::is_none")]
    cache_scope: Option<&'static str>,
    #[serde(flatten)]
    body: &'a R,
}

/// A result with metadata, as all have.
pub(super) trait WithMeta: Serialize {
    fn meta(&mut self) -> &mut Option<Json>;
}

macro_rules! with_meta {
    ($($result:ty),* $(,)?) => {
        $(
            impl WithMeta for $result {
                fn meta(&mut self) -> &mut Option<Json> {
                    &mut self.meta
                }
            }
        )*
    };
}

with_meta!(
    CallToolResult,
    CompleteResult,
    DiscoverResult,
    EmptyResult,
    ExtTask,
    GetPromptResult,
    InputRequired,
    ListenResult,
    PromptPage,
    ReadResourceResult,
    ResourcePage,
    TemplatePage,
    ToolPage,
);

/// The answer with a complete result.
pub(super) fn complete<R: WithMeta>(
    kernel: &Kernel,
    revision: Revision,
    id: &RequestId,
    result: R,
) -> Answer {
    match revision.era() {
        Era::Legacy => Answer::result(id, &result),
        Era::Modern => modern(kernel, id, "complete", None, result),
    }
}

/// The answer with a complete result that modern clients may keep (S-CACHE-01).
pub(super) fn cacheable<R: WithMeta>(
    kernel: &Kernel,
    revision: Revision,
    id: &RequestId,
    caching: Caching,
    result: R,
) -> Answer {
    match revision.era() {
        Era::Legacy => Answer::result(id, &result),
        Era::Modern => modern(kernel, id, "complete", Some(caching), result),
    }
}

/// The answer with a result of a certain kind.
pub(super) fn modern<R: WithMeta>(
    kernel: &Kernel,
    id: &RequestId,
    kind: &'static str,
    caching: Option<Caching>,
    mut result: R,
) -> Answer {
    identify(kernel, result.meta());
    let written = Modern {
        kind,
        ttl_ms: caching.as_ref().map(Caching::ttl_ms),
        cache_scope: caching.as_ref().map(Caching::scope_name),
        body: &result,
    };
    Answer::result(id, &written)
}

/// Adds who the server is to the metadata of a result (S-MOD-07).
fn identify(kernel: &Kernel, meta: &mut Option<Json>) {
    let Some(identity) = &kernel.result_meta else {
        return;
    };
    let Some(own) = meta.take() else {
        *meta = Some(identity.clone());
        return;
    };
    let joined = own.decode::<attache_protocol::Extra>().and_then(|mut own| {
        let identity: attache_protocol::Extra = identity.decode()?;
        for (key, value) in identity.iter() {
            own.insert(key, value.clone());
        }
        Json::from_serialize(&own)
    });
    *meta = Some(joined.unwrap_or(own));
}
