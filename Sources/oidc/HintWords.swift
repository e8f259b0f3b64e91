import LoopbackHTTP
import OIDCCore
import OIDCSignIn

/// Hints in terms of the command line: the command, option or setting to use.
extension Hint {
    /// The parts of the hint: texts, commands and options.
    var parts: [Hint] {
        switch self {
        case .text, .command, .options, .open: [self]
        case .joined(let hints): hints.flatMap(\.parts)
        case .signIn: [.run("login")]
        case .signInForScope(let scope): [.run("login --scope", DisplayText.clean(scope))]
        case .advice(let advice): advice.suggestion.parts
        case .set(let setting, let value): [.run("config set", "\(setting.name)=\(value)")]
        case .setEndpoint(.deviceAuthorization): [.run("login --flow paste")]
        case .setEndpoint(let endpoint): ["set \(endpoint.rawValue)"]
        case .useIssuer(let issuer): [.options(["--issuer", issuer])]
        case .allowAlgorithm(let name, let stage):
            [
                "if the client is registered for it and has a secret: ",
                .run(
                    "config set",
                    "\(stage == .idToken ? "id_token" : stage.rawValue)_signed_response_alg=\(name)"),
            ]
        case .checkSecret(let method, let other):
            [
                .text(
                    "check client_secret; if it is right, the client may be registered for another method than "
                        + "\(DisplayText.clean(method)): "), .run("config set", "client_auth=\(other)"),
            ]
        case .checkPath(let name):
            ["check the path in \(name == "configuration" ? "--config or OIDC_CONFIG" : name)"]
        case .keepSessions(let path):
            ["keep sessions in a directory of your own: export OIDC_STATE_DIR=\(ShellWord.quoted(path))"]
        case .trustAuthority(let setting):
            ["name the file of the authority that signed it in \(setting ?? "ca_file")"]
        case .tryAgain, .checkRegistration: [.text(description)]
        }
    }

    /// The hint on one line, as it is printed if nothing is known about the command line.
    var commandLine: String {
        parts.map { part in
            guard case .command(let words) = part else { return part.description }
            let command = SuggestedCommand(words)
            return ShellWord.line(["oidc"] + command.path + command.attachingValues(in: command.arguments))
        }.joined()
    }

    /// Returns a command to run. `start` are words without spaces; each argument is one word.
    static func run(_ start: String, _ arguments: String...) -> Hint { run(start, arguments) }

    static func run(_ start: String, _ arguments: [String]) -> Hint {
        .command(start.split(separator: " ").map(String.init) + arguments)
    }

    /// Returns a hint of several parts.
    static func words(_ parts: Hint...) -> Hint { .joined(parts) }

    /// Returns the hints as alternatives.
    static func alternatives(_ hints: some Sequence<Hint>, _ separator: Hint = ", or: ") -> Hint {
        .joined(Array(hints.map { [$0] }.joined(separator: [separator])))
    }

    /// Returns the command with more arguments. Those replace options that may be given once only.
    func adding(_ arguments: [String]) -> Hint {
        guard case .command(var words) = self else { return self }
        for option in ["--issuer", "--client-id", "--scope"] where arguments.contains(option) {
            guard let index = words.firstIndex(of: option) else { continue }
            words.removeSubrange(index..<min(index + 2, words.count))
        }
        return .command(words + arguments)
    }

    func adding(_ arguments: String...) -> Hint { adding(arguments) }
}

/// Words that depend on what the command line is about.
extension Hint {
    /// Returns `line` in place of a hint only to sign in.
    fileprivate func signingInAgain(by line: Hint) -> Hint {
        switch self {
        case .signIn, .advice(.signInAndAllow), .advice(.signInForNewCode): return line
        case .advice(.allowMoreTime):
            guard case .command(let words) = line, words.first == "login" else { return self }
            return line.adding("--timeout", "900")
        default: return self
        }
    }

    /// Returns `line` in place of a hint to use another issuer.
    func usingIssuer(by line: (_ issuer: String) -> Hint) -> Hint {
        if case .useIssuer(let issuer) = self { line(issuer) } else { self }
    }

