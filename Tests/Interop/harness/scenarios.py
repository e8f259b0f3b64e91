"""What is tried at every provider, in the order of the table. A scenario returns nothing, or raises Failure."""

import json
import os
import re
import shutil
import subprocess
import urllib.parse

from webdriver import BROWSERS
from workbench import HERE, Callback, expect

SCENARIOS = []


def scenario(name, title, browsers=("chromium",)):
    """`browsers` names those that it is repeated with; none: it opens no browser but shares a session."""

    def register(function):
        function.name, function.title, function.browsers = name, title, browsers
        SCENARIOS.append(function)
        return function

    return register


BOTH = tuple(BROWSERS)
WRONG_SECRET = "a-wrong-secret-of-at-least-32-bytes"


def accepted(bench, result):
    """A sign-in that holds: the line names alice, and `token` gives what UserInfo takes."""
    result.says(bench.facts.get("line_names", "alice"))
    expect(len(result.err.splitlines()) >= 1, "login says nothing")
    token = bench.oidc("token").line()
    expect(re.fullmatch(r"[\x21-\x7e]+", token), "the access token is not one word")
    claims = bench.oidc("userinfo").data()
    expect(claims.get("sub"), f"userinfo has no sub: {claims}")


@scenario("login", "Sign in with the browser", BOTH)
def login(case):
    bench = case.bench()
    result, report = bench.login()
    accepted(bench, result)
    host = urllib.parse.urlsplit(report["url"])
    fixed = urllib.parse.urlsplit(bench.facts["public_client"]["redirect_uri"]).port
    expect(host.hostname == "127.0.0.1" and (fixed is None or host.port == fixed), f"last page at {report['url']}")
    for secret in ("code=", "state="):
        expect(secret not in result.err.split("redirect_uri")[-1] or secret == "state=", "the code is on stderr")


@scenario("session-alive", "Sign in again while the provider remembers", BOTH)
def session_alive(case):
    bench = case.signed_in()
    result, report = bench.login()
    accepted(bench, result)
    expect(not any("assword" in step for step in report["steps"]), f"it asked for the password: {report['steps']}")


@scenario("wrong-password", "Wrong password first, then the right one", BOTH)
def wrong_password(case):
    bench = case.bench()
    result, _ = bench.login(wrong_first=True)
    accepted(bench, result)


@scenario("deny", "Consent refused", BOTH)
def deny(case):
    bench = case.bench()
    result, _ = bench.login(*case.facts.get("deny_options", []), answer="deny", status=4, page="access_denied")
    result.refused(4, "access_denied")
    bench.oidc("token").refused(3, "oidc login")


@scenario("prompt-none", "`prompt=none` without a session", BOTH)
def prompt_none(case):
    bench = case.bench()
    error = case.facts.get("prompt_none", "login_required")
    result, _ = bench.login("--prompt", "none", status=4, page=error)
    result.refused(4, error)


@scenario("form-post", "`response_mode=form_post`", BOTH)
def form_post(case):
    bench = case.bench()
    settings = bench.settings() | {"issuer": case.facts.get("form_post_issuer", case.facts["issuer"])}
    result, report = bench.login("--set", "response_mode=form_post", settings=settings)
    result.says("alice")
    expect("code=" not in report["url"] or case.facts.get("form_post") == "query", f"it came by query: {report['url']}")


@scenario("localhost", "Redirect to `localhost`", BOTH)
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


