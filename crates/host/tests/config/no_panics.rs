//! No content of any file panics, and what was read can be written again.

use std::path::Path;

use attache_host::config::discover::{SOURCES, read_text_of};
use attache_host::config::{ExportForm, OnClash, export, import};
use proptest::prelude::*;

use crate::discovery::HOME;
use crate::read;

/// Texts made of the pieces that the formats are made of, so that many nearly parse.
fn nearly() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "[servers.a]\n",
        "[mcp]\n",
        "[servers]\n",
        "[[servers.a]]\n",
        "command",
        "url",
        "args",
        "env",
        "timeouts",
        "policy",
        "=",
        " = ",
        "'x'",
        "\"${",
        "}\"",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "5",
        "-1",
        "1e999",
        "true",
        "null",
        ".",
        ":",
        ": ",
        "- ",
        "  ",
        "é",
        "\u{0}",
        "#",
        "//",
        "/*",
        "*/",
        "mcpServers",
        "\"mcpServers\":",
        "\"a\":",
        "\"command\":",
        "\"x\"",
        "\"url\":",
        "extensions:\n",
        "&a ",
        "*a ",
        "!!str ",
        "|\n",
        "'",
        "\"",
        "\\",
        "1979-05-27",
    ]);
    prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat())
}

/// A real file with one piece of it replaced.
fn damaged() -> impl Strategy<Value = String> {
    let files: Vec<&'static str> = HOME.iter().map(|(_, text)| *text).collect();
    let damage = ("[\\PC\n]{0,4}", any::<prop::sample::Index>(), 0_usize..8);
    (prop::sample::select(files), damage).prop_map(|(text, (piece, at, length))| {
        let characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        let end = (at + length).min(characters.len());
        let mut damaged: String = characters[..at].iter().collect();
        damaged.push_str(&piece);
        damaged.extend(&characters[end..]);
        damaged
    })
}

fn check(text: &str) {
    let config = read(text);
    for problem in &config.problems {
        assert!(problem.line >= 1 && problem.column >= 1, "{problem}");
    }
    export(text, ExportForm::VsCode);
    for source in SOURCES {
        let discovery = read_text_of(source, Path::new("/f"), text);
        let imported = import("", &discovery.servers, OnClash::Rename).unwrap();
        let again = import(&imported.text, &discovery.servers, OnClash::Rename).unwrap();
        assert_eq!(again.text, imported.text, "{} of {text:?}", source.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn nearly_right_texts_do_not_panic(text in nearly()) {
        check(&text);
    }

    #[test]
    fn damaged_files_do_not_panic(text in damaged()) {
        check(&text);
    }

    #[test]
    fn any_text_does_not_panic(text in "\\PC{0,60}") {
        check(&text);
    }
}
