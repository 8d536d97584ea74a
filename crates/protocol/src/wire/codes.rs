//! Error codes with an agreed meaning (section 28 of the ledger).

/// The message is not JSON.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no valid request.
pub const INVALID_REQUEST: i64 = -32600;
/// There is no such method.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The params are wrong.
pub const INVALID_PARAMS: i64 = -32602;
/// The peer failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// There is no such resource, up to 2025-11-25 (X-ERR-02).
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// The user must visit a page first, in 2025-11-25 (X-ERR-03).
pub const URL_ELICITATION_REQUIRED: i64 = -32042;
/// HTTP headers and body disagree, from 2026-07-28 (X-ERR-04).
pub const HEADER_MISMATCH: i64 = -32020;
/// The request needs a capability that the client did not declare, from 2026-07-28 (X-ERR-04).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The server does not speak the request's revision, from 2026-07-28 (X-ERR-04).
pub const UNSUPPORTED_VERSION: i64 = -32022;
/// The user refused a sampling request, up to 2025-11-25 (X-ERR-02).
pub const USER_REFUSED: i64 = -1;

#[cfg(test)]
mod tests {
    use super::*;

    /// X-ERR-08: the one code outside JSON-RPC's own range is the only one that is no part of it.
    #[test]
    fn x_err_04_to_08_codes_are_the_agreed_ones_and_no_others() {
        let page = include_str!("codes.rs");
        let written = page
            .lines()
            .filter_map(|line| line.strip_prefix("pub const "));
        let written: Vec<i64> = written
            .filter_map(|it| it.split_once("= ")?.1.strip_suffix(';')?.parse().ok())
            .collect();
        let agreed = [
            PARSE_ERROR,
            INVALID_REQUEST,
            METHOD_NOT_FOUND,
            INVALID_PARAMS,
            INTERNAL_ERROR,
            RESOURCE_NOT_FOUND,
            URL_ELICITATION_REQUIRED,
            HEADER_MISMATCH,
            MISSING_CAPABILITY,
            UNSUPPORTED_VERSION,
            USER_REFUSED,
        ];
        assert_eq!(written, agreed);
        let reserved = |code: &&i64| (-32099..=-32020).contains(*code);
        let modern: Vec<_> = agreed.iter().filter(reserved).collect();
        assert_eq!(modern, [&-32042, &-32020, &-32021, &-32022]);
        let unclaimed = |code: &&i64| (-32019..=-32000).contains(*code);
        assert_eq!(
            agreed.iter().filter(unclaimed).collect::<Vec<_>>(),
            [&-32002]
        );
        assert!(!(-32768..=-32000).contains(&USER_REFUSED));
    }
}
