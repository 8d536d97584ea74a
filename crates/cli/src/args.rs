//! The raw command line: every command and option, with its help, in one table.
//!
//! Only what clap can say is said here. What the words mean is decided in `invocation`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Command, CommandFactory as _, Parser, Subcommand, ValueEnum};

use crate::commands::Reference;

const AFTER_HELP: &str = "\
Servers come from attache.toml: the one that --config names, the nearest in this folder or above
it, or the one in your configuration folder. A name or a URL in place of SERVER chooses one, and
`-- COMMAND` starts one on the spot. Without any of these there is a small server inside this
program to try things on.

Exit codes: 0 done, 1 unexpected, 2 usage or configuration, 3 authorization needed, 4 server
unreachable, 5 the tool failed or does not exist, 6 timed out, 7 cancelled or refused, 8 outcome
unknown.

Example:
  attache tools -- uvx mcp-server-time
  attache call echo message=hi";

/// Talk to any MCP server from the shell.
#[derive(Debug, Parser)]
#[command(
    name = "attache",
    version,
    disable_help_subcommand = true,
    override_usage = "attache [OPTIONS] [VERB] [-- <COMMAND>...]",
    subcommand_help_heading = "Verbs",
    after_help = AFTER_HELP
)]
pub(crate) struct RawArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RawCommand>,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
}

/// The options of all verbs that mean nothing to `serve`, which starts no server and asks none.
pub(crate) const NOT_FOR_SERVE: [&str; 9] = [
    "timeout",
    "config",
    "partial",
    "server_option",
    "start_timeout",
    "env",
    "cwd",
    "log_level",
    "dialect",
];

impl RawArgs {
    /// The command line as it is parsed, with the help of each option for the verb it stands at.
    pub(crate) fn table() -> Command {
        let root = Self::command();
        let own = root.get_arguments().filter_map(|argument| {
            let own = argument.clone().help_heading(None::<&str>);
            match argument.get_id().as_str() {
                "era" => Some(own.help("Speak this era only; auto speaks both")),
                "protocol" => Some(own.help("Speak this revision only, like 2025-06-18")),
                id if NOT_FOR_SERVE.contains(&id) => Some(own.hide(true)),
                _ => None,
            }
        });
        let own: Vec<_> = own.collect();
        root.mut_subcommand("serve", |serve| serve.args(own))
    }
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct CommonArgs {
    /// Print one JSON document; failures are JSON on stderr
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Show the server's stderr and log, and more about failures
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
    /// How long one request may take, like 500ms, 30s or 5m
    #[arg(long, global = true, value_name = "TIME")]
    pub(crate) timeout: Option<String>,
    /// Take this configuration file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Be content if only some of the servers answer
    #[arg(long, global = true)]
    pub(crate) partial: bool,
    /// The server to talk to: its name or its URL
    #[arg(
        long = "server",
        global = true,
        value_name = "SERVER",
        help_heading = "Server"
    )]
    pub(crate) server_option: Option<String>,
    /// How long the server may take to start, like 30s
    #[arg(long, global = true, value_name = "TIME", help_heading = "Server")]
    pub(crate) start_timeout: Option<String>,
    /// Set a variable in the server's environment; may be repeated
    #[arg(
        long,
        global = true,
        value_name = "NAME=VALUE",
        help_heading = "Server"
    )]
    pub(crate) env: Vec<String>,
    /// Start the server in this folder
    #[arg(long, global = true, value_name = "FOLDER", help_heading = "Server")]
    pub(crate) cwd: Option<PathBuf>,
    /// Show the server's log from this level on, like info
    #[arg(long, global = true, value_name = "LEVEL", help_heading = "Server")]
    pub(crate) log_level: Option<String>,
    /// Which protocol era to speak; auto finds out
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "auto|modern|legacy",
        hide_possible_values = true,
        help_heading = "Server"
    )]
    pub(crate) era: Option<RawEra>,
    /// The protocol revision to ask for, like 2025-06-18
    #[arg(long, global = true, value_name = "DATE", help_heading = "Server")]
    pub(crate) protocol: Option<String>,
    /// lsp adds `$/cancelRequest`, `shutdown` and `exit`
    #[arg(
        long,
        global = true,
        value_enum,
        value_name = "standard|lsp",
        hide_possible_values = true,
        help_heading = "Server"
    )]
    pub(crate) dialect: Option<RawDialect>,
}

