"""A server written with the Python SDK: one tool that says again what it is told."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("echo")


@server.tool()
def echo(message: str) -> str:
    return f"Echo: {message}"


server.run()