@scenario("tools", "`curl`, `jq`, `git` and a shell with the token", ())
def tools(case):
    bench = case.signed_in()
    bench.oidc("token").line()
    address = bench.oidc("discover").data()["userinfo_endpoint"]
    bindir = bench.home / "bin"
    bindir.mkdir(exist_ok=True)
    (bindir / "oidc").unlink(missing_ok=True)
    (bindir / "oidc").symlink_to(bench.binary)
    env = bench.environment({"OIDC_CONFIG": str(bench.home / "config.json"), "ADDRESS": address})
    env["PATH"] = f"{bindir}:{env['PATH']}"
    if "ca_file" in bench.settings():
        env["CURL_CA_BUNDLE"] = bench.settings()["ca_file"]

    def shell(line):
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", line], env=env, capture_output=True, text=True, cwd=bench.home)
        expect(done.returncode == 0, f"{line}: exit {done.returncode}, {done.stderr}")
        return done.stdout.strip()

    claims = json.loads(shell('curl -sSf --noproxy "*" -H "$(oidc token --header)" "$ADDRESS"'))
    expect(shell("oidc userinfo | jq -r .sub") == claims["sub"], "jq reads another sub")
    shell('oidc exec -- sh -c \'curl -sSf --noproxy "*" -H "Authorization: Bearer $OIDC_ACCESS_TOKEN" "$ADDRESS"\'')
    hosts = json.dumps([{"host": "git.example.test", "username": "alice"}])
    env["OIDC_GIT_HOSTS"] = hosts
    answer = shell("printf 'protocol=https\\nhost=git.example.test\\n\\n' | "
                   "git -c credential.helper= -c credential.helper='!oidc credential git' credential fill")
    expect(f"password={shell('oidc token')}" in answer.splitlines(), "git was given another password")


@scenario("reused-code", "A code redeemed twice: the provider's error in one line")
def reused_code(case):
    bench = case.bench()
    settings = bench.settings()
    with Callback(settings.get("redirect_uri", "http://127.0.0.1/callback")) as callback:
        settings["redirect_uri"] = callback.redirect
        begun = bench.oidc("authorize-url", settings=settings)
        pending = begun.data()
        file = bench.home / "pending.json"
        file.touch(mode=0o600)
        file.write_text(begun.out)
        subprocess.run([HERE / "browser", pending["url"]], env=os.environ | bench.walk(), check=True)
        bench.report()
        words = ("exchange", "--pending", str(file))
        tokens = bench.oidc(*words, settings=settings, stdin=callback.address).data()
        expect(tokens["access_token"], "no access_token")
        again = bench.oidc(*words, settings=settings, stdin=callback.address)
    again.refused(4, *case.facts.get("reused_code_says", ["invalid_grant"]))


@scenario("device", "Device flow, approved")
def device(case):
    case.device("approve", 0)


@scenario("device-denied", "Device flow, refused")
def device_denied(case):
    case.device("deny", 4, "access_denied")


@scenario("client-credentials", "Client credentials", ())
def client_credentials(case):
    for method, client in case.facts["client_auth"].items():
        bench = case.bench()
        settings, env = case.service(method, client)
        first = bench.oidc("token", settings=settings, env=env).line()
        expect(bench.oidc("token", settings=settings, env=env).line() == first, f"{method}: the token was not kept")
        if env:
            wrong = case.bench().oidc("token", settings=settings, env={"OIDC_CLIENT_SECRET": WRONG_SECRET})
            wrong.refused(4, *case.facts.get("wrong_secret_says", ["invalid_client"]))
            expect(WRONG_SECRET not in wrong.err, "the secret is on stderr")


@scenario("confidential", "Sign in as a confidential client, by each method it takes")
def confidential(case):
    for method, client in (case.facts.get("login_auth") or case.facts["client_auth"]).items():
        settings, env = case.service(method, client)
        del settings["grant"]
        settings["scope"] = case.facts["scope"]
        bench = case.bench(case.signed_in().profile)
        result, _ = bench.login(settings=settings, env=env)
        result.says("alice")
        case.pause()
        bench.oidc("token", "--refresh", settings=settings, env=env).line()


@scenario("introspect", "`introspect`", ())
def introspect(case):
    bench, settings, env = case.service_session()
    answer = bench.oidc("introspect", settings=settings, env=env).data()
    expect(answer["active"] is True, f"{answer}")
    answer = bench.oidc("introspect", "-", settings=settings, env=env, stdin="not-a-token\n")
    expect(json.loads(answer.out or "{}").get("active") is False or answer.status == 4, f"{answer.out} {answer.err}")


