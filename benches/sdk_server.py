"""The official Python SDK's server with one tool that does nothing, over stdio or at an HTTP port."""

import sys

from mcp.server import MCPServer

server = MCPServer("trivial", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


if len(sys.argv) < 2:
    server.run()
else:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]), json_response=True)
