//! Addresses that servers ask a person to visit.

/// The host of an address that may be shown as one to visit: https, or http on this machine.
pub fn host_to_visit(url: &str) -> Option<&str> {
    let (is_secure, rest) = match url.strip_prefix("https://") {
        Some(rest) => (true, rest),
        None => (false, url.strip_prefix("http://")?),
    };
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    // `https://bank.example@evil.example/` is a trick.
    if authority.is_empty() || authority.contains('@') {
        return None;
    }
    let is_local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| {
        authority
            .strip_prefix(local)
            .is_some_and(|port| port.is_empty() || port.starts_with(':'))
    });
    (is_secure || is_local).then_some(authority)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_and_this_machine_may_be_visited() {
        for (url, host) in [
            ("https://example.org/x", Some("example.org")),
            ("https://example.org:8443?x", Some("example.org:8443")),
            ("http://localhost:8080/x", Some("localhost:8080")),
            ("http://[::1]/x", Some("[::1]")),
            ("http://localhost.evil.example/", None),
            ("http://example.org/", None),
            ("https://bank.example@evil.example/", None),
            ("https://evil.example\\@bank.example/", Some("evil.example")),
            ("javascript:alert(1)", None),
            ("file:///etc/passwd", None),
            ("https://", None),
        ] {
            assert_eq!(host_to_visit(url), host, "{url}");
        }
    }
}
