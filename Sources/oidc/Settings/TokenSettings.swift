import OIDCCore
import OIDCCrypto
import Posix

/// The client and its credentials.
struct ClientSettings: Sendable {
    enum Secret: Sendable {
        case text(Redacted<String>)
        case file(SettingFile)
        case command([String])
    }

    enum AssertionAudience: String, Sendable {
        case issuer
        case tokenEndpoint = "token_endpoint"
    }

    let layers: SettingLayers

    var id: String? { layers.text(.clientID) }
    /// The URL of the client metadata document, which is the client ID at servers that support it.
    var metadataURL: String? { layers.text(.clientMetadataURL) }
    /// The authentication method; nil if the metadata decides.
    var method: String? { layers.text(.clientAuth) }
    /// The algorithm of client assertions; nil if the key and the metadata decide.
    var signingAlgorithm: String? { layers.text(.clientAuthSigningAlg) }
    var privateKey: SettingFile? { layers.file(.privateKeyFile) }
    var privateKeyID: String? { layers.text(.privateKeyID) }
    var privateKeyPassphrase: SettingFile? { layers.file(.privateKeyPassphraseFile) }
    var certificate: SettingFile? { layers.file(.tlsClientCertificate) }
    /// The origins that get the certificate with every request.
    var certificateOrigins: Set<String> { Set(layers.texts(.tlsClientCertificateFor)) }
    var certificateKey: SettingFile? { layers.file(.tlsClientKey) }
    var assertionSource: SubjectTokenSource? { layers.choice(.clientAssertionSource) }
    var assertionAudience: AssertionAudience { layers.choice(.clientAssertionAudience) ?? .issuer }
    /// The algorithms accepted for ID tokens, if one is set (OpenID Connect Registration §2) or a security profile
    /// limits them.
    var idTokenAlgorithms: [String]? {
        if let name = layers.text(.idTokenSignedResponseAlg) { return [name] }
        return layers.securityProfile >= .fapi2 ? SecurityProfile.algorithms : nil
    }

    /// The algorithm that the client is registered for UserInfo answers with; nil if they need not be signed.
    var userInfoAlgorithm: String? { layers.text(.userinfoSignedResponseAlg) }
    /// The algorithm that the client is registered for introspection answers with, or `none` for plain answers; nil if
    /// they need not be signed.
    var introspectionAlgorithm: String? { layers.text(.introspectionSignedResponseAlg) }

    var decryptionKey: SettingFile? { layers.file(.decryptionKeyFile) }
    /// The encryption that the client is registered for (OpenID Connect Registration §2); nil allows any.
    var encryptionAlgorithm: KeyManagement? { layers.choice(.idTokenEncryptedResponseAlg) }
    /// The content encryption that the client is registered for; nil allows any.
    var contentEncryption: ContentEncryption? { layers.choice(.idTokenEncryptedResponseEnc) }

    var secret: Secret? {
        let command = layers.texts(.clientSecretCommand)
        return layers.text(.clientSecret).map { .text(Redacted($0)) }
            ?? layers.file(.clientSecretFile).map { .file($0) }
            ?? (command.isEmpty ? nil : .command(command))
    }

    /// A text that differs if what the client authenticates with does: a secret, the time of its file, or the command that
    /// prints it.
    var credentials: Redacted<String> {
        let own =
            switch secret {
            case nil: ""
            case .text(let text): text.revealed
            case .file(let file): FilePath.version(file.path)
            case .command(let command): command.joined(separator: "\n")
            }
        let files = [privateKey, certificate].map { $0.map { FilePath.version($0.path) } ?? "" }
        let names = [method, privateKeyID, layers.text(.clientAssertionSource)].map { $0 ?? "" }
        return Redacted(([own] + files + names).joined(separator: "\n"))
    }

