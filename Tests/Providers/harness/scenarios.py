"""What is tried with each preset. A scenario's first line of documentation is its title."""

import json
import time

from case import expect
from standin import NEVER

SCENARIOS = []


def scenario(function):
    function.name = function.__name__.replace("_", "-")
    function.title = function.__doc__.splitlines()[0]
    SCENARIOS.append(function)
    return function


@scenario
def sign_in(case):
    """Sign in"""
    row = case.row
    case.configure()
    expect(len(case.setup["settings"]) <= 10, f"a long profile: {case.setup['settings']}")
    case.login()
    case.accepted_token()
    extra = json.loads(case.token("-o", "json")).get("extra", {})
    for name, value in row.extra.items():
        expect(name in ("scope", "scopes") or extra.get(name) == value, f"{name} of the token answer is lost: {extra}")
    case.exits(0, "status")
    if row.userinfo:
        claims = json.loads(case.exits(0, "userinfo").stdout)
        expect(claims == row.user, f"oidc userinfo: {claims}")


@scenario
def refresh(case):
    """Refresh after expiry"""
    row, provider = case.row, case.provider
    case.configure()
    if row.expires and row.lifetime is not None:
        provider.lifetime = 1
    if row.resource:
        case.words = ("--resource", row.resource)
    if "resource" in row.refuses:
        # The sign-in starts anew without it, and the refreshes leave it out.
        case.words = ("--resource", "https://api.example.com")
        case.login(quiet=False)
        expect(provider.count("authorize") == 2, "the sign-in started anew without resource")
    else:
        case.login()
    first = next(iter(provider.tokens.issued))
    provider.lifetime = row.lifetime
    if not row.expires:
        before = len(provider.seen)
        expect(case.token() == first and len(provider.seen) == before, "a token that does not expire is not replaced")
        case.says(case.exits(3, "token", "--refresh"), "no refresh token", "oidc login")
        case.remark = "tokens do not expire"
        return
    if row.offline == NEVER:
        time.sleep(1.1)
        case.says(case.exits(3, "token"), "no refresh token", "oidc login")
        case.remark = "no refresh tokens"
        return
    if row.lifetime is None:
        expect(case.token() == first, "a token without a lifetime is kept")
        second = case.accepted_token("--refresh")
        case.remark = "on demand"
    else:
        second = expired(case, first)
    expect(second != first, "the token is another one")
    refreshes = provider.count("token", grant_type="refresh_token")
    expect(refreshes == 1, f"{refreshes} refreshes")
    expect(case.accepted_token("--refresh") != second, "a second refresh gives another token")
    expect(row.rotation == "none" or provider.tokens.can_refresh() == 1, "a spent refresh token was used again")


def expired(case, first):
    """The token that `oidc token` prints once the first one has expired."""
    for _ in range(100):
        if case.token() != first:
            return case.accepted_token()
        time.sleep(0.1)
    return first


@scenario
def scopes(case):
    """A subset of scopes"""
    row, provider = case.row, case.provider
    case.configure()
    if not row.subset:
        case.login()
        asked = set(provider.last("authorize").get("scope", "").split())
        expect(asked <= {"openid"}, f"it asks for {asked}")
        case.accepted_token()
        case.remark = "fixed at the client"
        return
    one, other = row.subset
    wanted = f"{one} {other}"
    if row.offline_scope and row.offline_scope not in row.subset:
        # A preset is recognized by its URLs, which servers of people's own may have in common.
        said = case.login("--scope", wanted, quiet=False).stderr
        expect("warning:" not in said or f"only with the scope {row.offline_scope}" in said, said)
        wanted += f" {row.offline_scope}"
    case.login("--scope", wanted)
    expect(provider.last("authorize")["scope"] == wanted, f"it asks for {provider.last('authorize')['scope']}")
    case.accepted_token("--scope", one)
    if row.scope_style == "absent":
        return
    provider.withheld = {other}
    outcome = case.login("--scope", wanted, quiet=False)
    case.says(outcome, other)
    case.accepted_token("--scope", one)
    case.says(case.exits(3, "token", "--scope", other), other, "oidc login")


@scenario
def sign_out(case):
    """Sign out"""
    row, provider = case.row, case.provider
    case.configure()
    case.login()
    token = case.accepted_token()
    outcome = case.exits(0, "logout")
    case.signed_out()
    if row.revocation:
        expect(provider.tokens.can_refresh() == 0, "the refresh token is revoked")
        expect(not row.revokes_access or not provider.tokens.is_alive(token), "the access token is revoked")
    else:
        case.says(outcome, "offers no revocation")
        case.remark = "in the browser" if row.end_session else "here only"
    if row.end_session:
        case.login(*(("--set", row.logout_setting) if row.logout_setting else ()))
        case.exits(0, "logout", "--browser", "--timeout", "20")
        case.signed_out()
        case.remark = "with one more setting" if row.logout_setting else case.remark
        expect(ended(provider), f"the provider's session has not ended: {provider.last('end_session')}")


def ended(provider):
    """Whether the browser, which outlives the command, ends the provider's session."""
    for _ in range(100):
        if provider.count("end_session"):
            break
        time.sleep(0.05)
    return provider.ended == 1


@scenario
def refused(case):
    """A refused sign-in"""
    row, provider = case.row, case.provider
    case.configure()
    provider.approves = False
    case.says(case.login(code=4), *filter(None, row.denial))
    case.signed_out()
    provider.approves = True
    unregistered(case)
    if row.secret:
        provider.knows_client = False
        error, description = row.bad_client[1:]
        case.says(case.login(code=4), description or error)
    else:
        provider.forgets_codes = True
        case.says(case.login(code=4), "invalid_grant" if row.style == "slack" else "incorrect or expired")
    case.signed_out()


def unregistered(case):
    """The provider shows a page of its own, so nothing comes back: the last line says what to compare."""
    if case.redirect.startswith("https:"):
        return
    registered, case.provider.redirects = case.provider.redirects, ["https://elsewhere.example.com/callback"]
    with case.turn_of(registered[0]):
        outcome = case.run("login", "--timeout", "1")
    case.provider.redirects = registered
    case.check(outcome, 6, True, ("--timeout", "1"))
    last = outcome.stderr.strip().splitlines()[-1]
    expect("/callback" in last and case.provider.client_id in last, f"it does not say what to compare: {last}")


@scenario
def elsewhere(case):
    """Device code or paste"""
    row, provider = case.row, case.provider
    case.configure()
    if row.device:
        with case.turn:
            outcome = case.run("login", "--flow", "device", "--timeout", "20")
        if not row.device_refusal:
            case.check(outcome, 0, True, ("--flow", "device"))
            expect(provider.count("authorize") == 0, "a device sign-in opens no browser")
            case.accepted_token()
        else:
            case.check(outcome, 4, True, ("--flow", "device"))
            case.says(outcome, row.device_refusal[2])
        case.check(case.unattended(), 0, False, ())
        case.accepted_token()
        if not row.device_refusal:
            case.remark = "device"
            return
    outcome = case.paste()
    case.check(outcome, 0, True, ("--flow", "paste"))
    case.accepted_token()
    case.remark = "paste"
