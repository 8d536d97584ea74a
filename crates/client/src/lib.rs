//! One connection to one MCP server.

pub mod process;
