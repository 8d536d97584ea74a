//! The spec workflow: whose file may choose who writes.

use std::path::Path;

use attache_host::config::{Config, Origin, Severity, SpeckitConfig, SpeckitWriter};

use crate::{environment, read};

const SPECKIT: &str = r#"
    [speckit]
    agent = ["claude", "-p"]
    writer = "agent"
    specs_directory = "docs/specs"
"#;

#[test]
fn a_speckit_table_says_everything_or_has_defaults() {
    let config = read(SPECKIT);
    assert_eq!(config.problems, []);
    let expected = SpeckitConfig {
        agent: Some(vec!["claude".to_owned(), "-p".to_owned()]),
        writer: SpeckitWriter::Agent,
        specs_directory: Some("docs/specs".to_owned()),
    };
    assert_eq!(config.speckit, expected);
    assert_eq!(read("[speckit]\n").speckit, SpeckitConfig::default());
}

/// S3: files that came with a folder never bring commands.
#[test]
fn a_file_that_came_with_a_folder_cannot_bring_an_agent() {
    let file = Path::new("/home/me/project/attache.toml");
    let config = Config::read(SPECKIT, file, Origin::Project, &environment());
    let expected = SpeckitConfig {
        specs_directory: Some("docs/specs".to_owned()),
        ..SpeckitConfig::default()
    };
    assert_eq!(config.speckit, expected);
    let problems: Vec<_> = config
        .problems
        .iter()
        .map(|it| (it.severity, it.key.as_str()))
        .collect();
    assert_eq!(
        problems,
        [
            (Severity::Warning, "speckit.agent"),
            (Severity::Warning, "speckit.writer")
        ]
    );
}
