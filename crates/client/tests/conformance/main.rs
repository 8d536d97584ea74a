//! The official conformance suite against this client.
//!
//! A client that does nothing passes some scenarios with no check made, so each must make as many
//! checks as it does today, and none may fail, scored or not. `scripts/install-test-servers`
//! installs the suite; without it these tests fail and say so.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use attache_testkit::scratch::Scratch;

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

#[test]
fn the_scenarios_of_2026_07_28_pass() {
    // 32 count, 7 are only reported.
    check(&["--requirements", "2026-07-28"], 39);
}

#[test]
fn the_scenarios_of_older_servers_pass() {
    check(&["--suite", "backcompat"], 2);
}

#[test]
fn the_scenarios_of_extensions_pass() {
    check(&["--suite", "extensions"], 6);
}

/// Runs a set of scenarios and looks at each of its results.
fn check(set: &[&str], scenarios: usize) {
    let folder = Scratch::new("conformance").unwrap();
    let output = Command::new(installed("node/bin/node"))
        .arg(installed("@modelcontextprotocol/conformance/dist/index.js"))
        .args(["client", "--command"])
        .arg(client())
        .args(set)
        .arg("-o")
        .arg(folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let report = format!("{printed}{}", String::from_utf8_lossy(&output.stderr));
    let expected: BTreeMap<_, _> = CHECKS.iter().copied().collect();
    let mut seen = 0;
    for (scenario, passed, failed) in printed.lines().filter_map(result) {
        let Some(least) = expected.get(scenario) else {
            panic!("{scenario} is not in the table; it made {passed} checks");
        };
        assert!(failed == 0, "{scenario}: {failed} checks failed\n{report}");
        assert!(
            passed >= *least,
            "{scenario}: only {passed} checks of {least}\n{report}"
        );
        seen += 1;
    }
    assert_eq!(seen, scenarios, "{report}");
    assert!(output.status.success(), "{report}");
}

/// Reads a line like "✓ tools_call: 2 passed, 0 failed".
fn result(line: &str) -> Option<(&str, usize, usize)> {
    let (name, counts) = line.split_once(": ")?;
    let name = name.trim_start_matches(['✓', '✗', ' ']);
    let (passed, rest) = counts.split_once(" passed, ")?;
    let failed = rest.split_once(" failed")?.0;
    if name == "Total" {
        return None;
    }
    Some((name, passed.parse().ok()?, failed.parse().ok()?))
}

/// The client that the suite drives, which Cargo builds beside the folder of this test.
fn client() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let examples = test.ancestors().nth(2).unwrap().join("examples");
    let client = examples.join("conformance-client");
    assert!(
        client.exists(),
        "{} is missing; run `cargo build --examples -p attache-client` first",
        client.display()
    );
    client
}

/// A file of the installed suite.
fn installed(path: &str) -> PathBuf {
    let folder = match std::env::var_os("ATTACHE_TEST_DEPS") {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.test-deps")),
    };
    let file = folder.join("conformance/node_modules").join(path);
    assert!(
        file.exists(),
        "{} is missing; run scripts/install-test-servers first",
        file.display()
    );
    file
}
