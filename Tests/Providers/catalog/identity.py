"""Identity providers that others run."""

from standin import ANY_LOOPBACK, LOOPBACK, StandIn

GOOGLE = "https://www.googleapis.com/auth/userinfo."
TENANT = "8eaef023-2b34-4da1-9baa-8bc8c9d6a490"
CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad"
MICROSOFT = "https://login.microsoftonline.com"
TEMPLATE = MICROSOFT + "/{tenantid}/v2.0"
PLAIN = ("openid", "profile", "email")


def entra(tenant, **more):
    """Microsoft's identity platform, v2.0. `openid` is granted and listed; `offline_access` is granted only."""
    base = f"{MICROSOFT}/{tenant}"
    row = {
        "preset": "entra", "title": "Microsoft Entra ID",
        "source": "Microsoft identity platform: OIDC, authorization code flow, redirect URI restrictions, errors",
        "parameters": (f"tenant={tenant}",), "issuer": f"{base}/v2.0", "authorize": f"{base}/oauth2/v2.0/authorize",
        "token": f"{base}/oauth2/v2.0/token", "device": f"{base}/oauth2/v2.0/devicecode",
        "end_session": f"{base}/oauth2/v2.0/logout", "jwks": f"{base}/discovery/v2.0/keys",
        "userinfo": "https://graph.microsoft.com/oidc/userinfo",
        "members": {"code_challenge_methods_supported": None, "tenant_region_scope": None,
                    "token_endpoint_auth_methods_supported": [
                        "client_secret_post", "private_key_jwt", "client_secret_basic", "self_signed_tls_client_auth"],
                    "scopes_supported": [*PLAIN, "offline_access"]},
        "redirects": LOOPBACK, "redirect_hosts": ("localhost",), "foreign_keys": True,
        "refuses": {"resource": "AADSTS9010010: The resource parameter provided in the request doesn't match with "
                                "the requested scopes."},
        "scope_at_refresh": "AADSTS90009: Application is requesting a token for itself. This scenario is supported only "
                            "if resource is specified using the GUID based App Identifier.",
        "offline": "offline_access", "hidden_scopes": ("offline_access",), "rotation": "window",
        "extra": {"ext_expires_in": 3599},
        "claims": {"tid": TENANT, "ver": "2.0", "preferred_username": "alice@example.com"},
        "denial": ("access_denied", "AADSTS65004: User declined to consent to access the app."),
        "bad_client": (401, "invalid_client", "AADSTS7000218: The request body must contain the following parameter: "
                                              "'client_assertion' or 'client_secret'."),
    }
    return StandIn(**(row | more))


def templated(variant):
    """The issuer of the metadata is a template; the ID token's is of the tenant that the user belongs to."""
    return entra(variant, variant=variant, is_at_issuer=False, metadata_url=f"{MICROSOFT}/{variant}/v2.0/.well-known"
                 "/openid-configuration", issuer=f"{MICROSOFT}/{TENANT}/v2.0", advertised_issuer=TEMPLATE)


CIAM = f"https://{TENANT}.ciamlogin.com/{TENANT}"
POOL = "eu-central-1_aBcDeFgHi"
COGNITO = "https://example.auth.eu-central-1.amazoncognito.com"
OKTA = "https://dev-123456.okta.com/oauth2/default"
AUTH0 = "https://example.eu.auth0.com"
PING = "https://auth.pingone.eu/f2aba07d-270c-42ba-8811-01af5f63d458/as"
ONELOGIN = "https://example.onelogin.com/oidc/2"
DUO = "https://sso-abc1def2.sso.duosecurity.com/oidc/client-1"
JUMPCLOUD = "https://oauth.id.jumpcloud.com"

