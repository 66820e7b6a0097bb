#!/usr/bin/env python3
"""Speaks to our MCP server with the official client from PyPI (`mcp`).

usage: mcp_client.py stdio COMMAND [ARGUMENT ..]
       TOKEN=.. FOLDER=.. mcp_client.py http URL
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def talk(read, write):
    async with ClientSession(read, write) as session:
        await session.initialize()
        tools = (await session.list_tools()).tools
        print("tools:", [tool.name for tool in tools])
        remembered = await session.call_tool("memory_remember", {"text": "The client from PyPI was here"})
        assert not failed(remembered), remembered
        found = await session.call_tool("memory_search", {"query": "client from PyPI"})
        assert not failed(found), found
        hits = structured(found)["hits"]
        assert len(hits) >= 1, found
        assert json.loads(found.content[0].text) == structured(found)
        got = await session.call_tool("memory_get", {"id": hits[0]["id"]})
        assert "The client from PyPI was here" in structured(got)["text"], got
        missing = await session.call_tool("memory_get", {"id": "nobody"})
        assert failed(missing) and "hint:" in missing.content[0].text, missing
        print("resources:", [str(resource.uri) for resource in (await session.list_resources()).resources])
        print("prompts:", [prompt.name for prompt in (await session.list_prompts()).prompts])
        decided = await session.get_prompt("what-did-we-decide", {"topic": "client from PyPI"})
        assert "The client from PyPI was here" in decided.messages[0].content.text, decided


def failed(result):
    return getattr(result, "is_error", None) or getattr(result, "isError", None)


def structured(result):
    return getattr(result, "structured_content", None) or getattr(result, "structuredContent", None)


async def main():
    if sys.argv[1] == "stdio":
        command = StdioServerParameters(command=sys.argv[2], args=sys.argv[3:], env=dict(os.environ))
        async with stdio_client(command) as (read, write):
            await talk(read, write)
        return
    headers = {"Authorization": f"Bearer {os.environ['TOKEN']}", "Throughline-Folder": os.environ["FOLDER"]}
    from mcp.client.streamable_http import streamable_http_client

    http = httpx2.AsyncClient(headers=headers)
    opened = streamable_http_client(sys.argv[2], http_client=http)
    async with opened as streams:
        await talk(streams[0], streams[1])


asyncio.run(main())
