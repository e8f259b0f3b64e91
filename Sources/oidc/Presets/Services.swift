/// Services that sign users in to their own APIs.
extension Preset {
    static let services: [Preset] = [
        Preset(
            name: "github", title: "GitHub OAuth app",
            settings: [
                .authorizationEndpoint: "https://github.com/login/oauth/authorize",
                .tokenEndpoint: "https://github.com/login/oauth/access_token",
                .deviceAuthorizationEndpoint: "https://github.com/login/device/code",
                .userinfoEndpoint: "https://api.github.com/user", .clientAuth: "client_secret_post",
                .scope: "read:user user:email",
            ],
            application: "an OAuth app",
            registrationPage: "https://github.com/settings/applications/new",
            secret: .required, flows: [.browser, .device, .paste],
            note:
                "the device flow needs \"Enable Device Flow\" and, with --set client_auth=none, no secret; "
                + "tokens do not expire",
            source: "GitHub: Authorizing OAuth apps"),
        Preset(
            name: "github-app", title: "GitHub App",
            settings: [
                .authorizationEndpoint: "https://github.com/login/oauth/authorize",
                .tokenEndpoint: "https://github.com/login/oauth/access_token",
                .deviceAuthorizationEndpoint: "https://github.com/login/device/code",
                .userinfoEndpoint: "https://api.github.com/user", .clientAuth: "client_secret_post",
            ],
            application: "a GitHub App",
            registrationPage: "https://github.com/settings/apps/new",
            secret: .required, flows: [.browser, .device, .paste], refreshEnds: ["bad_refresh_token"],
            note: "the app's permissions stand in for scopes; user tokens last 8 hours and are refreshed",
            source: "GitHub: Generating a user access token for a GitHub App"),
        Preset(
            name: "gitlab", title: "GitLab",
            parameters: [
                PresetParameter("host", "gitlab.example.com", .host, "the server", standard: "gitlab.com")
            ],
            settings: [.issuer: "https://{host}", .scope: "openid profile email"],
            application: "an application that is not \"Confidential\"",
            registrationPage: "https://{host}/-/user_settings/applications",
            secret: .optional, flows: [.browser, .device, .paste],
            note:
                "the device flow needs GitLab 17.3; for the API add --scope 'openid profile email read_api'",
            source: "GitLab: OAuth 2.0 identity provider API; OpenID Connect provider"),
        Preset(
            name: "bitbucket", title: "Bitbucket Cloud",
            settings: [
                .authorizationEndpoint: "https://bitbucket.org/site/oauth2/authorize",
                .tokenEndpoint: "https://bitbucket.org/site/oauth2/access_token",
                .userinfoEndpoint: "https://api.bitbucket.org/2.0/user", .clientAuth: "client_secret_basic",
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an OAuth consumer",
            registrationPage: "https://bitbucket.org > Workspace settings > OAuth consumers",
            redirect: .exactPort, secret: .required,
            note: "the consumer's permissions are the scopes; tokens last two hours and are refreshed",
            source: "Bitbucket Cloud: Use OAuth on Bitbucket Cloud"),
        Preset(
            name: "salesforce", title: "Salesforce",
            parameters: [
                PresetParameter(
                    "domain", "example.my.salesforce.com", .host, "the My Domain host",
                    standard: "login.salesforce.com")
            ],
            settings: [
                .issuer: "https://{domain}", .scope: "openid profile email api refresh_token",
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an External Client App",
            registrationPage: "Setup > External Client App Manager",
            redirect: .exactPort, secret: .optional,
            refreshNeeds: [.scope: "refresh_token"],
            note:
                "without a secret, switch both \"Require secret\" boxes off and PKCE on; calls go to instance_url of "
                + "the token's answer",
            source: "Salesforce: OAuth authorization flows; OpenID Connect discovery"),
        Preset(
            name: "slack", title: "Slack",
            settings: [
                .authorizationEndpoint: "https://slack.com/oauth/v2_user/authorize",
                .tokenEndpoint: "https://slack.com/api/oauth.v2.user.access", .scope: "users:read",
                // Slack's token type is the kind of token: user or bot.
                .tokenType: "Bearer",
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an app with PKCE and token rotation enabled",
            registrationPage: "https://api.slack.com/apps > OAuth & Permissions > Redirect URLs",
            redirect: .exactPort, secret: .none,
            refreshSwitch: "token rotation", refreshEnds: ["invalid_refresh_token"],
            note:
                "signs in for a user token; the scopes are User Token Scopes of the app; sessions end after 30 days",
            source: "Slack: Using PKCE; oauth.v2.user.access; changelog 2026-03-30"),
        Preset(
            name: "linear", title: "Linear",
            settings: [
                .authorizationEndpoint: "https://linear.app/oauth/authorize",
                .tokenEndpoint: "https://api.linear.app/oauth/token",
                .revocationEndpoint: "https://api.linear.app/oauth/revoke", .scope: "read",
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an OAuth application",
            registrationPage: "https://linear.app/settings/api/applications/new",
            redirect: .exactPort, secret: .optional,
            note: "several scopes are separated by commas: --scope read,write",
            source: "Linear: OAuth 2.0 authentication; nango providers.yaml, 2026-08"),
        Preset(
            name: "atlassian", title: "Atlassian Cloud",
            settings: [
                .authorizationEndpoint: "https://auth.atlassian.com/authorize",
                .tokenEndpoint: "https://auth.atlassian.com/oauth/token",
                .userinfoEndpoint: "https://api.atlassian.com/me", .clientAuth: "client_secret_post",
                .scope: "read:me offline_access",
                .extraAuthorizeParams: #"{"audience":"api.atlassian.com","prompt":"consent"}"#,
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an OAuth 2.0 (3LO) app",
            registrationPage: "https://developer.atlassian.com/console/myapps",
            redirect: .exactPort, secret: .required,
            refreshNeeds: [.scope: "offline_access"],
            source: "Atlassian: OAuth 2.0 (3LO) apps; nango providers.yaml, 2026-08"),
        Preset(
            name: "discord", title: "Discord",
            settings: [
                .issuer: "https://discord.com",
                .authorizationEndpoint: "https://discord.com/api/oauth2/authorize",
                .tokenEndpoint: "https://discord.com/api/oauth2/token",
                .revocationEndpoint: "https://discord.com/api/oauth2/token/revoke",
                .userinfoEndpoint: "https://discord.com/api/users/@me", .scope: "identify email",
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "a \"Public Client\"",
            registrationPage: "https://discord.com/developers/applications > OAuth2",
            redirect: .exactPort, secret: .optional,
            source: "Discord: OAuth2; discord.com/.well-known/oauth-authorization-server"),
        Preset(
            name: "spotify", title: "Spotify",
            settings: [
                .authorizationEndpoint: "https://accounts.spotify.com/authorize",
                .tokenEndpoint: "https://accounts.spotify.com/api/token",
                .userinfoEndpoint: "https://api.spotify.com/v1/me",
                .scope: "user-read-private user-read-email",
            ],
            application: "an app",
            registrationPage: "https://developer.spotify.com/dashboard",
            secret: .none,
            source: "Spotify: Authorization code with PKCE; Redirect URIs"),
        Preset(
            name: "dropbox", title: "Dropbox",
            settings: [
                .authorizationEndpoint: "https://www.dropbox.com/oauth2/authorize",
                .tokenEndpoint: "https://api.dropboxapi.com/oauth2/token",
                .extraAuthorizeParams: #"{"token_access_type":"offline"}"#,
                .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an app",
            registrationPage: "https://www.dropbox.com/developers/apps > Settings",
            redirect: .exactPort, secret: .optional,
            refreshNeeds: [.extraAuthorizeParams: #"{"token_access_type":"offline"}"#],
            source: "Dropbox: OAuth guide; HTTP documentation"),
        Preset(
            name: "twitch", title: "Twitch",
            settings: [
                .issuer: "https://id.twitch.tv/oauth2", .scope: "openid user:read:email",
                .revocationEndpoint: "https://id.twitch.tv/oauth2/revoke",
                .clientAuth: "client_secret_post", .redirectURI: "http://localhost/callback", .port: "8484",
            ],
            application: "an application of type \"Confidential\"",
            registrationPage: "https://dev.twitch.tv/console/apps",
            redirect: .exactPort, secret: .required,
            source: "Twitch: Getting OIDC tokens; Revoking access tokens; next-auth, 2026-07"),
        Preset(
            name: "linkedin", title: "LinkedIn",
            settings: [
                .issuer: "https://www.linkedin.com/oauth",
                .authorizationEndpoint: "https://www.linkedin.com/oauth/native-pkce/authorization",
                .scope: "openid profile email", .nonce: "off",
            ],
            application: "an app that LinkedIn has enabled PKCE for (native clients)",
            registrationPage: "https://www.linkedin.com/developers/apps",
            redirect: .unregistered, secret: .none,
            source: "LinkedIn: OAuth 2.0 for native clients; Sign In with LinkedIn using OpenID Connect"),
        Preset(
            name: "notion", title: "Notion",
            settings: [
                .authorizationEndpoint: "https://api.notion.com/v1/oauth/authorize",
                .tokenEndpoint: "https://api.notion.com/v1/oauth/token",
                .clientAuth: "client_secret_basic", .tokenRequestFormat: "json",
                .extraAuthorizeParams: #"{"owner":"user"}"#, .redirectURI: "http://localhost/callback",
                .port: "8484",
            ],
            application: "a public integration",
            registrationPage: "https://www.notion.so/profile/integrations",
            redirect: .exactPort, secret: .required,
            source: "Notion: Authorization; Refresh a token (2025-10); nango providers.yaml, 2026-08"),
        Preset(
            name: "figma", title: "Figma",
            settings: [
                .authorizationEndpoint: "https://www.figma.com/oauth",
                .tokenEndpoint: "https://api.figma.com/v1/oauth/token",
                .refreshEndpoint: "https://api.figma.com/v1/oauth/refresh",
                .userinfoEndpoint: "https://api.figma.com/v1/me", .clientAuth: "client_secret_basic",
                .scope: "current_user:read file_content:read", .redirectURI: "http://localhost/callback",
                .port: "8484",
            ],
            application: "an app",
            registrationPage: "https://www.figma.com/developers/apps",
            redirect: .exactPort, secret: .required,
            source: "Figma: OAuth 2; nango providers.yaml, 2026-08"),
        Preset(
            name: "huggingface", title: "Hugging Face",
            settings: [
                .issuer: "https://huggingface.co", .scope: "openid profile email",
                .deviceAuthorizationEndpoint: "https://huggingface.co/oauth/device",
            ],
            application: "an OAuth app; without its secret, it is a public one",
            registrationPage: "https://huggingface.co/settings/applications/new",
            secret: .optional, flows: [.browser, .device, .paste],
            source: "Hugging Face: Sign in with Hugging Face (hub-docs, 2026-08)"),
        Preset(
            name: "zoom", title: "Zoom",
            settings: [
                .authorizationEndpoint: "https://zoom.us/oauth/authorize",
                .tokenEndpoint: "https://zoom.us/oauth/token",
                .revocationEndpoint: "https://zoom.us/oauth/revoke",
                .userinfoEndpoint: "https://api.zoom.us/v2/users/me",
            ],
            application: "a \"General app\", user-managed, with a public client ID for PKCE",
            registrationPage: "https://marketplace.zoom.us/user/build",
            secret: .optional,
            note: "the scopes are those of the app",
            source: "Zoom: OAuth with PKCE; changelog, PKCE loopback (2026)"),
    ]
}
