"""The secret that a provider gives out when the client is registered."""

import base64
import json
import time

from authority import encoded, pem
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils


def registered_secret(provider, home):
    """Writes the secret to a file, as `config init` wants it; returns the file."""
    file = home / "secret"
    if provider.row.secret_is_jwt:
        provider.secret_key_file = home / "key.pem"
        provider.secret = jwt(provider)
    else:
        provider.secret = "s3cret+/=" + base64.b64encode(home.name.encode()).decode()
    file.write_text(provider.secret + "\n")
    file.chmod(0o600)
    return file


def jwt(provider):
    """A secret that the developer signs (Apple: creating a client secret)."""
    key, now = ec.generate_private_key(ec.SECP256R1()), int(time.time())
    provider.secret_key_file.write_bytes(pem(key))
    claims = {"iss": "TEAM123456", "sub": provider.client_id, "aud": provider.row.issuer, "iat": now, "exp": now + 86400}
    text = ".".join(encoded(json.dumps(part).encode()) for part in ({"alg": "ES256", "kid": "ABC123DEFG"}, claims))
    r, s = utils.decode_dss_signature(key.sign(text.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{text}.{encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