/// The server's command.
#[derive(Debug, Args)]
pub(crate) struct ServerCommand {
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// A server's name beside its command.
#[derive(Debug, Args)]
pub(crate) struct Named {
    /// The server's name or URL; all servers if there is none
    #[arg(value_name = "SERVER")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawEra {
    Auto,
    Modern,
    Legacy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawDialect {
    Standard,
    Lsp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawProgress {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RawCommand {
    /// Show the servers: state, era, revision, what they offer
    #[command(after_help = "Example:\n  attache ls -- uvx mcp-server-time")]
    Ls(Named),
    /// List the tools
    #[command(after_help = "Example:\n  attache tools --json -- uvx mcp-server-time")]
    Tools(Named),
    /// List the resources and resource templates
    #[command(
        after_help = "Example:\n  attache resources -- npx -y @modelcontextprotocol/server-everything"
    )]
    Resources(Named),
    /// List the prompts
    #[command(
        after_help = "Example:\n  attache prompts -- npx -y @modelcontextprotocol/server-everything"
    )]
    Prompts(Named),
    /// Call a tool
    #[command(after_help = "\
Tool arguments:
  key=value       a value of the type that the tool's schema says; text if it allows text.
                  Repeat the key for a list; a.b=value reaches into an object.
  key=@file       the same, read from a file (- is stdin)
  key:=json       a JSON value, for example count:=3, tags:='[\"a\"]', note:=null
  key:=@file      the same, read from a file

The tools are listed first, to know these types and to say so if there is no such tool;
--no-list calls without looking.

Example:
  attache call notes/search query=tea
  attache call get_current_time timezone=Europe/Paris -- uvx mcp-server-time")]
    Call(RawCall),
    /// Read a resource
    #[command(after_help = "Example:\n  attache read demo://welcome")]
    Read(RawRead),
    /// Get a prompt, filled in
    #[command(after_help = "Example:\n  attache prompt introduce name=Ada")]
    Prompt(RawPrompt),
    /// Print changes of resources and lists as they happen, until Ctrl-C
    #[command(after_help = "Example:\n  attache watch demo://clock --read")]
    Watch(RawWatch),
    /// Be one of the ready-made servers
    #[command(after_help = "\
Example:
  attache tools -- attache serve lisp
  attache serve demo --http 127.0.0.1:8080 --era legacy")]
    Serve(RawServe),
    /// Print the log files of servers: their stderr, logs and states
    #[command(after_help = "Example:\n  attache logs notes --follow")]
    Logs(RawLogs),
    /// Find out what is wrong with servers: one cause, one remedy
    #[command(
        after_help = "Example:\n  attache doctor -- npx -y @modelcontextprotocol/server-everything"
    )]
    Doctor(Named),
    /// Approve a project's configuration file, or the tools of a server as they are now
    #[command(after_help = "\
Without SERVER the configuration file that came with a folder is shown and approved. With SERVER
its tools are compared with what they were when you first used or last approved them; new and
changed ones are shown and accepted. --lock writes them to attache.lock as well, beside the
configuration file, which others can share: a server it names has exactly the tools it lists.

Example:
  attache trust notes")]
    Trust(RawTrust),
    /// Log in to servers behind a URL, log out, or see where you are logged in
    #[command(subcommand, after_help = "Example:\n  attache auth login tracker")]
    Auth(RawAuth),
    /// Find, check, explain, import and export configurations
    #[command(subcommand, after_help = "Example:\n  attache config discover")]
    Config(RawConfig),
    /// Print a script that makes a shell complete servers, tools and arguments
    #[command(after_help = "\
Example:
  attache completions bash > ~/.local/share/bash-completion/completions/attache
  attache completions zsh > ~/.zfunc/_attache
  attache completions fish > ~/.config/fish/completions/attache.fish")]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or that of the configuration file
    #[command(
        after_help = "Example:\n  attache man | man -l -\n  attache man attache.toml | man -l -"
    )]
    Man {
        /// The page: attache or attache.toml
        #[arg(
            value_enum,
            value_name = "PAGE",
            hide_possible_values = true,
            default_value = "attache",
            hide_default_value = true
        )]
        page: ManualPage,
    },
    /// What the shell scripts ask: the words typed so far, the last one unfinished.
    #[command(name = COMPLETE, hide = true)]
    Complete {
        /// For a shell that quotes what it inserts
        #[arg(long)]
        plain: bool,
        #[arg(last = true)]
        words: Vec<String>,
    },
}

/// The hidden command behind the completion scripts.
pub(crate) const COMPLETE: &str = "__complete";

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManualPage {
    Attache,
    #[value(name = "attache.toml")]
    AttacheToml,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

#[derive(Debug, Args)]
pub(crate) struct RawLogs {
    /// The server's name; all servers if there is none
    #[arg(value_name = "SERVER")]
    pub(crate) name: Option<String>,
    /// Go on as lines come, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// How many lines of each server to begin with
    #[arg(
        short = 'n',
        long,
        value_name = "COUNT",
        default_value_t = 100,
        hide_default_value = true
    )]
    pub(crate) lines: usize,
}

