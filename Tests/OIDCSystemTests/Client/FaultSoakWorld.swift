@testable import CurlHTTP
import DemoProvider
import Foundation
import OIDCCore
import OIDCCrypto
@testable import OIDCSessions
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// One session in a directory, its provider, and a clock that only this type moves. Every call is like a
/// new process: it knows only what is on disk.
struct SoakWorld {
    typealias Trouble = FaultSoakTests.Trouble

    let trouble: Trouble
    private let provider: InMemoryProvider
    private let scratch = ScratchDirectory()
    private let key: SessionKey
    private let isBound: Bool
    private let isCached: Bool
    private var random: SplitMix
    /// How far this machine's clock is ahead.
    private let skew = SharedNumber()
    private let disk: DiskImage

    init(_ trouble: Trouble, _ random: SplitMix) throws {
        var random = random
        self.trouble = trouble
        isBound =
            if case .provider(.proof) = trouble { true } else { Int.random(in: 0..<4, using: &random) == 0 }
        isCached = Bool.random(using: &random)
        let signsUserInfo: Bool
        if case .provider(.userInfo) = trouble { signsUserInfo = true } else { signsUserInfo = false }
        let returnsIDToken = Int.random(in: 0..<4, using: &random) > 0
        let bound = isBound
        provider = try InMemoryProvider {
            $0.signsUserInfo = signsUserInfo
            $0.refreshReturnsIDToken = returnsIDToken
            $0.requiresDPoPNonceAtToken = bound
        }
        key = SessionKey(provider: InMemoryProvider.issuer, clientID: "demo")
        disk = DiskImage(directory: scratch.path)
        self.random = random
        try signIn()
    }

    func signIn() throws {
        provider.faults = []
        let session = try provider.signIn("openid profile email offline_access api:read api:write") { login in
            guard isBound else { return }
            let dpop = try DPoPKey.generate()
            var request = login.request
            request.dpopThumbprint = dpop.thumbprint
            login = SignInFlow(
                context: login.context, metadata: login.metadata,
                tokenEndpoint: TokenEndpoint(
                    url: login.tokenEndpoint.url, client: login.tokenEndpoint.client, dpop: dpop),
                request: request, key: login.key)
        }
        try store.save(session, replacingDamaged: true)
    }

    private var store: SessionStore { SessionStore(directory: scratch["state"]) }

    var refreshToken: String? {
        get throws { try store.load(key)?.tokens.refreshToken?.revealed }
    }

    private var environment: OIDCContext {
        var environment = provider.environment
        environment.now = { [provider, skew] in provider.now.adding(skew.value) }
        if isCached { environment.cache = MetadataCache(directory: scratch["cache"]) }
        return environment
    }

    /// What a process requests.
    private enum Call: CaseIterable {
        case token, refresh, narrower, resource, userInfo

        var demand: TokenDemand {
            switch self {
            case .token, .refresh, .userInfo: TokenDemand()
            case .narrower: TokenDemand(scope: Scope("api:read"))
            case .resource: TokenDemand(resources: ["https://api.example/"])
            }
        }
    }

    private func run(_ call: Call) throws {
        let environment = environment
        let tokens = SessionTokens(
            store: store, key: key, now: environment.now, wait: LockWait(limit: .seconds(20))
        ) { (current, source) throws(OIDCError) in
            guard let current else { throw TokenRefresh.impossible }
            let dpop = try current.dpopKey.map { pem throws(OIDCError) in try DPoPKey(pem: pem) }
            let refresh = TokenRefresh(
                context: environment,
                tokenEndpoint: TokenEndpoint(
                    url: current.endpoints.token, client: Client(id: "demo"), dpop: dpop))
            let answer = try refresh.request(current, for: source)
            return SessionTokens.Answer(successor: answer.successor) { () throws(OIDCError) in
                try refresh.check(answer)
            }
        }
        switch call {
        case .token, .narrower, .resource: _ = try tokens.token(call.demand)
        case .refresh:
            let session = try store.load(key)
            _ = try tokens.refreshed(
                TokenDemand(), loaded: session, refusing: .of(session?.tokens.access))
        case .userInfo:
            _ = try ProtectedRequest(tokens, environment: environment).userInfo { _ in
                UserInfo.Signing()
            }
        }
    }

