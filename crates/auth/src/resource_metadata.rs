//! What a server says about its own protection (RFC 9728).
//!
//! Owns where the document may be, what is read from it, and whether it speaks for the server that
//! was asked. Fetching is not done here.

use serde_json::Value;
use url::Url;

use super::fetch::Fields;

/// The path under which the document is published.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The parts of the document that matter here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: Option<String>,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) dpop_required: bool,
}

impl ResourceMetadata {
    pub(crate) fn read(document: &Value) -> Self {
        Self {
            resource: document.text("resource").map(str::to_owned),
            authorization_servers: document.texts("authorization_servers").unwrap_or_default(),
            scopes_supported: document.texts("scopes_supported"),
            dpop_required: document.flag("dpop_bound_access_tokens_required"),
        }
    }
}

/// Where the document may be, in order: the address in the challenge, or else the well-known
/// address with the server's path, then without (C-AUTH-09).
pub(crate) fn candidates(server: &Url, named: Option<&str>) -> Vec<Url> {
    if let Some(url) = named.and_then(|named| server.join(named).ok()) {
        return vec![url];
    }
    let mut root = origin(server);
    root.set_path(WELL_KNOWN);
    let path = server.path().trim_end_matches('/');
    if path.is_empty() {
        return vec![root];
    }
    let mut with_path = root.clone();
    with_path.set_path(&format!("{WELL_KNOWN}{path}"));
    with_path.set_query(server.query());
    vec![with_path, root]
}

/// Whether a document about `resource` speaks for this server: same origin, and the same path or
/// one above it. The document at the root speaks for the whole origin, so the exact match that
/// RFC 9728 section 3.3 wants would refuse what its section 3.1 allows to be published.
pub(crate) fn covers(resource: &str, server: &Url) -> bool {
    let Ok(resource) = Url::parse(resource) else {
        return false;
    };
    if resource.origin() != server.origin() {
        return false;
    }
    let above = resource.path().trim_end_matches('/');
    let below = server.path().trim_end_matches('/');
    match below.strip_prefix(above) {
        Some(rest) => rest.is_empty() || rest.starts_with('/'),
        None => false,
    }
}

/// The name of a server in `resource` parameters: no fragment, no trailing slash (C-AUTH-22).
pub(crate) fn canonical(server: &Url) -> String {
    let mut server = server.clone();
    server.set_fragment(None);
    let text = String::from(server);
    match text.strip_suffix('/') {
        Some(without) => without.to_owned(),
        None => text,
    }
}

/// The address without path, query and fragment.
pub(crate) fn origin(url: &Url) -> Url {
    let mut origin = url.clone();
    origin.set_path("");
    origin.set_query(None);
    origin.set_fragment(None);
    origin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// C-AUTH-09: the order of a challenge's address, path form, root.
    #[test]
    fn places_are_tried_in_order() {
        let check = |server: &str, named: Option<&str>, expected: &[&str]| {
            let found = candidates(&url(server), named);
            let found: Vec<&str> = found.iter().map(Url::as_str).collect();
            assert_eq!(found, expected, "{server} {named:?}");
        };
        let known = "https://a.b/.well-known/oauth-protected-resource";
        check("https://a.b", None, &[known]);
        check("https://a.b/", None, &[known]);
        check("https://a.b/mcp", None, &[&format!("{known}/mcp"), known]);
        check(
            "https://a.b/x/mcp/#f",
            None,
            &[&format!("{known}/x/mcp"), known],
        );
        check(
            "https://a.b/mcp?t=1",
            None,
            &[&format!("{known}/mcp?t=1"), known],
        );
        check("https://a.b/mcp", Some("https://c.d/e"), &["https://c.d/e"]);
        check(
            "https://a.b/mcp",
            Some("/custom.json"),
            &["https://a.b/custom.json"],
        );
        check("https://a.b", Some("https://"), &[known]);
    }

    #[test]
    fn a_document_speaks_for_its_own_server_only() {
        let check = |resource: &str, server: &str, expected: bool| {
            assert_eq!(
                covers(resource, &url(server)),
                expected,
                "{resource} {server}"
            );
        };
        check("https://a.b/mcp", "https://a.b/mcp", true);
        check("https://a.b/mcp/", "https://a.b/mcp", true);
        check("https://a.b", "https://a.b/mcp", true);
        check("https://A.b:443/mcp", "https://a.b/mcp?x=1", true);
        check("https://a.b/mcp", "https://a.b/mcp2", false);
        check("https://a.b/mcp/x", "https://a.b/mcp", false);
        check("https://evil.example/mcp", "https://a.b/mcp", false);
        check("http://a.b/mcp", "https://a.b/mcp", false);
        check("https://a.b:8443/mcp", "https://a.b/mcp", false);
        check("mcp", "https://a.b/mcp", false);
    }

    /// C-AUTH-22.
    #[test]
    fn canonical_names_have_no_trailing_slash_or_fragment() {
        let check = |text: &str, expected: &str| assert_eq!(canonical(&url(text)), expected);
        check("https://A.b", "https://a.b");
        check("https://a.b/mcp/", "https://a.b/mcp");
        check("https://a.b:8443/mcp#x", "https://a.b:8443/mcp");
        check("https://a.b/mcp?x=1", "https://a.b/mcp?x=1");
    }

    #[test]
    fn misfit_fields_count_as_absent() {
        let document = serde_json::json!({
            "resource": 5, "authorization_servers": ["https://a.b", 7], "scopes_supported": "x",
            "dpop_bound_access_tokens_required": true
        });
        let expected = ResourceMetadata {
            resource: None,
            authorization_servers: vec!["https://a.b".to_owned()],
            scopes_supported: None,
            dpop_required: true,
        };
        assert_eq!(ResourceMetadata::read(&document), expected);
    }
}
