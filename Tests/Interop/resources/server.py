"""An MCP server with authorization, by the package `mcp` or `fastmcp`; its users allow everything at once.

  server.py mcp|fastmcp PORT
"""

import secrets
import sys
import time

import uvicorn

kind, port = sys.argv[1], int(sys.argv[2])
origin = f"http://127.0.0.1:{port}"


def fastmcp_app():
    from fastmcp import FastMCP
    from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
    from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider

    auth = InMemoryOAuthProvider(
        base_url=origin, required_scopes=["notes"],
        client_registration_options=ClientRegistrationOptions(enabled=True, valid_scopes=["notes"]),
        revocation_options=RevocationOptions(enabled=True))
    server = FastMCP("interop", auth=auth)

    @server.tool
    def add(a: int, b: int) -> int:
        return a + b

    return server.http_app(path="/mcp")


def mcp_app():
    from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
    from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
    from mcp.server.mcpserver import MCPServer
    from mcp.shared.auth import OAuthToken

    class Provider:
        """Keeps everything in memory; tokens are bound to the resource that the client asked for."""

        def __init__(self):
            self.clients, self.codes, self.access, self.refresh = {}, {}, {}, {}

        async def get_client(self, client_id):
            return self.clients.get(client_id)

        async def register_client(self, client_info):
            self.clients[client_info.client_id] = client_info

        async def authorize(self, client, params):
            code = secrets.token_urlsafe()
            self.codes[code] = AuthorizationCode(
                code=code, client_id=client.client_id, redirect_uri=params.redirect_uri,
                redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
                scopes=params.scopes or [], expires_at=time.time() + 60, code_challenge=params.code_challenge,
                resource=params.resource)
            return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

        async def load_authorization_code(self, client, authorization_code):
            return self.codes.get(authorization_code)

        async def exchange_authorization_code(self, client, authorization_code):
            del self.codes[authorization_code.code]
            return self.issue(client, authorization_code.scopes, authorization_code.resource)

        async def load_refresh_token(self, client, refresh_token):
            return self.refresh.get(refresh_token)

        async def exchange_refresh_token(self, client, refresh_token, scopes):
            del self.refresh[refresh_token.token]
            return self.issue(client, scopes, f"{origin}/mcp")

        async def load_access_token(self, token):
            return self.access.get(token)

        async def revoke_token(self, token):
            self.access.pop(token.token, None)

        def issue(self, client, scopes, resource):
            access, refresh = secrets.token_urlsafe(), secrets.token_urlsafe()
            self.access[access] = AccessToken(
                token=access, client_id=client.client_id, scopes=scopes, expires_at=int(time.time()) + 3600,
                resource=resource)
            self.refresh[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
            return OAuthToken(access_token=access, token_type="Bearer", expires_in=3600, refresh_token=refresh,
                              scope=" ".join(scopes))

    server = MCPServer("interop", auth_server_provider=Provider(), auth=AuthSettings(
        issuer_url=origin, resource_server_url=f"{origin}/mcp", required_scopes=["notes"],
        validate_token_resource=True,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["notes"], default_scopes=["notes"])))

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    return server.streamable_http_app()


uvicorn.run({"fastmcp": fastmcp_app, "mcp": mcp_app}[kind](), host="127.0.0.1", port=port, log_level="warning")
