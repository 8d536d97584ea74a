//! Makes one script and one style sheet of the files under `assets`, smaller than they are written.

#[path = "src/joining.rs"]
mod joining;

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=assets");
    println!("cargo::rerun-if-changed=src/joining.rs");
    let script = joining::script(read(joining::MODULES)?.iter().map(String::as_str));
    let style = joining::style(read(joining::STYLES)?.iter().map(String::as_str));
    let out = env::var_os("OUT_DIR").ok_or(Error::from(ErrorKind::NotFound))?;
    let out = PathBuf::from(out);
    fs::write(out.join("app.js"), script)?;
    fs::write(out.join("style.css"), style)
}

fn read(names: &[&str]) -> io::Result<Vec<String>> {
    let file = |name: &&str| fs::read_to_string(Path::new("assets").join(name));
    names.iter().map(file).collect()
}
