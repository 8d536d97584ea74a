//! Runs a Scheme file and prints its output, its value and what it cost.
//!
//! `run [--steps N] [--heap BYTES] [--depth N] FILE`

use std::process::ExitCode;

use attache_lisp::{Limits, Session, Uninterrupted};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for the terminal"
)]
fn main() -> ExitCode {
    let mut limits = Limits::default();
    let mut file = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse::<u64>().ok());
        let size = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
        match argument.as_str() {
            "--steps" => limits.steps = number().unwrap_or(limits.steps),
            "--heap" => limits.heap = size(number()).unwrap_or(limits.heap),
            "--depth" => limits.depth = size(number()).unwrap_or(limits.depth),
            _ => file = Some(argument),
        }
    }
    let Some(file) = file else {
        eprintln!("usage: run [--steps N] [--heap BYTES] [--depth N] FILE");
        return ExitCode::from(2);
    };
    let source = match std::fs::read_to_string(&file) {
        Ok(source) => source,
        Err(error) => {
            eprintln!("{file}: {error}");
            return ExitCode::FAILURE;
        }
    };
    let start = cpu_ms();
    let mut session = Session::new(limits);
    let ready = cpu_ms();
    match session.evaluate(&source, None, &Uninterrupted) {
        Ok(outcome) => {
            let end = cpu_ms();
            print!("{}", outcome.output);
            println!("{}", outcome.value);
            eprintln!(
                "{:.1} ms of CPU, start {:.1} ms, {} steps, {} KiB of heap at most",
                end - ready,
                ready - start,
                outcome.steps,
                outcome.heap_peak / 1024
            );
            ExitCode::SUCCESS
        }
        Err(failure) => {
            print!("{}", failure.output);
            eprintln!("{failure}");
            ExitCode::FAILURE
        }
    }
}

/// Milliseconds of processor time where the system tells them, of wall time elsewhere.
fn cpu_ms() -> f64 {
    static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    std::fs::read_to_string("/proc/self/schedstat")
        .ok()
        .and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok())
        .map_or_else(
            || start.elapsed().as_secs_f64() * 1000.0,
            |nanoseconds| nanoseconds / 1e6,
        )
}
