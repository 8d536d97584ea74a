//! Failures that are known: those of an earlier report.

use std::collections::BTreeSet;

use serde_json::Value;

/// The failures of an earlier report in JSON.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    keys: BTreeSet<String>,
}

impl Baseline {
    /// Reads a report as `--format json` writes it.
    ///
    /// # Errors
    /// What the text is not.
    pub fn read(text: &str) -> Result<Self, String> {
        let report: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let Some(outcomes) = report["outcomes"].as_array() else {
            return Err("it has no \"outcomes\"; write one with --format json".to_owned());
        };
        let failed = outcomes
            .iter()
            .filter(|outcome| outcome["verdict"] == "fail");
        let keys = failed.filter_map(|outcome| {
            let check = outcome["check"].as_str()?;
            Some(match outcome["revision"].as_str() {
                Some(revision) => format!("{check}@{revision}"),
                None => check.to_owned(),
            })
        });
        Ok(Self {
            keys: keys.collect(),
        })
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.keys.contains(key)
    }
}
