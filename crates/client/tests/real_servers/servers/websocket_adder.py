"""A server of the Python SDK, version 1, over a WebSocket: the tool `add`. Argument: a port."""

import sys

import uvicorn
from mcp.server.fastmcp import FastMCP
from mcp.server.websocket import websocket_server
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute

server = FastMCP("adder", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


async def serve(socket):
    inner = server._mcp_server
    async with websocket_server(socket.scope, socket.receive, socket.send) as streams:
        await inner.run(*streams, inner.create_initialization_options())


async def alive(_request):
    return Response("it takes a WebSocket")


app = Starlette(routes=[WebSocketRoute("/ws", serve), Route("/alive", alive)])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
