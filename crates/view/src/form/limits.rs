//! How much a schema may ask for. Schemas come from servers, so each of these is met on purpose by
//! some of them (S14); beyond a limit a part of the form becomes a JSON editor, or opens on demand,
//! or is left to the server to check, and says so.

/// How many fields one expansion makes; further ones are deferred.
pub const MAX_FIELDS: usize = 2_000;
/// How deep fields nest in one expansion; deeper ones are deferred.
pub const MAX_FIELD_DEPTH: usize = 12;
/// How many values a picker offers.
pub const MAX_CHOICES: usize = 10_000;
/// How many items a list has as fields.
pub const MAX_LIST_ITEMS: usize = 1_000;
/// How many schemas are laid over each other for one field.
pub const MAX_LAYERS: usize = 64;
/// How many variants one field has.
pub const MAX_VARIANTS: usize = 100;
