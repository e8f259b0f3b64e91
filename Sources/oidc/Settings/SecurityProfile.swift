import OIDCCore
import OIDCSignIn

/// A security profile that sign-ins and sessions keep to (`security_profile`). Each one includes those before it.
enum SecurityProfile: String, CaseIterable, Comparable, Sendable {
    case none
    case oauth21
    case fapi2
    case fapi2MessageSigning = "fapi2-message-signing"

    private var rank: Int { SecurityProfile.allCases.firstIndex(of: self) ?? 0 }

    static func < (left: SecurityProfile, right: SecurityProfile) -> Bool { left.rank < right.rank }

    /// The rules of the profile.
    var rules: [SecurityRule] { SecurityRule.all.filter { $0.since <= self } }

    /// The signature algorithms that FAPI allows, the preferred one first (FAPI 2.0 Security Profile §5.4.1).
    static let algorithms = ["PS256", "ES256", "EdDSA", "Ed25519"]
}

/// One demand of security profiles: what it turns on, and what it forbids.
struct SecurityRule: Sendable {
    /// The demand, as the object of "demands".
    let demand: String
    /// The first profile that demands it.
    let since: SecurityProfile
    let clause: String
    /// Whether it is about sign-ins alone, and not about grants that need no user.
    var isForUsers = false
    /// A function that returns values for settings that are not set.
    var implied: @Sendable (SettingLayers) -> [(Setting, JSONValue)] = { _ in [] }
    /// A function that returns what is forbidden in the settings; nil if nothing is.
    var settings: @Sendable (Settings) -> String? = { _ in nil }
    /// A function that returns what the provider lacks; nil if nothing.
    var provider: @Sendable (ProviderMetadata, Settings) -> String? = { _, _ in nil }
    /// A function that returns what a stored session lacks; nil if nothing.
    var session: @Sendable (Session) -> String? = { _ in nil }

    private static let oauth21 = "OAuth 2.1 (draft 15)"
    private static let fapi2 = "FAPI 2.0 Security Profile"
    private static let signing = "FAPI 2.0 Message Signing"

