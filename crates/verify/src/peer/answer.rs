//! What comes: messages, and the answers among them.

use serde_json::Value;

/// A message that came.
#[derive(Clone, Debug)]
pub(crate) struct Incoming {
    /// The message, or null if it is none.
    pub(crate) value: Value,
    /// The status of the response it came with.
    pub(crate) status: Option<u16>,
}

impl Incoming {
    pub(crate) fn method(&self) -> Option<&str> {
        self.value["method"].as_str()
    }
}

/// What a request came to.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) value: Value,
    pub(crate) status: Option<u16>,
}

impl Answer {
    pub(crate) fn result(&self) -> Option<&Value> {
        self.value.get("result")
    }

    pub(crate) fn code(&self) -> Option<i64> {
        self.value["error"]["code"].as_i64()
    }

    pub(crate) fn is_error(&self) -> bool {
        self.value.get("error").is_some() || self.status.is_some_and(|status| status >= 400)
    }

    /// What it is, in a few words.
    pub(crate) fn summary(&self) -> String {
        let status = match self.status {
            Some(status) if status != 200 => format!(" (HTTP {status})"),
            _ => String::new(),
        };
        match (self.result(), self.value.get("error")) {
            (Some(result), _) if result["isError"] == true => {
                format!("a result with isError{status}")
            }
            (Some(_), _) => format!("a result{status}"),
            (None, Some(error)) => {
                let message = error["message"].as_str().unwrap_or_default();
                let message: String = message.chars().take(120).collect();
                format!("error {} \"{message}\"{status}", error["code"])
            }
            (None, None) => match self.status {
                Some(status) => format!("HTTP {status} without a JSON-RPC message"),
                None => "neither a result nor an error".to_owned(),
            },
        }
    }
}
