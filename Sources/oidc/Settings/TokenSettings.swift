import OIDCCore

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

    let id: String?
    /// The URL of the client metadata document, which is the client ID at servers that support it.
    let metadataURL: String?
    /// The authentication method; nil if the metadata decides.
    let method: String?
    let secret: Secret?
    let privateKey: SettingFile?
    let privateKeyID: String?
    let privateKeyPassphrase: SettingFile?
    let certificate: SettingFile?
    let certificateKey: SettingFile?
    let assertionSource: SubjectTokenSource?
    let assertionAudience: AssertionAudience
    /// The only algorithm accepted for ID tokens, if one is set (OpenID Connect Registration §2).
    let idTokenAlgorithms: [String]?
    private let layers: SettingLayers

    init(_ layers: SettingLayers, home: String?) {
        self.layers = layers
        id = layers.text(.clientID)
        metadataURL = layers.text(.clientMetadataURL)
        method = layers.text(.clientAuth)
        let command = layers.texts(.clientSecretCommand)
        secret =
            layers.text(.clientSecret).map { .text(Redacted($0)) }
            ?? layers.file(.clientSecretFile, home: home).map { .file($0) }
            ?? (command.isEmpty ? nil : .command(command))
        privateKey = layers.file(.privateKeyFile, home: home)
        privateKeyID = layers.text(.privateKeyID)
        privateKeyPassphrase = layers.file(.privateKeyPassphraseFile, home: home)
        certificate = layers.file(.tlsClientCertificate, home: home)
        certificateKey = layers.file(.tlsClientKey, home: home)
        assertionSource = layers.choice(.clientAssertionSource)
        assertionAudience = layers.choice(.clientAssertionAudience) ?? .issuer
        idTokenAlgorithms = layers.text(.idTokenSignedResponseAlg).map { [$0] }
    }

    /// The files that other users must not be able to read.
    var secretFiles: [SettingFile] {
        var files: [SettingFile?] = [privateKey, certificateKey]
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
        guard let id else { throw Setting.clientID.missing(option: "--client-id ID") }
        return id
    }
}

/// The parameters of token requests.
struct TokenSettings: Sendable {
    let grant: GrantType
    let scope: Scope?
    let audience: String?
    let resources: [String]
    let account: String?
    let authorizationDetails: JSONValue?
    let format: RequestFormat
    let extraParameters: [FormEncoding.Pair]
    /// Whether tokens are bound to a key (DPoP, RFC 9449).
    let bindsTokens: Bool
    /// Whether `resource` is sent (RFC 8707).
    let sendsResources: Bool
    /// The token type if the provider names none or an unknown one.
    let assumedType: String?
    /// The profile of the user's own provider, whose session is exchanged for an assertion.
    let userProfile: String?
    private let layers: SettingLayers

    init(_ layers: SettingLayers) {
        self.layers = layers
        grant = layers.choice(.grant) ?? .authorizationCode
        scope = layers.text(.scope).map { Scope($0) }
        audience = layers.text(.audience)
        resources = layers.texts(.resource)
        account = layers.text(.account)
        authorizationDetails = layers[.authorizationDetails]
        format = layers.choice(.tokenRequestFormat) ?? .form
        extraParameters = layers.parameters(.extraTokenParams)
        bindsTokens = layers.flag(.dpop)
        sendsResources = layers.text(.resourceParameter) != "off"
        assumedType = layers.text(.tokenType)
        userProfile = layers.text(.userProfile)
    }

    func checkedAssumedType() throws(OIDCError) -> TokenType? {
        guard let assumedType else { return nil }
        return try layers.checking(.tokenType) { () throws(OIDCError) in
            guard let type = TokenType.assumable(assumedType) else {
                throw .usage(
                    "token_type: expected a type such as Bearer, and not DPoP, "
                        + "found \(DisplayText.quoted(assumedType))")
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
    let source: SubjectTokenSource?
    let file: SettingFile?
    let variable: String?
    let audience: String?
    let tokenType: String?
    let actorFile: SettingFile?
    let actorTokenType: String?
    let requestedTokenType: String?
    /// The variables that any layer names, in effect or not; they hold secrets.
    let variables: [String]

    init(_ layers: SettingLayers, home: String?) {
        source = layers.choice(.subjectTokenSource)
        file = layers.file(.subjectTokenFile, home: home)
        variable = layers.text(.subjectTokenEnv)
        audience = layers.text(.subjectTokenAudience)
        tokenType = layers.text(.subjectTokenType)
        actorFile = layers.file(.actorTokenFile, home: home)
        actorTokenType = layers.text(.actorTokenType)
        requestedTokenType = layers.text(.requestedTokenType)
        variables = layers.given.filter { $0.setting == .subjectTokenEnv }.compactMap(\.value.string)
    }
}
