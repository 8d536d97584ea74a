//! What an evaluation may use, and how a caller asks for less.
//!
//! Owns the numbers and their names; knows nothing of how they are enforced.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The limits of an evaluation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Procedure calls, loop turns and units of work inside primitives.
    pub steps: u64,
    /// Bytes of Scheme objects and compiled code.
    pub heap: u64,
    /// Pending calls, and nesting while reading.
    pub depth: u64,
    /// Bits of one exact integer.
    pub integer_bits: u64,
    /// Bytes of source text.
    pub source: u64,
    /// Bytes of captured output, and of the written value.
    pub output: u64,
    /// Milliseconds from start to end.
    pub wall_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10_000_000,
            heap: 64 << 20,
            depth: 100_000,
            integer_bits: 1 << 20,
            source: 1 << 20,
            output: 256 << 10,
            wall_ms: 5_000,
        }
    }
}

/// Limits a caller asks for; what is not named stays as the server has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LowerLimits {
    /// See [`Limits::steps`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u64>,
    /// See [`Limits::heap`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heap: Option<u64>,
    /// See [`Limits::depth`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u64>,
    /// See [`Limits::integer_bits`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub integer_bits: Option<u64>,
    /// See [`Limits::source`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<u64>,
    /// See [`Limits::output`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<u64>,
    /// See [`Limits::wall_ms`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// A caller asked for more than the server allows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the limit {name} can only be lowered: {asked} is more than {most}; ask for {most} or less"
)]
pub struct TooHigh {
    /// The limit, as callers write it.
    pub name: &'static str,
    /// What was asked for.
    pub asked: u64,
    /// The server's own limit.
    pub most: u64,
}

impl Limits {
    /// These limits with some of them lowered.
    ///
    /// # Errors
    /// [`TooHigh`] for the first that would be raised.
    pub fn lowered(&self, wanted: &LowerLimits) -> Result<Self, TooHigh> {
        let lower = |name, asked: Option<u64>, most| match asked {
            Some(asked) if asked > most => Err(TooHigh { name, asked, most }),
            Some(asked) => Ok(asked),
            None => Ok(most),
        };
        Ok(Self {
            steps: lower("steps", wanted.steps, self.steps)?,
            heap: lower("heap", wanted.heap, self.heap)?,
            depth: lower("depth", wanted.depth, self.depth)?,
            integer_bits: lower("integerBits", wanted.integer_bits, self.integer_bits)?,
            source: lower("source", wanted.source, self.source)?,
            output: lower("output", wanted.output, self.output)?,
            wall_ms: lower("wallMs", wanted.wall_ms, self.wall_ms)?,
        })
    }

    /// The wall limit as a time.
    #[must_use]
    pub fn wall(&self) -> Duration {
        Duration::from_millis(self.wall_ms)
    }

    /// The part that the language itself enforces.
    pub(super) fn of_language(&self) -> attache_lisp::Limits {
        let size = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        attache_lisp::Limits {
            // Far beyond any use, and safe to compute with.
            steps: self.steps.min(u64::MAX / 8),
            heap: size(self.heap),
            depth: size(self.depth),
            integer_bits: self.integer_bits,
            source: size(self.source),
            output: size(self.output),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, LowerLimits, TooHigh};

    #[test]
    fn each_limit_can_be_lowered_and_none_raised() {
        let own = Limits::default();
        let json = serde_json::to_value(&own).unwrap();
        for (name, field) in [
            ("steps", "steps"),
            ("heap", "heap"),
            ("depth", "depth"),
            ("integerBits", "integer_bits"),
            ("source", "source"),
            ("output", "output"),
            ("wallMs", "wall_ms"),
        ] {
            let most = json[field].as_u64().unwrap();
            let ask = |number: u64| -> LowerLimits {
                serde_json::from_value(serde_json::json!({ name: number })).unwrap()
            };
            assert_eq!(own.lowered(&ask(most)).as_ref(), Ok(&own), "{name}");
            let lowered = own.lowered(&ask(most - 1)).unwrap();
            let lowered = serde_json::to_value(&lowered).unwrap();
            assert_eq!(lowered[field], most - 1, "{name}");
            let asked = most + 1;
            let refused = own.lowered(&ask(asked));
            assert_eq!(refused, Err(TooHigh { name, asked, most }), "{name}");
        }
        assert!(serde_json::from_str::<LowerLimits>(r#"{"stepz":1}"#).is_err());
    }
}
