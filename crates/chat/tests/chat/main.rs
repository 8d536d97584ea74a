//! A conversation with a scripted model and real servers.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod calls;
mod context;
mod degraded;
mod hostile;
mod odd;
mod sampling;
mod support;
mod wire;
