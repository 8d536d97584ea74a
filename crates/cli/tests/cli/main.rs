//! The real binary against real servers.

#![expect(clippy::unwrap_used, reason = "everything here is a test")]

mod addresses;
#[cfg(target_os = "linux")]
mod attach;
mod builtin;
#[cfg(all(unix, feature = "chat"))]
mod chat;
mod completion;
mod configured;
mod doctor;
mod exchange;
mod failures;
#[cfg(unix)]
mod first_minutes;
mod forms;
mod harness;
mod help;
mod history;
mod hostile;
#[cfg(unix)]
mod many_servers;
#[cfg(all(unix, feature = "notes"))]
mod notes;
mod own_configuration;
#[cfg(target_os = "linux")]
mod privacy;
#[cfg(unix)]
mod project_files;
mod real_servers;
#[cfg(unix)]
mod recordings;
mod reference;
mod remembered;
mod remote;
#[cfg(unix)]
mod screen;
mod scripts;
mod serve;
mod serve_lisp;
mod several;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod speckit;
#[cfg(unix)]
mod tap;
#[cfg(unix)]
mod terminal;
mod trust;
#[cfg(all(unix, feature = "ui"))]
mod ui;
#[cfg(all(unix, feature = "ui"))]
mod ui_colours;
#[cfg(all(unix, feature = "ui"))]
mod ui_forms;
#[cfg(all(target_os = "linux", feature = "ui"))]
mod ui_hostile;
#[cfg(all(target_os = "linux", feature = "ui"))]
mod ui_soak;
#[cfg(all(unix, feature = "web"))]
mod web;
