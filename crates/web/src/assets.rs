//! The files of the page, made ready once at start: named by what is in them, and compressed.
//!
//! The build script has joined and shrunk them (see `joining.rs`), so that the page costs few
//! requests and few bytes, and its sources are plain modules that need no tools.

use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

const PAGE: &str = include_str!("../assets/index.html");
const ICON: &str = include_str!("../assets/icon.svg");
const SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/app.js"));
const STYLE: &str = include_str!(concat!(env!("OUT_DIR"), "/style.css"));

/// A file as it is served.
#[derive(Debug)]
pub(crate) struct Asset {
    /// Its path in the address.
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) plain: Bytes,
    pub(crate) gzip: Bytes,
    /// Its name changes with its content, so that it never has to be asked for again.
    pub(crate) immutable: bool,
}

/// All files of the page.
pub(crate) fn assets() -> Vec<Asset> {
    let script = named("app", "js", "text/javascript; charset=utf-8", SCRIPT);
    let style = named("style", "css", "text/css; charset=utf-8", STYLE);
    let icon = named("icon", "svg", "image/svg+xml", ICON);
    let page = PAGE
        .replace("{{app.js}}", &script.path)
        .replace("{{style.css}}", &style.path)
        .replace("{{icon.svg}}", &icon.path);
    let page = asset(
        "/".to_owned(),
        "text/html; charset=utf-8",
        page.into(),
        false,
    );
    vec![page, script, style, icon]
}

fn named(stem: &str, ending: &str, content_type: &'static str, text: &'static str) -> Asset {
    let digest = Sha256::digest(text.as_bytes());
    let hash: String = digest
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect();
    asset(
        format!("/assets/{stem}.{hash}.{ending}"),
        content_type,
        Bytes::from_static(text.as_bytes()),
        true,
    )
}

fn asset(path: String, content_type: &'static str, plain: Bytes, immutable: bool) -> Asset {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing into memory does not fail.
    let written = encoder.write_all(&plain).and_then(|()| encoder.finish());
    Asset {
        path,
        content_type,
        gzip: written.unwrap_or_default().into(),
        plain,
        immutable,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::joining::{self, MODULES, STYLES};
    use std::collections::{HashMap, HashSet};

    /// What all files of the page have, as they are embedded and before they are compressed.
    const MOST_BYTES: usize = 150_000;
    const MOST_LINES: usize = 300;

    /// The sources by their names.
    fn sources(names: &[&'static str]) -> Vec<(&'static str, String)> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
        let read =
            |name: &&'static str| (*name, std::fs::read_to_string(folder.join(name)).unwrap());
        names.iter().map(read).collect()
    }

    /// The name that a line declares at the top level of a module.
    fn declared(line: &str) -> Option<&str> {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let words = ["function ", "class ", "const ", "let "];
        let rest = words.iter().find_map(|word| line.strip_prefix(word))?;
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_')?;
        Some(&rest[..end])
    }

    #[test]
    fn names_are_unique_over_all_modules_and_hide_nothing_of_the_browser() {
        let modules = sources(MODULES);
        let browser = [
            "close", "event", "find", "focus", "history", "length", "location", "name",
        ];
        let browser = browser
            .into_iter()
            .chain(["open", "origin", "print", "prompt", "status", "stop", "top"]);
        let mut seen: HashMap<&str, &str> = browser.map(|name| (name, "the browser")).collect();
        for (file, text) in &modules {
            for name in text
                .lines()
                .filter_map(declared)
                .filter(|name| !name.is_empty())
            {
                let before = seen.insert(name, file);
                assert_eq!(before, None, "{name} of {file} is also declared elsewhere");
            }
        }
    }

    #[test]
    fn a_module_imports_only_what_stands_before_it_and_is_exported_there() {
        let modules = sources(MODULES);
        let mut exported: HashMap<String, HashSet<&str>> = HashMap::new();
        for (file, text) in &modules {
            for line in text.lines().filter(|line| line.starts_with("import ")) {
                let parts = line
                    .strip_prefix("import { ")
                    .and_then(|rest| rest.split_once(" } from \"./"));
                let (names, from) = parts.unwrap_or_else(|| panic!("{file}: {line}"));
                let from = from.trim_end_matches("\";");
                let theirs = exported
                    .get(from)
                    .unwrap_or_else(|| panic!("{file} stands before {from}"));
                for name in names.split(", ") {
                    assert!(theirs.contains(name), "{file}: {from} exports no {name}");
                    let uses = text.matches(name).count();
                    assert!(uses > 1, "{file} imports {name} and does not use it");
                }
            }
            let names = text
                .lines()
                .filter(|line| line.starts_with("export "))
                .filter_map(declared);
            exported.insert((*file).to_owned(), names.collect());
        }
    }

    /// S13: nothing that would read text as a program, and nothing that the page's policy refuses.
    #[test]
    fn no_module_reads_text_as_html_or_as_a_program() {
        let modules = sources(MODULES);
        let banned = [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "\"style\"",
            "http://",
            "https://",
        ];
        for (file, text) in &modules {
            let count = text.lines().count();
            assert!(count <= MOST_LINES, "{file} has {count} lines");
            for word in banned {
                assert!(!text.contains(word), "{file} has {word}");
            }
        }
        assert!(!PAGE.contains("style=") && !PAGE.contains("onload") && !PAGE.contains("//"));
    }

    #[test]
    fn what_is_embedded_is_what_is_written() {
        let (modules, sheets) = (sources(MODULES), sources(STYLES));
        let texts = |files: &[(&'static str, String)]| -> Vec<String> {
            files.iter().map(|(_, text)| text.clone()).collect()
        };
        let (modules, sheets) = (texts(&modules), texts(&sheets));
        assert!(joining::script(modules.iter().map(String::as_str)) == SCRIPT);
        assert!(joining::style(sheets.iter().map(String::as_str)) == STYLE);
    }

    #[test]
    fn the_page_is_small_and_names_its_files() {
        let assets = assets();
        let bytes: usize = assets.iter().map(|asset| asset.plain.len()).sum();
        assert!(bytes <= MOST_BYTES, "{bytes} bytes");
        let embedded = [PAGE, ICON, SCRIPT, STYLE]
            .map(str::len)
            .iter()
            .sum::<usize>();
        assert!(embedded <= MOST_BYTES, "{embedded} bytes");
        assert!(assets.len() <= 8);
        let page = String::from_utf8(assets[0].plain.to_vec()).unwrap();
        assert!(!page.contains("{{"), "{page}");
        for asset in &assets[1..] {
            assert!(page.contains(&asset.path) && asset.immutable);
        }
    }
}
