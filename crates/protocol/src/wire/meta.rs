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

#[cfg(test)]
mod tests {
    use super::*;

    /// Each key that is written here is one that the specification gives away: none is our own.
    #[test]
    fn x_base_19_and_20_keys_follow_the_grammar_and_none_is_our_own() {
        let is_name = |text: &str| {
            let edge = |it: Option<char>| it.is_some_and(|it| it.is_ascii_alphanumeric());
            edge(text.chars().next())
                && edge(text.chars().last())
                && text
                    .chars()
                    .all(|it| it.is_ascii_alphanumeric() || "-_.".contains(it))
        };
        for key in [
            PROTOCOL_VERSION,
            CLIENT_CAPABILITIES,
            CLIENT_INFO,
            SERVER_INFO,
            LOG_LEVEL,
            SUBSCRIPTION_ID,
            RELATED_TASK,
            // X-MOD-20: the name of an extension has a prefix, too.
            TASKS_EXTENSION,
        ] {
            let (prefix, name) = key.split_once('/').unwrap();
            assert_eq!(prefix, "io.modelcontextprotocol");
            assert!(prefix.split('.').all(is_name) && is_name(name), "{key}");
        }
        assert!(is_name(PROGRESS_TOKEN));
    }
}
