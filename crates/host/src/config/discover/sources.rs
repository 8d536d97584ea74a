//! The one table of other tools: where each keeps its servers, and in which form.

use std::path::{Path, PathBuf};

use crate::config::{Origin, Platform, UserEnvironment};

/// A tool whose configuration can be read.
#[derive(Debug)]
pub struct ToolSource {
    /// A short name.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// How its files are written.
    pub(super) syntax: Syntax,
    /// What stands in them.
    pub(super) shape: Shape,
    places: &'static [Place],
}

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML.
    Yaml,
}

/// Where the servers stand in a file, and what their keys are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// `mcpServers`, `servers`, or a bare map: the common form.
    Common,
    /// The common form, and the same under `projects.{folder}`.
    ClaudeCode,
    /// The common form, where `url` is HTTP+SSE and `httpUrl` Streamable HTTP.
    Gemini,
    /// `mcp_servers`, with keys of its own.
    Codex,
    /// `context_servers`.
    Zed,
    /// `extensions`, with `cmd`, `envs`, `uri`.
    Goose,
    /// `mcp`, with the command as a list.
    OpenCode,
    /// `mcpServers` as a list, each with a `name`.
    Continue,
    /// One server in `mcp` (seed 003), settings of the tool beside it.
    SpecTui,
}

