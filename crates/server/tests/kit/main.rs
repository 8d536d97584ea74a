//! The kit from outside: over memory, over real processes, over real sockets.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod answers;
mod asking;
mod both_eras;
mod changes;
mod ending;
mod handlers;
mod http;
mod http_client;
mod http_limits;
mod http_streams;
mod kept_lists;
mod limits;
mod opening;
mod seed_002;
mod support;
mod tasks;
