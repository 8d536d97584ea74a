//! The API over real sockets, with real servers in real processes behind it.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "everything here is a test"
)]

mod calls;
mod events;
mod forms;
mod lists;
mod refusals;
mod routes;
mod support;
mod tls;
mod user;
