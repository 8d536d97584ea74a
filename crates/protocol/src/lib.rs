//! MCP as data.