IDENTITY = [
    StandIn(
        "google", "Google",
        "Google: OAuth 2.0 for iOS and desktop apps; limited-input devices; google-api-python-client #1088",
        issuer="https://accounts.google.com", authorize="https://accounts.google.com/o/oauth2/v2/auth",
        token="https://oauth2.googleapis.com/token", device="https://oauth2.googleapis.com/device/code",
        userinfo="https://openidconnect.googleapis.com/v1/userinfo", revocation="https://oauth2.googleapis.com/revoke",
        jwks="https://www.googleapis.com/oauth2/v3/certs", secret=True, redirects=ANY_LOOPBACK,
        methods=("client_secret_post", "client_secret_basic"), scopes=PLAIN,
        scope_names={"email": GOOGLE + "email", "profile": GOOGLE + "profile"},
        offline={"access_type": "offline", "prompt": "consent"}, lifetime=3599,
        subset=("openid", GOOGLE + "email"),
        device_refusal=(401, "invalid_client", "Invalid client type."), pending_status=428,
        device_url_member="verification_url", denial=("access_denied", ""), repeats_id_token=True,
        bad_client=(401, "invalid_client", "The provided client secret is invalid."),
        note="answers with the scopes' full URLs; a desktop client is refused device codes"),
    entra(TENANT),
    templated("common"),
    templated("organizations"),
    entra("consumers", variant="consumers", issuer=f"{MICROSOFT}/{CONSUMERS}/v2.0",
          metadata_url=f"{MICROSOFT}/consumers/v2.0/.well-known/openid-configuration",
          claims={"tid": CONSUMERS, "ver": "2.0", "email": "alice@example.com"}),
    StandIn(
        "entra-external", "Microsoft Entra External ID",
        "Microsoft Entra External ID: endpoints; openid-client issue 718", parameters=(f"tenant={TENANT}", "name=example"),
        is_at_issuer=False, metadata_url=f"https://example.ciamlogin.com/{TENANT}/v2.0/.well-known/openid-configuration",
        issuer=f"{CIAM}/v2.0", authorize=f"{CIAM}/oauth2/v2.0/authorize", token=f"{CIAM}/oauth2/v2.0/token",
        end_session=f"{CIAM}/oauth2/v2.0/logout",
        jwks=f"{CIAM}/discovery/v2.0/keys", userinfo="https://graph.microsoft.com/oidc/userinfo", redirects=LOOPBACK,
        redirect_hosts=("localhost",), foreign_keys=True, offline="offline_access", hidden_scopes=("offline_access",),
        members={"code_challenge_methods_supported": None, "scopes_supported": [*PLAIN, "offline_access"],
                 "token_endpoint_auth_methods_supported": ["client_secret_post", "private_key_jwt"]},
        rotation="window", claims={"tid": TENANT, "ver": "2.0", "email": "alice@example.com"}),
    StandIn(
        "okta", "Okta", "Okta: OpenID Connect and OAuth 2.0 API; refresh tokens; device authorization",
        parameters=("domain=dev-123456.okta.com",), issuer=OKTA, authorize=f"{OKTA}/v1/authorize",
        token=f"{OKTA}/v1/token",
        device=f"{OKTA}/v1/device/authorize", userinfo=f"{OKTA}/v1/userinfo", jwks=f"{OKTA}/v1/keys",
        revocation=f"{OKTA}/v1/revoke", introspection=f"{OKTA}/v1/introspect", end_session=f"{OKTA}/v1/logout",
        methods=("client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt", "none"),
        pkce="required", scopes=(*PLAIN, "address", "phone", "offline_access", "device_sso"), scope_required=True,
        offline="offline_access", rotation="window", logout_needs=("id_token_hint",),
        claims={"email": "alice@example.com", "ver": 1}, denial=("access_denied", "User is not assigned to the client "
                                                                                  "application."),
        bad_client=(401, "invalid_client", "Client authentication failed.")),
    StandIn(
        "auth0", "Auth0", "Auth0: native apps, authorization code flow with PKCE; device flow; revoke; logout",
        parameters=("domain=example.eu.auth0.com",), issuer=f"{AUTH0}/", authorize=f"{AUTH0}/authorize",
        token=f"{AUTH0}/oauth/token", device=f"{AUTH0}/oauth/device/code", userinfo=f"{AUTH0}/userinfo",
        jwks=f"{AUTH0}/.well-known/jwks.json", revocation=f"{AUTH0}/oauth/revoke", end_session=f"{AUTH0}/oidc/logout",
        methods=("client_secret_basic", "client_secret_post", "private_key_jwt", "none"), formats=("form", "json"),
        scopes=("openid", "profile", "offline_access", "name", "email", "picture", "address", "phone"),
        offline="offline_access", rotation="reuse ends all", lifetime=86400, revokes_access=False, pending_status=403,
        error_status=403, denial=("access_denied", "User did not authorize the request")),
    StandIn(
        "cognito", "Amazon Cognito", "Amazon Cognito: authorize, token, revoke and logout endpoints",
        parameters=("region=eu-central-1", f"pool={POOL}"),
        issuer=f"https://cognito-idp.eu-central-1.amazonaws.com/{POOL}",
        authorize=f"{COGNITO}/oauth2/authorize", token=f"{COGNITO}/oauth2/token", userinfo=f"{COGNITO}/oauth2/userInfo",
        revocation=f"{COGNITO}/oauth2/revoke", end_session=f"{COGNITO}/logout",
        jwks=f"https://cognito-idp.eu-central-1.amazonaws.com/{POOL}/.well-known/jwks.json",
        members={"code_challenge_methods_supported": None,
                 "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"]},
        redirect_hosts=("localhost",), scopes=("openid", "email", "phone", "profile"), scope_style="absent",
        revokes_access=False, narrows=False, logout_needs=("client_id", "logout_uri"),
        logout_setting=f"end_session_endpoint={COGNITO}/logout?logout_uri=http://localhost:8484/callback",
        user={"sub": "alice-1", "email": "alice@example.com", "username": "alice"},
        note="`logout --browser` needs `--set end_session_endpoint=https://DOMAIN/logout?logout_uri=URL`, with a URL of "
             "the client's sign-out URLs"),
    StandIn(
        "ping", "PingOne", "PingOne Platform API: OpenID Connect and OAuth 2.0",
        parameters=("environment=f2aba07d-270c-42ba-8811-01af5f63d458", "region=eu"), issuer=PING,
        authorize=f"{PING}/authorize", token=f"{PING}/token", device=f"{PING}/device_authorization",
        userinfo=f"{PING}/userinfo", jwks=f"{PING}/jwks", revocation=f"{PING}/revoke",
        introspection=f"{PING}/introspect",
        end_session=f"{PING}/signoff", methods=("none", "client_secret_basic", "client_secret_post", "private_key_jwt"),
        redirects=LOOPBACK, redirect_hosts=("127.0.0.1",), pkce="required", scopes=(*PLAIN, "address", "phone"),
        rotation="reuse ends all"),
    StandIn(
        "onelogin", "OneLogin", "OneLogin: OpenID Connect API and metadata; authorization code flow with PKCE",
        parameters=("subdomain=example",), issuer=ONELOGIN, authorize=f"{ONELOGIN}/auth", token=f"{ONELOGIN}/token",
        userinfo=f"{ONELOGIN}/me", jwks=f"{ONELOGIN}/certs", revocation=f"{ONELOGIN}/token/revocation",
        introspection=f"{ONELOGIN}/token/introspection", end_session=f"{ONELOGIN}/logout",
        methods=("client_secret_basic", "client_secret_post", "none"), pkce="required",
        scopes=("openid", "name", "profile", "groups", "email", "params", "phone"), rotation="reuse ends all"),
    StandIn(
        "duo", "Duo Single Sign-On", "Duo: Single Sign-On for generic OpenID Connect relying parties",
        parameters=("sso=sso-abc1def2",), issuer=DUO, authorize=f"{DUO}/authorize", token=f"{DUO}/token",
        userinfo=f"{DUO}/userinfo", jwks=f"{DUO}/jwks", introspection=f"{DUO}/token_introspection", secret=True,
        methods=("client_secret_basic", "client_secret_post"), scopes=(*PLAIN, "offline_access"),
        offline="offline_access", rotation="reuse ends all"),
    StandIn(
        "jumpcloud", "JumpCloud", "JumpCloud: SSO with OIDC", issuer=f"{JUMPCLOUD}/",
        authorize=f"{JUMPCLOUD}/oauth2/auth", token=f"{JUMPCLOUD}/oauth2/token", userinfo=f"{JUMPCLOUD}/userinfo",
        jwks=f"{JUMPCLOUD}/.well-known/jwks.json", revocation=f"{JUMPCLOUD}/oauth2/revoke",
        end_session=f"{JUMPCLOUD}/oauth2/sessions/logout",
        methods=("client_secret_post", "client_secret_basic", "private_key_jwt", "none"), pkce="required",
        scopes=("offline_access", "offline", *PLAIN), offline="offline_access|offline", rotation="reuse ends all",
        token_type="bearer"),
    StandIn(
        "apple", "Sign in with Apple", "Apple: Sign in with Apple REST API; creating a client secret",
        parameters=("redirect=https://example.com/callback",), issuer="https://appleid.apple.com",
        authorize="https://appleid.apple.com/auth/authorize", token="https://appleid.apple.com/auth/token",
        revocation="https://appleid.apple.com/auth/revoke", jwks="https://appleid.apple.com/auth/keys", secret=True,
        secret_is_jwt=True,
        methods=("client_secret_post",), redirect_hosts=(), scopes=("openid", "email", "name"), scope_style="absent",
        members={"code_challenge_methods_supported": None}, pkce="ignored", form_post_scopes=("name", "email"),
        claims={"email": "alice@example.com", "nonce_supported": True}, denial=("user_cancelled_authorize", ""),
        bad_client=(400, "invalid_client", ""),
        subset=(), note="the redirect is an https URL of your own, so the sign-in is by pasting"),
]
