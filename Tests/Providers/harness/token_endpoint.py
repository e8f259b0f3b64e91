"""The token endpoint of a stand-in: codes, refreshes and device codes for tokens."""

import hashlib
import time
import urllib.parse

from authority import encoded
from client import authentication
from network import Response, answer
from refusal import Refusal

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class TokenEndpoint:
    def token(self, request):
        row = self.row
        if request.method != "POST":
            raise Refusal("invalid_request", "POST only")
        if ("json" if request.is_json else "form") not in row.formats:
            raise Refusal("invalid_request", "The body must be " + " or ".join(row.formats))
        form = request.form
        if form.get("grant_type") == "refresh_token" and row.refresh and request.place != row.refresh:
            raise Refusal("invalid_request", "Refreshes have a URL of their own.")
        self.authenticate(request, form, is_device=form.get("grant_type") == DEVICE)
        for name, words in row.refuses.items():
            if name in form:
                raise Refusal("invalid_target", words)
        grants = {"authorization_code": self.redeem, "refresh_token": self.renew, DEVICE: self.poll}
        grant = grants.get(form.get("grant_type"))
        if grant is None and row.refresh == request.place:
            grant = self.renew
        if grant is None:
            raise Refusal("unsupported_grant_type")
        return self.issued(request, grant(form))

    def authenticate(self, request, form, is_device=False):
        problem = authentication(self, request, form, is_device)
        if problem:
            status, error, description = self.row.bad_client
            raise Refusal(error, description if problem is True else f"{description} {problem}", status)

    def redeem(self, form):
        code = self.codes.pop(form.get("code"), None)
        if code is None or self.forgets_codes or code["redirect"] != form.get("redirect_uri"):
            raise Refusal("invalid_grant", "The code passed is incorrect or expired.")
        if code["challenge"] and self.row.pkce != "ignored":
            digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
            if encoded(digest) != code["challenge"]:
                raise Refusal("invalid_grant", "The code_verifier is wrong.")
        elif self.row.pkce == "required":
            raise Refusal("invalid_grant", "PKCE is required.")
        self.check_resource(code["resource"], form)
        return code | {"refresh": self.tokens.family(code) if code["offline"] else None}

    def check_resource(self, asked, form):
        if asked and self.row.resource and form.get("resource") != asked:
            raise Refusal("invalid_target", "resource is wanted here too")

    def renew(self, form):
        for name in self.row.refresh_extra:
            if name not in form:
                raise Refusal("invalid_request", f"{name} is missing")
        if self.row.scope_at_refresh and "scope" not in form:
            raise Refusal("invalid_request", self.row.scope_at_refresh)
        family, problem = self.tokens.renewed(form.get("refresh_token"))
        if problem:
            raise Refusal("invalid_grant", problem)
        scope = family["scope"]
        if self.row.narrows and (wanted := form.get("scope", "").split()):
            if not set(wanted) <= set(scope):
                raise Refusal("invalid_scope", "The scope is wider than what was granted.")
            scope = wanted
        self.check_resource(family.get("resource"), form)
        return family | {"scope": scope, "refresh": family, "nonce": None, "is_refresh": True}

    def issued(self, request, grant):
        row = self.row
        access = self.tokens.access(grant["refresh"], grant["scope"], self.lifetime)
        body = {"access_token": access, "token_type": row.token_type} | row.extra
        if self.lifetime is not None:
            body["expires_in"] = self.lifetime
        if grant["refresh"] is not None:
            if refresh := self.tokens.refresh(grant["refresh"], grant.get("is_refresh")):
                body["refresh_token"] = refresh
        body |= self.scope_member(grant["scope"])
        if row.jwks and "openid" in grant["scope"] and (row.repeats_id_token or not grant.get("is_refresh")):
            body["id_token"] = self.id_token(grant, access)
        if row.style == "slack":
            body = {"ok": True} | body
        if row.form_unless_json and "application/json" not in request.headers.get("accept", ""):
            return Response(200, urllib.parse.urlencode(body).encode(),
                            {"Content-Type": "application/x-www-form-urlencoded"})
        return answer(body)

    def scope_member(self, scope):
        row = self.row
        named = [row.scope_names.get(word, word) for word in scope if word not in row.hidden_scopes]
        return {"string": {"scope": " ".join(named)}, "commas": {"scope": ",".join(named)}, "list": {"scope": named},
                "plural": {"scopes": " ".join(named)}, "absent": {}}[row.scope_style]

    def id_token(self, grant, access):
        row, now = self.row, int(time.time())
        claims = {"iss": row.issuer, "aud": self.client_id, "sub": row.user.get("sub", "alice-1"), "iat": now,
                  "exp": now + 3600, "at_hash": self.key.half_hash(access)} | row.claims
        if row.returns_nonce and grant.get("nonce"):
            claims["nonce"] = grant["nonce"]
        return self.key.sign(claims)
