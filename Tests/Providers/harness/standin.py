"""What a stand-in is: a provider's documented behavior as data. Nothing here or in provider.py asks for a name."""

from dataclasses import dataclass, field

NEVER, ALWAYS, ASKED = "never", "always", "asked"
EXACT, LOOPBACK, PATH, ANY_LOOPBACK = "exact", "loopback", "path", "any loopback"


@dataclass(frozen=True)
class StandIn:
    preset: str
    title: str
    source: str                     # where the behavior is documented
    read: str = "2026-11"           # when that was looked up
    parameters: tuple = ()          # what `config init` is given
    variant: str = ""               # another row of the same preset

    # Endpoints. One that the provider does not have is left out.
    issuer: str = ""
    is_at_issuer: bool = True       # whether the metadata are at the issuer's well-known place
    metadata_url: str = ""          # another place
    advertised_issuer: str = ""     # if the metadata name another one: a template
    authorize: str = ""
    token: str = ""
    refresh: str = ""               # refreshes go here
    userinfo: str = ""
    jwks: str = ""
    revocation: str = ""
    introspection: str = ""
    device: str = ""
    end_session: str = ""
    members: dict = field(default_factory=dict)     # more metadata, or other than what follows from the rest

    # The client, as the documentation has it registered.
    secret: bool = False
    secret_is_jwt: bool = False     # that the developer signs with ES256
    methods: tuple = ("none",)      # how it may authenticate at the token endpoint
    redirects: str = EXACT
    redirect_hosts: tuple = ("127.0.0.1", "localhost")      # what the console takes with plain http; () is https only

    # The authorization request.
    pkce: str = "taken"             # required, taken, ignored
    needs: dict = field(default_factory=dict)       # parameters without which it is refused
    refuses: dict = field(default_factory=dict)     # parameters that are refused, and with which words
    scopes: tuple = ()              # all there are; () takes any
    scope_required: bool = False
    subset: tuple = ("openid", "email")             # two scopes to ask for; () if there are none
    consent_for_offline: bool = False               # refuse offline_access without prompt=consent
    form_post_scopes: tuple = ()
    denial: tuple = ("access_denied", "The resource owner denied the request.")
    iss_in_answer: bool = False

    # The token answer.
    formats: tuple = ("form",)
    form_unless_json: bool = False  # form-encoded answers unless JSON is asked for
    style: str = "oauth"            # errors: oauth, ok200, slack, status
    error_status: int = 400
    lifetime: int | None = 3600     # None: no expires_in
    expires: bool = True            # False: tokens do not expire
    scope_style: str = "string"     # string, commas, list, plural, absent
    scope_names: dict = field(default_factory=dict)         # what a scope is called in the answer
    hidden_scopes: tuple = ()       # granted, but not in the answer
    extra: dict = field(default_factory=dict)
    token_type: str = "Bearer"

    # Refreshes.
    offline: object = ALWAYS        # when there is a refresh token: ALWAYS, NEVER, a scope or parameters
    rotation: str = "none"          # none, reuse ends all, window
    refresh_extra: tuple = ()       # parameters that a refresh must have
    scope_at_refresh: str = ""      # the words that refuse a refresh without a scope
    narrows: bool = True            # False: a refresh gives the whole scope, whatever it asks for
    repeats_id_token: bool = True
    resource: str = ""              # an API whose tokens need `resource` at every step

    # ID tokens and UserInfo.
    algorithm: str = "RS256"
    claims: dict = field(default_factory=lambda: {"email": "alice@example.com"})
    returns_nonce: bool = True
    foreign_keys: bool = False      # keys that carry an issuer
    user: dict = field(default_factory=lambda: {"sub": "alice-1", "email": "alice@example.com", "name": "Alice"})
    userinfo_method: str = "GET"

    # The device grant.
    device_refusal: tuple = ()      # status, error, description: refused to the client that is registered
    pending_status: int = 400
    device_url_member: str = "verification_uri"

    # Sign-out.
    revokes_access: bool = True
    revocation_body: str = "form"
    logout_needs: tuple = ()        # parameters of the sign-out page
    logout_setting: str = ""        # what the profile needs besides, to sign out there

    # A wrong secret, or a code that does not hold: status, and what is in the body.
    bad_client: tuple = (401, "invalid_client", "Client authentication failed.")
    note: str = ""                  # what stands below the table

    @property
    def name(self):
        return f"{self.preset} {self.variant}".strip()

    @property
    def offline_scope(self):
        """The scope that gives a refresh token, if that is the rule."""
        is_scope = isinstance(self.offline, str) and self.offline not in (NEVER, ALWAYS)
        return self.offline.split("|")[0] if is_scope else ""

    @property
    def well_known(self):
        """Where the metadata are."""
        at_issuer = self.issuer.rstrip("/") + "/.well-known/openid-configuration"
        return [*([at_issuer] if self.issuer and self.is_at_issuer else []), *filter(None, [self.metadata_url])]

    @property
    def endpoints(self):
        named = ("authorize", "token", "refresh", "userinfo", "jwks", "revocation", "introspection", "device",
                 "end_session")
        return {name: getattr(self, name) for name in named if getattr(self, name)}

    @property
    def hosts(self):
        return {url.split("/")[2] for url in (*self.endpoints.values(), *self.well_known, self.issuer) if url}
