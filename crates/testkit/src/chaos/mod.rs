//! The chaos server: a real process that speaks MCP over standard streams and
//! misbehaves exactly as its script says.
//!
//! A test describes a server with [`Script`], starts it from the resulting
//! [`Launch`] in whatever way it tests, and reads back from the launch what the
//! server received and did. Without rules the server is small and correct; a
//! rule replaces its behaviour for the messages that [`When`] names by a list
//! of [`Action`]s.
//!
//! # The correct server
//!
//! Tools `echo {message}`, `add {a, b}`, `sleep {ms, steps?}` (progress after
//! each step), `big {bytes}`, `side_effect {key}`, `fail {message?}`,
//! `touch {uri}` (a resource changed), `change {list}` (a list changed), `log
//! {level, message}`, and every tool that a rule names. Resources `chaos://text`,
//! `chaos://binary`, template `chaos://item/{number}`. Prompt `greet {name}`.
//! Completion over four names. Subscriptions, log levels, `ping`, cancellation
//! and tasks in the form of the era. It exits at the end of input.
//!
//! # Limits
//!
//! What a rule says between two waits leaves in one write up to 256 KiB. At
//! most 64 floods run beside each other. No process outlives [`LINGER_LIMIT`]
//! once its input has ended.

mod action;
mod catalog;
mod clock;
mod emit;
mod engine;
mod grandchild;
mod journal;
mod launch;
mod output;
mod platform;
mod play;
mod reply;
mod request;
mod script;
mod session;
mod tasks;
mod tools;
mod usual;
mod usual_tasks;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use action::{Action, AfterAsking, Ask, Grandchild, ProcessAct, Signal, Until};
pub use emit::{Emit, LineEnd, Writing};
pub use launch::Launch;
pub use reply::{
    Body, Cursors, InputRounds, Pages, Reply, ReplyId, RpcError, TaskEnding, TaskPlan,
};
pub use script::{BeforeInitialize, Era, Launcher, Script, When};

/// The revision of the modern era.
pub const MODERN_REVISION: &str = "2026-07-28";
/// The newest revision with a handshake.
pub const NEWEST_LEGACY_REVISION: &str = "2025-11-25";
/// All revisions, oldest first.
pub const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    NEWEST_LEGACY_REVISION,
    MODERN_REVISION,
];

/// How long a process of this kit lives on when nothing ends it.
pub const LINGER_LIMIT: Duration = Duration::from_secs(120);

/// The script's file name within a launch's folder.
const SCRIPT: &str = "script.json";
/// Makes the process the server itself even if the script has a launcher.
const SERVE_ARGUMENT: &str = "--serve";

/// The whole of the `chaos-server` binary: reads the script from the folder
/// named by the arguments and serves standard input and output.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> io::Result<()> {
    let mut arguments = arguments.into_iter().skip(1);
    let first = arguments.next().unwrap_or_default();
    let second = arguments.next();
    if first == grandchild::LINGER_ARGUMENT {
        let described = second.unwrap_or_default();
        return grandchild::linger(&described.to_string_lossy());
    }
    let folder = PathBuf::from(first);
    let script: Script = serde_json::from_slice(&std::fs::read(folder.join(SCRIPT))?)?;
    if script.launcher != Launcher::None && second.is_none() {
        return launch::stand_between(script.launcher, &folder);
    }
    match engine::serve(script, &folder)? {}
}

/// The file that stands for an open gate.
fn gate_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("gate-{name}"))
}