    /// The files that other users must not be able to read.
    var secretFiles: [SettingFile] {
        var files: [SettingFile?] = [privateKey, decryptionKey, certificateKey]
        if case .file(let file)? = secret { files.insert(file, at: 0) }
        return files.compactMap { $0 }
    }

    func check() throws(OIDCError) {
        guard let metadataURL else { return }
        _ = try layers.checking(.clientMetadataURL) { () throws(OIDCError) in
            try ClientMetadataDocument.checkedURL(metadataURL)
        }
    }

    func requiredID() throws(OIDCError) -> String {
        if let id { return id }
        var error = Setting.clientID.missing(option: "--client-id ID")
        // A sign-in to the provider's URL registers a client, or else says how to name one.
        if let issuer = layers.entry(.issuer), issuer.origin.layer == .options, let url = issuer.value.string,
            layers.choice(.grant).map({ (grant: GrantType) in grant.needsUser }) ?? true
        {
            error.hint = .run("login", url)
        }
        throw error
    }
}

/// The parameters of token requests.
struct TokenSettings: Sendable {
    let layers: SettingLayers

    var grant: GrantType { layers.choice(.grant) ?? .authorizationCode }
    var scope: Scope? { layers.text(.scope).map { Scope($0) } }
    var audience: String? { layers.text(.audience) }
    var resources: [String] { layers.texts(.resource) }
    var account: String? { layers.text(.account) }
    var authorizationDetails: JSONValue? { layers[.authorizationDetails] }
    var format: RequestFormat { layers.choice(.tokenRequestFormat) ?? .form }
    var extraParameters: [FormEncoding.Pair] { layers.parameters(.extraTokenParams) }
    /// Whether tokens are bound to a key (DPoP, RFC 9449).
    var bindsTokens: Bool { layers.flag(.dpop) }
    /// Whether `resource` is sent (RFC 8707).
    var sendsResources: Bool { layers.text(.resourceParameter) != "off" }
    /// The profile of the user's own provider, whose session is exchanged for an assertion.
    var userProfile: String? { layers.text(.userProfile) }

    /// Returns the token type to use if the provider names none or an unknown one.
    func checkedAssumedType() throws(OIDCError) -> TokenType? {
        guard let text = layers.text(.tokenType) else { return nil }
        return try layers.checking(.tokenType) { () throws(OIDCError) in
            guard let type = TokenType.assumable(text) else {
                throw .usage(
                    "token_type: expected a type such as Bearer, and not DPoP, "
                        + "found \(DisplayText.quoted(text))")
            }
            return type
        }
    }

    func checkedResources() throws(OIDCError) -> [String] {
        try layers.checking(.resource) { () throws(OIDCError) in
            for resource in resources { try ResourceIndicator.check(resource) }
        }
        return resources
    }

    func checkedExtraParameters() throws(OIDCError) -> [FormEncoding.Pair] {
        try layers.checking(.extraTokenParams) { () throws(OIDCError) in
            try ExtraParameters.token.check(extraParameters)
        }
        return extraParameters
    }

    func check() throws(OIDCError) {
        _ = try checkedAssumedType()
        _ = try checkedResources()
        _ = try checkedExtraParameters()
        try layers.checking(.scope) { () throws(OIDCError) in try scope?.check() }
    }
}

/// The settings of the token that a machine exchanges, and of the actor's token (RFC 8693, RFC 7523).
struct SubjectSettings: Sendable {
    let layers: SettingLayers

    var source: SubjectTokenSource? { layers.choice(.subjectTokenSource) }
    var file: SettingFile? { layers.file(.subjectTokenFile) }
    var variable: String? { layers.text(.subjectTokenEnv) }
    var audience: String? { layers.text(.subjectTokenAudience) }
    var tokenType: String? { layers.text(.subjectTokenType) }
    var actorFile: SettingFile? { layers.file(.actorTokenFile) }
    var actorTokenType: String? { layers.text(.actorTokenType) }
    var requestedTokenType: String? { layers.text(.requestedTokenType) }
}
