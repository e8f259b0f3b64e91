/// Servers that you host, or that are hosted for you at your own URL.
extension Preset {
    static let servers: [Preset] = [
        Preset(
            name: "keycloak", title: "Keycloak",
            parameters: [
                PresetParameter("domain", "https://sso.example.com", .server, "the server's host or URL"),
                PresetParameter("realm", "main", .segment, "the realm"),
            ],
            settings: [.issuer: "{domain}/realms/{realm}", .prompt: "off"],
            application: "a client with Client authentication off",
            machineApplication: "a client with Client authentication and Service accounts roles on",
            // {domain}/admin/{realm}/console is for the realm's own administrators (26.7, 2026-11).
            registrationPage: "{domain}/admin/master/console/#/{realm}/clients",
            secret: .optional, flows: [.browser, .device, .paste],
            offlineDays: 30,
            note: "the device flow is off until \"OAuth 2.0 Device Authorization Grant\" is switched on",
            source: "Keycloak: Server administration, OIDC clients"),
        Preset(
            name: "zitadel", title: "Zitadel",
            parameters: [
                PresetParameter(
                    "domain", "https://example-abc123.zitadel.cloud", .server, "the instance's host or URL")
            ],
            settings: [.issuer: "{domain}", .prompt: "off"],
            application: "a \"Native\" application with Refresh Token",
            registrationPage: "{domain}/ui/console > Projects > Applications",
            secret: .none, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "Refresh Token",
            source: "Zitadel: OpenID Connect endpoints; Recommended authorization flows"),
        Preset(
            name: "authentik", title: "authentik",
            parameters: [
                PresetParameter("domain", "https://auth.example.com", .server, "the server's host or URL"),
                PresetParameter("app", "cli", .segment, "the application's slug"),
            ],
            settings: [.issuer: "{domain}/application/o/{app}/", .port: "8484", .prompt: "off"],
            application: "an OAuth2/OpenID provider of type \"Public\" with the scope offline_access",
            registrationPage: "{domain}/if/admin > Applications > Providers",
            redirect: .exactPort, secret: .optional, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "the scope offline_access",
            note: "the device flow needs a device code flow in the brand's settings",
            source: "authentik: OAuth 2.0 provider; Device code flow"),
        Preset(
            name: "authelia", title: "Authelia",
            parameters: [
                PresetParameter("domain", "https://auth.example.com", .server, "the server's host or URL")
            ],
            settings: [.issuer: "{domain}", .prompt: "off"],
            application: "a client with public: true",
            registrationPage: "configuration.yml > identity_providers.oidc.clients",
            secret: .optional, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "the grant type refresh_token",
            source: "Authelia: OpenID Connect 1.0 provider and clients"),
        Preset(
            name: "kanidm", title: "Kanidm",
            parameters: [
                PresetParameter("domain", "https://idm.example.com", .server, "the server's host or URL")
            ],
            settings: [
                .issuer: "{domain}/oauth2/openid/{client_id}", .redirectURI: "http://localhost/callback",
            ],
            application: "a public client with localhost redirects enabled",
            registrationPage: "kanidm system oauth2 create-public, then enable-localhost-redirects",
            redirect: .unregistered, secret: .none,
            note:
                "map the scopes openid, profile and email with update-scope-map, or the sign-in is refused; "
                + "refresh tokens live 16 hours",
            source: "Kanidm: OAuth2"),
        Preset(
            name: "dex", title: "Dex",
            parameters: [PresetParameter("domain", "https://dex.example.com/dex", .issuer, "the issuer")],
            // Before dexidp/dex #3778 (2024-10), 127.0.0.1 was refused.
            settings: [.issuer: "{domain}", .redirectURI: "http://localhost/callback", .prompt: "off"],
            application: "a client with public: true and no redirectURIs",
            registrationPage: "the configuration file > staticClients",
            redirect: .unregistered, secret: .optional, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"],
            note: "for groups, which is a scope, add --scope 'openid email groups offline_access'",
            source: "Dex: Public clients; Configuring tokens"),
        Preset(
            name: "hydra", title: "Ory Hydra",
            parameters: [
                PresetParameter("domain", "https://example.projects.oryapis.com", .issuer, "the issuer")
            ],
            settings: [.issuer: "{domain}", .scope: "openid offline_access"],
            application: "a client with token_endpoint_auth_method none and the scope openid,offline_access",
            registrationPage: "ory create oauth2-client, or hydra create oauth2-client",
            secret: .optional, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "the grant type refresh_token",
            note: "the device flow needs Hydra 25 and the grant type of RFC 8628 at the client; for "
                + "private_key_jwt, set client_assertion_audience=token_endpoint",
            source: "Ory: OAuth 2.0 authorization code flow; Hydra reference"),
        Preset(
            name: "logto", title: "Logto",
            parameters: [
                PresetParameter("domain", "https://example.logto.app", .server, "the tenant's endpoint")
            ],
            settings: [.issuer: "{domain}/oidc"],
            application: "a \"Native\" application",
            registrationPage: "the Logto console > Applications",
            secret: .none,
            refreshNeeds: [.scope: "offline_access"],
            note: "for an API, add --resource URI, as registered at API resources",
            source: "Logto: OpenID configuration; Refresh token; next-auth, 2026-07"),
        gitea("gitea", "Gitea", "https://gitea.example.com"),
        gitea("forgejo", "Forgejo", "https://forgejo.example.com"),
        vault("openbao", "OpenBao", "https://openbao.example.com"),
        vault("vault", "HashiCorp Vault", "https://vault.example.com"),
        Preset(
            name: "spring", title: "Spring Authorization Server",
            parameters: [PresetParameter("domain", "https://auth.example.com", .issuer, "the issuer")],
            // It refuses localhost, and offline_access as an unknown scope.
            settings: [.issuer: "{domain}", .scope: "openid profile", .prompt: "off"],
            application: "a client with ClientAuthenticationMethod.NONE and requireProofKey(true)",
            registrationPage: "the RegisteredClientRepository",
            secret: .optional,
            note: "public clients get no refresh token; with a secret they do",
            source: "Spring Authorization Server 7.1: core components"),
    ]

    /// Returns the preset of Gitea or its fork. Refresh tokens are issued without a scope for them; nothing
    /// is revoked.
    private static func gitea(_ name: String, _ title: String, _ example: String) -> Preset {
        Preset(
            name: name, title: title,
            parameters: [PresetParameter("domain", example, .server, "the root URL")],
            settings: [.issuer: "{domain}", .scope: "openid profile email", .prompt: "off"],
            application: "an OAuth2 application that is not \"Confidential Client\"",
            registrationPage: "{domain}/user/settings/applications",
            secret: .optional,
            note: "for git, set git_hosts; for other scopes later, revoke the grant at Applications first",
            source: "Gitea: OAuth2 provider; Gitea 1.26")
    }

    /// Returns the preset of Vault or its fork, as identity providers.
    private static func vault(_ name: String, _ title: String, _ example: String) -> Preset {
        Preset(
            name: name, title: title,
            parameters: [
                PresetParameter("domain", example, .server, "the server's URL"),
                PresetParameter("provider", "default", .label, "the OIDC provider", standard: "default"),
            ],
            settings: [
                .issuer: "{domain}/v1/identity/oidc/provider/{provider}", .scope: "openid", .prompt: "off",
            ],
            application: "a client of type public",
            registrationPage: "identity/oidc/client, by vault write or bao write",
            secret: .optional,
            note: "there are no refresh tokens; an ID token signs in there: bao write auth/jwt/login jwt=-",
            source: "Vault: OIDC identity provider; OpenBao 2.6")
    }
}
