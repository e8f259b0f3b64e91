"""Services that sign users in to their own APIs."""

from standin import LOOPBACK, NEVER, PATH, StandIn

PLAIN = ("openid", "profile", "email")
POST, BASIC = ("client_secret_post",), ("client_secret_basic",)
GITHUB = "https://github.com/login"
GITLAB = "https://gitlab.com"
SALESFORCE = "https://example.my.salesforce.com"
TWITCH = "https://id.twitch.tv/oauth2"
HUGGINGFACE = "https://huggingface.co"


def github(preset, title, source, **more):
    """GitHub answers errors with status 200, and forms unless JSON is asked for."""
    row = {
        "authorize": f"{GITHUB}/oauth/authorize", "token": f"{GITHUB}/oauth/access_token",
        "device": f"{GITHUB}/device/code", "userinfo": "https://api.github.com/user", "secret": True, "methods": POST,
        "redirects": PATH, "form_unless_json": True, "style": "ok200", "token_type": "bearer",
        "user": {"login": "alice", "id": 1, "name": "Alice", "email": "alice@example.com"},
        "denial": ("access_denied", "The user has denied your application access."),
        "bad_client": (200, "incorrect_client_credentials", "The client_id and/or client_secret passed are incorrect."),
    }
    return StandIn(preset, title, source, **(row | more))


