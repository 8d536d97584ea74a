//! Completion: what an argument of a prompt or a template could be.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::mcp::method::methods;
use crate::wire::record::record;
use crate::{Json, Revision};

methods! {
    /// Asks how an argument could go on.
    Complete = "completion/complete" (CompleteParams) -> CompleteResult;
}

record! {
    /// The params of `completion/complete`.
    pub struct CompleteParams {
        /// What the argument belongs to.
        reference: CompletionReference = required "ref",
        /// The argument, as far as it is typed.
        argument: CompletionArgument = required "argument",
        /// What is chosen already (from 2025-06-18, C-CMP-03).
        context: Option<CompletionContext> = optional "context",
    }
}

impl CompleteParams {
    /// Completes the argument `name` from `value`.
    pub fn new(
        reference: CompletionReference,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Self {
        Self {
            reference,
            argument: CompletionArgument {
                name: name.into(),
                value: value.into(),
                extra: Default::default(),
            },
            context: None,
            extra: Default::default(),
        }
    }

    /// Adds the arguments that are chosen already.
    pub fn with_chosen(mut self, arguments: BTreeMap<String, String>) -> Self {
        self.context = Some(CompletionContext {
            arguments,
            extra: Default::default(),
        });
        self
    }

    /// The same with the fields that `revision` knows.
    pub fn for_revision(mut self, revision: Revision) -> Self {
        let features = revision.features();
        if !features.completion_context {
            self.context = None;
        }
        if !features.identity_title
            && let CompletionReference::Prompt { title, .. } = &mut self.reference
        {
            *title = None;
        }
        self
    }
}

/// What a completed argument belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum CompletionReference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt {
        /// Its name.
        name: String,
        /// Its name for people (from 2025-06-18).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        title: Option<String>,
    },
    /// A resource template (C-TPL-03).
    #[serde(rename = "ref/resource")]
    Resource {
        /// The template.
        uri: String,
    },
}

impl CompletionReference {
    /// The prompt of that name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt {
            name: name.into(),
            title: None,
        }
    }

    /// The resource template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource { uri: uri.into() }
    }
}

record! {
    /// An argument as far as it is typed.
    pub struct CompletionArgument {
        /// Its name.
        name: String = required "name",
        /// What is typed so far.
        value: String = required "value",
    }
}

record! {
    /// What is chosen already.
    #[derive(Default)]
    pub struct CompletionContext {
        /// The other arguments.
        arguments: BTreeMap<String, String> = default "arguments",
    }
}

record! {
    /// How an argument could go on.
    #[derive(Default)]
    pub struct CompleteResult {
        /// The values found.
        completion: Completion = required "completion",
        /// Metadata.
        meta: Option<Json> = optional "_meta",
    }
}

record! {
    /// Values for an argument (S-CMP-02).
    #[derive(Default)]
    pub struct Completion {
        /// The values, best first.
        values: Vec<String> = required "values",
        /// How many there are in all.
        total: Option<u64> = optional "total",
        /// There are more than these.
        has_more: Option<bool> = optional "hasMore",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_cmp_03_context_goes_only_to_revisions_that_know_it() {
        let reference = CompletionReference::Prompt {
            name: "review".to_owned(),
            title: Some("Review".to_owned()),
        };
        let chosen = BTreeMap::from([("language".to_owned(), "rust".to_owned())]);
        let params = CompleteParams::new(reference, "framework", "to").with_chosen(chosen);
        let written = |revision: Revision| {
            serde_json::to_string(&params.clone().for_revision(revision)).unwrap()
        };
        let argument = r#""argument":{"name":"framework","value":"to"}"#;
        let plain = format!(r#"{{"ref":{{"type":"ref/prompt","name":"review"}},{argument}}}"#);
        assert_eq!(written(Revision::V2024_11_05), plain);
        assert_eq!(written(Revision::V2025_03_26), plain);
        let full = format!(
            r#"{{"ref":{{"type":"ref/prompt","name":"review","title":"Review"}},{argument},"context":{{"arguments":{{"language":"rust"}}}}}}"#
        );
        assert_eq!(written(Revision::V2025_06_18), full);
        assert_eq!(written(Revision::V2026_07_28), full);
    }
}
