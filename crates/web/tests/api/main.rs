//! The API over real sockets, with real servers in real processes behind it.

mod calls;
mod events;
mod forms;
mod lists;
mod refusals;
mod routes;
mod support;
mod tls;
mod user;
