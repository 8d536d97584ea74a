//! The raw command line: every command and option, with its help, in one table.
//!
//! Only what clap can say is said here. What the words mean is decided in `invocation`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Talk to any MCP server from the shell.
#[derive(Debug, Parser)]
#[command(
    name = "attache",
    version,
    disable_help_subcommand = true,
    override_usage = "attache [OPTIONS] [VERB] [-- <COMMAND>...]",
    subcommand_help_heading = "Verbs",
    after_help = "Without `-- COMMAND` every command talks to a small server inside this program.\n\
        \n\
        Exit codes: 0 done, 1 unexpected, 2 usage, 4 server unreachable, 5 the tool failed or \
        does not\nexist, 6 timed out, 7 cancelled or refused, 8 outcome unknown.\n\
        \n\
        Example:\n  \
        attache tools -- uvx mcp-server-time\n  \
        attache call echo message=hi"
)]
pub(crate) struct RawArgs {
    #[command(subcommand)]
    pub(crate) command: Option<RawCommand>,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
    #[command(flatten)]
    pub(crate) common: CommonArgs,
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
    /// The server's name
    #[arg(value_name = "SERVER", hide = true)]
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
    /// Show the server: state, era, revision, what it offers
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
    #[command(after_help = "Example:\n  attache tools -- attache serve lisp")]
    Serve(RawServe),
    #[command(name = crate::builtin_server::SUBCOMMAND, hide = true)]
    BuiltinServer,
}

#[derive(Debug, Args)]
pub(crate) struct RawServe {
    /// Which server
    #[arg(value_enum, value_name = "SERVER")]
    pub(crate) served: RawServed,
    /// Serve HTTP at this address instead of stdin and stdout
    #[arg(long, value_name = "ADDR")]
    pub(crate) http: Option<SocketAddr>,
}

/// The ready-made servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RawServed {
    /// Evaluates Scheme programs with every resource bounded
    Lisp,
}

#[derive(Debug, Args)]
pub(crate) struct RawCall {
    /// The tool's name
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
    /// Save the contents instead of printing them
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) server: ServerCommand,
}

#[derive(Debug, Args)]
pub(crate) struct RawPrompt {
    /// The prompt's name
    pub(crate) name: String,
    /// The prompt's arguments, all of them text; key=@file reads a file
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) arguments: Vec<String>,
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
