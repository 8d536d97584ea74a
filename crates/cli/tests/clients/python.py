"""A client of the official Python SDK: asks a server what it is told to, and prints the answers as
one JSON document.

    python python.py auto|legacy QUESTIONS URL
    python python.py auto|legacy QUESTIONS COMMAND ARGUMENT...
"""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters

MODE, QUESTIONS, *TARGET = sys.argv[1:]


async def main() -> None:
    if TARGET[0].startswith("http:"):
        server = TARGET[0]
    else:
        server = StdioServerParameters(command=TARGET[0], args=TARGET[1:], env=dict(os.environ))
    answers = []
    async with Client(server, mode=MODE) as client:
        for method, params in json.loads(QUESTIONS):
            try:
                answer = await getattr(client, method)(**params)
                answers.append(answer.model_dump(mode="json", by_alias=True, exclude_none=True))
            except Exception as error:
                answers.append({"error": str(error)})
    print(json.dumps({"answers": answers}))


anyio.run(main)
