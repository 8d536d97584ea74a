//! The terminal UI: servers, tools, calls, questions and spec workflows.
//!
//! This crate owns how they look in a terminal and what keys do. What is shown comes from a host,
//! its own or one in the background, and everything that takes time happens outside the loop that
//! draws.

pub mod answer;
pub mod component;
pub mod dialog;
pub mod editor;
pub mod keys;
mod measure;
pub mod specs;
#[cfg(test)]
mod testing;
pub mod theme;
