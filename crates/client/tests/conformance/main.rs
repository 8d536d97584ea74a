//! The official conformance suite against this client.
//!
//! A client that does nothing passes some scenarios with no check made, so each must make as many
//! checks as it does today, and none may fail, scored or not. `scripts/install-test-servers`
//! installs the suite; without it these tests fail and say so.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use attache_testkit::binaries;
use attache_testkit::conformance::{Verdict, of_client};

/// How many checks each scenario makes at least, in whichever set it appears.
const CHECKS: &[(&str, usize)] = &[
    ("auth/2025-03-26-oauth-endpoint-fallback", 7),
    ("auth/2025-03-26-oauth-metadata-backcompat", 12),
    ("auth/authorization-server-migration", 27),
    ("auth/basic-cimd", 12),
    ("auth/client-credentials-basic", 7),
    ("auth/client-credentials-jwt", 7),
    ("auth/dpop", 12),
    ("auth/dpop-nonce", 14),
    ("auth/enterprise-managed-authorization", 8),
    ("auth/iss-normalized", 8),
    ("auth/iss-not-advertised", 14),
    ("auth/iss-supported", 14),
    ("auth/iss-supported-missing", 8),
    ("auth/iss-unexpected", 8),
    ("auth/iss-wrong-issuer", 8),
    ("auth/metadata-default", 18),
    ("auth/metadata-issuer-mismatch", 3),
    ("auth/metadata-var1", 18),
    ("auth/metadata-var2", 18),
    ("auth/metadata-var3", 18),
    ("auth/offline-access-not-supported", 14),
    ("auth/offline-access-scope", 12),
    ("auth/pre-registration", 12),
    ("auth/resource-mismatch", 2),
    ("auth/scope-from-scopes-supported", 14),
    ("auth/scope-from-www-authenticate", 14),
    ("auth/scope-omitted-when-undefined", 14),
    ("auth/scope-retry-limit", 10),
    ("auth/scope-step-up", 22),
    ("auth/token-endpoint-auth-basic", 19),
    ("auth/token-endpoint-auth-none", 19),
    ("auth/token-endpoint-auth-post", 19),
    ("auth/wif-jwt-bearer", 7),
    ("elicitation-sep1034-client-defaults", 5),
    ("http-custom-headers", 18),
    ("http-invalid-tool-headers", 12),
    ("http-standard-headers", 9),
    ("initialize", 1),
    ("json-schema-2020-12-preservation", 9),
    ("json-schema-ref-no-deref", 1),
    ("request-metadata", 8),
    ("sep-2322-client-request-state", 5),
    ("sse-retry", 3),
    ("tools_call", 2),
];

#[test]
fn the_scenarios_of_2025_11_25_pass() {
    // 18 count, 7 are only reported.
    check(&["--requirements", "2025-11-25"], 25);
}

// X-BASE-29, X-BASE-24, C-TOOL-13, X-AUTH-01.
#[test]
fn the_scenarios_of_2026_07_28_pass() {
    // 32 count, 7 are only reported.
    check(&["--requirements", "2026-07-28"], 39);
}

#[test]
fn the_scenarios_of_older_servers_pass() {
    check(&["--suite", "backcompat"], 2);
}

// X-AUTH-38.
#[test]
fn the_scenarios_of_extensions_pass() {
    check(&["--suite", "extensions"], 6);
}

/// Runs a set of scenarios and looks at each of its results.
#[track_caller]
fn check(set: &[&str], scenarios: usize) {
    let client = binaries::example("attache-client", "conformance-client").unwrap();
    let found = of_client(&client, set).unwrap();
    found.assert_at_least(CHECKS, |_| false);
    assert_eq!(found.scenarios(), scenarios, "{}", found.report());
    assert_eq!(found.verdict(), Verdict::Passed, "{}", found.report());
}
