//! How much a schema may ask for. Schemas come from strangers, so each of these is met on purpose by
//! some of them (S14); what lies beyond is left unchecked, and told.

/// How many schemas one check applies, unless more effort is allowed.
pub const MAX_CHECK_STEPS: usize = 100_000;
/// How deep applied schemas nest in one check.
pub const MAX_CHECK_DEPTH: usize = 200;
/// How many problems one check tells.
pub const MAX_PROBLEMS: usize = 100;
/// The longest pattern that is read, in bytes.
pub const MAX_PATTERN_BYTES: usize = 2_000;
/// How many patterns of one schema are read.
pub const MAX_PATTERNS: usize = 500;
/// How many steps one match of a pattern takes.
pub const MAX_MATCH_STEPS: usize = 1_000_000;
/// So many steps of a match cost as much as applying one schema.
pub(crate) const MATCH_STEPS_PER_STEP: usize = 16;
