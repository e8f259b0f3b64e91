"""Servers that people run themselves, or at a URL of their own."""

from standin import LOOPBACK, NEVER, StandIn

PLAIN = ("openid", "profile", "email")
METHODS = ("client_secret_basic", "client_secret_post", "none")
KEYCLOAK = "https://sso.example.com/realms/main"
CONNECT = f"{KEYCLOAK}/protocol/openid-connect"
ZITADEL = "https://example-abc123.zitadel.cloud"
AUTHENTIK = "https://authentik.example.com/application/o"
AUTHELIA = "https://authelia.example.com"
KANIDM = "https://idm.example.com"
DEX = "https://dex.example.com/dex"
HYDRA = "https://hydra.example.com"
LOGTO = "https://example.logto.app/oidc"

SPRING = "https://auth.example.org"


def gitea(preset, title, root):
    return StandIn(
        preset, title, "Gitea 1.26, as it answered (2026-11)", parameters=(f"domain={root}",), issuer=root,
        authorize=f"{root}/login/oauth/authorize", token=f"{root}/login/oauth/access_token",
        userinfo=f"{root}/login/oauth/userinfo", jwks=f"{root}/login/oauth/keys",
        introspection=f"{root}/login/oauth/introspect", methods=("client_secret_basic", "client_secret_post"),
        redirects=LOOPBACK, redirect_hosts=("127.0.0.1",), scopes=("openid", "profile", "email", "groups"),
        scope_style="absent", rotation="reuse ends all", token_type="bearer", narrows=False,
        denial=("access_denied", "the request is denied"),
        bad_client=(400, "unauthorized_client", "invalid client secret"), note="nothing is revoked")


def vault(preset, title, root):
    issuer = f"{root}/v1/identity/oidc/provider/default"
    return StandIn(
        preset, title, f"{title}: OIDC identity provider; OpenBao 2.6, as it answered (2026-11)",
        parameters=(f"domain={root}",), issuer=issuer, authorize=f"{root}/ui/vault/identity/oidc/provider/default/authorize",
        token=f"{issuer}/token", userinfo=f"{issuer}/userinfo", jwks=f"{issuer}/.well-known/keys",
        methods=("none", "client_secret_basic", "client_secret_post"), redirects=LOOPBACK,
        members={"code_challenge_methods_supported": None, "scopes_supported": ["openid"]}, subset=(),
        offline=NEVER, pkce="required", claims={}, user={"sub": "alice-1"}, scope_style="absent",
        note="PKCE is not announced, and there are no refresh tokens")


