import DemoProvider
import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

/// A call that shows something secret to one endpoint.
enum SecretCall: CaseIterable, Sendable {
    case registration, introspection, revocation, userInfo

    var endpoint: Endpoint {
        switch self {
        case .registration: .registration
        case .introspection: .introspection
        case .revocation: .revocation
        case .userInfo: .userinfo
        }
    }
}

@Suite("a hostile answer of each endpoint, in memory")
struct EndpointFaultTests {
    private static let secret = "planted-client-secret-8d1f"
    private static let token = "planted-token-77aa"

    /// Sends a call to the provider, and reads the answer.
    private func send(_ call: SecretCall, to provider: InMemoryProvider) throws {
        let url = try #require(WebURL("\(InMemoryProvider.issuer)\(call.endpoint.path)"))
        let client = Client(
            id: "planted", authentication: .clientSecretBasic(Redacted(EndpointFaultTests.secret)))
        let token = Redacted(EndpointFaultTests.token)
        func answer<Value>(_ call: EndpointCall<Value>) throws -> Value {
            try call.read(try provider.send(call.request, stage: call.stage))
        }
        switch call {
        case .registration:
            _ = try answer(try Registration(clientName: "oidc").call(at: url, initialAccessToken: token))
        case .introspection:
            _ = try answer(
                try Introspection.call(
                    token, hint: nil, at: url, client: client, now: provider.now, random: { Random.bytes($0) }
                ))
        case .revocation:
            _ = try answer(
                try Revocation.call(
                    token, hint: nil, at: url, client: client, now: provider.now, random: { Random.bytes($0) }
                ))
        case .userInfo:
            let access = AccessToken(
                token: token, type: .bearer, obtainedAt: provider.now, expiresAt: nil, scope: nil)
            let result = try answer(
                try UserInfo.call(
                    endpoint: url, accessToken: access,
                    rules: UserInfo.Rules(subject: "alice", issuer: nil, clientID: "planted"), keys: nil,
                    now: provider.now))
            if case .unauthorized(_, let error) = result { throw error }
        }
    }

    /// The kind of error that an answer must lead to; nil if the answer may be used.
    private func kind(_ fault: AnswerFault, at call: SecretCall) -> OIDCError.Kind? {
        switch fault {
        case .htmlServerError, .serverError, .badGateway, .unavailable, .tooManyRequests: .unreachable
        // The provider's own answer, to a token that it does not know.
        case .plainTextType, .byteOrderMark: call == .userInfo ? .refused : nil
        // An object without `sub` describes nobody.
        case .hugeNumbers where call == .userInfo: .untrusted
        // A revocation succeeds by its status, whatever the body (RFC 7009 §2.2).
        case .emptySuccess, .htmlSuccess, .errorWithSuccess, .noJSON, .jsonArray, .jsonNull, .deepJSON,
            .hugeNumbers, .loneSurrogate, .nullBytes, .duplicateMembers, .invalidUTF8, .truncated:
            call == .revocation ? nil : .refused
        default: .refused
        }
    }

    @Test(
        "a broken answer is an error of the right kind, without control characters and secrets",
        arguments: SecretCall.allCases, AnswerFault.ofProtocol)
    func answers(call: SecretCall, fault: AnswerFault) throws {
        let provider = try InMemoryProvider {
            $0.clients = [DemoClient(id: "planted", secret: EndpointFaultTests.secret)]
        }
        provider.faults = [.answer(call.endpoint, fault)]
        let result = Result { try send(call, to: provider) }
        guard let kind = kind(fault, at: call) else {
            #expect(throws: Never.self) { try result.get() }
            return
        }
        let error = try #require(#expect(throws: OIDCError.self) { try result.get() })
        #expect(error.kind == kind, "\(error.message)")
        #expect(!error.message.unicodeScalars.contains { $0.value < 32 || (0x7F...0x9F).contains($0.value) })
        #expect(!error.message.contains(EndpointFaultTests.secret))
        #expect(!error.message.contains(EndpointFaultTests.token))
        #expect(provider.with { $0.requestCount(call.endpoint) } == 1)
    }

    /// The member that the error names; other faults leave something to show.
    private static let deviceRefusals: [DeviceFault: String] = [
        .deviceCodeMissing: "device_code", .userCodeMissing: "user_code",
        .verificationURIMissing: "verification_uri", .verificationURIScript: "verification_uri",
        .verificationURIEscapes: "verification_uri",
    ]

    @Test("a device authorization with any fault is refused, or shown clean", arguments: DeviceFault.allCases)
    func device(fault: DeviceFault) throws {
        let provider = try InMemoryProvider { $0.user = .approves("alice") }
        provider.faults = [.device(fault)]
        _ = try provider.signIn {
            let login = $0
            guard let name = Self.deviceRefusals[fault] else {
                let authorization = try login.requestDeviceCode()
                #expect(authorization.interval > .zero)
                #expect(authorization.verificationURI.text == "\(InMemoryProvider.issuer)/device")
                if fault == .completeURIScript { #expect(authorization.verificationURIComplete == nil) }
                #expect(!authorization.userCode.unicodeScalars.contains { $0.value < 32 || $0 == "\u{202E}" })
                return
            }
            let error = try #require(#expect(throws: OIDCError.self) { try login.requestDeviceCode() })
            #expect(error.kind == .refused && error.message.contains(name), "\(error.message)")
        }
    }
}
