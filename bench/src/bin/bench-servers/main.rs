//! The same work done by servers of two kits: calls of one small tool, over stdio and HTTP.
//!
//! `bench-servers` starts each server as a process of its own, loads all of them in turns with one
//! client that knows neither, and prints medians and ratios. `bench-servers serve KIT FACE` is
//! such a server.

mod http_load;
mod serve;
mod stdio_load;
mod table;

use std::process::ExitCode;

/// Whatever goes wrong here is told to a person, so words are enough.
pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["serve", kit, face] => serve::run(kit, face),
        [] => table::measure(table::Extent::Full),
        ["--quick"] => table::measure(table::Extent::Quick),
        _ => Err("usage: bench-servers [--quick]".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(cause) => {
            table::complain(&cause.to_string());
            ExitCode::FAILURE
        }
    }
}
