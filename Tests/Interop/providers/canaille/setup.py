"""Makes the database, a signing key, the user and the clients that supports.json names."""

import json
import subprocess
import sys
from pathlib import Path

state = Path(sys.argv[1])
facts = json.loads((Path(__file__).parent / "supports.json").read_text())

from joserfc.jwk import ECKey, RSAKey  # noqa: E402

signing = RSAKey.generate_key(2048, {"kid": "signing", "alg": "RS256", "use": "sig"}).as_dict(private=True)
with (state / "canaille.toml").open("a") as settings:
    pairs = ", ".join(f'{name} = "{value}"' for name, value in signing.items() if isinstance(value, str))
    settings.write(f"ACTIVE_JWKS = [{{ {pairs} }}]\n")

from canaille import create_app  # noqa: E402
from canaille.app import models  # noqa: E402
from canaille.backends import Backend  # noqa: E402

subprocess.run([str(Path(sys.executable).parent / "canaille"), "db", "upgrade"], check=True, cwd=state)
app = create_app(env_file=None)
with app.app_context():
    backend = Backend.instance
    user = models.User(
        user_name=facts["user"]["name"], password=facts["user"]["password"], formatted_name="Alice Liddell",
        given_name="Alice", family_name="Liddell", emails=["alice@example.test"])
    backend.save(user)

    native, service = facts["public_client"], facts["confidential_client"]
    scopes = ["openid", "profile", "email"]
    public = models.Client(
        client_id=native["id"], client_name="Interop", scope=scopes, token_endpoint_auth_method="none",
        client_uri="https://client.example.test", redirect_uris=[native["redirect_uri"], "http://localhost:18994/callback"],
        post_logout_redirect_uris=[native["redirect_uri"]], grant_types=["authorization_code", "refresh_token"],
        response_types=["code"])
    confidential = models.Client(
        client_id=service["id"], client_name="Interop service", scope=scopes, client_secret=service["secret"],
        token_endpoint_auth_method="client_secret_basic", client_uri="https://client.example.test",
        redirect_uris=[native["redirect_uri"]], response_types=["code"],
        grant_types=["authorization_code", "refresh_token", "client_credentials"])
    key = ECKey.import_key((state / "client.pem").read_text(), {"kid": "client"})
    assertion = models.Client(
        client_id="interop-assertion", client_name="Interop assertion", scope=scopes,
        token_endpoint_auth_method="private_key_jwt", client_uri="https://client.example.test",
        redirect_uris=[native["redirect_uri"]], response_types=["code"], grant_types=["authorization_code", "refresh_token"],
        jwks=json.dumps({"keys": [key.as_dict(private=False)]}))
    poster = models.Client(
        client_id="interop-poster", client_name="Interop poster", scope=scopes, client_secret=service["secret"],
        token_endpoint_auth_method="client_secret_post", client_uri="https://client.example.test",
        redirect_uris=[native["redirect_uri"]], response_types=["code"],
        grant_types=["authorization_code", "refresh_token"])
    for client in (public, confidential, assertion, poster):
        backend.save(client)
        client.audience = [client]
        backend.save(client)