#[derive(Debug, Args)]
pub(crate) struct RawTrust {
    /// The server whose tools to approve
    #[arg(value_name = "SERVER")]
    pub(crate) name: Option<String>,
    /// Approve without asking, for scripts
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Write the server's tools to attache.lock too
    #[arg(long, requires = "name")]
    pub(crate) lock: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RawAuth {
    /// Show where you are logged in
    #[command(after_help = "Example:\n  attache auth status --json")]
    Status {
        /// The server's name or URL; all servers if there is none
        #[arg(value_name = "SERVER")]
        name: Option<String>,
    },
    /// Log in with a browser, or as the configuration says
    #[command(after_help = "Example:\n  attache auth login https://example.org/mcp")]
    Login {
        /// The server's name or URL
        #[arg(value_name = "SERVER")]
        name: String,
    },
    /// Log out: tokens are revoked where that is offered, and forgotten
    #[command(after_help = "Example:\n  attache auth logout tracker")]
    Logout {
        /// The server's name or URL
        #[arg(value_name = "SERVER")]
        name: String,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum RawConfig {
    /// Print where the configuration file is, or would be
    #[command(after_help = "Example:\n  attache config path")]
    Path,
    /// Check the configuration file without starting anything
    #[command(after_help = "Example:\n  attache config check --json")]
    Check,
    /// List every key of the configuration file: type, default, meaning, example
    #[command(after_help = "\
Example:
  attache config reference timeouts.call
  attache config reference --schema > attache.schema.json")]
    Reference(Reference),
    /// List the servers that other tools know, with the file of each
    #[command(after_help = "Example:\n  attache config discover")]
    Discover,
    /// Add servers that other tools know to attache.toml, keeping its comments
    #[command(after_help = "Example:\n  attache config import github --from cursor")]
    Import(RawImport),
    /// Print the servers of attache.toml in the form other tools read
    #[command(after_help = "Example:\n  attache config export --as vscode > .vscode/mcp.json")]
    Export {
        /// Which form
        #[arg(
            long = "as",
            value_enum,
            value_name = "mcp-servers|vscode",
            hide_possible_values = true,
            default_value = "mcp-servers",
            hide_default_value = true
        )]
        form: RawForm,
    },
}

#[derive(Debug, Args)]
pub(crate) struct RawImport {
    /// The servers to import; all of your own files if there are none
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Only what this tool knows, like cursor
    #[arg(long, value_name = "TOOL")]
    pub(crate) from: Option<String>,
    /// Replace servers of the same name
    #[arg(long, conflicts_with = "rename")]
    pub(crate) replace: bool,
    /// Give servers whose name is taken another one
    #[arg(long)]
    pub(crate) rename: bool,
    /// Import without asking, for scripts
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Print the new file instead of writing it
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawForm {
    McpServers,
    #[value(name = "vscode")]
    VsCode,
}

#[derive(Debug, Args)]
pub(crate) struct RawServe {
    /// Which server
    #[arg(value_enum, value_name = "SERVER")]
    pub(crate) served: RawServed,
    /// Serve HTTP at this address instead of stdin and stdout
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
    /// Let only those in over HTTP who bring the token in this environment variable; repeated, each
    /// token is somebody else's
    #[arg(long, value_name = "VAR", requires = "http")]
    pub(crate) token_env: Vec<String>,
    /// Refuse what a client asks before it has said that it is initialized, and a second initialize
    #[arg(long)]
    pub(crate) strict_initialized: bool,
}

/// The ready-made servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawServed {
    /// A few tools, resources and a prompt to try things out
    Demo,
    /// Evaluates Scheme programs with every resource bounded
    Lisp,
}

/// How the progress of one request is shown.
#[derive(Debug, Args)]
pub(crate) struct ProgressArgs {
    /// A bar on a terminal (auto), also lines elsewhere (always)
    #[arg(
        long,
        value_enum,
        value_name = "auto|always|never",
        hide_possible_values = true,
        default_value = "auto",
        hide_default_value = true
    )]
    pub(crate) progress: RawProgress,
}

#[derive(Debug, Args)]
pub(crate) struct RawCall {
    /// The tool's name, as SERVER/TOOL or alone if no other server has it
    pub(crate) tool: String,
    /// The tool's arguments, see below
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    /// All arguments as one JSON object, or @file, or - for stdin
    #[arg(long, value_name = "JSON")]
    pub(crate) args: Option<String>,
    /// Do not list the tools first
    #[arg(long)]
    pub(crate) no_list: bool,
    /// Call it without asking where the policy says to ask
    #[arg(short, long)]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Save the first image, sound or other binary content
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
}

#[derive(Debug, Args)]
pub(crate) struct RawRead {
    /// The resource's URI
    pub(crate) uri: String,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    /// Save the contents instead of printing them
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
}

#[derive(Debug, Args)]
pub(crate) struct RawPrompt {
    /// The prompt's name, as SERVER/NAME or alone if no other server has it
    pub(crate) name: String,
    /// The prompt's arguments, all of them text; key=@file reads a file
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[command(flatten)]
    pub(crate) progress: ProgressArgs,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
}

#[derive(Debug, Args)]
pub(crate) struct RawWatch {
    /// URIs of resources to watch
    #[arg(value_name = "URI")]
    pub(crate) uris: Vec<String>,
    /// Watch the list of tools
    #[arg(long)]
    pub(crate) tools: bool,
    /// Watch the list of prompts
    #[arg(long)]
    pub(crate) prompts: bool,
    /// Watch the list of resources
    #[arg(long)]
    pub(crate) resources: bool,
    /// Read a resource again when it has changed, and print it
    #[arg(long)]
    pub(crate) read: bool,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
}
