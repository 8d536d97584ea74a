//! `WWW-Authenticate` of any server: no header panics, and nothing outgrows its limit.

#![no_main]

use libfuzzer_sys::fuzz_target;

// Included by its path, so that the fuzzer need not build the HTTP stack of the client.
#[path = "../../crates/auth/src/challenge.rs"]
mod challenge;

fuzz_target!(|bytes: &[u8]| {
    let header = String::from_utf8_lossy(bytes);
    let challenges = challenge::parse(&header);
    assert!(challenges.len() <= challenge::MAX_CHALLENGES);
    let ours = challenges
        .iter()
        .filter(|one| one.is("Bearer") || one.is("DPoP"));
    for challenge in ours {
        for name in ["resource_metadata", "scope", "error"] {
            let value = challenge.parameter(name).unwrap_or_default();
            assert!(value.len() <= challenge::MAX_HEADER_LENGTH);
        }
    }
});
