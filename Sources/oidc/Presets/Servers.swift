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
            registrationPage: "{domain}/admin/master/console/#/{realm}/clients",
            secret: .optional, flows: [.browser, .device, .paste],
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
            note: "map the scopes openid, profile and email with update-scope-map, or the sign-in is refused",
            source: "Kanidm: OAuth2"),
        Preset(
            name: "dex", title: "Dex",
            parameters: [PresetParameter("domain", "https://dex.example.com/dex", .issuer, "the issuer")],
            settings: [.issuer: "{domain}", .prompt: "off"],
            application: "a client with public: true and no redirectURIs",
            registrationPage: "the configuration file > staticClients",
            redirect: .unregistered, secret: .optional, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"],
            source: "Dex: Public clients; Configuring tokens"),
        Preset(
            name: "hydra", title: "Ory Hydra",
            parameters: [
                PresetParameter("domain", "https://example.projects.oryapis.com", .issuer, "the issuer")
            ],
            settings: [.issuer: "{domain}", .scope: "openid offline_access"],
            application: "a client with token_endpoint_auth_method none and the scope openid,offline_access",
            registrationPage: "ory create oauth2-client, or hydra create oauth2-client",
            secret: .optional,
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "the grant type refresh_token",
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
    ]
}
