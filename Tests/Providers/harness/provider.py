"""One small provider that behaves as a stand-in's row says."""

import secrets
import threading
import urllib.parse

from client import fits
from endpoints import OtherEndpoints
from network import Response, answer, page
from refusal import Refusal
from standin import ALWAYS, NEVER
from token_endpoint import TokenEndpoint
from tokens import Tokens


class Provider(TokenEndpoint, OtherEndpoints):
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
