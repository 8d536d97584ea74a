//! Keys of `_meta` that the protocol reserves.

/// The revision a request is written in (C-MOD-01).
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// What the client can do, for this request (C-MOD-02).
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// Who the client is (C-MOD-03).
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// Who the server is (S-MOD-07).
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The lowest level of log messages wanted for this request (C-LOG-03).
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The listen request a notification belongs to (S-SUBM-04).
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// The task a message belongs to (X-TSKX-09).
pub const RELATED_TASK: &str = "io.modelcontextprotocol/related-task";
/// The token under which progress is reported (X-PROG-01).
pub const PROGRESS_TOKEN: &str = "progressToken";
/// The tasks extension, a key of `capabilities.extensions` (C-TSKE-01).
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";
