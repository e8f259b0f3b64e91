import OIDCCore
import OIDCCrypto

/// All settings, in the order of the documentation.
extension Setting {
    static let issuer = Setting(
        "issuer", .text,
        "the provider's issuer URL; a path segment may be {tenantid}, for users of any tenant")
    static let preset = Setting(
        "preset", .text, "the provider, by the name in oidc help providers (default: by its issuer)",
        reach: .server)
    static let metadataURL = Setting(
        "metadata_url", .url, "where the metadata is, if not at the issuer's well-known URL", reach: .server
    )
    static let authorizationEndpoint = Setting(
        "authorization_endpoint", .url, "where users sign in", reach: .server)
    static let tokenEndpoint = Setting("token_endpoint", .url, "where tokens are issued", reach: .server)
    static let refreshEndpoint = Setting(
        "refresh_endpoint", .url, "where tokens are refreshed, if not at the token endpoint", reach: .server
    )
    static let userinfoEndpoint = Setting("userinfo_endpoint", .url, "claims of the user", reach: .server)
    static let jwksURI = Setting("jwks_uri", .url, "the provider's public keys", reach: .server)
    static let deviceAuthorizationEndpoint = Setting(
        "device_authorization_endpoint", .url, "device codes (RFC 8628)", reach: .server)
    static let pushedAuthorizationRequestEndpoint = Setting(
        "pushed_authorization_request_endpoint", .url, "pushed requests (RFC 9126)", reach: .server)
    static let revocationEndpoint = Setting(
        "revocation_endpoint", .url, "revocation (RFC 7009)", reach: .server)
    static let introspectionEndpoint = Setting(
        "introspection_endpoint", .url, "introspection (RFC 7662)", reach: .server)
    static let endSessionEndpoint = Setting(
        "end_session_endpoint", .url, "sign-out at the provider", reach: .server)
    static let registrationEndpoint = Setting(
        "registration_endpoint", .url, "client registration (RFC 7591)", reach: .server)

    static let clientID = Setting("client_id", .text, "the client ID", reach: .server)
    static let clientSecretFile = Setting(
        "client_secret_file", .path, "a file that contains the secret", reach: .client)
    static let clientSecretCommand = Setting(
        "client_secret_command", .command, "a program that prints the secret", reach: .client)
    static let clientSecret = Setting(
        "client_secret", .secret, "the secret itself (variable, or a file of mode 0600)", reach: .client)
    static let clientAuth = Setting(
        "client_auth",
        .choice([
            "none", "client_secret_basic", "client_secret_post", "client_secret_jwt", "private_key_jwt",
            "tls_client_auth", "self_signed_tls_client_auth",
        ]), "how the client authenticates (default: by the metadata)", reach: .client)
    static let clientAuthSigningAlg = Setting(
        "client_auth_signing_alg", .choice(Setting.signatureAlgorithms),
        "the algorithm of client assertions (default: by the key and the metadata)", reach: .client)
    static let clientAssertionAudience = Setting(
        "client_assertion_audience", .choice(["issuer", "token_endpoint"]), "`aud` of client assertions")
    static let clientAssertionSource = Setting(
        "client_assertion_source", .choice(SubjectTokenSource.names),
        "a CI identity as the client's assertion",
        reach: .client)
    static let privateKeyFile = Setting(
        "private_key_file", .path, "PEM key for private_key_jwt", reach: .client)
    static let privateKeyID = Setting("private_key_id", .text, "the `kid` of the private key", reach: .client)
    static let privateKeyPassphraseFile = Setting(
        "private_key_passphrase_file", .path, "a file that contains the key's passphrase", reach: .client)
    static let tlsClientCertificate = Setting(
        "tls_client_certificate", .path, "PEM certificate for mutual TLS", reach: .client)
    static let tlsClientKey = Setting(
        "tls_client_key", .path, "the PEM key of `tls_client_certificate`", reach: .client)
    static let tlsClientCertificateFor = Setting(
        "tls_client_certificate_for", .origins,
        "origins that get the certificate beside the provider and the APIs that get a token bound to it",
        reach: .client)

