"""A stand-in's other endpoints: device codes, UserInfo, introspection, revocation and the end of the session."""

import secrets

from network import answer, page
from refusal import Refusal


class OtherEndpoints:
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