    /// All rules, which are the only place where a profile's demands are written down.
    static let all: [SecurityRule] = [
        SecurityRule(
            demand: "https", since: .oauth21, clause: "\(oauth21) §1.5",
            settings: { $0.provider.allowsInsecureHTTP ? "allow_insecure_http is true" : nil }),
        SecurityRule(
            demand: "PKCE with S256", since: .oauth21, clause: "\(oauth21) §4.1.1", isForUsers: true,
            provider: { metadata, _ in
                !metadata.isDiscovered || metadata.codeChallengeMethodsSupported?.contains("S256") == true
                    ? nil : "code_challenge_methods_supported does not list S256"
            }),
        SecurityRule(
            demand: "metadata that the provider publishes", since: .fapi2, clause: "\(fapi2) §5.3.3.1",
            settings: { settings in
                settings.provider.endpoints.first.map { "\($0.rawValue) is set" }
            }),
        SecurityRule(
            demand: "the authorization code flow", since: .fapi2, clause: "\(fapi2) §5.3.3.2",
            isForUsers: true,
            settings: { $0.signIn.flow == .device ? "flow is device" : nil }),
        SecurityRule(
            demand: "an https redirect URL, or one on loopback", since: .fapi2, clause: "\(fapi2) §5.3.2.2",
            isForUsers: true,
            settings: { settings in
                guard let redirect = try? settings.signIn.redirect(), redirect.loopback == nil,
                    WebURL(redirect.text)?.isSecure != true
                else { return nil }
                return "redirect_uri is \(DisplayText.quoted(redirect.text, limit: 100))"
            }),
        SecurityRule(
            demand: "pushed requests", since: .fapi2, clause: "\(fapi2) §5.3.3.2", isForUsers: true,
            implied: { _ in [(.par, "require")] },
            settings: { settings in
                if settings.signIn.requestURI != nil { return "request_uri is set" }
                return settings.signIn.pushing == .require
                    ? nil : "par is \(settings.signIn.pushing.rawValue)"
            },
            provider: { metadata, _ in
                metadata[.pushedAuthorizationRequest] == nil
                    ? "pushed_authorization_request_endpoint is missing" : nil
            }),
        SecurityRule(
            demand: "tokens that are bound to a key or certificate", since: .fapi2,
            clause: "\(fapi2) §5.3.3.1",
            implied: { $0[.tlsClientCertificate] == nil ? [(.dpop, true)] : [] },
            settings: {
                $0.token.bindsTokens || $0.client.certificate != nil
                    ? nil : "dpop is false, and tls_client_certificate is not set"
            },
            provider: { metadata, settings in
                if settings.token.bindsTokens {
                    return metadata.dpopSigningAlgValuesSupported?.isEmpty == false
                        ? nil : "dpop_signing_alg_values_supported lists no algorithm that is allowed"
                }
                return metadata.tlsClientCertificateBoundAccessTokens
                    ? nil : "tls_client_certificate_bound_access_tokens is not true"
            },
            session: { session in
                let isBound =
                    session.hasAccessToken
                    ? session.bond(of: session.tokens.access) != nil
                    : session.dpopKey != nil || session.bindsOpaqueTokens
                return isBound ? nil : "its token is not bound"
            }),
        SecurityRule(
            demand: "private_key_jwt or a client certificate", since: .fapi2, clause: "\(fapi2) §5.3.3.1",
            implied: { layers in
                if layers[.privateKeyFile] != nil { return [(.clientAuth, "private_key_jwt")] }
                return layers[.tlsClientCertificate] == nil ? [] : [(.clientAuth, "tls_client_auth")]
            },
            settings: { settings in
                if settings.client.method == nil, settings.client.assertionSource != nil { return nil }
                guard let method = settings.client.method else {
                    return "neither private_key_file nor tls_client_certificate is set"
                }
                return methods.contains(method) ? nil : "client_auth is \(method)"
            },
            provider: { metadata, settings in
                let offered = metadata.tokenEndpointAuthMethodsSupported ?? ["client_secret_basic"]
                let method = settings.client.method ?? "private_key_jwt"
                return offered.contains(method)
                    ? nil : "token_endpoint_auth_methods_supported does not list \(method)"
            },
            session: { session in
                let method = session.clientAuthentication ?? "none"
                return methods.contains(method) ? nil : "its client authenticated by \(method)"
            }),
        SecurityRule(
            demand: "the issuer as the audience of client assertions", since: .fapi2,
            clause: "\(fapi2) §5.3.3.1",
            settings: {
                $0.client.assertionAudience == .issuer ? nil : "client_assertion_audience is token_endpoint"
            }),
        SecurityRule(
            demand: "PS256, ES256 or EdDSA", since: .fapi2, clause: "\(fapi2) §5.4.1",
            settings: { settings in
                let names: [Setting] = [
                    .clientAuthSigningAlg, .idTokenSignedResponseAlg, .requestObjectSigningAlg,
                    .userinfoSignedResponseAlg, .introspectionSignedResponseAlg,
                ]
                for setting in names {
                    // A plain introspection answer has no algorithm.
                    let allowed =
                        SecurityProfile.algorithms
                        + (setting == .introspectionSignedResponseAlg ? ["none"] : [])
                    guard let name = settings.layers.text(setting), !allowed.contains(name) else { continue }
                    return "\(setting.name) is \(name)"
                }
                return nil
            },
            provider: { metadata, settings in
                if settings.client.method == "private_key_jwt",
                    metadata.tokenEndpointAuthSigningAlgValuesSupported?.isEmpty == true
                {
                    return "token_endpoint_auth_signing_alg_values_supported lists none of them"
                }
                guard settings.token.grant.needsUser,
                    (settings.token.scope ?? Scope("openid")).contains("openid")
                else { return nil }
                return metadata.idTokenSigningAlgValuesSupported?.isEmpty == true
                    ? "id_token_signing_alg_values_supported lists none of them" : nil
            }),
        SecurityRule(
            demand: "iss in the answer to a sign-in", since: .fapi2, clause: "\(fapi2) §5.3.3.2",
            isForUsers: true,
            provider: { metadata, settings in
                // A signed answer has iss in any case (JARM §2.1).
                let isSigned = settings.signIn.responseMode?.isSigned == true
                return isSigned || metadata.authorizationResponseIssParameterSupported
                    ? nil : "authorization_response_iss_parameter_supported is not true"
            }),
        SecurityRule(
            demand: "signed requests", since: .fapi2MessageSigning, clause: "\(signing) §5.3.2",
            isForUsers: true,
            implied: { _ in [(.requestObject, "signed")] },
            settings: { settings in
                guard settings.signIn.requestObject == .signed else {
                    return "request_object is \(settings.signIn.requestObject.rawValue)"
                }
                return settings.client.privateKey == nil ? "private_key_file is not set" : nil
            },
            provider: { metadata, _ in
                metadata.requestObjectSigningAlgorithms?.isEmpty == true
                    ? "request_object_signing_alg_values_supported lists none of PS256, ES256 and EdDSA" : nil
            }),
        SecurityRule(
            demand: "signed answers", since: .fapi2MessageSigning, clause: "\(signing) §5.4.2",
            isForUsers: true,
            implied: { _ in [(.responseMode, "jwt")] },
            settings: { settings in
                let mode = settings.signIn.responseMode
                return mode?.isSigned == true ? nil : "response_mode is \(mode?.rawValue ?? "query")"
            },
            provider: { metadata, settings in
                let mode = settings.signIn.responseMode?.rawValue ?? "jwt"
                if metadata.responseModesSupported?.contains(mode) != true {
                    return "response_modes_supported does not list \(mode)"
                }
                return metadata.authorizationSigningAlgValuesSupported?.isEmpty == true
                    ? "authorization_signing_alg_values_supported lists none of PS256, ES256 and EdDSA" : nil
            }),
    ]

