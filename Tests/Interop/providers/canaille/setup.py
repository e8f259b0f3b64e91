"""Makes the database, a signing key, the user and the clients that supports.json names."""

import json
import subprocess
import sys
from pathlib import Path

state = Path(sys.argv[1])
facts = json.loads((Path(__file__).parent / "supports.json").read_text())

from joserfc.jwk import ECKey, OKPKey, RSAKey  # noqa: E402

signing = [
    RSAKey.generate_key(2048, {"kid": "rsa", "alg": "RS256", "use": "sig"}),
    ECKey.generate_key("P-256", {"kid": "ec", "alg": "ES256", "use": "sig"}),
    OKPKey.generate_key("Ed25519", {"kid": "okp", "alg": "EdDSA", "use": "sig"}),
]
with (state / "canaille.toml").open("a") as settings:
    for key in signing:
        pairs = ", ".join(f'{name} = "{value}"' for name, value in key.as_dict(private=True).items())
        settings.write(f"{'ACTIVE_JWKS = [' if key is signing[0] else ','}\n  {{ {pairs} }}")
    settings.write("\n]\n")

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
        client_uri="https://client.example.test",
        redirect_uris=[native["redirect_uri"], facts["localhost_redirect"]],
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
        redirect_uris=[native["redirect_uri"]], response_types=["code"],
        grant_types=["authorization_code", "refresh_token"],
        jwks=json.dumps({"keys": [key.as_dict(private=False)]}))
    poster = models.Client(
        client_id="interop-poster", client_name="Interop poster", scope=scopes, client_secret=service["secret"],
        token_endpoint_auth_method="client_secret_post", client_uri="https://client.example.test",
        redirect_uris=[native["redirect_uri"]], response_types=["code"],
        grant_types=["authorization_code", "refresh_token"])
    others = [
        models.Client(
            client_id=f"interop-{algorithm.lower()}", client_name=f"Interop {algorithm}", scope=scopes,
            token_endpoint_auth_method="none", client_uri="https://client.example.test",
            redirect_uris=[native["redirect_uri"]], response_types=["code"], grant_types=["authorization_code"],
            id_token_signed_response_alg=algorithm)
        for algorithm in facts["algorithms"]]
    for client in (public, confidential, assertion, poster, *others):
        backend.save(client)
        client.audience = [client]
        backend.save(client)
