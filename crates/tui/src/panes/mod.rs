//! The panes, a file for each.

pub(crate) mod activity;
pub(crate) mod calls;
pub(crate) mod catalog;
pub(crate) mod log;
pub(crate) mod log_store;
pub(crate) mod rows;
pub(crate) mod servers;
