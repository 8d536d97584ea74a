//! The way to an address: its proxy, its TLS, and the named reason when there is none.
//!
//! Knows neither MCP nor authorization; both go to their servers through here.

mod proxy;
mod quote;
pub mod tls;
mod unreachable;

pub use proxy::{Proxy, Route, Security};
pub use quote::quoted;
pub use unreachable::{Unreachable, UnreachableKind, innermost};
