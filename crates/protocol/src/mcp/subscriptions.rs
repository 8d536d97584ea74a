//! Subscriptions of the modern era: one long request that opts in to notifications.

use crate::mcp::method::{methods, notifications};
use crate::wire::peek::peek;
use crate::wire::record::record;
use crate::{Json, RequestId, meta};

methods! {
    /// Asks for notifications for as long as the request is open.
    Listen = "subscriptions/listen" (ListenParams) -> ListenResult;
}

notifications! {
    /// The server has begun to listen, first of all messages of a subscription (S-SUBM-03).
    Acknowledged = "notifications/subscriptions/acknowledged" (AcknowledgedParams);
}

record! {
    /// Which notifications are wanted, or granted.
    #[derive(Default)]
    pub struct SubscriptionFilter {
        /// Changes of the list of tools.
        tools_list_changed: bool = default "toolsListChanged",
        /// Changes of the list of prompts.
        prompts_list_changed: bool = default "promptsListChanged",
        /// Changes of the list of resources.
        resources_list_changed: bool = default "resourcesListChanged",
        /// Changes of these resources.
        resource_subscriptions: Option<Vec<String>> = optional "resourceSubscriptions",
        /// Changes of these tasks (tasks extension, S-TSKE-16).
        task_ids: Option<Vec<String>> = optional "taskIds",
    }
}

record! {
    /// The params of `subscriptions/listen`.
    #[derive(Default)]
    pub struct ListenParams {
        /// What is wanted.
        notifications: SubscriptionFilter = required "notifications",
    }
}

impl ListenParams {
    /// Wants what the filter names.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self {
            notifications,
            extra: Default::default(),
        }
    }
}

record! {
    /// The orderly end of a subscription (S-SUBM-07).
    #[derive(Default)]
    pub struct ListenResult {
        /// Metadata, with the id of the subscription.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// What of a subscription is granted (C-SUBM-05).
    #[derive(Default)]
    pub struct AcknowledgedParams {
        /// The granted part.
        notifications: SubscriptionFilter = always "notifications",
        /// Metadata, with the id of the subscription.
        meta: Option<Json> = optional "_meta",
    }
}

/// The subscription that a notification or a listen result belongs to, read from its `_meta`
/// without decoding the rest (C-STDIO-10). Takes a payload or its text.
pub fn subscription_id(params: &(impl AsRef<[u8]> + ?Sized)) -> Option<RequestId> {
    let meta = peek(params.as_ref(), "_meta")?;
    let id = peek(meta.get().as_bytes(), meta::SUBSCRIPTION_ID)?;
    serde_json::from_str(id.get()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Payload;

    #[test]
    fn s_subm_04_the_subscription_is_read_in_its_own_type() {
        for (params, expected) in [
            (
                r#"{"uri":"a:b","_meta":{"x":1,"io.modelcontextprotocol/subscriptionId":7}}"#,
                Some(RequestId::from(7)),
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":"7"}}"#,
                Some(RequestId::from("7")),
            ),
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":null}}"#,
                None,
            ),
            (r#"{"io.modelcontextprotocol/subscriptionId":7}"#, None),
            (r#"{"_meta":[]}"#, None),
            ("{}", None),
        ] {
            assert_eq!(subscription_id(params), expected, "{params}");
            let payload = Payload::from(Json::parse(params).unwrap());
            assert_eq!(subscription_id(&payload), expected, "{params}");
        }
    }

    #[test]
    fn c_subm_01_a_filter_opts_in_and_says_nothing_else() {
        let filter = SubscriptionFilter {
            tools_list_changed: true,
            resource_subscriptions: Some(vec!["a:b".to_owned()]),
            ..SubscriptionFilter::default()
        };
        assert_eq!(
            serde_json::to_string(&ListenParams::new(filter)).unwrap(),
            r#"{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["a:b"]}}"#
        );
    }
}
