"""Configures a fresh server through its own API: keys, scopes, alice, the clients and three issuers."""

import http.cookiejar
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

origin, state = sys.argv[1], Path(sys.argv[2])
facts = json.loads((Path(__file__).parent / "supports.json").read_text())
opener = urllib.request.build_opener(
    urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))


def call(method, path, body=None):
    request = urllib.request.Request(
        origin + "/api" + path, method=method, data=None if body is None else json.dumps(body).encode(),
        headers={"Content-Type": "application/json"})
    try:
        return opener.open(request, timeout=20).read()
    except urllib.error.HTTPError as error:
        sys.exit(f"{method} {path}: {error.code} {error.read().decode()}")


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True).stdout


def key_pair(name, *arguments):
    path = str(state / f"{name}.pem")
    openssl("genpkey", *arguments, "-out", path)
    return Path(path).read_text(), openssl("pkey", "-in", path, "-pubout")


def scope(name):
    return {"name": name, "display_name": name, "password_required": True, "password_max_age": 0,
            "scheme": {}, "scheme_required": {}}


call("POST", "/auth/", {"username": "admin", "password": "password"})
for name in ("profile", "email", "offline_access"):
    call("POST", "/scope", scope(name))
existing = [entry["name"] for entry in json.loads(call("GET", "/scope?limit=0"))]
if "openid" not in existing:
    call("POST", "/scope", scope("openid"))

scopes = ["openid", "profile", "email", "offline_access"]
user = facts["user"]
call("POST", "/user/", {
    "username": user["name"], "password": user["password"], "name": "Alice Liddell", "email": "alice@example.test",
    "enabled": True, "scope": ["g_profile", *scopes]})

native = facts["public_client"]
call("POST", "/client/", {
    "client_id": native["id"], "name": "Interop", "enabled": True, "confidential": False, "scope": scopes,
    "redirect_uri": [native["redirect_uri"], "http://localhost:18992/callback"],
    "authorization_type": ["code", "refresh_token", "delete_token", "device_authorization"],
    "token_endpoint_auth_method": ["none"], "post_logout_redirect_uri": native["redirect_uri"]})

client_key, client_public = key_pair("client", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
(state / "client.pem").chmod(0o600)
service = facts["confidential_client"]
methods = ["client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt"]
call("POST", "/client/", {
    "client_id": service["id"], "name": "Interop service", "enabled": True, "confidential": True,
    "client_secret": service["secret"], "scope": scopes, "redirect_uri": [native["redirect_uri"]],
    "authorization_type": ["code", "refresh_token", "client_credentials", "device_authorization"],
    "token_endpoint_auth_method": methods, "pubkey": client_public})

algorithms = {
    "oidc": ("rsa", "256", ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")),
    "es256": ("ecdsa", "256", ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")),
    "eddsa": ("eddsa", "512", ("-algorithm", "ED25519")),
}
for name, (kind, size, arguments) in algorithms.items():
    private, public = key_pair(name, *arguments)
    call("POST", "/mod/plugin/", {
        "module": "oidc", "name": name, "display_name": name, "enabled": True,
        "parameters": {
            "iss": f"{origin}/api/{name}", "jwt-type": kind, "jwt-key-size": size, "key": private, "cert": public,
            "access-token-duration": 3600, "refresh-token-duration": 1209600, "code-duration": 600,
            "refresh-token-rolling": True, "refresh-token-one-use": "always", "auth-type-code-revoke-replayed": True,
            "allow-non-oidc": True, "auth-type-code-enabled": True, "auth-type-refresh-enabled": True,
            "auth-type-client-enabled": True, "auth-type-device-enabled": True, "auth-type-token-enabled": False,
            "auth-type-implicit-enabled": False, "auth-type-password-enabled": False,
            "device-authorization-expiration": 600, "device-authorization-interval": 1,
            "pkce-allowed": True, "pkce-required": False, "pkce-method-plain-allowed": False,
            "introspection-revocation-allowed": True, "introspection-revocation-allow-target-client": True,
            "register-client-allowed": True, "register-client-management-allowed": True,
            "register-client-auth-scope": [], "register-client-credentials-scope": ["profile"],
            "session-management-allowed": True, "session-cookie-name": f"OIDC_{name}",
            "session-cookie-expiration": 2419200, "front-channel-logout-allowed": True,
            "back-channel-logout-allowed": False,
            "oauth-par-allowed": True, "oauth-par-required": False, "oauth-par-duration": 90,
            "oauth-par-request_uri-prefix": "urn:ietf:params:oauth:request_uri:",
            "oauth-dpop-allowed": True, "oauth-dpop-iat-duration": 60, "oauth-dpop-nonce-mandatory": True,
            "oauth-dpop-nonce-counter": 50,
            "oauth-as-iss-id": name == "oidc", "subject-type": "public",
            "request-parameter-allow": True, "client-pubkey-parameter": "pubkey", "client-jwks-parameter": "jwks",
            "jwks-show": True, "name-claim": "mandatory", "name-claim-scope": ["profile"],
            "email-claim": "mandatory", "email-claim-scope": ["email"], "scope-claim": "no"}})