    static let idTokenSignedResponseAlg = Setting(
        "id_token_signed_response_alg", .choice(Setting.signatureAlgorithms),
        "the only algorithm accepted for ID tokens; HMAC (HS256 and so on) needs it", reach: .client)
    static let userinfoSignedResponseAlg = Setting(
        "userinfo_signed_response_alg", .choice(Setting.signatureAlgorithms),
        "the only algorithm accepted for userinfo, which must then be signed; HMAC needs it", reach: .client)
    static let introspectionSignedResponseAlg = Setting(
        "introspection_signed_response_alg", .choice(Setting.signatureAlgorithms + ["none"]),
        "the only algorithm accepted for introspection, which must then be signed (RFC 9701), or `none`; HMAC needs it",
        reach: .client)

    static let decryptionKeyFile = Setting(
        "decryption_key_file", .path,
        "RSA or EC key, PEM or JWK, for ID tokens, userinfo and introspection that the provider encrypts to it",
        reach: .client)
    static let idTokenEncryptedResponseAlg = Setting(
        "id_token_encrypted_response_alg", .choice(KeyManagement.allCases.map(\.rawValue)),
        "the only encryption accepted, and required for ID tokens; dir: with the client secret",
        reach: .client)
    static let idTokenEncryptedResponseEnc = Setting(
        "id_token_encrypted_response_enc", .choice(ContentEncryption.allCases.map(\.rawValue)),
        "the only content encryption accepted", reach: .client)

    static let securityProfile = Setting(
        "security_profile", .choice(SecurityProfile.allCases.map(\.rawValue)),
        "turns on what a security profile demands, and refuses what it forbids (default: none)")

    static let scope = Setting("scope", .scope, "scopes to request", reach: .asked)
    static let audience = Setting(
        "audience", .text, "the API that the token is for", reach: .audience)
    static let resource = Setting("resource", .uris, "resource indicators (RFC 8707)", reach: .asked)
    static let resourceParameter = Setting(
        "resource_parameter", .choice(["on", "off"]),
        "whether `resource` is sent to the provider (default: on)",
        reach: .server)
    static let clientMetadataURL = Setting(
        "client_metadata_url", .url,
        "the https URL of a client metadata document, as client ID for any server", reach: .machine)
    static let userProfile = Setting(
        "user_profile", .text, "the profile of the user's own provider, for grant=id_jag")
    static let redirectURI = Setting(
        "redirect_uri", .text, "where the provider redirects the browser (default: http://127.0.0.1/callback)"
    )
    static let port = Setting("port", .integer(1...65_535), "a fixed port for the redirect")
    static let redirectPorts = Setting("redirect_ports", .ports, "ports for the redirect, tried in order")
    static let callbackListen = Setting(
        "callback_listen", .text,
        "the address to listen on, with or without a port, if something passes the redirect on (default: 127.0.0.1)"
    )
    static let callbackPath = Setting(
        "callback_path", .text,
        "the path with which the redirect then arrives (default: that of redirect_uri)")
    static let callbackCertificate = Setting(
        "callback_certificate", .path,
        "PEM certificate of the listener, for a redirect_uri such as https://localhost:8484/callback")
    static let callbackKey = Setting(
        "callback_key", .path, "its PEM key, a file of yours with mode 0600 (see oidc help login)")
    static let responseMode = Setting(
        "response_mode", .choice(AuthorizationRequest.ResponseMode.allCases.map(\.rawValue)),
        "how the response is returned; with jwt, as a signed token (JARM)")
    static let nonce = Setting(
        "nonce", .choice(["on", "off"]),
        "off: accept ID tokens without a nonce, with a warning (default: on)",
        reach: .server)
    static let prompt = Setting(
        "prompt", .text,
        "\(Setting.promptList), or off (default: consent if offline_access is requested)", reach: .asked)
    static let maxAge = Setting(
        "max_age", .integer(0...315_360_000), "seconds since the user last authenticated, at most",
        reach: .asked)
    static let loginHint = Setting("login_hint", .text, "account to suggest", reach: .asked)
    static let acrValues = Setting(
        "acr_values", .text, "the authentication strength to request", reach: .asked)
    static let uiLocales = Setting("ui_locales", .text, "languages of the sign-in page", reach: .machine)
    static let authorizationDetails = Setting(
        "authorization_details", .array, "authorization details (RFC 9396)", reach: .audience)
    static let extraAuthorizeParams = Setting(
        "extra_authorize_params", .parameters, "more parameters of the authorization URL",
        reach: .server)
    static let extraTokenParams = Setting(
        "extra_token_params", .parameters, "more parameters of token requests", reach: .request)
    static let tokenType = Setting(
        "token_type", .text, "the token type if the provider names none or an unknown one, such as Bearer",
        reach: .server)
    static let tokenRequestFormat = Setting(
        "token_request_format", .choice(["form", "json"]), "the encoding of token requests (default: form)")
    static let par = Setting("par", .choice(["auto", "require", "off"]), "pushed requests (default: auto)")
    static let requestObject = Setting(
        "request_object", .choice(["auto", "signed", "off"]),
        "signed requests (RFC 9101), with `private_key_file` (default: auto, where the provider demands it)",
        reach: .server)
    static let requestObjectSigningAlg = Setting(
        "request_object_signing_alg", .choice(Setting.signatureAlgorithms + ["none"]),
        "the algorithm that the client's requests are registered with, and are then signed", reach: .client)
    static let requestObjectEncryptionAlg = Setting(
        "request_object_encryption_alg", .choice(RequestObjectEncryption.algorithms.map(\.rawValue)),
        "the encryption of signed requests, to a key of the provider (default: none)", reach: .client)
    static let requestURI = Setting(
        "request_uri", .url, "the https URL where you host the signed request, with `request_object_out`",
        reach: .client)
    static let requestObjectOut = Setting(
        "request_object_out", .path, "the file for the signed request that `request_uri` serves",
        reach: .client)
    static let dpop = Setting("dpop", .flag, "bind tokens to a key (RFC 9449; default: false)")
    static let postLogoutRedirectURI = Setting(
        "post_logout_redirect_uri", .text, "where the provider redirects the browser after sign-out")

