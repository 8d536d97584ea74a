//! What the files of a project tell about how it is built.

use std::path::Path;

/// Where code and tests lie, and in which language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Layout {
    /// The language, if a file tells it.
    pub(super) language: Option<&'static str>,
    /// How its tests are run.
    pub(super) testing: Option<&'static str>,
    extension: &'static str,
    separator: char,
}

const LANGUAGES: [(&str, Layout); 6] = [
    ("Cargo.toml", layout("Rust", "cargo test", ".rs", '_')),
    ("go.mod", layout("Go", "go test ./...", ".go", '_')),
    ("pyproject.toml", layout("Python", "pytest", ".py", '_')),
    ("setup.py", layout("Python", "pytest", ".py", '_')),
    (
        "tsconfig.json",
        layout("TypeScript", "npm test", ".ts", '-'),
    ),
    ("package.json", layout("JavaScript", "npm test", ".js", '-')),
];

const fn layout(
    language: &'static str,
    testing: &'static str,
    extension: &'static str,
    separator: char,
) -> Layout {
    Layout {
        language: Some(language),
        testing: Some(testing),
        extension,
        separator,
    }
}

impl Layout {
    /// Looks at the files in a project's folder.
    pub(in super::super) fn of(root: &Path) -> Self {
        let found = LANGUAGES.iter().find(|(file, _)| root.join(file).is_file());
        found.map_or(
            Self {
                language: None,
                testing: None,
                extension: "",
                separator: '-',
            },
            |(_, layout)| *layout,
        )
    }

    /// Where the code of a part belongs.
    pub(super) fn source(self, part: &str) -> String {
        self.path("src", part)
    }

    /// Where its tests belong.
    pub(super) fn tests(self, part: &str) -> String {
        self.path("tests", part)
    }

    fn path(self, folder: &str, part: &str) -> String {
        let part = part.replace('-', &self.separator.to_string());
        match self.extension {
            "" => format!("{folder}/{part}/"),
            extension => format!("{folder}/{part}{extension}"),
        }
    }
}
