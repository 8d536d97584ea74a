//! A host that runs in the background, and how commands use its servers.
//!
//! `attache up` keeps the configured servers running in a process of the user; a command that would
//! start them asks that process instead, over a socket that only the user can reach. What may be
//! shared and what not is decided before anything is asked: see [`place`]. A command that finds no
//! such process, or not the right one, starts its servers as if there were no such thing.
//!
//! The protocol is lines of JSON, described in docs/attach.md.

mod client;
mod connection;
mod place;
mod serve;
mod socket;
mod wire;

pub(crate) use client::{Answers, Attached, RemoteCall};
pub(crate) use place::Place;
pub(crate) use serve::Service;
pub(crate) use socket::{is_held, listen};
