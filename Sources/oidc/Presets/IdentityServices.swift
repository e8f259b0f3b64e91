/// Identity providers that are run as a service.
extension Preset {
    static let identityServices: [Preset] = [
        Preset(
            name: "google", title: "Google",
            settings: [
                .issuer: "https://accounts.google.com", .scope: "openid email profile",
                .extraAuthorizeParams: #"{"access_type":"offline"}"#, .prompt: "consent",
            ],
            application: "an OAuth client of type \"Desktop app\"",
            registrationPage: "https://console.cloud.google.com/auth/clients",
            redirect: .unregistered, secret: .required,
            refreshNeeds: [.extraAuthorizeParams: #"{"access_type":"offline"}"#, .prompt: "consent"],
            note:
                "the device flow is for clients of type \"TVs and Limited Input devices\"; while an External app is "
                + "in Testing, sessions end after 7 days",
            source: "Google: OAuth 2.0 for iOS & Desktop Apps; OAuth 2.0 for TV and Limited-Input Device"),
        Preset(
            name: "entra", title: "Microsoft Entra ID",
            parameters: [
                PresetParameter(
                    "tenant", "8eaef023-2b34-4da1-9baa-8bc8c9d6a490", .uuid, "the directory (tenant) ID",
                    special: [
                        "common": entraOfAnyTenant("common"),
                        "organizations": entraOfAnyTenant("organizations"),
                        // All personal accounts are in one tenant.
                        "consumers": [
                            .issuer:
                                "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
                            .redirectURI: "http://localhost/callback", .prompt: "off",
                        ],
                    ])
            ],
            settings: [
                .issuer: "https://login.microsoftonline.com/{tenant}/v2.0",
                .redirectURI: "http://localhost/callback", .prompt: "off",
            ],
            application: "an app with the platform \"Mobile and desktop applications\"",
            registrationPage: "https://entra.microsoft.com > App registrations > Authentication",
            secret: .none, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshNamesScope: true,
            note: "the device flow needs \"Allow public client flows\", and conditional access may block it",
            source: "Microsoft identity platform: redirect URI restrictions; OAuth 2.0 device code"),
        Preset(
            name: "entra-external", title: "Microsoft Entra External ID",
            parameters: [
                PresetParameter(
                    "tenant", "8eaef023-2b34-4da1-9baa-8bc8c9d6a490", .uuid, "the external tenant's ID"),
                PresetParameter("name", "example", .label, "its name, as in NAME.onmicrosoft.com"),
            ],
            settings: [
                .issuer: "https://{tenant}.ciamlogin.com/{tenant}/v2.0",
                .metadataURL:
                    "https://{name}.ciamlogin.com/{tenant}/v2.0/.well-known/openid-configuration",
                .redirectURI: "http://localhost/callback", .prompt: "off",
            ],
            application: "an app with the platform \"Mobile and desktop applications\" and a user flow",
            registrationPage: "https://entra.microsoft.com > App registrations > Authentication",
            secret: .none,
            refreshNeeds: [.scope: "offline_access"], refreshNamesScope: true,
            source: "Microsoft Entra External ID: authentication endpoints of external tenants (2026-02)"),
        Preset(
            name: "okta", title: "Okta",
            parameters: [
                PresetParameter("domain", "dev-123456.okta.com", .host, "the organization's domain"),
                PresetParameter(
                    "server", "default", .label, "the authorization server's ID", standard: "default",
                    special: [
                        "org": [.issuer: "https://{domain}", .port: "8484", .prompt: "off"]
                    ]),
            ],
            settings: [.issuer: "https://{domain}/oauth2/{server}", .port: "8484", .prompt: "off"],
            application: "a \"Native Application\" with Refresh Token",
            registrationPage: "Admin Console > Applications > Create App Integration",
            redirect: .exactPort, secret: .none, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "the grant type Refresh Token",
            note: "the device flow needs the grant type Device Authorization",
            source: "Okta: OpenID Connect & OAuth 2.0 API; Configure device authorization"),
        Preset(
            name: "auth0", title: "Auth0",
            parameters: [
                PresetParameter("domain", "example.eu.auth0.com", .host, "the tenant's or a custom domain")
            ],
            settings: [.issuer: "https://{domain}/", .port: "8484", .prompt: "off"],
            application: "a \"Native\" application with Allow Offline Access on the API",
            registrationPage: "https://manage.auth0.com > Applications > Allowed Callback URLs",
            redirect: .exactPort, secret: .none, flows: [.browser, .device, .paste],
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "Allow Offline Access of the API",
            note: "without --audience API, the access token is for UserInfo only",
            source: "Auth0: Native app PKCE flow; Device authorization flow; Application settings"),
        Preset(
            name: "cognito", title: "Amazon Cognito",
            parameters: [
                PresetParameter("region", "eu-central-1", .label, "the AWS region"),
                PresetParameter("pool", "eu-central-1_aBcDeFgHi", .label, "the user pool's ID"),
            ],
            settings: [
                .issuer: "https://cognito-idp.{region}.amazonaws.com/{pool}",
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an app client of type \"Mobile app\" without a secret",
            registrationPage: "https://console.aws.amazon.com/cognito > {pool} > App clients > Login pages",
            redirect: .exactPort, secret: .optional,
            source: "Amazon Cognito: authorize endpoint; app client settings"),
        Preset(
            name: "ping", title: "PingOne",
            parameters: [
                PresetParameter(
                    "environment", "f2aba07d-270c-42ba-8811-01af5f63d458", .uuid, "the environment's ID"),
                PresetParameter(
                    "region", "eu", .oneOf(["com", "eu", "ca", "asia", "com.au", "sg"]),
                    "the end of auth.pingone.REGION", standard: "com"),
            ],
            settings: [
                .issuer: "https://auth.pingone.{region}/{environment}/as", .prompt: "off",
            ],
            application: "a \"Native\" application",
            registrationPage: "https://console.pingone.com > Applications > Configuration",
            secret: .none, flows: [.browser, .device, .paste],
            refreshSwitch: "the grant type Refresh Token",
            note: "the device flow and refresh tokens are switched on at the application",
            source: "PingOne Platform API: OpenID Connect; nango providers.yaml, 2026-08"),
        Preset(
            name: "onelogin", title: "OneLogin",
            parameters: [PresetParameter("subdomain", "example", .label, "the account's subdomain")],
            settings: [
                // OneLogin refuses offline_access in this flow, and issues a refresh token without it.
                .issuer: "https://{subdomain}.onelogin.com/oidc/2", .scope: "openid profile email",
                .port: "8484",
            ],
            application: "an \"OpenID Connect\" app, Application Type Native, Token Endpoint None (PKCE)",
            registrationPage: "https://{subdomain}.onelogin.com/apps > Configuration",
            redirect: .exactPort, secret: .none,
            source: "OneLogin: OpenID Connect API v2, authorization code flow"),
        Preset(
            name: "duo", title: "Duo Single Sign-On",
            parameters: [PresetParameter("sso", "sso-abc1def2", .label, "the first part of the SSO host")],
            settings: [
                .issuer: "https://{sso}.sso.duosecurity.com/oidc/{client_id}",
                .redirectURI: "http://localhost/callback", .port: "8484", .prompt: "off",
            ],
            application: "a \"Generic OIDC Relying Party\"",
            registrationPage: "https://admin.duosecurity.com > Applications",
            redirect: .exactPort, secret: .required,
            refreshNeeds: [.scope: "offline_access"],
            source: "Duo: Single Sign-On for Generic OpenID Connect Relying Parties"),
        Preset(
            name: "jumpcloud", title: "JumpCloud",
            settings: [
                .issuer: "https://oauth.id.jumpcloud.com/", .redirectURI: "http://localhost/callback",
                .port: "8484", .prompt: "off",
            ],
            application: "a custom OIDC app, Client Authentication Type \"Public (None PKCE)\"",
            registrationPage: "https://console.jumpcloud.com > SSO Applications > SSO",
            redirect: .exactPort, secret: .none,
            refreshNeeds: [.scope: "offline_access"], refreshSwitch: "the grant type Refresh Token",
            source: "JumpCloud: SSO with OIDC"),
        Preset(
            name: "apple", title: "Sign in with Apple",
            parameters: [
                PresetParameter(
                    "redirect", "https://example.com/callback", .address,
                    "an https URL of a domain of your own")
            ],
            settings: [
                .issuer: "https://appleid.apple.com", .scope: "openid", .redirectURI: "{redirect}",
                .clientAuth: "client_secret_post",
            ],
            application: "a Services ID with Sign in with Apple",
            registrationPage: "https://developer.apple.com/account > Identifiers",
            redirect: .pasted, secret: .required, flows: [.paste],
            note: "the secret is a JWT that you sign with your key, valid for at most six months",
            source: "Apple: Sign in with Apple REST API; next-auth, 2026-07"),
    ]
    /// Returns the settings for users of any tenant. Entra's metadata for them has a template as issuer.
    private static func entraOfAnyTenant(_ audience: String) -> Templates {
        [
            .issuer: "https://login.microsoftonline.com/{tenantid}/v2.0",
            .metadataURL:
                "https://login.microsoftonline.com/\(audience)/v2.0/.well-known/openid-configuration",
            .redirectURI: "http://localhost/callback", .prompt: "off",
        ]
    }
}
