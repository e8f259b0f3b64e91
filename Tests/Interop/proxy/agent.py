"""What an agent does with the proxy's URL and no token: it calls an MCP server's tool in one session, and clones a
repository again and again.

  agent.py SECONDS FOLDER
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import httpx2
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

end, folder, url = time.monotonic() + float(sys.argv[1]), sys.argv[2], os.environ["OIDC_PROXY_URL"]
counts = {"calls": 0, "clones": 0, "failures": []}


def clone():
    while time.monotonic() < end:
        shutil.rmtree(folder, ignore_errors=True)
        run = subprocess.run(["git", "clone", "-q", f"{url}git/project.git", folder], capture_output=True, text=True)
        counts["clones"] += 1
        if run.returncode != 0 or not os.path.exists(f"{folder}/large"):
            counts["failures"].append(f"clone: {run.returncode} {run.stderr.strip()}")


async def call():
    async with httpx2.AsyncClient(timeout=60) as http:
        async with streamable_http_client(f"{url}mcp", http_client=http) as (reading, writing, *_):
            async with ClientSession(reading, writing) as session:
                await session.initialize()
                while time.monotonic() < end:
                    result = await session.call_tool("add", {"a": counts["calls"], "b": 1})
                    if result.content[0].text != str(counts["calls"] + 1):
                        counts["failures"].append(f"call: {result}")
                    counts["calls"] += 1
                    await asyncio.sleep(0.03)


thread = threading.Thread(target=clone)
thread.start()
try:
    asyncio.run(call())
except BaseException as error:
    counts["failures"].append(repr(error))
thread.join()
print(json.dumps(counts))
