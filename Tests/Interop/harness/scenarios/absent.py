"""What a provider is said not to have: its metadata does not name it, and asking for it is refused in one line."""

from workbench import expect

ABSENT = {
    "device": ("device_authorization_endpoint", ("--flow", "device")),
    "par": ("pushed_authorization_request_endpoint", ("--flow", "browser", "--set", "par=require")),
    "dpop": ("dpop_signing_alg_values_supported", None),
}


def not_there(case):
    member, words = ABSENT[case.scenario.name]
    bench = case.bench()
    expect(member not in bench.oidc("discover").data(), f"supports.json says it is not there, the metadata has {member}")
    if words:
        result = bench.oidc("login", *words)
        expect(result.status in (2, 4), f"login {words}: exit {result.status}, {result.err!r}")
        result.silent().one_line().says(member)
