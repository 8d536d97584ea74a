//! How the program is linked.

use std::env;

fn main() {
    let of_target = |name: &str| env::var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let is_shipped = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    // A program that may lie anywhere in memory has a megabyte of addresses to correct before it
    // begins, page by page, in memory of its own: a third of the time of a short command.
    if is_shipped && of_target("OS") == "linux" && of_target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
