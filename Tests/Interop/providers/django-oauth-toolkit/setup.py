"""Makes the user and the clients that supports.json names."""

import json
from pathlib import Path

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402
from oauth2_provider.models import Application  # noqa: E402

facts = json.loads((Path(__file__).parent / "supports.json").read_text())
user = User.objects.create_superuser(facts["user"]["name"], "alice@example.test", facts["user"]["password"])
user.first_name, user.last_name = "Alice", "Liddell"
user.save()

native = facts["public_client"]
Application.objects.create(
    client_id=native["id"], name="Interop", user=user, client_type="public", client_secret="",
    authorization_grant_type="authorization-code", algorithm="RS256",
    redirect_uris="http://127.0.0.1/callback http://localhost/callback http://localhost:18999/callback",
    post_logout_redirect_uris="http://127.0.0.1/callback")
Application.objects.create(
    client_id=facts["device_client"]["id"], name="Interop device", user=user, client_type="public",
    client_secret="", authorization_grant_type="urn:ietf:params:oauth:grant-type:device_code", algorithm="RS256")
service = facts["confidential_client"]
Application.objects.create(
    client_id=service["id"], name="Interop service", user=user, client_type="confidential",
    client_secret=service["secret"], authorization_grant_type="client-credentials")
Application.objects.create(
    client_id="interop-web", name="Interop web", user=user, client_type="confidential", algorithm="RS256",
    client_secret=service["secret"], authorization_grant_type="authorization-code",
    redirect_uris="http://127.0.0.1/callback")