    /// Returns the hint for a stored session other than the command line's. `profile` is the words that name
    /// its profile, if it has one; `file` is its file, if it is in one.
    func aboutOther(profile: [String]?, file: String?) -> Hint? {
        let move = file.map { file -> Hint in
            .text("move it away: mv \(ShellWord.line([file, file + ".old"]))")
        }
        let forget = profile.map { profile -> Hint in
            .words("or forget the session: ", .run("logout", profile + ["--local"]))
        }
        switch self {
        case .signIn: return profile.map { .run("login", $0) } ?? move
        case .advice(.useNewerVersion):
            let other = forget ?? move.map { .words("or ", $0) }
            let install: Hint = "install the newer version of oidc"
            return other.map { .words(install, ", ", $0) } ?? install
        case .advice(.giveStoreKey):
            let name: Hint = "name the key that it was sealed with in store_key_file"
            return profile.map { profile in
                .words(
                    name, ", or, if no machine has that key any more: ", .run("logout", profile + ["--local"])
                )
            } ?? name
        default: return self
        }
    }
}

extension OIDCError {
    /// Returns the error with the URL to register, and the provider's console page for clients, in its hint, if
    /// that is to check the registration. The URL has no port if the port does not matter.
    func namingRegistration(at known: PresetMatch?, redirect: RedirectAddress) -> OIDCError {
        guard case .checkRegistration(let url, let clientID)? = hint else { return self }
        var error = self
        let page = known.map { " (\($0.registrationPage))" } ?? ""
        let isAnyPort = known?.preset.redirect == .anyPort
        guard stage == .pushedAuthorization else {
            let url = isAnyPort ? redirect.text : url
            error.hint = .text(
                Hint.checkRegistration(redirectURL: url, clientID: clientID).description + page)
            return error
        }
        // The provider itself has refused the URL. A random port would be another one at the next sign-in.
        let needsPort = known == nil && redirect.loopback?.ports == .any
        let registered =
            isAnyPort ? redirect.text : needsPort ? redirect.text(port: OIDCError.registeredPort) : url
        let register = Hint.text(
            "register the redirect URL \(DisplayText.clean(registered)) for the client "
                + "\(DisplayText.clean(clientID))\(page)")
        error.hint =
            needsPort
            ? .words(register, ", and: ", .run("login --port \(OIDCError.registeredPort)")) : register
        return error
    }

    /// The port to register if it may matter, as on the page of recipes.
    private static let registeredPort: UInt16 = 8484
}

extension Hint.Setting {
    /// The name in a configuration file.
    fileprivate var name: String {
        switch self {
        case .pushedAuthorization: "par"
        case .responseMode: "response_mode"
        case .dpop: "dpop"
        case .clientAuthentication: "client_auth"
        case .store: "store"
        case .tokenType: "token_type"
        case .prompt: "prompt"
        case .resourceParameter: "resource_parameter"
        case .assertionAudience: "client_assertion_audience"
        case .subjectTokenType: "subject_token_type"
        }
    }
}

