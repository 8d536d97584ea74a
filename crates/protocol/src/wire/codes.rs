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
