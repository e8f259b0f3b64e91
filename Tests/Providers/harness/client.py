"""What a provider knows of the registered client: its redirect URLs and how it authenticates."""

import base64
import hmac
import time
import urllib.parse

from authority import es256_claims
from standin import ANY_LOOPBACK, LOOPBACK, PATH

LOOPBACKS = ("127.0.0.1", "localhost", "[::1]")


def refused_at_registration(row, url):
    """Why the provider's console does not take that redirect URL; None if it does."""
    parts = urllib.parse.urlsplit(url)
    host = parts.netloc.rsplit(":", 1)[0] if parts.port else parts.netloc
    if parts.scheme == "https":
        return None
    if parts.scheme != "http" or host not in row.redirect_hosts:
        return f"{url} cannot be registered: https" + "".join(f" or http://{host}" for host in row.redirect_hosts)
    return None


def fits(row, url, registered):
    """Whether the redirect URL of a request is a registered one."""
    parts = urllib.parse.urlsplit(url)
    for known in map(urllib.parse.urlsplit, registered):
        same = (parts.scheme, parts.hostname) == (known.scheme, known.hostname)
        if parts == known:
            return True
        if not same or parts.hostname not in ("127.0.0.1", "localhost") or parts.scheme != "http":
            continue
        if row.redirects == ANY_LOOPBACK or (row.redirects == LOOPBACK and parts.path == known.path):
            return True
        if row.redirects == PATH and parts.path.startswith(known.path):
            return True
    return False


def authentication(provider, request, form, is_device):
    """What is wrong with how the client authenticates; None if it is right, True if nothing more is said."""
    row, client, secret = provider.row, provider.client_id, provider.secret
    header = request.headers.get("authorization", "")
    if header.startswith("Basic "):
        method = "client_secret_basic"
        named, _, password = base64.b64decode(header[6:]).decode().partition(":")
        named, password = urllib.parse.unquote_plus(named), urllib.parse.unquote_plus(password)
    elif "client_secret" in form:
        method, named, password = "client_secret_post", form.get("client_id"), form["client_secret"]
    else:
        method, named, password = "none", form.get("client_id"), None
    if named != client:
        return "The client is unknown."
    if is_device and method == "none" and row.device:
        return None
    if not provider.knows_client:
        return True
    if secret is None:
        return None if method == "none" else "The client is public, so a secret must not be presented."
    if method not in row.methods:
        return f"{method} is not taken."
    if provider.secret_key_file:
        claims = es256_claims(password, provider.secret_key_file)
        now = time.time()
        right = claims and claims.get("sub") == client and claims.get("aud") == row.issuer
        return None if right and now < claims.get("exp", 0) <= now + 15_777_000 else "The secret is not a valid JWT."
    return None if password is not None and hmac.compare_digest(password, secret) else True
