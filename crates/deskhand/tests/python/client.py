"""The official SDK as a client of Deskhand: connects in both of its ways, lists, calls and reads.

usage: client.py PROGRAM [--display NAME]

With a display the calls have to succeed, and the SDK checks each answer against the schema that the tool
was listed with; without one every call has to say what to do. Prints what it does and fails loudly.
"""

import asyncio
import json
import os
import sys

from mcp import MCPError, StdioServerParameters
from mcp.client.client import Client

PROGRAM, PLACE = sys.argv[1], sys.argv[2:]


async def check(mode: str) -> None:
    server = StdioServerParameters(
        command=PROGRAM, args=["serve", "--profile", "full", *PLACE], env=dict(os.environ)
    )
    async with Client(server, mode=mode) as client:
        assert client.server_info.name == "deskhand", client.server_info
        assert "Deskhand" in client.instructions, client.instructions
        print(f"{mode}: {client.server_info.name} {client.server_info.version}, {client.protocol_version}")

        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        assert {"click", "type_text", "list_windows"} <= set(names), names
        assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)
        print(f"{mode}: {len(tools)} tools")

        for name, arguments in [("cursor_position", {}), ("list_windows", {}), ("move_mouse", {"x": 5, "y": 6})]:
            result = await client.call_tool(name, arguments)
            text = result.content[0].text
            if PLACE:
                assert not result.is_error, text
                assert json.loads(text) == result.structured_content, text
            else:
                assert result.is_error and "--virtual" in text, text
            print(f"{mode}: {name}: {text[:100]}")

        wrong = await client.call_tool("click", {"x": "five"})
        assert wrong.is_error and "has to be a number" in wrong.content[0].text, wrong
        try:
            await client.call_tool("no_such_tool", {})
            raise AssertionError("an unknown tool was called")
        except MCPError as error:
            assert error.error.code == -32602, error

        several = await asyncio.gather(*(client.call_tool("cursor_position", {}) for _ in range(40)))
        assert len(several) == 40

        resources = (await client.list_resources()).resources
        assert [str(resource.uri) for resource in resources] == ["deskhand://displays"], resources
        if mode == "auto":
            async with client.listen(tools_list_changed=True) as changes:
                assert changes.honored.tools_list_changed, changes.honored
                await client.call_tool("enable_tools", {"groups": ["audio"]})
                async for change in changes:
                    print(f"{mode}: {change}")
                    break
        if PLACE:
            contents = (await client.read_resource("deskhand://displays")).contents[0].text
            assert json.loads(contents)["screens"][0]["width"] > 0, contents
            print(f"{mode}: {contents[:100]}")


for mode in ["legacy", "auto"]:
    asyncio.run(check(mode))
print("all is well")
