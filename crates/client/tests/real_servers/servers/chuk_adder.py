"""A server of chuk-mcp-server, which shares no code with the official SDK: the tool `add`."""

from chuk_mcp_server import ChukMCPServer

server = ChukMCPServer("adder")


@server.tool
def add(a: int, b: int) -> int:
    return a + b


server.run(stdio=True)
