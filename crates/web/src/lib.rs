//! The web console: one page, and the HTTP API that it stands on.
//!
//! A [`Server`] shows one host to those who have its token: every server of it, every tool, resource
//! and prompt, what is asked, and what happens, live. It names no command and adds no server (S2).
//! What forms and answers are is the business of `attache-view`; what happens to calls is the
//! host's.

mod answer;
mod asked;
mod assets;
mod calling;
mod calls;
mod console;
mod copy;
mod error;
mod form_edits;
mod forms;
mod guard;
mod history;
#[cfg(test)]
mod joining;
mod lists;
mod openapi;
mod opening;
mod page;
mod pins;
mod questions;
mod reading;
mod recent;
mod routes;
mod serve;
mod servers;
mod streams;
mod subscriptions;
mod table;
mod tls;
mod token;
mod tools;

use std::time::{SystemTime, UNIX_EPOCH};

pub use console::KEPT_EVENTS;
pub use serve::{Exposure, Listeners, Server};
pub use tls::{Tls, TlsError};
pub use token::{NoRandomness, Token, WeakToken};

/// Milliseconds since 1970.
fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
