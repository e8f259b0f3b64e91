"""Signing in, in the browser and by a device."""

import re
import urllib.parse

from workbench import expect

from .registry import scenario


def accepted(bench, result):
    """A sign-in that holds: the line names alice, and `token` gives what UserInfo takes."""
    result.says("alice")
    token = bench.oidc("token").line()
    expect(re.fullmatch(r"[\x21-\x7e]+", token), "the access token is not one word")
    claims = bench.oidc("userinfo").data()
    expect(claims.get("sub"), f"userinfo has no sub: {claims}")


@scenario("login", "Sign in with the browser")
def login(case):
    bench = case.bench()
    result, report = bench.login()
    accepted(bench, result)
    host = urllib.parse.urlsplit(report["url"])
    fixed = urllib.parse.urlsplit(bench.facts["public_client"]["redirect_uri"]).port
    expect(host.hostname == "127.0.0.1" and (fixed is None or host.port == fixed), f"last page at {report['url']}")
    code = urllib.parse.parse_qs(host.query).get("code", [None])[0]
    expect(code is None or code not in result.err, "the code is on stderr")


@scenario("session-alive", "Sign in again while the provider remembers")
def session_alive(case):
    bench = case.signed_in()
    result, report = bench.login()
    accepted(bench, result)
    expect(report["passwords"] == 0, f"it asked for the password: {report['steps']}")


@scenario("wrong-password", "Wrong password first, then the right one")
def wrong_password(case):
    bench = case.bench()
    result, report = bench.login(wrong_first=True)
    expect(report["passwords"] > 1, f"it did not ask again: {report['steps']}")
    accepted(bench, result)


@scenario("deny", "Consent refused")
def deny(case):
    bench = case.bench()
    result, _ = bench.login(*case.facts.get("deny_options", []), answer="deny", status=4, page="access_denied")
    result.refused(4, "access_denied")
    bench.oidc("token").refused(3, "oidc login")


@scenario("prompt-none", "`prompt=none` without a session")
def prompt_none(case):
    bench = case.bench()
    error = case.facts.get("prompt_none", "login_required")
    result, _ = bench.login("--prompt", "none", status=4, page=error)
    result.refused(4, error)


@scenario("form-post", "`response_mode=form_post`")
def form_post(case):
    bench = case.bench()
    settings = bench.settings() | {"issuer": case.facts.get("form_post_issuer", case.facts["issuer"])}
    result, report = bench.login("--set", "response_mode=form_post", settings=settings)
    result.says("alice")
    expect("code=" not in report["url"] or case.facts.get("form_post") == "query", f"it came by query: {report['url']}")


@scenario("localhost", "Redirect to `localhost`")
def localhost(case):
    bench = case.bench()
    result, report = bench.login("--set", f"redirect_uri={case.facts['localhost_redirect']}")
    accepted(bench, result)
    expect(urllib.parse.urlsplit(report["url"]).hostname == "localhost", f"last page at {report['url']}")


@scenario("any-port", "Any loopback port (RFC 8252)")
def any_port(case):
    first, second = (case.bench().login()[1]["url"] for _ in range(2))
    ports = {urllib.parse.urlsplit(url).port for url in (first, second)}
    expect(len(ports) == 2, f"both times the port was {ports}")


@scenario("device", "Device flow, approved")
def device(case):
    case.device("approve", 0)


@scenario("device-denied", "Device flow, refused")
def device_denied(case):
    case.device("deny", 4, "access_denied")


@scenario("par", "PAR (RFC 9126)")
def par(case):
    bench = case.bench()
    result, _ = bench.login("--set", "par=require")
    address = re.search(r"https?://\S+[?&]request_uri=\S+", result.err)
    expect(address and "redirect_uri=" not in address[0] and "client_id=" in address[0], f"not by reference: {result.err}")
    accepted(bench, result)


@scenario("dpop", "DPoP (RFC 9449), with the nonce the provider demands")
def dpop(case):
    bench = case.bench()
    settings = bench.settings() | {"dpop": True}
    result, _ = bench.login(settings=settings)
    described = bench.oidc("token", "-o", "json", settings=settings).data()
    expect(described["token_type"].lower() == "dpop", f"{described['token_type']}")
    bench.oidc("userinfo", settings=settings).data()
    refreshed = bench.oidc("token", "--refresh", "-v", settings=settings)
    refreshed.line()
    expect(refreshed.err.count("→ POST") == 2, f"no nonce was demanded, or it was not answered: {refreshed.err}")
    bench.oidc("userinfo", settings=settings).data()


@scenario("algorithms", "ID tokens signed otherwise than RS256")
def algorithms(case):
    for name, others in case.facts["algorithms"].items():
        bench = case.bench(case.signed_in().profile)
        settings = bench.settings() | others
        bench.login(settings=settings)
        identity = bench.oidc("token", "--type", "id", settings=settings).line()
        inspected = bench.oidc("inspect", "-", "-o", "json", settings=settings, stdin=identity).data()
        expect((inspected["header"]["alg"], inspected["signature"]) == (name, "valid"), f"{name}: {inspected}")
