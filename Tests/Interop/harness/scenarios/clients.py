"""Clients that prove who they are, and what only they may ask."""

import json

from workbench import expect

from .registry import scenario

WRONG_SECRET = "a-wrong-secret-of-at-least-32-bytes"


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
    bench.oidc("logout").exits(0).silent()
    bench.oidc("status").exits(3)
    bench.oidc("logout").exits(0)
    bench.login()
    settings = bench.settings()
    says, page = "sign-out page", case.facts.get("logout_done")
    if redirect := case.facts.get("post_logout_redirect_uri"):
        settings["post_logout_redirect_uri"] = redirect
        says, page = "The provider's session has ended in the browser.", "signed out"
    environment = bench.walk(pages=case.facts["logout_pages"], done=case.facts.get("logout_done"))
    bench.oidc("logout", "--browser", settings=settings, env=environment).exits(0).silent().says(says)
    report = bench.report()
    expect(page.lower() in report["text"].lower(), f"the last page says {report['text'][:300]!r}")
    bench.oidc("token").refused(3, "oidc login")
    _, report = bench.login()
    expect(report["passwords"] > 0, f"still signed in: {report['steps']}")


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
