"""The secret that a provider gives out when the client is registered."""

import json
import secrets
import time

from authority import encoded, pem
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils


def write_secret(provider, file):
    if provider.row.secret_is_jwt:
        provider.secret_key_file = file.with_suffix(".pem")
        provider.secret = jwt(provider)
    else:
        provider.secret = "s3cret+/=" + secrets.token_urlsafe(12)
    file.write_text(provider.secret + "\n")
    file.chmod(0o600)


def jwt(provider):
    """A secret that the developer signs (Apple: creating a client secret)."""
    key, now = ec.generate_private_key(ec.SECP256R1()), int(time.time())
    provider.secret_key_file.write_bytes(pem(key))
    claims = {"iss": "TEAM123456", "sub": provider.client_id, "aud": provider.row.issuer, "iat": now,
              "exp": now + 86400}
    text = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "ES256", "kid": "ABC123DEFG"}, claims))
    r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
