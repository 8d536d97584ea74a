//! One connection to one MCP server.
