"""What is done with a session, and how it ends."""

import re
import shutil

from workbench import expect

from .registry import scenario


@scenario("token", "`token`: fresh without a request, as a header, the ID token", ())
def token(case):
    bench = case.signed_in()
    bare = bench.oidc("token").line()
    expect(bench.oidc("token", "--header").line() == f"Authorization: Bearer {bare}", "--header differs")
    described = bench.oidc("token", "-o", "json").data()
    expect(described["access_token"] == bare and described["token_type"].lower() == "bearer", f"{described.keys()}")
    identity = bench.oidc("token", "--type", "id").line()
    inspected = bench.oidc("inspect", "-", "-o", "json", stdin=identity).data()
    expect(inspected["signature"] == "valid", f"inspect: {inspected.get('reason')}")
    expect(inspected["claims"]["iss"] == case.facts["issuer"], f"iss {inspected['claims']['iss']}")
    state = bench.oidc("status", "-o", "json").data()
    expect(state["issuer"] == case.facts["issuer"] and state["can_refresh"] is True, f"status: {state}")


@scenario("refresh", "Refresh, with rotation", ())
def refresh(case):
    bench = case.own_session()
    seen = {bench.oidc("token").line()}
    for _ in range(3):
        case.pause()
        seen.add(bench.oidc("token", "--refresh").line())
    expect(len(seen) == 4, f"of four tokens {len(seen)} differ")
    bench.oidc("userinfo").data()


@scenario("refresh-four", "Four refreshes at once", ())
def refresh_four(case):
    bench = case.own_session()
    old = bench.oidc("token").line()
    case.pause()
    results = [bench.finish(process) for process in [bench.start("token", "--refresh") for _ in range(4)]]
    tokens = {result.line() for result in results}
    expect(old not in tokens, "a process printed the old token")
    case.pause()
    expect(bench.oidc("token", "--refresh").line() not in tokens, "the session did not survive")
    bench.oidc("userinfo").data()


@scenario("reused-refresh", "A refresh token used twice: the provider's error in one line", ())
def reused_refresh(case):
    bench = case.own_session()
    sessions = bench.home / ".local/state/oidc"
    kept = bench.home / "kept"
    shutil.copytree(sessions, kept)
    case.pause()
    bench.oidc("token", "--refresh").line()
    for file in kept.glob("*.json"):
        shutil.copy2(file, sessions / file.name)
    status = case.facts.get("reused_refresh", 3)
    bench.oidc("token", "--refresh").refused(status, "oidc login", *(["invalid_grant"] if status == 3 else []))


@scenario("userinfo", "`userinfo` and `--claim`", ())
def userinfo(case):
    bench = case.signed_in()
    claims = bench.oidc("userinfo").data()
    expect(claims["email"] == "alice@example.test", f"claims: {claims}")
    expect(bench.oidc("userinfo", "--claim", "email").line() == "alice@example.test", "--claim differs")
    bench.oidc("userinfo", "--claim", "no_such_claim").silent()


@scenario("reused-code", "A code redeemed twice: the provider's error in one line")
def reused_code(case):
    with case.callback() as exchange:
        expect(exchange().data()["access_token"], "no access_token")
        exchange().refused(4, *case.facts.get("reused_code_says", ["invalid_grant"]))


@scenario("expired-code", "An expired code: the provider's error in one line")
def expired_code(case):
    with case.callback() as exchange:
        case.provider.expire_codes()
        exchange().refused(4, *case.facts.get("reused_code_says", ["invalid_grant"]))
