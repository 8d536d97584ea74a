//! Elicitation: a server asks the user, by a form or by sending them to a page.
//!
//! A form is a JSON Schema; what it looks like is for faces.

use serde::{Deserialize, Serialize};

use crate::mcp::method::{methods, notifications};
use crate::wire::record::record;
use crate::{Entries, Json, TaskRequest};

methods! {
    /// Asks the user something.
    Elicit = "elicitation/create" (ElicitParams) -> ElicitResult;
}

notifications! {
    /// What the user was sent to do on a page is done (2025-11-25).
    ElicitationComplete = "notifications/elicitation/complete" (ElicitationCompleteParams);
}

record! {
    /// The params of `elicitation/create`.
    #[derive(Default)]
    pub struct ElicitParams {
        /// The mode as it came; see [`ElicitParams::mode`].
        mode: Option<String> = optional "mode",
        /// What the user is asked.
        message: String = required "message",
        /// The fields of the form, as a JSON Schema.
        requested_schema: Option<Json> = optional "requestedSchema",
        /// The page to visit; shown whole, and opened only with consent (C-ELIC-12, C-ELIC-13).
        url: Option<String> = optional "url",
        /// What [`ElicitationComplete`] will name (2025-11-25).
        elicitation_id: Option<String> = optional "elicitationId",
        /// Makes the request a task (2025-11-25).
        task: Option<TaskRequest> = optional "task",
    }
}

/// How the user is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElicitMode {
    /// By a form.
    Form,
    /// By a page to visit.
    Url,
    /// In a way nobody here knows.
    Other,
}

impl ElicitParams {
    /// The mode; absent means a form (C-ELIC-03).
    pub fn mode(&self) -> ElicitMode {
        match self.mode.as_deref() {
            // A mode that is no string was kept aside and is no form.
            None if self.extra.get("mode").is_some() => ElicitMode::Other,
            None | Some("form") => ElicitMode::Form,
            Some("url") => ElicitMode::Url,
            Some(_) => ElicitMode::Other,
        }
    }
}

record! {
    /// What the user answered.
    pub struct ElicitResult {
        /// Whether they did.
        action: ElicitAction = required "action",
        /// The answers to a form (C-ELIC-08).
        content: Option<Json> = optional "content",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

/// What the user did with a question; the three differ (C-ELIC-08).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Answered it, or agreed to visit the page.
    Accept,
    /// Said no.
    Decline,
    /// Went away.
    Cancel,
}

impl ElicitResult {
    /// The user filled in the form.
    pub fn accept(content: Json) -> Self {
        Self {
            content: Some(content),
            ..Self::without_content(ElicitAction::Accept)
        }
    }

    /// The user agreed to visit the page; this does not say that they are done (C-ELIC-15).
    pub fn accept_url() -> Self {
        Self::without_content(ElicitAction::Accept)
    }

    /// The user said no.
    pub fn decline() -> Self {
        Self::without_content(ElicitAction::Decline)
    }

    /// The user went away.
    pub fn cancel() -> Self {
        Self::without_content(ElicitAction::Cancel)
    }

    fn without_content(action: ElicitAction) -> Self {
        Self {
            action,
            content: None,
            meta: None,
            extra: Default::default(),
        }
    }
}

record! {
    /// Which elicitation is complete.
    pub struct ElicitationCompleteParams {
        /// Its id; unknown and finished ones are ignored (X-ELIC-17).
        elicitation_id: String = required "elicitationId",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// The data of the error `-32042`: pages to visit before the request can work (S-ELIC-16).
    #[derive(Default)]
    pub struct UrlElicitationRequiredData {
        /// The pages.
        elicitations: Entries<ElicitParams> = required "elicitations",
    }
}
