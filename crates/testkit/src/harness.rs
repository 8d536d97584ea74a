//! Runs a table of tests and speaks like the standard harness, which a test binary with a `main` of
//! its own cannot have.
//!
//! A binary needs a `main` of its own when it is also started in another role: as the guardian of a
//! process, as a worker. Refuses to know these roles; they are played before [`run`].

#![expect(clippy::print_stdout, reason = "it reports like a test harness")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Instant;

/// A name and what it runs.
pub type Test = (&'static str, fn());

/// Lists functions as tests under their own names: `tests![module::function, …]`.
#[macro_export]
macro_rules! tests {
    ($($module:ident :: $name:ident),* $(,)?) => {
        [$((stringify!($name), $module::$name as fn())),*]
    };
}
#[doc(inline)]
pub use crate::tests;

/// Runs the tests that the command line selects, one after the other: such tests look at the
/// children, descriptors and threads of their own process.
pub fn run(tests: &[Test]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let exact = arguments.iter().any(|argument| argument == "--exact");
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with("--"))
        .collect();
    let selected = |name: &str| {
        filters.is_empty()
            || filters.iter().any(|filter| {
                if exact {
                    name == *filter
                } else {
                    name.contains(*filter)
                }
            })
    };
    let (chosen, rest): (Vec<&Test>, Vec<&Test>) =
        tests.iter().partition(|(name, _)| selected(name));
    if arguments.iter().any(|argument| argument == "--list") {
        for (name, _) in chosen {
            println!("{name}: test");
        }
        return ExitCode::SUCCESS;
    }

    println!("\nrunning {} tests", chosen.len());
    let began = Instant::now();
    let mut failed = Vec::new();
    for (name, test) in &chosen {
        let verdict = if catch_unwind(AssertUnwindSafe(test)).is_ok() {
            "ok"
        } else {
            failed.push(*name);
            "FAILED"
        };
        println!("test {name} ... {verdict}");
    }
    if !failed.is_empty() {
        println!("\nfailures:\n    {}", failed.join("\n    "));
    }
    println!(
        "\ntest result: {}. {} passed; {} failed; 0 ignored; 0 measured; {} filtered out; \
         finished in {:.2}s\n",
        if failed.is_empty() { "ok" } else { "FAILED" },
        chosen.len() - failed.len(),
        failed.len(),
        rest.len(),
        began.elapsed().as_secs_f64(),
    );
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
