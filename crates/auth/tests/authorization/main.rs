//! Authorization over real sockets: an authorization server and a protected server on the loopback
//! address, and the client as the transport drives it.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod connecting;
mod grants_and_proofs;
mod guard;
mod keeping;
mod logging_in;
mod renewal;
mod stopping;
mod web;
mod world;
