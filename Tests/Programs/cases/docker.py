"""skopeo, by docker's helper protocol, reads a registry with the token as its password"""

import json

from servers import Handler
from world import basic_password


def run(world):
    class Registry(Handler):
        def do_GET(self):
            password = basic_password(self.headers.get("Authorization"))
            if not (password and world.accepts(password)):
                return self.answer(401, {"errors": [{"code": "UNAUTHORIZED", "message": "who are you?"}]},
                                   WWW_Authenticate='Basic realm="registry"')
            if self.path == "/v2/":
                return self.answer(200, {})
            self.answer(200, {"name": "orchard/apple", "tags": ["ripe", "green"]})

    origin = world.server(Registry)
    host = origin.removeprefix("http://")
    world.configure(docker_registries=[{"host": host}])
    for name in ("docker-credential-oidc", "docker-credential-oidc-work"):
        (world.programs / name).symlink_to(world.oidc)
    world.environment["OIDC_PROFILE"] = "work"
    authentication = world.home / "auth.json"
    authentication.write_text(world.ran("oidc", "credential", "docker", "--setup"))
    listing = ("skopeo", "list-tags", "--authfile", authentication, "--tls-verify=false", f"docker://{host}/orchard/apple")

    world.refuses(world.run(*listing), "unauthorized")
    world.sign_in()
    tags = json.loads(world.ran(*listing))["Tags"]
    world.expect(tags == ["ripe", "green"], f"the tags are listed: {tags}")
    listed = json.loads(world.ran("docker-credential-oidc", "list"))
    world.expect(listed == {host: "oauth2"}, f"the registry is listed: {listed}")
    other = world.run("docker-credential-oidc", "get", input="other.example.com")
    world.expect((other.returncode, other.stdout) == (1, "credentials not found in native keychain\n"),
                 f"another registry is not found: {other}")
