"""curl takes the header, jq the claims, and a pipeline's failures are seen"""

import json


def run(world):
    world.configure()
    header = world.run("sh", "-c", 'curl -sf -H "$(oidc token --header -p work)" "$0/userinfo"', world.issuer)
    world.refuses(header, "not signed in")
    world.sign_in()
    called = world.ran("sh", "-c", 'curl -sf -H "$(oidc token --header -p work)" "$0/userinfo"', world.issuer)
    world.expect(json.loads(called)["sub"] == "alice", f"curl is let in: {called}")
    email = world.ran("sh", "-c", "oidc userinfo -p work | jq -r .email")
    world.expect(email == "alice@example.com\n", f"jq finds the address: {email}")
    inside = world.ran("oidc", "exec", "-p", "work", "--", "sh", "-c",
                       'curl -sf -H "Authorization: Bearer $OIDC_ACCESS_TOKEN" "$0/userinfo" | jq -r .sub', world.issuer)
    world.expect(inside == "alice\n", f"exec's command is let in: {inside}")
    asked = world.ran("sh", "-c", 'oidc request -p work "$0/userinfo" | jq -r .name', world.issuer)
    world.expect(asked != "", "request gives jq its answer")