    static let flow = Setting(
        "flow", .choice(["auto", "browser", "device", "paste"]), "how to sign in (default: auto)",
        reach: .machine)
    static let grant = Setting(
        "grant", .choice(GrantType.all.map(\.rawValue)),
        "the grant type (default: authorization_code)")
    static let subjectTokenSource = Setting(
        "subject_token_source", .choice(SubjectTokenSource.names), "where the token to exchange comes from",
        reach: .request)
    static let subjectTokenFile = Setting(
        "subject_token_file", .path, "the file to read if `subject_token_source` is `file` or `kubernetes`",
        reach: .request)
    static let subjectTokenEnv = Setting(
        "subject_token_env", .text, "the variable with that token, for `env` and CI systems",
        reach: .request)
    static let subjectTokenType = Setting(
        "subject_token_type", .text, "the type of the token to exchange (default: a JWT)")
    static let subjectTokenAudience = Setting(
        "subject_token_audience", .text, "the audience to request from a CI system (default: the issuer)")
    static let actorTokenFile = Setting(
        "actor_token_file", .path, "a file with the actor's token (RFC 8693)", reach: .request)
    static let actorTokenType = Setting(
        "actor_token_type", .text, "the type of the actor's token (default: an access token)")
    static let requestedTokenType = Setting(
        "requested_token_type", .text, "the token type to request (RFC 8693)")
    static let browser = Setting(
        "browser", .command, "the browser to run; %s is replaced by the URL, as a word of its own or after =",
        reach: .machine)
    static let account = Setting("account", .text, "keeps several sign-ins of one client apart")
    static let timeout = Setting(
        "timeout", .integer(1...86_400), "seconds for a whole sign-in (default: 300)", reach: .machine)
    static let httpTimeout = Setting(
        "http_timeout", .integer(1...3_600), "seconds for one request (default: 30)", reach: .machine)
    static let leeway = Setting(
        "leeway", .integer(0...3_600), "seconds that clocks may differ by (default: 60)", reach: .machine)
    static let caFile = Setting(
        "ca_file", .path, "PEM certificates to trust (default: SSL_CERT_FILE, then the system's)",
        reach: .machine)
    static let allowInsecureHTTP = Setting(
        "allow_insecure_http", .flag, "allow plain http beyond this machine; warns each time", reach: .machine
    )
    static let store = Setting(
        "store", .text,
        "file, none, keychain, helper:NAME, lent:PATH (see oidc help lend), or the URL of a shared store "
            + "(redis://…, etcd://…; default: file)",
        reach: .machine)
    static let storeKeyFile = Setting(
        "store_key_file", .path, "a file with the key that seals the sessions of a shared store",
        reach: .machine)
    static let storeKeyCommand = Setting(
        "store_key_command", .command, "a program that prints the key of a shared store", reach: .machine)
    static let storeCache = Setting(
        "store_cache", .flag,
        "keep a shared store's token in memory until it expires (default: false)", reach: .machine)

