"""A server of the Python SDK, version 1: the tool `add`.

Arguments: a transport, and for HTTP a port and how it answers.
"""

import sys

from mcp.server.fastmcp import FastMCP

transport, port, *modes = sys.argv[1:] + ["0"]
server = FastMCP(
    "adder",
    host="127.0.0.1",
    port=int(port),
    stateless_http="stateless" in modes,
    json_response="json" in modes,
    log_level="ERROR",
)


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


server.run(transport=transport)