    /// Expects every call to succeed, as many of them as fit into that time.
    mutating func stayHealthy(for seconds: Int64, _ place: String) throws {
        let end = provider.now.adding(seconds)
        while provider.now < end {
            let call = Call.allCases.randomElement(using: &random) ?? .token
            #expect(throws: Never.self, "\(place), \(call)") { try run(call) }
            provider.pass(.random(in: 5...200, using: &random))
        }
    }

    /// Makes a few calls while it goes wrong, one of them a refresh. They must only
    /// end, and throw nothing but `OIDCError`.
    mutating func suffer() {
        begin()
        var calls = [Call.refresh]
        for _ in 0..<3 { calls.append(Call.allCases.randomElement(using: &random) ?? .token) }
        for call in calls.shuffled(using: &random) {
            #expect(throws: Never.self) {
                do { try run(call) } catch is OIDCError {}
            }
            disk.restore()
            provider.pass(.random(in: 0...100, using: &random))
        }
        provider.faults = []
        provider.intercept(nil)
        skew.value = 0
        // As long as the provider asked for.
        provider.pass(90)
    }

    private func begin() {
        switch trouble {
        case .provider(let fault): provider.faults = [fault]
        case .clock(let seconds): skew.value = seconds
        case .unreachable(let endpoint):
            fail(endpoint, OIDCError(.unreachable, "no route to host", stage: .token))
        case .timeout(let endpoint):
            fail(endpoint, OIDCError(.unreachable, "no answer within 30 s", stage: .token))
        case .status(let endpoint, let status, let retryAfter):
            provider.intercept { request in
                guard request.url.path == endpoint.path else { return nil }
                return HTTPResponse(status: status, headers: HTTPHeaders([("Retry-After", "\(retryAfter)")]))
            }
        case .killedBeforeRequest: killed(at: .token)
        case .killedAfterSuccessor: killed(at: .jwks)
        }
    }

    private func fail(_ endpoint: Endpoint, _ error: OIDCError) {
        provider.intercept { request throws(OIDCError) in
            if request.url.path == endpoint.path { throw error }
            return nil
        }
    }

    /// Keeps what is on disk when that request is sent.
    private func killed(at endpoint: Endpoint) {
        provider.intercept { [disk] request throws(OIDCError) in
            guard request.url.path == endpoint.path else { return nil }
            disk.take()
            throw OIDCError(.unreachable, "killed", stage: .token)
        }
    }

    /// Returns whether the provider has ended the session; nothing else may end it.
    func isEnded() throws -> Bool {
        do {
            try run(.refresh)
            return false
        } catch let error as OIDCError {
            #expect(error.kind == .loginRequired, "\(error)")
            #expect(try refreshToken == nil)
            return true
        }
    }
}

/// A snapshot of the files of a directory, to be restored: a process that is killed writes nothing more.
private final class DiskImage: Sendable {
    private let directory: String
    private let files = Mutex<[String: Data]?>(nil)

    init(directory: String) { self.directory = "\(directory)/state" }

    func take() {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let image = names.reduce(into: [:]) {
            $0[$1] = FileManager.default.contents(atPath: "\(directory)/\($1)")
        }
        files.withLock { $0 = image }
    }

    func restore() {
        guard let image = files.withLock({ $0.take() }) else { return }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            if image[name] == nil { unlink("\(directory)/\(name)") }
        }
        for (name, data) in image {
            _ = FileManager.default.createFile(
                atPath: "\(directory)/\(name)", contents: data, attributes: [.posixPermissions: 0o600])
        }
    }
}

private final class SharedNumber: Sendable {
    private let number = Mutex<Int64>(0)
    var value: Int64 {
        get { number.withLock { $0 } }
        set { number.withLock { $0 = newValue } }
    }
}
