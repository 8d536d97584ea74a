//! The page: its files, as they were made ready at start. They hold no secret, so they need no
//! token; who asks for them is checked like everybody.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::response::Response;
use axum::routing::get;

use crate::assets::{Asset, assets};
use crate::console::Console;

/// The name of a file changes with what is in it.
const FOR_EVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
const ASK_AGAIN: HeaderValue = HeaderValue::from_static("no-cache");

/// The routes of all files.
pub(crate) fn router() -> Router<Arc<Console>> {
    assets().into_iter().fold(Router::new(), |router, asset| {
        let asset = Arc::new(asset);
        let path = asset.path.clone();
        let answer = move |headers: HeaderMap| {
            let asset = asset.clone();
            async move { file(&asset, &headers) }
        };
        router.route(&path, get(answer))
    })
}

fn file(asset: &Asset, asked: &HeaderMap) -> Response {
    let takes_gzip = accepts_gzip(asked);
    let body = match takes_gzip {
        true => asset.gzip.clone(),
        false => asset.plain.clone(),
    };
    let mut response = Response::new(Body::from(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(asset.content_type));
    headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
    if takes_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    let cached = if asset.immutable { FOR_EVER } else { ASK_AGAIN };
    headers.insert(CACHE_CONTROL, cached);
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let said = headers.get_all(ACCEPT_ENCODING).iter();
    let words = said
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','));
    words.into_iter().any(|word| {
        let mut parts = word.split(';').map(str::trim);
        let is_gzip = parts
            .next()
            .is_some_and(|it| it.eq_ignore_ascii_case("gzip"));
        // A weight of zero says that it is not taken.
        is_gzip && !parts.any(|it| it.trim_start_matches("q=").parse() == Ok(0.0_f32))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_sent_to_those_who_take_it() {
        for (said, takes) in [
            ("gzip", true),
            ("br, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(said).unwrap());
            assert_eq!(accepts_gzip(&headers), takes, "{said}");
        }
    }
}
