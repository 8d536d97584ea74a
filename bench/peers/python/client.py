"""The official Python SDK's client as a worker of the benchmark.

Commands come as JSON lines on standard input, times leave as JSON lines on
standard output. The commands are described in src/control.rs.
"""

import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

import anyio
from mcp import Client, StdioServerParameters

MESSAGE = "hello"
ECHO = "Echo: hello"


def expect(found: object, expected: object) -> None:
    if found != expected:
        raise ValueError(f"the answer is {found!r} where {expected!r} was expected")


async def echo(client: Client) -> None:
    result = await client.call_tool("echo", {"message": MESSAGE})
    expect(result.content[0].text, ECHO)


async def text(client: Client, size: int) -> None:
    result = await client.call_tool("text", {"bytes": size})
    expect(len(result.content[0].text), size)


async def list_tools(client: Client, tools: int) -> None:
    count = 0
    cursor = None
    while True:
        page = await client.list_tools(cursor=cursor)
        count += len(page.tools)
        cursor = page.next_cursor
        if cursor is None:
            break
    expect(count, tools)


async def together(client: Client, calls: int, width: int) -> None:
    for _ in range(calls // width):
        async with anyio.create_task_group() as group:
            for _ in range(width):
                group.start_soon(echo, client)


async def each(times: int, work: Callable[[], Awaitable[None]]) -> list[int]:
    nanoseconds = []
    for _ in range(times):
        start = time.perf_counter_ns()
        await work()
        nanoseconds.append(time.perf_counter_ns() - start)
    return nanoseconds


async def perform(command: dict, clients: list[Client], stack: AsyncExitStack) -> list[int]:
    match command["do"]:
        case "open":
            server = StdioServerParameters(
                command=command["server"]["program"], args=command["server"]["arguments"]
            )
            for _ in range(command["connections"]):
                client = await stack.enter_async_context(Client(server))
                await echo(client)
                clients.append(client)
            return []
        case "sequential":
            return await each(command["calls"], lambda: echo(clients[0]))
        case "in_flight":
            return await each(1, lambda: together(clients[0], command["calls"], command["width"]))
        case "text":
            return await each(command["results"], lambda: text(clients[0], command["bytes"]))
        case "list":
            return await each(command["lists"], lambda: list_tools(clients[0], command["tools"]))
        case unknown:
            raise ValueError(f"unknown command {unknown}")


async def main() -> None:
    clients: list[Client] = []
    async with AsyncExitStack() as stack:
        # Waiting for a command may block: nothing else is going on meanwhile.
        for line in sys.stdin:
            try:
                reply = {"nanoseconds": await perform(json.loads(line), clients, stack)}
            except Exception as cause:
                reply = {"error": repr(cause)}
            print(json.dumps(reply), flush=True)


anyio.run(main)
