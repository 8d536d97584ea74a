//! A host that runs in the background, and how other programs use its servers.
//!
//! `attache up` keeps the configured servers running in a process of the user ([`Service`]). A
//! command that would start them asks that process instead, and a face follows it, over a socket
//! that only the user can reach ([`RemoteHost`]). What may be shared and what not is decided before
//! anything is asked: see [`Place`]. A program that finds no such process, or not the right one,
//! starts its servers as if there were no such thing.
//!
//! The protocol is lines of JSON, described in docs/attach.md. How failures are put into words, and
//! how anything is drawn, is not known here.

mod calls;
mod client;
mod connection;
mod failure;
mod inbox;
mod link;
mod place;
mod requests;
mod service;
mod socket;
mod streams;
mod subscriptions;
mod wire;

pub use calls::{CallUpdate, PendingCall};
pub use client::{Found, RemoteHost, RemoteRead};
pub use failure::{Explain, RemoteError, RemoteFailure};
pub use place::Place;
pub use service::Service;
pub use socket::{Listener, holder, is_held, listen};
pub use streams::{Position, RemoteEvents, RemoteFrames, RemoteWatch};
pub use wire::{KnownServer, RemoteCall, Welcome};
