"""A session of an MCP client with the headers of stdin, a JSON object: lists the tools and calls one.

  client.py mcp|fastmcp URL
"""

import asyncio
import json
import sys

kind, url = sys.argv[1:]
headers = json.load(sys.stdin)


async def with_mcp():
    import httpx2
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with httpx2.AsyncClient(headers=headers) as http:
        async with streamable_http_client(url, http_client=http) as (reading, writing, *_):
            async with ClientSession(reading, writing) as session:
                await session.initialize()
                tools = [tool.name for tool in (await session.list_tools()).tools]
                result = await session.call_tool("add", {"a": 2, "b": 3})
                return tools, result.content[0].text


async def with_fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StreamableHttpTransport

    async with Client(StreamableHttpTransport(url, headers=headers)) as client:
        tools = [tool.name for tool in await client.list_tools()]
        result = await client.call_tool("add", {"a": 2, "b": 3})
        return tools, result.content[0].text


print(json.dumps(asyncio.run({"mcp": with_mcp, "fastmcp": with_fastmcp}[kind]())))