@scenario("revoke", "`revoke`", ())
def revoke(case):
    bench, settings, env = case.service_session()
    bare = bench.oidc("token", settings=settings, env=env).line()
    bench.oidc("revoke", "-", settings=settings, env=env, stdin=bare + "\n").exits(0)
    if "introspect" not in case.facts["not"]:
        answer = bench.oidc("introspect", "-", settings=settings, env=env, stdin=bare + "\n")
        expect(answer.status == 4 or json.loads(answer.out)["active"] is False, f"still active: {answer.out}")


@scenario("logout", "`logout`: tokens revoked, the provider's session ended")
def logout(case):
    bench = case.own_session()
    status = case.facts.get("logout_status", 0)
    bench.oidc("logout").exits(status).silent()
    bench.oidc("status").exits(3)
    bench.oidc("logout").exits(0)
    bench.login()
    settings = bench.settings()
    says, page = "sign-out page", case.facts.get("logout_done")
    if redirect := case.facts.get("post_logout_redirect_uri"):
        settings["post_logout_redirect_uri"] = redirect
        says, page = "The provider's session has ended in the browser.", "signed out"
    environment = bench.walk(pages=case.facts["logout_pages"], done=case.facts.get("logout_done"))
    bench.oidc("logout", "--browser", settings=settings, env=environment).exits(status).silent().says(says)
    report = bench.report()
    expect(page.lower() in report["text"].lower(), f"the last page says {report['text'][:300]!r}")
    bench.oidc("token").refused(3, "oidc login")
    _, report = bench.login()
    expect(any("submit" in step for step in report["steps"]), f"still signed in: {report['steps']}")


@scenario("register", "`register`, then sign in as that client")
def register(case):
    bench = case.bench()
    settings = bench.settings() | case.facts.get("register_settings", {})
    words = [f"--set={key}={settings[key]}" for key in settings if key not in ("issuer", "client_id")]
    bench.oidc("register", "-p", "fresh", "--issuer", settings["issuer"], *words, settings=False).exits(0)
    profile = json.loads((bench.home / "config.json").read_text())["profiles"]["fresh"]
    expect(profile["client_id"], f"no client_id in {profile}")
    result, _ = bench.login("-p", "fresh", settings=False)
    result.says("alice" if "openid" in settings["scope"].split() else "Signed in")
    bench.oidc("token", "-p", "fresh", settings=False).line()


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


@scenario("private-ca", "HTTPS with a private CA (`ca_file`)", ())
def private_ca(case):
    bench = case.bench()
    settings = bench.settings()
    bench.oidc("discover", settings=settings).data()
    file = settings.pop("ca_file")
    bench.oidc("discover", settings=settings).refused(7)
    bench.oidc("discover", settings=settings, env={"SSL_CERT_FILE": file}).data()
    bench.oidc("discover", settings=settings | {"ca_file": "/nonexistent/ca.pem"}).refused(2, "/nonexistent/ca.pem")


ABSENT = {
    "device": ("device_authorization_endpoint", ("--flow", "device")),
    "par": ("pushed_authorization_request_endpoint", ("--flow", "browser", "--set", "par=require")),
    "dpop": ("dpop_signing_alg_values_supported", None),
}


def not_there(case):
    """Shows that what the provider is said not to have is not in its metadata, and is refused in one line."""
    member, words = ABSENT[case.scenario.name]
    bench = case.bench()
    expect(member not in bench.oidc("discover").data(), f"supports.json says it is not there, the metadata has {member}")
    if words:
        result = bench.oidc("login", *words)
        expect(result.status in (2, 4), f"login {words}: exit {result.status}, {result.err!r}")
        result.silent().one_line().says(member)
