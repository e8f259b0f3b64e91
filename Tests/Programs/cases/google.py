"""google-auth gets an access token for the ID token, by the executable source and a local STS"""

import json
import sys
import urllib.parse

from servers import Handler

SCRIPT = """
import google.auth.pluggable, google.auth.transport.requests
credentials = google.auth.pluggable.Credentials.from_file("account.json", scopes=["https://example.com/scope"])
credentials.refresh(google.auth.transport.requests.Request())
print(credentials.token)
"""


def run(world):
    forms = []

    class STS(Handler):
        def do_POST(self):
            forms.append(dict(urllib.parse.parse_qsl(self.body().decode())))
            self.answer(200, {"access_token": "from-google", "token_type": "Bearer", "expires_in": 600,
                              "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"})

    world.configure()
    account = json.loads(world.ran("oidc", "credential", "gcp", "--setup", "-p", "work"))
    account |= {"token_url": f"{world.server(STS)}/v1/token", "audience": account["audience"].replace("POOL", "pool")}
    (world.home / "account.json").write_text(json.dumps(account))
    world.environment["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = "1"

    world.refuses(world.run(sys.executable, "-c", SCRIPT), "login_required", "oidc login")
    world.sign_in()
    world.expect(world.ran(sys.executable, "-c", SCRIPT) == "from-google\n", "google-auth has a token")
    token = world.ran("oidc", "token", "-p", "work", "--type", "id").strip()
    sent = forms[-1]
    world.expect(sent["subject_token"] == token and sent["subject_token_type"] == account["subject_token_type"],
                 f"the ID token is what was sent: {sent}")
