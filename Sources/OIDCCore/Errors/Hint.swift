/// The next step after an error. `description` says it in plain words; a program with its own options and
/// settings names those instead.
package enum Hint: Hashable, Sendable {
    case signIn
    /// A new sign-in that also requests this scope.
    case signInForScope(String)
    /// A retry after this many seconds; nil if the provider named no delay.
    case tryAgain(seconds: Int?)
    case advice(Advice)
    case set(Setting, to: String)
    case setEndpoint(ProviderEndpoint)
    /// The issuer, spelled as the provider does.
    case useIssuer(String)
    /// Allowing HMAC signatures of ID tokens, UserInfo or introspection answers, if the client is registered for this
    /// algorithm.
    case allowAlgorithm(String, in: OIDCError.Stage = .idToken)
    /// A check of the client's secret, which was sent by one method; the client may be registered for another.
    case checkSecret(sentBy: String, other: String)
    /// A check of the file path in this setting.
    case checkPath(of: String)
    /// Keeping sessions in a directory that only this user can access.
    case keepSessions(in: String)
    /// Trusting the certificate's authority; `setting` is the setting that names the trusted authorities, if
    /// one is used.
    case trustAuthority(setting: String?)
    /// The values to compare with the client's registration if the browser does not return from the provider.
    indirect case checkRegistration(redirectURL: String, clientID: String)
    /// A page to open, whose URL is shown in full.
    case open(WebURL)
    /// A sentence, or a system command such as `chmod 600 FILE`.
    case text(String)
    /// A command of the program that shows the hint: the words after its name.
    case command([String])
    /// Options with their values, to add to the command line that was typed.
    case options([String])
    /// Hints to be read one after the other, as one sentence.
    case joined([Hint])

    /// The settings that an error can be about.
    package enum Setting: String, CaseIterable, Sendable {
        case pushedAuthorization
        case responseMode
        case dpop
        case clientAuthentication
        case store
        case tokenType
        case prompt
        case resourceParameter
        case assertionAudience
        case subjectTokenType
    }

    /// A hint that needs no value.
    package enum Advice: String, CaseIterable, Sendable {
        case signInAndAllow
        case signInForNewCode
        case allowMoreTime
        case checkClock
        case giveClientID
        case giveClientSecret
        case giveClientKey
        case giveClientCertificate
        case giveClientCertificateIfAsked
        case useKnownClientCertificate
        case usePEMPair
        case useMatchingPair
        case giveKeyPassphrase
        case useRegisteredAuthentication
        case checkClient
        case giveSecretOrCheckClientID
        case checkClientKey
        case checkClientKeyAlgorithm
        case allowGrant
        case askForAudienceScope
        case signInWithoutResource
        case signWithPublishedKey
        case signRequests
        case giveDecryptionKey
        case checkDecryptionKey
        case checkTokenEncryption
        case acceptPlainUserInfo
        case acceptPlainIntrospection
        case requestPlainIntrospection
        case allowDirectEncryption
        case signInWithDPoP
        case allowDeviceGrant
        case checkClientOrDeviceGrant
        case checkRedirectURI
        case checkACRValues
        case chooseGrant
        case checkScope
        case leaveOutOpenIDForDevice
        case nameScopes
        case checkTarget
        case giveAudience
        case checkIssuerSpelling
        case checkIssuerAddress
        case checkIssuerMetadata
        case checkIssuerOrSetEndpoints
        case checkMetadataURL
        case signInAtServer
        case removeAuthorizeParameter
        case removeTokenParameter
        case setMetadataURL
        case keepTenantsApart
        case turnNonceOff
        case leaveOutMaxAge
        case introspectAsOtherClient
        case setIssuerOrKeys
        case setUserInfoEndpoint
        case useHTTPS
        case allowUnboundTokens
        case sendPendingUnchanged
        case pasteAddress
        case acceptForm
        case pasteOrAcceptForm
        case choosePort
        case useOtherLoopback
        case chooseProxyPort
        case nameBrowser
        case installAuthorities
        case raiseHTTPTimeout
        case raiseProxyTimeout
        case useNewerVersion
        case installHelper
        case unlockKeychain
        case makeStoreKey
        case giveStoreKey
        case freeSpace
        case useOtherDisk
        case useWritableDirectory
        case useOwnDirectory
        case useRealDirectory
        case moveDirectoryAway
        case correctDirectory
    }
}

extension Hint {
    /// Returns another hint, and a new sign-in if that does not help.
    package static func orSignIn(_ hint: Hint) -> Hint { .joined([hint, ", or ", .signIn]) }

    /// Returns the hint with its text, words, scope, issuer, URL or client ID replaced.
    package func replacingText(_ replace: (String) -> String) -> Hint {
        switch self {
        case .text(let text): .text(replace(text))
        case .command(let words): .command(words.map(replace))
        case .options(let words): .options(words.map(replace))
        case .joined(let hints): .joined(hints.map { $0.replacingText(replace) })
        case .signInForScope(let scope): .signInForScope(replace(scope))
        case .checkSecret(let method, let other):
            .checkSecret(sentBy: replace(method), other: replace(other))
        case .useIssuer(let issuer): .useIssuer(replace(issuer))
        case .checkRegistration(let url, let clientID):
            .checkRegistration(redirectURL: replace(url), clientID: replace(clientID))
        case .signIn, .tryAgain, .advice, .set, .setEndpoint, .allowAlgorithm, .checkPath, .keepSessions,
            .trustAuthority, .open:
            self
        }
    }
}

extension Hint {
    /// Returns the hint with another issuer, which the server chose.
    func replacingIssuer(_ replace: (String) -> String) -> Hint {
        switch self {
        case .useIssuer(let issuer): .useIssuer(replace(issuer))
        case .joined(let hints): .joined(hints.map { $0.replacingIssuer(replace) })
        default: self
        }
    }
}

extension Hint: ExpressibleByStringInterpolation {
    /// Creates a hint from a sentence.
    package init(stringLiteral text: String) {
        self = .text(text)
    }
}
