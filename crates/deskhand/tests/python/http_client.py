"""The official SDK as a client of Deskhand over HTTP, in both of its ways, with the token in its headers.

usage: http_client.py URL TOKEN
"""

import asyncio
import sys

import httpx2
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

URL, TOKEN = sys.argv[1:]


async def check(mode: str) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        async with Client(streamable_http_client(URL, http_client=http), mode=mode) as client:
            assert client.server_info.name == "deskhand", client.server_info
            tools = (await client.list_tools()).tools
            assert {"click", "list_windows"} <= {tool.name for tool in tools}, tools
            several = await asyncio.gather(*(client.call_tool("list_windows", {}) for _ in range(40)))
            assert len(several) == 40
            for answer in several:
                assert answer.is_error and "--virtual" in answer.content[0].text, answer
            try:
                await client.call_tool("no_such_tool", {})
                raise AssertionError("an unknown tool was called")
            except MCPError as error:
                assert error.error.code == -32602, error
            resources = (await client.list_resources()).resources
            assert [str(resource.uri) for resource in resources] == ["deskhand://displays"], resources
            if mode == "auto":
                async with client.listen(tools_list_changed=True, prompts_list_changed=True) as changes:
                    assert changes.honored.tools_list_changed, changes.honored
                    assert not changes.honored.prompts_list_changed, changes.honored
            print(f"{mode}: {client.protocol_version}, {len(tools)} tools")


async def refused() -> None:
    async with httpx2.AsyncClient(timeout=30) as http:
        answer = await http.post(URL, json={"jsonrpc": "2.0", "id": 1, "method": "ping"})
        assert answer.status_code == 401, answer


for mode in ["legacy", "auto"]:
    asyncio.run(check(mode))
asyncio.run(refused())
print("all is well")