SERVERS = [
    StandIn(
        "keycloak", "Keycloak", "Keycloak: Server Administration Guide, OpenID Connect clients, basic settings",
        parameters=("domain=https://sso.example.com", "realm=main"), issuer=KEYCLOAK, authorize=f"{CONNECT}/auth",
        token=f"{CONNECT}/token", device=f"{CONNECT}/auth/device", userinfo=f"{CONNECT}/userinfo",
        jwks=f"{CONNECT}/certs",
        revocation=f"{CONNECT}/revoke", introspection=f"{CONNECT}/token/introspect", end_session=f"{CONNECT}/logout",
        methods=("private_key_jwt", "client_secret_basic", "client_secret_post", "tls_client_auth", "client_secret_jwt"),
        redirects=LOOPBACK, scopes=("openid", "offline_access", "profile", "email", "address", "phone", "roles"),
        members={"id_token_signing_alg_values_supported": ["PS384", "RS256", "HS256", "HS512", "ES256"]},
        iss_in_answer=True, lifetime=300, rotation="reuse ends all",
        extra={"refresh_expires_in": 0, "not-before-policy": 0, "session_state": "c0ffee"},
        device_refusal=(400, "unauthorized_client", "Client is not allowed to initiate OAuth 2.0 Device Authorization "
                                                    "Grant. The flow is disabled for the client."),
        denial=("access_denied", ""), bad_client=(401, "unauthorized_client", "Invalid client or Invalid client "
                                                                              "credentials"),
        note="the device grant is off for the client, as it is until it is switched on"),
    StandIn(
        "zitadel", "Zitadel", "Zitadel: OpenID Connect endpoints; scopes; recommended flows",
        parameters=(f"domain={ZITADEL}",), issuer=ZITADEL, authorize=f"{ZITADEL}/oauth/v2/authorize",
        token=f"{ZITADEL}/oauth/v2/token", device=f"{ZITADEL}/oauth/v2/device_authorization",
        userinfo=f"{ZITADEL}/oidc/v1/userinfo", jwks=f"{ZITADEL}/oauth/v2/keys",
        revocation=f"{ZITADEL}/oauth/v2/revoke",
        introspection=f"{ZITADEL}/oauth/v2/introspect", end_session=f"{ZITADEL}/oidc/v1/end_session",
        methods=("none", "client_secret_basic", "client_secret_post", "private_key_jwt"), redirects=LOOPBACK,
        pkce="required", scopes=(*PLAIN, "phone", "address", "offline_access"), offline="offline_access",
        rotation="reuse ends all", lifetime=43199),
    StandIn(
        "authentik", "authentik", "authentik: OAuth 2.0 provider; device code flow",
        parameters=("domain=https://authentik.example.com", "app=cli"), issuer=f"{AUTHENTIK}/cli/",
        authorize=f"{AUTHENTIK}/authorize/", token=f"{AUTHENTIK}/token/", device=f"{AUTHENTIK}/device/",
        userinfo=f"{AUTHENTIK}/userinfo/", jwks=f"{AUTHENTIK}/cli/jwks/", revocation=f"{AUTHENTIK}/revoke/",
        introspection=f"{AUTHENTIK}/introspect/", end_session=f"{AUTHENTIK}/cli/end-session/",
        methods=("client_secret_post", "client_secret_basic"), scopes=(*PLAIN, "offline_access"),
        offline="offline_access", rotation="reuse ends all", lifetime=300,
        denial=("access_denied", "The resource owner or authorization server denied the request")),
    StandIn(
        "authelia", "Authelia", "Authelia: OpenID Connect 1.0 integration, endpoints and clients",
        parameters=(f"domain={AUTHELIA}",), issuer=AUTHELIA, authorize=f"{AUTHELIA}/api/oidc/authorization",
        token=f"{AUTHELIA}/api/oidc/token", device=f"{AUTHELIA}/api/oidc/device-authorization",
        userinfo=f"{AUTHELIA}/api/oidc/userinfo", jwks=f"{AUTHELIA}/jwks.json", methods=(*METHODS, "private_key_jwt"),
        revocation=f"{AUTHELIA}/api/oidc/revocation", introspection=f"{AUTHELIA}/api/oidc/introspection",
        redirects=LOOPBACK, pkce="required", iss_in_answer=True, token_type="bearer",
        scopes=("offline_access", *PLAIN, "groups", "address", "phone"), offline="offline_access",
        rotation="reuse ends all", denial=("access_denied", "The resource owner or authorization server denied the "
                                                            "request."),
        note="PKCE is enforced for public clients"),
    StandIn(
        "kanidm", "Kanidm", "Kanidm: OAuth2, public clients and endpoints", parameters=(f"domain={KANIDM}",),
        issuer=f"{KANIDM}/oauth2/openid/client-1", authorize=f"{KANIDM}/ui/oauth2", token=f"{KANIDM}/oauth2/token",
        userinfo=f"{KANIDM}/oauth2/openid/client-1/userinfo", jwks=f"{KANIDM}/oauth2/openid/client-1/public_key.jwk",
        revocation=f"{KANIDM}/oauth2/token/revoke", introspection=f"{KANIDM}/oauth2/token/introspect",
        members={"token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"]},
        redirects=LOOPBACK, redirect_hosts=("localhost",), pkce="required", algorithm="ES256", lifetime=900,
        scopes=("openid", "email", "profile", "groups"), rotation="reuse ends all",
        note="PKCE is enforced, ES256 is the default"),
    StandIn(
        "dex", "Dex", "Dex: public clients (validateRedirectURI); refresh tokens; configuring tokens",
        parameters=(f"domain={DEX}",),
        issuer=DEX, authorize=f"{DEX}/auth", token=f"{DEX}/token", device=f"{DEX}/device/code",
        userinfo=f"{DEX}/userinfo",
        jwks=f"{DEX}/keys", introspection=f"{DEX}/token/introspect", redirects=LOOPBACK, redirect_hosts=("localhost",),
        methods=("client_secret_basic", "client_secret_post"), scopes=("openid", "email", "groups", "profile",
                                                                       "offline_access"),
        scope_style="absent", offline="offline_access", rotation="window", lifetime=86399, token_type="bearer",
        denial=("access_denied", "Approval rejected."),
        note="a spent refresh token is taken again for three seconds; versions before 2024-10 take `localhost` only"),
    StandIn(
        "hydra", "Ory Hydra", "Ory: OAuth 2.0 authorization code flow; Hydra reference configuration",
        parameters=(f"domain={HYDRA}",), issuer=HYDRA, authorize=f"{HYDRA}/oauth2/auth", token=f"{HYDRA}/oauth2/token",
        device=f"{HYDRA}/oauth2/device/auth", userinfo=f"{HYDRA}/userinfo", jwks=f"{HYDRA}/.well-known/jwks.json", revocation=f"{HYDRA}/oauth2/revoke",
        end_session=f"{HYDRA}/oauth2/sessions/logout", methods=("client_secret_post", "client_secret_basic",
                                                               "private_key_jwt", "none"),
        redirects=LOOPBACK, redirect_hosts=("127.0.0.1",), pkce="required", token_type="bearer",
        scopes=("offline_access", "offline", "openid"), subset=("openid", "offline_access"),
        members={"claims_supported": ["sub"]},
        offline="offline_access|offline", rotation="reuse ends all",
        denial=("access_denied", "The resource owner denied the request"),
        note="a scope that the client is not allowed is refused"),
    StandIn(
        "logto", "Logto", "Logto: OpenID configuration; refresh tokens; global API resources; logto issue 4630",
        parameters=("domain=https://example.logto.app",), issuer=LOGTO, authorize=f"{LOGTO}/auth", token=f"{LOGTO}/token",
        userinfo=f"{LOGTO}/me", jwks=f"{LOGTO}/jwks", revocation=f"{LOGTO}/token/revocation",
        introspection=f"{LOGTO}/token/introspection", end_session=f"{LOGTO}/session/end",
        methods=(*METHODS, "client_secret_jwt", "private_key_jwt"), pkce="required", algorithm="ES384",
        redirects=LOOPBACK, scopes=("openid", "offline_access", "profile", "email", "phone", "roles"),
        iss_in_answer=True, consent_for_offline=True, offline="offline_access", rotation="reuse ends all",
        resource="https://api.example.com",
        note="`resource` is wanted at the code exchange and at every refresh too"),
    gitea("gitea", "Gitea", "https://gitea.example.com"),
    gitea("forgejo", "Forgejo", "https://forgejo.example.com"),
    vault("openbao", "OpenBao", "https://openbao.example.com"),
    vault("vault", "HashiCorp Vault", "https://vault.example.com"),
    StandIn(
        "spring", "Spring Authorization Server", "Spring Authorization Server 7.1, as it answered (2026-11)",
        parameters=(f"domain={SPRING}",), issuer=SPRING, authorize=f"{SPRING}/oauth2/authorize",
        token=f"{SPRING}/oauth2/token", userinfo=f"{SPRING}/userinfo", jwks=f"{SPRING}/oauth2/jwks",
        end_session=f"{SPRING}/connect/logout", redirects=LOOPBACK, redirect_hosts=("127.0.0.1",), pkce="required",
        scopes=("openid", "profile", "email"), subset=("openid", "profile"), offline=NEVER, lifetime=300,
        denial=("access_denied", "OAuth 2.0 Parameter: client_id"),
        note="public clients get no refresh token, and cannot revoke"),
]
