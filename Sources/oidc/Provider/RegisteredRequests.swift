import OIDCCore
import OIDCCrypto

/// The signed requests and answers to register (OpenID Connect Registration §2, JARM §3, RFC 9701 §6).
struct RegisteredRequests {
    /// The settings for signed answers, which have the names of their members.
    static let answers: [Setting] = [
        .idTokenSignedResponseAlg, .userinfoSignedResponseAlg, .introspectionSignedResponseAlg,
    ]

    private let signing: RequestObjectSigning?
    private let requestURI: String?
    private let keyID: String?
    /// The algorithm of signed answers; nil leaves it to the provider, whose default is RS256.
    private let answerAlgorithm: String?
    /// The algorithms in the settings, and those that the security profile limits.
    private var algorithms: [(setting: Setting, name: JSONValue)] = []

    /// Creates the values that the settings request, without those that the provider may require of every
    /// client.
    init(_ provider: ProviderContext, _ metadata: ProviderMetadata) throws(OIDCError) {
        let signIn = provider.settings.signIn
        signing = signIn.asksForRequestObject ? try provider.requestSigning(metadata) : nil
        requestURI = signIn.requestURI
        keyID = provider.settings.client.privateKeyID
        let offered = metadata.authorizationSigningAlgValuesSupported ?? []
        // The default is RS256, which the profile forbids (OpenID Connect Registration §2, RFC 9701 §6).
        let limited: [(Setting, [String]?)] = [
            (.idTokenSignedResponseAlg, metadata.idTokenSigningAlgValuesSupported),
            (.introspectionSignedResponseAlg, metadata.introspectionSigningAlgValuesSupported),
        ]
        for setting in RegisteredRequests.answers {
            if let name = provider.settings.layers[setting] {
                if name != "none" { algorithms.append((setting, name)) }
            } else if provider.settings.securityProfile >= .fapi2,
                let name = limited.first(where: { $0.0 == setting })?.1?.first
            {
                algorithms.append((setting, .string(name)))
            }
        }
        answerAlgorithm =
            signIn.responseMode?.isSigned == true
            ? SecurityProfile.algorithms.first(where: offered.contains) : nil
    }

    /// Returns the algorithm that is requested for signed answers; nil if none is.
    func algorithm(_ setting: Setting) -> JSONValue? {
        algorithms.first { $0.setting == setting }?.name
    }

    func add(to registration: inout Registration) throws(OIDCError) {
        registration.extra["authorization_signed_response_alg"] = answerAlgorithm.map { .string($0) }
        for (setting, name) in algorithms { registration.extra[setting.name] = name }
        guard let signing else { return }
        registration.extra["request_object_signing_alg"] = .string(signing.algorithmName)
        registration.extra["request_object_encryption_alg"] = signing.encryption.map {
            .string($0.algorithm.rawValue)
        }
        registration.extra["request_object_encryption_enc"] = signing.encryption.map {
            .string($0.content.rawValue)
        }
        registration.extra["request_uris"] = requestURI.map { [.string($0)] }
        guard let key = signing.publicKey else { return }
        let id: String
        if let keyID { id = keyID } else { id = try JSONWebKey.thumbprint(of: key) }
        let others = registration.keys?["keys"]?.array ?? []
        // The key may be listed already, for client assertions.
        guard !others.contains(where: { $0["kid"]?.string == id }) else { return }
        registration.keys = ["keys": .array(others + [JSONWebKey(publicKey: key, keyID: id).json])]
    }
}
