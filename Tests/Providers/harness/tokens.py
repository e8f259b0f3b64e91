"""Access tokens and refresh tokens, with rotation as a row says."""

import secrets
import time


class Tokens:
    def __init__(self, row):
        self.row, self.issued, self.refreshes = row, {}, {}

    def family(self, grant):
        """A sign-in's tokens: revoked together, and all at once if a spent refresh token comes again."""
        return {"scope": grant["scope"], "resource": grant.get("resource"), "alive": True, "count": 0}

    def access(self, family, scope, lifetime):
        token = "at-" + secrets.token_urlsafe(24)
        expires = time.monotonic() + lifetime if lifetime and self.row.expires else float("inf")
        self.issued[token] = {"family": family, "alive": True, "expires": expires, "scope": scope}
        return token

    def refresh(self, family, is_refresh):
        """A new refresh token, or None if the old one goes on."""
        if is_refresh and self.row.rotation == "none":
            return None
        token = "rt-" + secrets.token_urlsafe(24)
        family["count"] += 1
        self.refreshes[token] = {"family": family, "spent": None}
        return token

    def renewed(self, token):
        """The family of a refresh token, or what is wrong with it."""
        known = self.refreshes.get(token)
        if known is None or not known["family"]["alive"]:
            return None, "The refresh token is unknown or was revoked."
        if known["spent"] is not None:
            if self.row.rotation == "reuse ends all":
                known["family"]["alive"] = False
            if self.row.rotation != "window" or time.monotonic() - known["spent"] > 3:
                return None, "The refresh token was used before."
        if self.row.rotation != "none" and known["spent"] is None:
            known["spent"] = time.monotonic()
        return known["family"], None

    def is_access(self, token):
        return token in self.issued

    def is_alive(self, token):
        known = self.issued.get(token)
        if known is None or not known["alive"] or known["expires"] < time.monotonic():
            return False
        return known["family"] is None or known["family"]["alive"]

    def can_refresh(self):
        """How many refresh tokens would be taken."""
        return sum(1 for known in self.refreshes.values() if known["family"]["alive"] and known["spent"] is None)

    def revoke(self, token):
        if known := self.refreshes.get(token):
            known["family"]["alive"] = False
        elif known := self.issued.get(token):
            known["alive"] = False