    private static let methods = ["private_key_jwt", "tls_client_auth", "self_signed_tls_client_auth"]
}

extension SettingLayers.Origin {
    /// The origin of values that the security profile implies.
    static let securityProfile = SettingLayers.Origin.option("security_profile")
}

extension SettingLayers {
    var securityProfile: SecurityProfile { choice(.securityProfile) ?? .none }

    /// Returns the layers with what the security profile implies, below all others.
    func completedBySecurityProfile() -> SettingLayers {
        guard securityProfile != .none else { return self }
        let implied = securityProfile.rules.flatMap { $0.implied(self) }.map {
            Entry(setting: $0.0, value: $0.1, origin: .securityProfile)
        }
        return SettingLayers(
            profile: profile, isProfileNamed: isProfileNamed, home: home, entries: given, implied: implied)
    }
}

extension Settings {
    var securityProfile: SecurityProfile { layers.securityProfile }

    private func violation(_ found: String, of rule: SecurityRule) -> String {
        "\(found), and security_profile \(securityProfile.rawValue) demands \(rule.demand) (\(rule.clause))"
    }

    /// The rules for the grant in use.
    private var securityRules: [SecurityRule] {
        let isForUsers = token.grant.needsUser
        return securityProfile.rules.filter { isForUsers || !$0.isForUsers }
    }

    /// The settings that the security profile forbids, or demands and finds missing.
    var securityProfileViolations: [OIDCError] {
        securityRules.compactMap { rule in
            rule.settings(self).map {
                .usage(
                    violation($0, of: rule),
                    hint: "change the settings, or choose another security_profile")
            }
        }
    }

    func checkSecurityProfile() throws(OIDCError) {
        if let violation = securityProfileViolations.first { throw violation }
    }

    /// Returns what a provider with this metadata lacks for the security profile.
    func securityProfileObstacles(_ metadata: ProviderMetadata) -> [OIDCError] {
        securityRules.compactMap { rule in
            rule.provider(metadata, self).map {
                OIDCError(
                    .refused, "discovery: \(violation($0, of: rule))",
                    hint: "ask the provider's operator for it, or choose another security_profile",
                    stage: .discovery)
            }
        }
    }

    /// Returns what a stored session lacks for the security profile; nil if it may be used.
    func securityProfileFlaw(_ session: Session) -> String? {
        for rule in securityRules {
            if let found = rule.session(session) {
                return "the session is refused: \(violation(found, of: rule))"
            }
        }
        return nil
    }

    /// Returns the metadata with the algorithms that the security profile allows, and without the device endpoint, as
    /// FAPI 2.0 demands the authorization code flow (Security Profile §5.3.3.2).
    func allowed(_ metadata: ProviderMetadata) -> ProviderMetadata {
        guard securityProfile >= .fapi2 else { return metadata }
        func allowed(_ names: [String]?) -> [String] {
            names?.filter(SecurityProfile.algorithms.contains) ?? SecurityProfile.algorithms
        }
        var metadata = metadata
        metadata.idTokenSigningAlgValuesSupported = allowed(metadata.idTokenSigningAlgValuesSupported)
        metadata.userInfoSigningAlgValuesSupported = allowed(metadata.userInfoSigningAlgValuesSupported)
        metadata.authorizationSigningAlgValuesSupported = allowed(
            metadata.authorizationSigningAlgValuesSupported)
        metadata.tokenEndpointAuthSigningAlgValuesSupported = allowed(
            metadata.tokenEndpointAuthSigningAlgValuesSupported)
        metadata.introspectionSigningAlgValuesSupported =
            metadata.introspectionSigningAlgValuesSupported.map(allowed)
        metadata.dpopSigningAlgValuesSupported = metadata.dpopSigningAlgValuesSupported.map(allowed)
        metadata.raw["request_object_signing_alg_values_supported"] = .array(
            allowed(metadata.requestObjectSigningAlgorithms).map { .string($0) })
        metadata[.deviceAuthorization] = nil
        return metadata
    }
}
