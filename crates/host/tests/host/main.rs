//! A host with real servers: chaos servers as processes, and a fake container engine.

#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not reach helpers of integration tests"
)]

mod cached;
mod calls;
mod containers;
mod followed;
mod frames;
mod isolation;
mod life;
mod lists;
mod observed;
mod questions;
mod remote;
mod support;
mod watches;
