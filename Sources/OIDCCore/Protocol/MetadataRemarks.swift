import OIDCCrypto

extension ProviderMetadata {
    /// The missing or unsafe members, one line each.
    public var remarks: [String] { namedRemarks.map(\.text) }

    /// The remarks, each with the member that it is about.
    package var namedRemarks: [(member: String, text: String)] {
        var remarks: [(member: String, text: String)] = []
        func remark(_ member: String, _ text: String) {
            remarks.append((member: member, text: "\(member) \(text)"))
        }
        for endpoint in [ProviderEndpoint.authorization, .token, .keys] where self[endpoint] == nil {
            remark(endpoint.rawValue, "is missing")
        }
        let methods = codeChallengeMethodsSupported ?? []
        if methods.isEmpty {
            remark(Self.challengeMethods, "is missing: S256 is sent all the same")
        } else if !methods.contains(PKCE.method) {
            remark(Self.challengeMethods, "does not list S256: no sign-in is possible")
        } else if methods.contains("plain") {
            remark(Self.challengeMethods, "lists plain, which protects nothing")
        }
        if let types = responseTypesSupported, !types.contains("code") {
            remark("response_types_supported", "does not list code")
        }
        if idTokenSigningAlgValuesSupported?.contains("none") == true {
            remark(Self.algorithms, "lists none, which is never accepted")
        }
        if !authorizationResponseIssParameterSupported {
            remark("authorization_response_iss_parameter_supported", "is not true (RFC 9207)")
        }
        return remarks
    }

    private static let signedRequests = "require_signed_request_object"
    private static let challengeMethods = "code_challenge_methods_supported"
    private static let algorithms = "id_token_signing_alg_values_supported"

    /// A member that makes a request impossible, with the error of that request.
    package struct Obstacle: Sendable {
        package let member: String
        package let error: OIDCError
    }

    /// Returns the reasons why a sign-in with these endpoints and this scope would fail; or why a token
    /// request would, if the token endpoint is the only one.
    package func obstacles(
        to endpoints: [ProviderEndpoint], scope: Scope, signsRequests: Bool = false
    ) -> [Obstacle] {
        var obstacles: [Obstacle] = []
        func check(_ member: String, _ body: () throws(OIDCError) -> Void) {
            do throws(OIDCError) { try body() } catch {
                obstacles.append(Obstacle(member: member, error: error))
            }
        }
        let needsKeys = isDiscovered && scope.contains("openid")
        for endpoint in endpoints + (needsKeys ? [.keys] : []) {
            check(endpoint.rawValue) { () throws(OIDCError) in _ = try require(endpoint) }
        }
        if endpoints.contains(.authorization) {
            check(Self.challengeMethods) { () throws(OIDCError) in try requireS256() }
            if !signsRequests {
                check(Self.signedRequests) { () throws(OIDCError) in try requirePlainRequests() }
            }
        }
        if needsKeys {
            check(Self.algorithms) { () throws(OIDCError) in try requireKnownAlgorithm() }
        }
        return obstacles
    }

    /// Checks that the metadata lists S256, if it lists any code challenge method (RFC 7636 §4.2).
    func requireS256() throws(OIDCError) {
        guard let methods = codeChallengeMethodsSupported, !methods.isEmpty, !methods.contains(PKCE.method)
        else { return }
        throw .protocolViolation(
            .authorization, Self.challengeMethods, expected: "S256 among them",
            found: methods.joined(separator: " "))
    }

    /// Checks that the provider takes requests that are not signed (RFC 9101 §10.5).
    func requirePlainRequests() throws(OIDCError) {
        guard requiresSignedRequests else { return }
        throw OIDCError(
            .refused, "authorize: \(Self.signedRequests): the provider takes only signed requests (RFC 9101)",
            hint: .advice(.signRequests), stage: .authorization)
    }

    /// Whether the provider takes only signed requests (RFC 9101 §10.5).
    package var requiresSignedRequests: Bool { raw[Self.signedRequests] == true }

    /// `request_object_signing_alg_values_supported` (OpenID Connect Discovery §3); nil if it is not a list.
    package var requestObjectSigningAlgorithms: [String]? {
        raw["request_object_signing_alg_values_supported"]?.strings
    }

    private func requireKnownAlgorithm() throws(OIDCError) {
        guard let listed = idTokenSigningAlgValuesSupported, !listed.isEmpty,
            !listed.contains(where: { SignatureAlgorithm(rawValue: $0) != nil })
        else { return }
        throw .untrusted(
            .discovery, Self.algorithms, expected: "an algorithm that can be verified",
            found: listed.joined(separator: " "))
    }
}