APIS = [
    github("github", "GitHub OAuth app", "GitHub: authorizing OAuth apps", lifetime=None, expires=False,
           scope_style="commas", offline=NEVER, subset=("repo", "gist"),
           note="errors come with status 200; scopes come with commas"),
    github("github-app", "GitHub App", "GitHub: generating and refreshing user access tokens", lifetime=28800,
    subset=(),
           rotation="reuse ends all", extra={"scope": "", "refresh_token_expires_in": 15897600},
           scope_style="absent", note="there are no scopes"),
    StandIn(
        "gitlab", "GitLab", "GitLab: OAuth 2.0 identity provider API; OpenID Connect provider; Doorkeeper, URIChecker",
        issuer=GITLAB,
        authorize=f"{GITLAB}/oauth/authorize", token=f"{GITLAB}/oauth/token", device=f"{GITLAB}/oauth/authorize_device",
        userinfo=f"{GITLAB}/oauth/userinfo", jwks=f"{GITLAB}/oauth/discovery/keys", revocation=f"{GITLAB}/oauth/revoke",
        introspection=f"{GITLAB}/oauth/introspect", methods=("client_secret_basic", "client_secret_post"),
        scopes=(*PLAIN, "api", "read_api", "read_user", "read_repository"), lifetime=7200, redirects=LOOPBACK,
        rotation="reuse ends all", extra={"created_at": 1607635748},
        denial=("access_denied", "The resource owner or authorization server denied the request.")),
    StandIn(
        "bitbucket", "Bitbucket Cloud", "Bitbucket Cloud: use OAuth on Bitbucket Cloud; nango providers.yaml, 2026-08",
        authorize="https://bitbucket.org/site/oauth2/authorize", token="https://bitbucket.org/site/oauth2/access_token",
        userinfo="https://api.bitbucket.org/2.0/user", secret=True, methods=BASIC, pkce="ignored", lifetime=7200,
        scope_style="plural", extra={"scopes": "account repository", "state": "authorization_code"},
        token_type="bearer",
        subset=(), user={"account_id": "1:2", "username": "alice", "display_name": "Alice"},
        note="the scopes are those of the consumer"),
    StandIn(
        "salesforce", "Salesforce", "Salesforce: OAuth web server flow; OpenID Connect discovery",
        parameters=("domain=example.my.salesforce.com",), issuer=SALESFORCE,
        authorize=f"{SALESFORCE}/services/oauth2/authorize", token=f"{SALESFORCE}/services/oauth2/token",
        userinfo=f"{SALESFORCE}/services/oauth2/userinfo", jwks=f"{SALESFORCE}/id/keys",
        revocation=f"{SALESFORCE}/services/oauth2/revoke", introspection=f"{SALESFORCE}/services/oauth2/introspect",
        methods=("client_secret_post", "client_secret_basic", "private_key_jwt"),
        scopes=(*PLAIN, "api", "refresh_token", "offline_access", "web", "id", "full"), lifetime=None,
        offline="refresh_token|offline_access", narrows=False, subset=("api", "web"),
        extra={"instance_url": SALESFORCE, "id": f"{SALESFORCE}/id/00D/005", "issued_at": "1278448384422",
               "signature": "c2lnbmF0dXJl"},
        denial=("access_denied", "end-user denied authorization"),
        bad_client=(400, "invalid_client", "invalid client credentials"),
        note="no expires_in; instance_url comes beside the token"),
    StandIn(
        "slack", "Slack", "Slack: using PKCE; oauth.v2.user.access; token rotation",
        authorize="https://slack.com/oauth/v2_user/authorize", token="https://slack.com/api/oauth.v2.user.access",
        redirects="exact", pkce="required", style="slack", scope_required=True, scope_style="commas", lifetime=43200,
        rotation="reuse ends all", narrows=False, subset=("users:read", "channels:read"), token_type="user",
        extra={"user_id": "U1234", "team_id": "T1234"},
        denial=("access_denied", ""), bad_client=(200, "invalid_client_id", ""),
        note="errors come with status 200 and ok: false; the token's type is user"),
    StandIn(
        "linear", "Linear", "Linear: OAuth 2.0 authentication; nango providers.yaml, 2026-08",
        authorize="https://linear.app/oauth/authorize",
        token="https://api.linear.app/oauth/token", revocation="https://api.linear.app/oauth/revoke",
        scopes=("read", "write", "issues:create", "comments:create"), scope_style="commas", lifetime=86399,
        rotation="window", narrows=False, subset=("read", "write")),
    StandIn(
        "atlassian", "Atlassian Cloud", "Atlassian: OAuth 2.0 (3LO) apps; nango providers.yaml, 2026-08",
        authorize="https://auth.atlassian.com/authorize", token="https://auth.atlassian.com/oauth/token",
        userinfo="https://api.atlassian.com/me", secret=True, methods=POST, formats=("json", "form"), pkce="ignored",
        needs={"audience": "api.atlassian.com", "prompt": "consent"}, scope_required=True, offline="offline_access",
        rotation="reuse ends all", narrows=False, error_status=403, subset=("read:me", "read:jira-work"),
        user={"account_id": "1:2", "email": "alice@example.com", "name": "Alice"},
        denial=("access_denied", "User did not authorize the request"),
        bad_client=(401, "access_denied", "Unauthorized")),
    StandIn(
        "discord", "Discord", "Discord: OAuth2; discord.com/.well-known/oauth-authorization-server",
        issuer="https://discord.com", iss_in_answer=True, authorize="https://discord.com/api/oauth2/authorize",
        token="https://discord.com/api/oauth2/token", revocation="https://discord.com/api/oauth2/token/revoke",
        userinfo="https://discord.com/api/users/@me", scopes=("identify", "email", "guilds", "connections", "openid"),
        scope_required=True, lifetime=604800, rotation="reuse ends all", narrows=False, subset=("identify", "email"),
        user={"id": "80351110224678912", "username": "alice", "email": "alice@example.com"},
        denial=("access_denied", "The resource owner or authorization server denied the request")),
    StandIn(
        "spotify", "Spotify", "Spotify: authorization code with PKCE; redirect URIs",
        authorize="https://accounts.spotify.com/authorize", token="https://accounts.spotify.com/api/token",
        userinfo="https://api.spotify.com/v1/me", redirects=LOOPBACK, redirect_hosts=("127.0.0.1",), pkce="required",
        rotation="reuse ends all", narrows=False, subset=("user-read-private", "user-read-email"),
        user={"id": "alice", "display_name": "Alice"},
        denial=("access_denied", ""), note="http://localhost is refused, a loopback address may have any port"),
    StandIn(
        "dropbox", "Dropbox", "Dropbox: OAuth guide; HTTP documentation",
        authorize="https://www.dropbox.com/oauth2/authorize", token="https://api.dropboxapi.com/oauth2/token",
        lifetime=14400, offline={"token_access_type": "offline"}, token_type="bearer",
        subset=("account_info.read", "files.metadata.read"),
        extra={"uid": "12345", "account_id": "dbid:AAH4f99"},
        denial=("access_denied", "The user chose not to give your app access to their Dropbox account.")),
    StandIn(
        "twitch", "Twitch", "Twitch: getting OAuth tokens; getting OIDC tokens; refreshing; revoking",
        issuer=TWITCH, authorize=f"{TWITCH}/authorize", token=f"{TWITCH}/token", userinfo=f"{TWITCH}/userinfo",
        jwks=f"{TWITCH}/keys", revocation=f"{TWITCH}/revoke", members={"token_endpoint_auth_methods_supported": ["client_secret_post"],
                                        "scopes_supported": ["openid"], "code_challenge_methods_supported": None},
        secret=True, methods=POST, redirect_hosts=("localhost",), pkce="ignored", style="status", scope_style="list",
        lifetime=14124, token_type="bearer", repeats_id_token=False, narrows=False,
        subset=("openid", "user:read:email"),
        user={"sub": "713936733", "preferred_username": "Alice"}, claims={"preferred_username": "Alice"},
        denial=("access_denied", "The user denied you access"),
        bad_client=(403, "forbidden", "invalid client secret"), note="scopes come as an array, errors as a message"),
    StandIn(
        "linkedin", "LinkedIn", "LinkedIn: OAuth 2.0 for native clients; Sign In with LinkedIn using OpenID Connect",
        issuer="https://www.linkedin.com/oauth",
        authorize="https://www.linkedin.com/oauth/native-pkce/authorization",
        token="https://www.linkedin.com/oauth/v2/accessToken", userinfo="https://api.linkedin.com/v2/userinfo",
        jwks="https://www.linkedin.com/oauth/openid/jwks", members={
            "authorization_endpoint": "https://www.linkedin.com/oauth/v2/authorization",
            "token_endpoint_auth_methods_supported": ["client_secret_post"], "code_challenge_methods_supported": None},
        redirects="any loopback", pkce="required", scopes=PLAIN, scope_style="commas", lifetime=5183999, offline=NEVER,
        returns_nonce=False, denial=("user_cancelled_authorize", "The user cancelled the authorization"),
        note="no nonce in ID tokens; native clients have a page of their own"),
    StandIn(
        "notion", "Notion", "Notion: authorization; refresh a token (2025-10); nango providers.yaml, 2026-08",
        authorize="https://api.notion.com/v1/oauth/authorize", token="https://api.notion.com/v1/oauth/token",
        secret=True,
        methods=BASIC, formats=("json",), pkce="ignored", needs={"owner": "user"}, scope_style="absent",
        subset=(), lifetime=None, rotation="reuse ends all", token_type="bearer",
        extra={"bot_id": "b1", "workspace_id": "w1", "workspace_name": "Alice's"},
        denial=("access_denied", ""), bad_client=(401, "invalid_client", ""), note="token requests are JSON"),
    StandIn(
        "figma", "Figma", "Figma: REST API authentication, OAuth apps; nango providers.yaml, 2026-08",
        authorize="https://www.figma.com/oauth", token="https://api.figma.com/v1/oauth/token",
        refresh="https://api.figma.com/v1/oauth/refresh", userinfo="https://api.figma.com/v1/me", secret=True,
        methods=BASIC, scope_required=True, scope_style="absent", lifetime=7776000, token_type="bearer",
        extra={"user_id_string": "1234"}, narrows=False, subset=("current_user:read", "file_content:read"),
        user={"id": "1234", "handle": "Alice", "email": "alice@example.com"}, denial=("access_denied", ""),
        note="refreshes have a URL of their own"),
    StandIn(
        "huggingface", "Hugging Face", "Hugging Face: Sign in with Hugging Face (hub-docs, oauth.md)",
        issuer=HUGGINGFACE, authorize=f"{HUGGINGFACE}/oauth/authorize", token=f"{HUGGINGFACE}/oauth/token",
        userinfo=f"{HUGGINGFACE}/oauth/userinfo", jwks=f"{HUGGINGFACE}/oauth/jwks",
        device=f"{HUGGINGFACE}/oauth/device",
        members={"device_authorization_endpoint": None}, redirects=LOOPBACK, pkce="required",
        methods=("client_secret_basic", "client_secret_post", "none"),
        scopes=(*PLAIN, "read-repos", "write-repos", "manage-repos", "inference-api", "write-discussions"),
        lifetime=28800, offline=NEVER, token_type="bearer"),
    StandIn(
        "zoom", "Zoom", "Zoom: OAuth with PKCE; changelog, PKCE loopback (2026)",
        authorize="https://zoom.us/oauth/authorize", token="https://zoom.us/oauth/token",
        revocation="https://zoom.us/oauth/revoke", userinfo="https://api.zoom.us/v2/users/me", redirects=LOOPBACK,
        pkce="required", subset=(), rotation="reuse ends all", token_type="bearer",
        extra={"api_url": "https://api.zoom.us"}, user={"id": "z8yAAAAA8bbbQ", "email": "alice@example.com"},
        denial=("access_denied", ""), note="the scopes are those of the app"),
]
