"""One small provider that behaves as a stand-in's row says."""

import hashlib
import secrets
import threading
import time
import urllib.parse

from authority import encoded
from client import authentication, fits
from network import Response, answer, page
from standin import ALWAYS, NEVER
from tokens import Tokens

DEVICE = "urn:ietf:params:oauth:grant-type:device_code"


class Refusal(Exception):
    def __init__(self, error, description="", status=None):
        super().__init__(error)
        self.error, self.description, self.status = error, description, status


class Provider:
    """The provider, the client that is registered there and the user in front of it."""

    client_id = "client-1"

    def __init__(self, row, keys):
        self.row, self.key, self.foreign = row, keys[row.algorithm], keys["foreign"]
        self.secret, self.secret_key_file, self.redirects = None, None, []
        self.approves, self.withheld, self.lifetime = True, set(), row.lifetime
        self.seen, self.codes, self.device_codes = [], {}, {}
        self.tokens = Tokens(row)
        self.lock = threading.Lock()
        self.places = {url: name for name, url in row.endpoints.items() if name != "refresh"}
        if row.refresh:
            self.places[row.refresh] = "token"
        self.ended, self.forgets_codes, self.knows_client = 0, False, True

    def __call__(self, request):
        with self.lock:
            if request.place in self.row.well_known:
                self.seen.append(("metadata", {}))
                return answer(self.metadata())
            name = self.places.get(request.place)
            if name is None:
                return page(404, "This page does not exist.")
            body = request.form if request.method == "POST" and request.body else request.query
            self.seen.append((name, body))
            try:
                return getattr(self, name)(request)
            except Refusal as refusal:
                return self.refused(refusal)

    def count(self, name, **members):
        with self.lock:
            return sum(1 for seen, body in self.seen if seen == name and members.items() <= body.items())

    def last(self, name):
        return next((body for seen, body in reversed(self.seen) if seen == name), {})

    # Metadata.

    def metadata(self):
        row = self.row
        names = {"authorize": "authorization_endpoint", "token": "token_endpoint", "userinfo": "userinfo_endpoint",
                 "jwks": "jwks_uri", "revocation": "revocation_endpoint", "introspection": "introspection_endpoint",
                 "device": "device_authorization_endpoint", "end_session": "end_session_endpoint"}
        document = {"issuer": row.advertised_issuer or row.issuer, "response_types_supported": ["code"],
                    "subject_types_supported": ["public"], "id_token_signing_alg_values_supported": [row.algorithm],
                    "code_challenge_methods_supported": ["S256"],
                    "token_endpoint_auth_methods_supported": list(row.methods)}
        document |= {wire: row.endpoints[name] for name, wire in names.items() if name in row.endpoints}
        if row.scopes:
            document["scopes_supported"] = list(row.scopes)
        if row.iss_in_answer:
            document["authorization_response_iss_parameter_supported"] = True
        return {name: value for name, value in (document | row.members).items() if value is not None}

    def jwks(self, _):
        key, others = self.key.public(), []
        if self.row.foreign_keys:
            # The same identifier would be a fault; another tenant's key is not used.
            key["issuer"] = self.row.advertised_issuer or self.row.issuer
            others = [self.foreign.public() | {"kid": "foreign", "issuer": "https://login.example.net/other/v2.0"}]
        return answer({"keys": others + [key]})

    # The authorization endpoint.

    def authorize(self, request):
        row, query = self.row, request.query
        if query.get("client_id") != self.client_id:
            return page(400, "This client is not known.")
        redirect = query.get("redirect_uri", "")
        if not fits(row, redirect, self.redirects):
            return page(400, f"redirect_uri_mismatch: {redirect}")
        back = {"state": query.get("state", "")}
        try:
            self.check_request(query)
            if not self.approves:
                raise Refusal(*row.denial)
        except Refusal as refusal:
            back |= {"error": refusal.error, "error_description": refusal.description}
        else:
            scope = [word for word in query.get("scope", "").split() if word not in self.withheld]
            back["code"] = secrets.token_urlsafe(24)
            self.codes[back["code"]] = {
                "redirect": redirect, "challenge": query.get("code_challenge"), "nonce": query.get("nonce"),
                "scope": scope, "offline": self.is_offline(query, scope), "resource": query.get("resource")}
        if row.iss_in_answer:
            back["iss"] = row.issuer
        joined = urllib.parse.urlencode({name: value for name, value in back.items() if value})
        return Response(302, b"", {"Location": f"{redirect}{'&' if '?' in redirect else '?'}{joined}"})

    def check_request(self, query):
        row = self.row
        if query.get("response_type") != "code":
            raise Refusal("unsupported_response_type")
        for name, value in row.needs.items():
            if query.get(name) is None or value not in (None, query[name]):
                raise Refusal("invalid_request", f"{name} is missing or not {value}")
        for name, words in row.refuses.items():
            if name in query:
                raise Refusal("invalid_target", words)
        if row.pkce == "required" and query.get("code_challenge_method") != "S256":
            raise Refusal("invalid_request", "PKCE with S256 is required for this client.")
        scope = query.get("scope", "").split()
        if row.scope_required and not scope:
            raise Refusal("invalid_scope", "No scope was requested.")
        for word in scope:
            if row.scopes and word not in row.scopes and word not in row.scope_names.values():
                raise Refusal("invalid_scope", f"The requested scope is invalid: {word}")
        if row.consent_for_offline and "offline_access" in scope and "consent" not in query.get("prompt", "").split():
            raise Refusal("invalid_request", "offline_access needs consent in prompt")
        if set(scope) & set(row.form_post_scopes) and query.get("response_mode") != "form_post":
            raise Refusal("invalid_request", "response_mode must be form_post when name or email scope is requested.")

    def is_offline(self, query, scope):
        """Whether this request gets a refresh token."""
        rule = self.row.offline
        if isinstance(rule, dict):
            return rule.items() <= query.items()
        return rule == ALWAYS or (rule != NEVER and any(word in scope for word in rule.split("|")))

    # The token endpoint.

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

    # The device grant.

    def device(self, request):
        row, form = self.row, request.form
        if form.get("client_id") != self.client_id and "authorization" not in request.headers:
            raise Refusal(*row.bad_client[1:], row.bad_client[0])
        if row.device_refusal:
            status, error, description = row.device_refusal
            raise Refusal(error, description, status)
        for word in form.get("scope", "").split():
            if row.scopes and word not in row.scopes:
                raise Refusal("invalid_scope", f"The requested scope is invalid: {word}")
        code = secrets.token_urlsafe(24)
        self.device_codes[code] = {"polls": 0, "scope": form.get("scope", "").split()}
        return answer({"device_code": code, "user_code": "WDJB-MJHT", "expires_in": 900, "interval": 1,
                       row.device_url_member: f"https://{row.token.split('/')[2]}/device"})

    def poll(self, form):
        code = self.device_codes.get(form.get("device_code"))
        if code is None:
            raise Refusal("expired_token")
        code["polls"] += 1
        if not self.approves:
            raise Refusal(*self.row.denial)
        if code["polls"] < 2:
            raise Refusal("authorization_pending", "The user has not answered yet.", self.row.pending_status)
        del self.device_codes[form["device_code"]]
        offline = isinstance(self.row.offline, dict) or self.is_offline({}, code["scope"])
        grant = {"scope": code["scope"], "nonce": None, "resource": None}
        return grant | {"refresh": self.tokens.family(grant) if offline else None}

    # What a token is good for.

    def userinfo(self, request):
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if request.method != self.row.userinfo_method or "user-agent" not in request.headers:
            return answer({"message": "refused"}, 403)
        if scheme.lower() != "bearer" or not self.tokens.is_alive(token):
            return answer({"error": "invalid_token"}, 401, **{"WWW-Authenticate": 'Bearer error="invalid_token"'})
        return answer(self.row.user)

    def introspection(self, request):
        self.authenticate(request, request.form)
        return answer({"active": self.tokens.is_alive(request.form.get("token"))})

    def revocation(self, request):
        row = self.row
        if ("json" if request.is_json else "form") != row.revocation_body:
            raise Refusal("invalid_request", f"The body must be {row.revocation_body}")
        self.authenticate(request, request.form)
        token = request.form.get("token", "")
        if not row.revokes_access and self.tokens.is_access(token):
            raise Refusal("unsupported_token_type", "Access tokens cannot be revoked.")
        self.tokens.revoke(token)
        return answer({"ok": True} if row.style == "slack" else {})

    def end_session(self, request):
        for name in self.row.logout_needs:
            if name not in request.query:
                return page(400, f"Required parameter '{name}' is not present")
        self.ended += 1
        return page(200, "You have signed out.")

    # Errors.

    def refused(self, refusal):
        row, status = self.row, refusal.status or self.row.error_status
        body = {"error": refusal.error}
        if refusal.description:
            body["error_description"] = refusal.description
        if row.style == "ok200":
            status = 200
        elif row.style == "slack":
            status, body = 200, {"ok": False, "error": refusal.error}
        elif row.style == "status":
            body = {"status": status, "message": refusal.description or refusal.error}
        return answer(body, status)
