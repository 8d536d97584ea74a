//! Attaché.
