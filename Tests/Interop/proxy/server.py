"""An issuer of short-lived tokens, an MCP server and a Git server in one, behind a server that speaks TLS.

  server.py PORT ISSUER REPOSITORIES SECONDS
"""

import contextlib
import json
import secrets
import subprocess
import sys
import time
from collections import Counter

import uvicorn
from mcp.server.mcpserver import MCPServer

port, issuer, repositories, lifetime = int(sys.argv[1]), sys.argv[2], sys.argv[3], float(sys.argv[4])
expiries, counts = {}, Counter()
server = MCPServer("interop")


@server.tool()
def add(a: int, b: int) -> int:
    return a + b


tools = server.streamable_http_app()


async def body_of(receive):
    body = b""
    while True:
        part = await receive()
        body += part.get("body", b"")
        if not part.get("more_body"):
            return body


async def reply(send, status, body, *fields):
    await send({"type": "http.response.start", "status": status, "headers": list(fields)})
    await send({"type": "http.response.body", "body": body})


async def reply_json(send, value):
    await reply(send, 200, json.dumps(value).encode(), (b"content-type", b"application/json"))


async def git(scope, receive, send):
    fields = dict(scope["headers"])
    body = await body_of(receive)
    environment = {
        "PATH": "/usr/bin:/bin", "GIT_PROJECT_ROOT": repositories, "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_INFO": scope["path"].removeprefix("/git"), "QUERY_STRING": scope["query_string"].decode(),
        "REQUEST_METHOD": scope["method"], "CONTENT_TYPE": fields.get(b"content-type", b"").decode(),
        "CONTENT_LENGTH": str(len(body)), "HTTP_CONTENT_ENCODING": fields.get(b"content-encoding", b"").decode(),
        "GIT_PROTOCOL": fields.get(b"git-protocol", b"").decode(),
    }
    answer = subprocess.run(["git", "http-backend"], input=body, env=environment, stdout=subprocess.PIPE).stdout
    head, _, content = answer.partition(b"\r\n\r\n")
    lines = [line.split(b": ", 1) for line in head.split(b"\r\n")]
    status = next((int(value.split()[0]) for name, value in lines if name.lower() == b"status"), 200)
    await reply(send, status, content, *((name.lower(), value) for name, value in lines if name.lower() != b"status"))


async def app(scope, receive, send):
    if scope["type"] != "http":
        return await tools(scope, receive, send)
    fields, path = dict(scope["headers"]), scope["path"]
    if path == "/.well-known/openid-configuration":
        return await reply_json(send, {
            "issuer": issuer, "authorization_endpoint": f"{issuer}/authorize", "token_endpoint": f"{issuer}/token",
            "jwks_uri": f"{issuer}/keys", "response_types_supported": ["code"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"]})
    if path == "/token":
        await body_of(receive)
        token = secrets.token_urlsafe()
        expiries[token] = time.monotonic() + lifetime
        counts["tokens"] += 1
        return await reply_json(send, {"access_token": token, "token_type": "Bearer", "expires_in": lifetime})
    if path == "/counts":
        return await reply_json(send, counts)
    token = fields.get(b"authorization", b"").decode().removeprefix("Bearer ")
    if expiries.get(token, 0) < time.monotonic():
        counts["refused"] += 1
        await body_of(receive)
        return await reply(send, 401, b"", (b"www-authenticate", b'Bearer error="invalid_token"'))
    counts["served"] += 1
    counts[fields.get(b"x-protocol", b"").decode()] += 1
    if path.startswith("/git/"):
        return await git(scope, receive, send)
    await tools(scope, receive, send)


uvicorn.run(app, host="127.0.0.1", port=port, log_level="warning")
