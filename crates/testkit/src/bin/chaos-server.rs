//! A scripted MCP server that misbehaves on demand. See `attache_testkit::chaos`.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match attache_testkit::chaos::run(std::env::args_os()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "chaos-server: {error}");
            ExitCode::from(2)
        }
    }
}
