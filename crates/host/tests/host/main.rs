//! A host with real servers: chaos servers as processes, and a fake container engine.

mod cached;
mod calls;
mod containers;
mod isolation;
mod life;
mod lists;
mod observed;
mod support;
mod watches;