    static let resources = Setting(
        "resources", .records(required: ["title", "url"], optional: ["scope", "method"]),
        "APIs to call with the session's token", reach: .tokens)
    static let proxyRoutes = Setting(
        "proxy_routes", .records(required: ["url"], optional: ["path"]),
        "URLs that `oidc proxy` serves if it is given none, and their paths on the proxy", reach: .tokens)
    static let gitHosts = Setting(
        "git_hosts", .records(required: ["host"], optional: ["username"]), "hosts that git gets a token for",
        reach: .tokens)
    static let dockerRegistries = Setting(
        "docker_registries", .records(required: ["host"], optional: ["username"]),
        "registries that docker gets a token for", reach: .tokens)
    static let keyringHosts = Setting(
        "keyring_hosts", .records(required: ["host"], optional: ["username"]),
        "package indexes that pip and uv get a token for", reach: .tokens)
    static let awsRoleARN = Setting("aws_role_arn", .text, "the AWS role to assume", reach: .tokens)
    static let awsRoleSessionName = Setting(
        "aws_role_session_name", .text, "the name of the role's session (default: oidc)")
    static let awsSTSEndpoint = Setting(
        "aws_sts_endpoint", .url, "the AWS Security Token Service (default: https://sts.amazonaws.com)",
        reach: .tokens)
    static let gcpTokenType = Setting("gcp_token_type", .text, "the token type to declare to Google")

    static let all: [Setting] = [
        issuer, preset,
        metadataURL,
        authorizationEndpoint, tokenEndpoint,
        refreshEndpoint,
        userinfoEndpoint, jwksURI, deviceAuthorizationEndpoint,
        pushedAuthorizationRequestEndpoint, revocationEndpoint, introspectionEndpoint, endSessionEndpoint,
        registrationEndpoint, clientID, clientSecretFile, clientSecretCommand, clientSecret, clientAuth,
        clientAuthSigningAlg, clientAssertionAudience, clientAssertionSource, privateKeyFile, privateKeyID,
        privateKeyPassphraseFile, tlsClientCertificate, tlsClientKey, tlsClientCertificateFor,
        idTokenSignedResponseAlg, userinfoSignedResponseAlg, introspectionSignedResponseAlg,
        decryptionKeyFile, idTokenEncryptedResponseAlg,
        idTokenEncryptedResponseEnc, securityProfile, scope, audience,
        resource,
        resourceParameter,
        clientMetadataURL, userProfile,
        redirectURI, port, redirectPorts, callbackListen, callbackPath,
        callbackCertificate, callbackKey, responseMode, nonce,
        prompt, maxAge, loginHint, acrValues,
        uiLocales,
        authorizationDetails, extraAuthorizeParams, extraTokenParams,
        tokenType,
        tokenRequestFormat, par, requestObject, requestObjectSigningAlg,
        requestObjectEncryptionAlg, requestURI, requestObjectOut, dpop,
        postLogoutRedirectURI, flow, grant, subjectTokenSource, subjectTokenFile, subjectTokenEnv,
        subjectTokenType, subjectTokenAudience, actorTokenFile, actorTokenType, requestedTokenType, browser,
        account, timeout, httpTimeout, leeway, caFile, allowInsecureHTTP, store, storeKeyFile,
        storeKeyCommand, storeCache, resources, proxyRoutes, gitHosts,
        dockerRegistries, keyringHosts, awsRoleARN, awsRoleSessionName, awsSTSEndpoint, gcpTokenType,
    ]

    /// The settings about what other programs get, or do with a token.
    static let tools: [Setting] = [
        resources, proxyRoutes, gitHosts, dockerRegistries, awsRoleARN, awsRoleSessionName, awsSTSEndpoint,
        gcpTokenType,
    ]

    static func named(_ name: String) -> Setting? {
        all.first { $0.name == name }
    }
}
