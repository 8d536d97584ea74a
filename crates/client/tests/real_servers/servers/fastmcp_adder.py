"""A server of FastMCP: the tool `add`.

Arguments: a transport, and for HTTP a port and how it answers.
"""

import sys

from fastmcp import FastMCP

transport, port, *modes = sys.argv[1:] + ["0"]
server = FastMCP("adder")


@server.tool
def add(a: int, b: int) -> int:
    return a + b


if transport == "stdio":
    server.run(show_banner=False)
else:
    options = {"host": "127.0.0.1", "port": int(port), "show_banner": False}
    if transport == "http":
        options["stateless_http"] = "stateless" in modes
        options["json_response"] = "json" in modes
    server.run(transport=transport, **options)
