//! ARCHITECTURE.md names only what exists.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How many functions a call may pass from the library's surface to the write, and in how many files.
const MOST_FUNCTIONS: usize = 12;
const MOST_FILES: usize = 5;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn page() -> std::io::Result<String> {
    std::fs::read_to_string(root().join("ARCHITECTURE.md"))
}

/// The rows "| `Type::function` | `file` | what it does |" of the page.
fn functions_of_a_call(page: &str) -> Vec<(&str, &str, &str)> {
    page.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
            let (type_name, function) = cells.next()?.strip_suffix('`')?.split_once("::")?;
            let file = cells.next()?.strip_prefix('`')?.strip_suffix('`')?;
            Some((type_name, function, file))
        })
        .collect()
}

/// Whether an `impl` block of the type holds the function.
fn defines(source: &str, type_name: &str, function: &str) -> bool {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut of_type = false;
    source.lines().any(|line| {
        if line.starts_with("impl") {
            of_type = line.split(|it| !is_word(it)).any(|word| word == type_name);
        } else if line.starts_with('}') {
            of_type = false;
        }
        let name = line.split_once("fn ").map(|(_, after)| after);
        let name = name.and_then(|after| after.split(|it| !is_word(it)).next());
        of_type && name == Some(function)
    })
}

#[test]
fn the_functions_on_the_way_of_a_call_exist_and_are_few() {
    let page = page().unwrap();
    let functions = functions_of_a_call(&page);
    assert!(functions.len() > 5, "the page lists them: {functions:?}");
    assert!(functions.len() <= MOST_FUNCTIONS, "{functions:?}");
    let files: BTreeSet<&str> = functions.iter().map(|(_, _, file)| *file).collect();
    assert!(files.len() <= MOST_FILES, "{files:?}");
    for (type_name, function, file) in functions {
        let source = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(
            defines(&source, type_name, function),
            "{file} has no {type_name}::{function}"
        );
    }
}

#[test]
fn a_function_is_looked_for_in_the_blocks_of_its_type() {
    let source = "impl Outlet for Writer {\n    fn send(&self) {\n    }\n}\n\nfn close() {\n}\n";
    for (type_name, function, expected) in [
        ("Writer", "send", true),
        ("Outlet", "send", true),
        ("Write", "send", false),
        ("Writer", "close", false),
        ("Writer", "sen", false),
    ] {
        let found = defines(source, type_name, function);
        assert_eq!(found, expected, "{type_name}::{function}");
    }
}

#[test]
fn every_path_that_the_architecture_page_names_exists() {
    let (root, page) = (root(), page().unwrap());
    let named: Vec<&str> = page
        .split(|character: char| character.is_whitespace() || "`()|,;:".contains(character))
        .map(|word| word.trim_end_matches('.'))
        .filter(|word| {
            ["crates/", "bench/", "fuzz/", "scripts/"]
                .iter()
                .any(|top| word.starts_with(top))
        })
        .collect();
    assert!(named.len() > 15, "the page names its files: {named:?}");
    let missing: Vec<_> = named
        .iter()
        .filter(|path| !root.join(path).exists())
        .collect();
    assert!(missing.is_empty(), "missing: {missing:?}");
}

#[test]
fn every_crate_says_what_it_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut crates = 0;
    for folder in std::fs::read_dir(root).unwrap() {
        let file = folder.unwrap().path().join("Cargo.toml");
        let Ok(manifest) = std::fs::read_to_string(&file) else {
            continue;
        };
        crates += 1;
        for key in ["description = ", "keywords = ", "categories = "] {
            let says = manifest.lines().any(|line| line.starts_with(key));
            assert!(says, "{} has no {key}", file.display());
        }
    }
    assert!(crates > 10, "{crates}");
}
