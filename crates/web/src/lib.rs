//! The web console.