extension Hint.Advice {
    fileprivate var suggestion: Hint {
        switch self {
        case .signInAndAllow: .run("login")
        case .signInForNewCode: .run("login")
        case .allowMoreTime: .run("login --timeout 900")
        case .giveClientID: .options(["--client-id", "ID"])
        case .giveClientSecret: "set client_secret_file, client_secret_command or OIDC_CLIENT_SECRET"
        case .giveClientKey: "set private_key_file or client_assertion_source"
        case .giveClientCertificate: "set tls_client_certificate and tls_client_key"
        case .giveClientCertificateIfAsked:
            "if the provider asks for a client certificate, set tls_client_certificate and tls_client_key"
        case .useKnownClientCertificate:
            "set tls_client_certificate and tls_client_key to a pair that the provider knows"
        case .usePEMPair: "set tls_client_certificate and tls_client_key to a PEM pair"
        case .useMatchingPair: "set tls_client_key to the key of tls_client_certificate"
        case .giveKeyPassphrase: "set private_key_passphrase_file"
        case .useRegisteredAuthentication: "set client_auth to the method that the client is registered for"
        case .checkClient: "check client_id, client_secret and client_auth"
        case .giveSecretOrCheckClientID:
            "no secret was sent: set client_secret_file if the client has a secret, or else check client_id"
        case .checkClientKey:
            "check private_key_file and private_key_id: the provider must have the public key by that ID"
        case .checkClientKeyAlgorithm:
            .text(
                "set client_auth_signing_alg to the algorithm that the client is registered for, with a "
                    + "private_key_file for it")
        case .allowGrant, .askForAudienceScope, .signWithPublishedKey: .text(description)
        case .signRequests: "set private_key_file to the key whose public key the provider has"
        case .giveDecryptionKey:
            .text(
                "set decryption_key_file, or let the provider send this client tokens that are not encrypted "
                    + "(id_token_encrypted_response_alg; Keycloak: ID token encryption)")
        case .checkDecryptionKey:
            "check decryption_key_file: the provider must have its public key"
        case .checkTokenEncryption: .text(description)
        case .acceptPlainUserInfo:
            "unset userinfo_signed_response_alg, or register the client for signed answers"
        case .acceptPlainIntrospection:
            "unset introspection_signed_response_alg, or register the client for signed answers"
        case .requestPlainIntrospection:
            .words(
                "if the provider's signed answers are faulty, request plain ones: ",
                .run("config set introspection_signed_response_alg=none"))
        case .allowDirectEncryption:
            .words(
                "if the client is registered for it and has a secret: ",
                .run("config set id_token_encrypted_response_alg=dir"))
        case .signInWithoutResource:
            "the token is for the profile's resource; use a profile without it for userinfo"
        case .signInWithDPoP: .run("login --set dpop=true")
        case .allowDeviceGrant:
            .words(
                "allow the device grant for this client at the provider ",
                "(Google: a client of the type TVs and Limited Input devices), or: ",
                .run("login --flow browser"))
        case .checkClientOrDeviceGrant:
            .words(
                "check client_id and client_secret; if they are right, the provider does not allow this client ",
                "to use device codes: ", .run("login --flow browser"))
        case .checkRedirectURI: "check redirect_uri"
        case .checkACRValues: "check acr_values"
        case .chooseGrant: "the provider does not offer this grant: choose another with --grant"
        case .checkScope: "check --scope"
        case .leaveOutOpenIDForDevice:
            "check --scope: some providers refuse openid for device codes, so try --scope profile"
        case .checkTarget: "check --resource and --audience"
        case .giveAudience: "pass a name that is not a URL with --audience"
        case .checkIssuerSpelling:
            "check --issuer against what the provider documents: both must be the same"
        case .checkIssuerAddress: "give --issuer a URL, as in https://login.example.com"
        case .checkIssuerMetadata:
            "check --issuer: the provider's metadata is JSON at ISSUER/.well-known/openid-configuration"
        case .checkIssuerOrSetEndpoints:
            "check --issuer, or set metadata_url, or authorization_endpoint and token_endpoint"
        case .checkMetadataURL: "check metadata_url"
        case .signInAtServer:
            .words(
                "check the URL, or name its authorization server: ",
                .run("login --issuer ISSUER --client-id ID --resource URL"))
        case .removeAuthorizeParameter: "remove it from extra_authorize_params"
        case .removeTokenParameter: "remove it from extra_token_params"
        case .setMetadataURL: "set metadata_url, or give --issuer without {tenantid}"
        case .keepTenantsApart:
            .words(
                "keep both sessions, one of them with --set account=NAME, or forget this one: ",
                .run("logout --local"))
        case .turnNonceOff:
            .text(
                "start again, as this answer may be another sign-in's; only if the provider never returns a "
                    + "nonce, set nonce to off")
        case .leaveOutMaxAge: "if the provider's ID tokens never have an auth_time, leave max_age out"
        case .introspectAsOtherClient:
            .text(
                "introspection needs a confidential client: set client_id and the secret of a client that may "
                    + "introspect tokens")
        case .setIssuerOrKeys: "set issuer, or jwks_uri beside it"
        case .setUserInfoEndpoint: "set userinfo_endpoint and sign in again"
        case .useHTTPS: "use https, or set allow_insecure_http"
        case .nameScopes: "add --scope, with the scopes that you need"
        case .allowUnboundTokens:
            .words("if tokens need not be bound to a key: ", .run("config set dpop=false"))
        case .sendPendingUnchanged: "use what authorize-url printed, unchanged"
        case .pasteAddress:
            .words("run it on a terminal, or pipe the redirected URL into: ", .run("login --flow paste"))
        case .acceptForm: "If the provider sends a form (POST), set response_mode to form_post."
        case .pasteOrAcceptForm:
            "Paste the URL of this page into the terminal, or set response_mode to form_post."
        case .useOtherLoopback:
            .words("if the client has it registered: ", .run("config set redirect_uri=http://[::1]/callback"))
        case .choosePort:
            .text(
                "use another port that is registered with the provider: in redirect_uri if it has one, or else "
                    + "with --port N")
        case .chooseProxyPort: "choose another --port, or leave it out"
        case .nameBrowser:
            "open the URL yourself, or name a browser in $BROWSER or the browser setting"
        case .installAuthorities: "install the package ca-certificates, or set ca_file"
        case .raiseHTTPTimeout: "try again later, or raise http_timeout"
        case .raiseProxyTimeout:
            .words("try again, or use ", .run("proxy"), " with a longer --timeout")
        case .useNewerVersion:
            .words("install the newer version of oidc, or forget the session with ", .run("logout --local"))
        case .installHelper: .words("install it, or: ", .run("config set store=file"))
        case .unlockKeychain: .words("unlock the keychain it uses, or: ", .run("config set store=file"))
        case .makeStoreKey: .words("make one with: ", .run("config new-key FILE"))
        case .giveStoreKey:
            .words(
                "name the key that it was sealed with in store_key_file, or, if no machine has that key any more: ",
                .run("logout --local"))
        case .freeSpace: "free some space, or set OIDC_STATE_DIR to another disk"
        case .useOtherDisk: "set OIDC_STATE_DIR to another disk"
        case .useWritableDirectory: "set OIDC_STATE_DIR to a directory that you can write"
        case .useOwnDirectory: "set OIDC_STATE_DIR to a directory of your own"
        case .useRealDirectory: "set OIDC_STATE_DIR to the directory itself"
        case .moveDirectoryAway: "move it away, or set OIDC_STATE_DIR"
        case .correctDirectory: "correct OIDC_STATE_DIR or HOME"
        case .checkClock: .text(description)
        }
    }
}

extension OIDCError {
    /// Creates an error whose hint is a string, as the command line's own hints are.
    init(
        _ kind: Kind, _ message: String, hint: String?, stage: Stage? = nil, oauthError: String? = nil,
        retryAfter: Int? = nil
    ) {
        self.init(
            kind, message, hint: hint.map { .text($0) }, stage: stage, oauthError: oauthError,
            retryAfter: retryAfter)
    }

    /// Returns the error with `line` as its hint, if the hint is only to sign in.
    func signingInAgain(by line: Hint) -> OIDCError {
        var error = self
        error.hint = hint?.signingInAgain(by: line)
        return error
    }

    /// The error, with the hint to report it to the provider's operator if it has none.
    var orReported: OIDCError {
        var error = self
        error.hint = hint ?? "report it to the provider's operator"
        return error
    }

    static func usage(_ message: String, hint: String?) -> OIDCError {
        OIDCError(.usage, message, hint: hint)
    }

    /// The message and the hint on one line, for a warning.
    var commandLine: String { Warning(message, hint: hint).commandLine }
}

extension Warning {
    var commandLine: String { message + (hint.map { " (\($0.commandLine))" } ?? "") }
}
