//! How much a model takes, asked of its endpoint.

use std::time::Duration;

use serde_json::Value;
use tokio::time::timeout;

use super::Model;

/// How long the question may take. An endpoint need not know it.
const PATIENCE: Duration = Duration::from_secs(2);
/// The longest list of models that is read.
const LONGEST_LIST: usize = 4 * 1024 * 1024;
/// The names that endpoints have for it.
const NAMES: [&str; 8] = [
    "context_length",
    "context_window",
    "max_model_len",
    "max_context_length",
    "max_input_tokens",
    "n_ctx",
    "n_ctx_slot",
    "n_ctx_train",
];
/// Where they stand besides the entry itself.
const PLACES: [&str; 3] = ["meta", "top_provider", "limits"];

impl Model {
    /// How many tokens the model takes, if its endpoint tells.
    pub async fn window(&self) -> Option<u64> {
        timeout(PATIENCE, self.ask_window()).await.ok()?
    }

    async fn ask_window(&self) -> Option<u64> {
        let url = self.endpoint.url("models").ok()?;
        let request = self.client().await.ok()?.get(url);
        let mut response = request.headers(self.headers().ok()?).send().await.ok()?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.ok()? {
            body.extend_from_slice(&chunk);
            if body.len() > LONGEST_LIST {
                return None;
            }
        }
        let list: Value = serde_json::from_slice(&body).ok()?;
        window_of(&list, &self.endpoint.model)
    }
}

/// The window of a model in a list of models; the only one of a list is meant whatever its name.
fn window_of(list: &Value, model: &str) -> Option<u64> {
    let entries = list["data"].as_array()?;
    let named = entries.iter().find(|entry| entry["id"] == model);
    let entry = match entries.as_slice() {
        [only] => only,
        _ => named?,
    };
    let places = std::iter::once(entry).chain(PLACES.iter().map(|place| &entry[*place]));
    let mut found = places.flat_map(|place| NAMES.iter().map(|name| &place[*name]));
    found.find_map(|value| value.as_u64().filter(|tokens| *tokens > 0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_window_is_found_under_many_names() {
        for (list, window) in [
            (
                json!({"data": [{"id": "m", "context_length": 128_000}]}),
                Some(128_000),
            ),
            (
                json!({"data": [{"id": "x"}, {"id": "m", "max_model_len": 8}]}),
                Some(8),
            ),
            (
                json!({"data": [{"id": "other", "meta": {"n_ctx_train": 2048}}]}),
                Some(2048),
            ),
            (
                json!({"data": [{"id": "x", "n_ctx": 1}, {"id": "y"}]}),
                None,
            ),
            (json!({"data": [{"id": "m", "n_ctx": 0}]}), None),
            (json!({"error": "no"}), None),
        ] {
            assert_eq!(window_of(&list, "m"), window, "{list}");
        }
    }
}
