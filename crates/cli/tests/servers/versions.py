"""A server of the official Python SDK in two versions, which the argument chooses: 1 or 2.

From the first to the second one tool gets another schema, one goes, one comes, and one becomes slow.
"""

import sys
import time

from mcp.server import MCPServer

VERSION = sys.argv[1]
server = MCPServer("library", version=VERSION)


@server.tool()
def count(words: str) -> int:
    """Counts words."""
    if VERSION == "2":
        time.sleep(0.3)
    return len(words.split())


if VERSION == "1":

    @server.tool()
    def search(query: str) -> str:
        """Finds books."""
        return f"a book about {query}"

    @server.tool()
    def lend(book: str) -> str:
        """Lends a book."""
        return f"{book} is yours"

else:

    @server.tool()
    def search(query: str, limit: int = 10) -> str:
        """Finds books."""
        return f"a book about {query}"

    @server.tool()
    def reserve(book: str) -> str:
        """Reserves a book."""
        return f"{book} is kept for you"


server.run()
