extension Hint: CustomStringConvertible {
    /// The hint in plain English, without the name of any option, setting or command.
    package var description: String {
        switch self {
        case .signIn: "sign in again"
        case .signInForScope(let scope): "sign in again, with the scope \(DisplayText.quoted(scope))"
        case .tryAgain(let seconds):
            seconds.map { "try again in \($0) second\($0 == 1 ? "" : "s")" } ?? "try again later"
        case .advice(let advice): advice.description
        case .set(let setting, let value): "set \(setting) to \(value)"
        case .setEndpoint(let endpoint): "name the \(endpoint.rawValue)"
        case .useIssuer(let issuer): "use the issuer \(DisplayText.clean(issuer))"
        case .allowAlgorithm(let name, let stage):
            "if the client is registered for it and has a secret, allow \(name) for "
                + (stage == .idToken ? "ID tokens" : "\(stage.title) answers")
        case .checkSecret(let method, let other):
            "check the client's secret; if it is right, the client may be registered for "
                + "\(DisplayText.clean(other)) in place of \(DisplayText.clean(method))"
        case .checkPath(let name): "check the path in \(name)"
        case .keepSessions(let path):
            "keep sessions in a directory of your own, such as \(DisplayText.clean(path))"
        case .trustAuthority: "name the file of the authority that signed it"
        case .checkRegistration(let url, let clientID):
            "if the browser shows an error page, it says why; often the redirect URL \(DisplayText.clean(url)) or "
                + "the client \(DisplayText.clean(clientID)) is not registered there"
        case .open(let url): url.text
        case .text(let text): text
        case .command(let words), .options(let words): ShellWord.line(words)
        case .joined(let hints): hints.map(\.description).joined()
        }
    }
}

extension Hint.Setting: CustomStringConvertible {
    /// The setting in plain English, without the name of any option or command.
    package var description: String {
        switch self {
        case .pushedAuthorization: "pushed authorization requests"
        case .responseMode: "the response mode"
        case .dpop: "DPoP"
        case .clientAuthentication: "the client authentication"
        case .store: "the session store"
        case .tokenType: "the token type to assume"
        case .prompt: "the prompt"
        case .resourceParameter: "the resource parameter"
        case .assertionAudience: "the audience of client assertions"
        case .subjectTokenType: "the type of the token to exchange"
        }
    }
}

