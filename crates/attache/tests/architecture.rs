//! ARCHITECTURE.md names only what exists.

use std::path::Path;

#[test]
fn every_path_that_the_architecture_page_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
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