/// Where a file may be.
#[derive(Debug)]
enum Place {
    /// Below the home folder.
    Home(&'static str),
    /// Below `~/.config`, also on macOS; on Windows below `%APPDATA%`.
    Config(&'static str),
    /// Below the platform's folder for settings.
    Settings(&'static str),
    /// Below `%APPDATA%`, on Windows only.
    WindowsSettings(&'static str),
    /// In the working folder or the nearest folder above it.
    Project(&'static str),
}

use Place::{Config, Home, Project, Settings, WindowsSettings};

/// All tools that are known (PEERS section 4).
pub static SOURCES: &[ToolSource] = &[
    ToolSource {
        name: "claude-desktop",
        title: "Claude Desktop",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[Settings("Claude/claude_desktop_config.json")],
    },
    ToolSource {
        name: "claude-code",
        title: "Claude Code",
        syntax: Syntax::Json,
        shape: Shape::ClaudeCode,
        places: &[Home(".claude.json"), Project(".mcp.json")],
    },
    ToolSource {
        name: "cursor",
        title: "Cursor",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[Home(".cursor/mcp.json"), Project(".cursor/mcp.json")],
    },
    ToolSource {
        name: "vscode",
        title: "VS Code",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[
            Settings("Code/User/mcp.json"),
            Settings("Code - Insiders/User/mcp.json"),
            Settings("VSCodium/User/mcp.json"),
            Project(".vscode/mcp.json"),
        ],
    },
    ToolSource {
        name: "copilot-cli",
        title: "Copilot CLI",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[Home(".copilot/mcp-config.json")],
    },
    ToolSource {
        name: "codex",
        title: "Codex",
        syntax: Syntax::Toml,
        shape: Shape::Codex,
        places: &[Home(".codex/config.toml"), Project(".codex/config.toml")],
    },
    ToolSource {
        name: "gemini-cli",
        title: "Gemini CLI",
        syntax: Syntax::Json,
        shape: Shape::Gemini,
        places: &[
            Home(".gemini/settings.json"),
            Project(".gemini/settings.json"),
        ],
    },
    ToolSource {
        name: "zed",
        title: "Zed",
        syntax: Syntax::Json,
        shape: Shape::Zed,
        places: &[Config("zed/settings.json"), Project(".zed/settings.json")],
    },
    ToolSource {
        name: "goose",
        title: "Goose",
        syntax: Syntax::Yaml,
        shape: Shape::Goose,
        places: &[
            Config("goose/config.yaml"),
            WindowsSettings("Block/goose/config/config.yaml"),
        ],
    },
    ToolSource {
        name: "cline",
        title: "Cline",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[
            Settings(
                "Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            Settings(
                "Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
            ),
            Settings(
                "VSCodium/User/globalStorage/saoudrizwan.claude-dev/settings/\
                 cline_mcp_settings.json",
            ),
        ],
    },
    ToolSource {
        name: "windsurf",
        title: "Windsurf",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[Home(".codeium/windsurf/mcp_config.json")],
    },
    ToolSource {
        name: "opencode",
        title: "OpenCode",
        syntax: Syntax::Json,
        shape: Shape::OpenCode,
        places: &[
            Config("opencode/opencode.json"),
            Config("opencode/opencode.jsonc"),
            Project("opencode.json"),
            Project("opencode.jsonc"),
        ],
    },
    ToolSource {
        name: "continue",
        title: "Continue",
        syntax: Syntax::Yaml,
        shape: Shape::Continue,
        places: &[Home(".continue/config.yaml")],
    },
    ToolSource {
        name: "lm-studio",
        title: "LM Studio",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[Home(".lmstudio/mcp.json")],
    },
    ToolSource {
        name: "kiro",
        title: "Kiro",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[
            Home(".kiro/settings/mcp.json"),
            Project(".kiro/settings/mcp.json"),
        ],
    },
    ToolSource {
        name: "inspector",
        title: "MCP Inspector",
        syntax: Syntax::Json,
        shape: Shape::Common,
        places: &[Home(".mcp-inspector/mcp.json")],
    },
    ToolSource {
        name: "spec-tui",
        title: "spec-tui",
        syntax: Syntax::Toml,
        shape: Shape::SpecTui,
        places: &[Home(".spec-tui.toml"), Project(".spec-tui.toml")],
    },
];

/// A file of a tool that may exist.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) file: PathBuf,
    pub(super) origin: Origin,
    /// The folder of the project, for a project's file.
    pub(super) project: Option<PathBuf>,
}

impl ToolSource {
    /// The files to look at, the user's own first.
    pub(super) fn candidates(&self, environment: &UserEnvironment) -> Vec<Candidate> {
        let mut candidates: Vec<Candidate> = Vec::new();
        for place in self.places {
            let own = |base: Option<PathBuf>, path: &str| {
                base.map(|base| Candidate {
                    file: base.join(path),
                    origin: Origin::User,
                    project: None,
                })
            };
            let windows = environment.platform() == Platform::Windows;
            let candidate = match place {
                Home(path) => own(environment.home(), path),
                Config(path) => own(shared_config(environment), path),
                Settings(path) => own(environment.settings_folder(), path),
                WindowsSettings(path) if windows => own(environment.settings_folder(), path),
                WindowsSettings(_) => None,
                Project(path) => in_project(path, environment),
            };
            // Below the home folder a user's own file must not pass for a project's.
            let known = |file: &Path| candidates.iter().any(|known| known.file == file);
            if let Some(candidate) = candidate
                && !known(&candidate.file)
            {
                candidates.push(candidate);
            }
        }
        candidates
    }
}

/// `~/.config` where Attaché's own folder is too.
fn shared_config(environment: &UserEnvironment) -> Option<PathBuf> {
    Some(environment.config_folder()?.parent()?.to_path_buf())
}

fn in_project(path: &str, environment: &UserEnvironment) -> Option<Candidate> {
    let home = environment.home();
    let working = environment.working_folder();
    let folders = working
        .ancestors()
        .take_while(|folder| home.as_deref() != Some(*folder) || *folder == working);
    let mut folders = folders.map(Path::to_path_buf);
    let project = folders.find(|folder| folder.join(path).is_file())?;
    Some(Candidate {
        file: project.join(path),
        origin: Origin::Project,
        project: Some(project),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_follow_the_platform() {
        let home = |platform| {
            let variables = [
                ("HOME".into(), "/home/me".into()),
                ("USERPROFILE".into(), "/users/me".into()),
                ("APPDATA".into(), "/users/me/AppData".into()),
            ];
            UserEnvironment::new(variables, "/nowhere").on(platform)
        };
        for (name, platform, expected) in [
            (
                "claude-desktop",
                Platform::Linux,
                "/home/me/.config/Claude/claude_desktop_config.json",
            ),
            (
                "claude-desktop",
                Platform::MacOs,
                "/home/me/Library/Application Support/Claude/claude_desktop_config.json",
            ),
            (
                "claude-desktop",
                Platform::Windows,
                "/users/me/AppData/Claude/claude_desktop_config.json",
            ),
            ("zed", Platform::MacOs, "/home/me/.config/zed/settings.json"),
            (
                "zed",
                Platform::Windows,
                "/users/me/AppData/zed/settings.json",
            ),
            ("codex", Platform::Windows, "/users/me/.codex/config.toml"),
        ] {
            let source = SOURCES.iter().find(|source| source.name == name).unwrap();
            let candidates = source.candidates(&home(platform));
            assert_eq!(candidates[0].file, Path::new(expected), "{name}");
        }
        let bare = UserEnvironment::new([], "/nowhere").on(Platform::Linux);
        for source in SOURCES {
            assert_eq!(source.candidates(&bare), [], "{}", source.name);
        }
    }
}