extension Hint.Advice: CustomStringConvertible {
    /// The advice in plain English, without the name of any option, setting or command.
    package var description: String {
        switch self {
        case .signInAndAllow: "sign in again, and allow the access"
        case .signInForNewCode: "sign in again (codes are single-use and expire quickly)"
        case .allowMoreTime: "allow more time for the sign-in"
        case .checkClock: "check this machine's clock"
        case .giveClientID: "name the client"
        case .giveClientSecret: "give the client's secret"
        case .giveClientKey: "give the client's private key, or a source of assertions"
        case .giveClientCertificate: "give the client's certificate and key"
        case .giveClientCertificateIfAsked:
            "if the provider asks for a client certificate, give the client's certificate and key"
        case .useKnownClientCertificate: "use a client certificate that the provider knows, and its key"
        case .usePEMPair: "use a certificate and its key, both as PEM files"
        case .useMatchingPair: "use the key of the certificate"
        case .giveKeyPassphrase: "give the passphrase of the key"
        case .useRegisteredAuthentication:
            "use the client authentication method that the client is registered for"
        case .checkClient: "check the client's ID, secret and authentication method"
        case .giveSecretOrCheckClientID:
            "no secret was sent: give the client's secret if it has one, or else check the client's ID"
        case .checkClientKey:
            "check the client's private key and its key ID: the provider must have the public key by that ID"
        case .checkClientKeyAlgorithm:
            "use a key of the algorithm that the client is registered for, or register it for this one"
        case .allowGrant: "register the client for this grant with the provider"
        case .askForAudienceScope: "ask for the scope that adds this audience, too"
        case .signWithPublishedKey:
            "check the client's secret; Keycloak signs so with a key of its own, so let the provider sign with a "
                + "published key, such as RS256"
        case .signRequests: "give the private key whose public key the provider has, to sign requests with"
        case .giveDecryptionKey:
            "give the private key that the provider encrypts to, or let the provider send this client tokens that are "
                + "not encrypted (id_token_encrypted_response_alg; Keycloak: ID token encryption)"
        case .checkDecryptionKey:
            "check the private key for encrypted tokens: the provider must have its public key"
        case .acceptPlainUserInfo, .acceptPlainIntrospection:
            "accept plain answers, or register the client for signed ones"
        case .requestPlainIntrospection: "if the provider's signed answers are faulty, request plain ones"
        case .checkTokenEncryption:
            "check id_token_encrypted_response_alg and id_token_encrypted_response_enc of the client at the provider"
        case .allowDirectEncryption:
            "if the client is registered for encryption with its secret, allow dir"
        case .signInWithoutResource:
            "the token is for the resource; for UserInfo, sign in without one, as another account or client"
        case .signInWithDPoP: "sign in again, with DPoP"
        case .allowDeviceGrant:
            "sign in with a browser, or allow the device grant for this client at the provider "
                + "(Google: a client of the type TVs and Limited Input devices)"
        case .checkClientOrDeviceGrant:
            "check the client's ID and secret; if they are right, the provider does not allow this client to use "
                + "device codes: sign in with a browser"
        case .checkRedirectURI: "check the redirect URI"
        case .checkACRValues: "check the acr_values"
        case .chooseGrant: "the provider does not offer this grant: choose another"
        case .checkScope: "check the scope"
        case .leaveOutOpenIDForDevice:
            "check the scope: some providers refuse openid for device codes, so leave it out"
        case .checkTarget: "check the resources and the audience"
        case .giveAudience: "a name that is not a URL is an audience"
        case .checkIssuerSpelling:
            "check the issuer against what the provider documents: both must be the same"
        case .checkIssuerAddress: "an issuer is a URL, as in https://login.example.com"
        case .checkIssuerMetadata:
            "check the issuer: the provider's metadata is JSON at ISSUER/.well-known/openid-configuration"
        case .checkIssuerOrSetEndpoints:
            "check the issuer, or name the URL of its metadata, or the authorization and token endpoints"
        case .checkMetadataURL: "check the URL of the metadata"
        case .signInAtServer: "check the URL, or name the issuer and the client whose tokens it accepts"
        case .removeAuthorizeParameter: "remove it from the extra parameters of the authorization request"
        case .removeTokenParameter: "remove it from the extra parameters of the token request"
        case .setMetadataURL: "name the URL of the metadata, or an issuer without the placeholder"
        case .keepTenantsApart: "remove the session first, or keep the accounts apart"
        case .turnNonceOff: "if the provider's ID tokens never have a nonce, do not send one"
        case .leaveOutMaxAge: "if the provider's ID tokens never have an auth_time, do not send max_age"
        case .introspectAsOtherClient:
            "introspection needs a confidential client: use one that may introspect tokens"
        case .setIssuerOrKeys: "name the issuer, or the URL of its keys"
        case .setUserInfoEndpoint: "name the UserInfo endpoint and sign in again"
        case .useHTTPS: "use https"
        case .nameScopes: "name the scopes that you need"
        case .allowUnboundTokens: "turn DPoP off, if tokens need not be bound to a key"
        case .sendPendingUnchanged: "use the pending authorization as it was written"
        case .pasteAddress: "run it on a terminal, or give it the URL that the browser was redirected to"
        case .acceptForm: "If the provider sends a form (POST), use the response mode form_post."
        case .pasteOrAcceptForm:
            "Paste the URL of this page into the terminal, or use the response mode form_post."
        case .useOtherLoopback:
            "use http://[::1]/callback as the redirect URL, if the client has it registered"
        case .choosePort: "use another port that is registered with the provider"
        case .chooseProxyPort: "choose another port"
        case .nameBrowser: "open the URL yourself, or name a browser in $BROWSER"
        case .installAuthorities: "install the package ca-certificates"
        case .raiseHTTPTimeout: "try again later, or allow more time for a request"
        case .raiseProxyTimeout: "try again, or give the server more time"
        case .useNewerVersion: "install the newer version, or remove the session"
        case .installHelper: "install it, or keep sessions in files"
        case .unlockKeychain: "unlock the keychain it uses, or keep sessions in files"
        case .makeStoreKey: "make a key of 32 random bytes"
        case .giveStoreKey: "give the key that it was sealed with, or remove the session"
        case .freeSpace: "free some space, or keep sessions on another disk"
        case .useOtherDisk: "keep sessions on another disk"
        case .useWritableDirectory: "keep sessions in a directory that you can write"
        case .useOwnDirectory: "keep sessions in a directory of your own"
        case .useRealDirectory: "keep sessions in the directory itself"
        case .moveDirectoryAway: "move it away, or keep sessions in another directory"
        case .correctDirectory: "correct the directory for sessions, or HOME"
        }
    }
}
