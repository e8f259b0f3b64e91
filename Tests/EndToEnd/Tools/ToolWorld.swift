import DemoProvider
import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix
import Synchronization
import TestSupport
import Testing

/// The built program, a provider on loopback with an API below `/api`, and a home directory of its own.
final class ToolWorld: Sendable {
    static let program = Program.path

    let home: String
    let provider: ProviderServer
    private let servers = Mutex<[ToolServer]>([])

    var issuer: String { provider.origin }

    /// What the provider was asked.
    var requests: [HTTPRequest] { provider.with { $0.log.map(\.request) } }

    init(_ change: (inout DemoConfiguration) -> Void = { _ in }) throws {
        home = FileManager.default.temporaryDirectory.path + "/oidc-tools-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var configuration = DemoConfiguration()
        configuration.user = .approves("alice")
        change(&configuration)
        provider = try ProviderServer(configuration)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: home)
    }

    /// An API that lives as long as this world.
    func serve(_ handle: @escaping @Sendable (HTTPRequest) -> HTTPResponse) throws -> ToolServer {
        let server = try ToolServer(handle)
        servers.withLock { $0.append(server) }
        return server
    }

    /// Everything that the program may know of its surroundings.
    var environment: [String: String] {
        [
            "HOME": home, "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "LANG": "C.UTF-8",
        ]
    }

    /// The variables for a grant without a user.
    var machine: [String: String] {
        [
            "OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "demo-confidential", "OIDC_CLIENT_SECRET": "demo-secret",
            "OIDC_GRANT": "client_credentials",
        ]
    }

    /// The variables for the client of a user.
    var person: [String: String] { ["OIDC_ISSUER": issuer, "OIDC_CLIENT_ID": "demo"] }

    func run(
        _ arguments: [String], _ variables: [String: String] = [:], input: String = "",
        as program: String = ToolWorld.program
    ) throws -> ToolResult {
        var process = ChildProcess(
            [program] + arguments, environment: Variables(environment.merging(variables) { $1 }))
        process.input = Array(input.utf8)
        process.errorOutput = .captured
        process.outputLimit = 64 << 20
        return ToolResult(try process.run())
    }

    func configure(_ profile: JSONValue) throws {
        let directory = home + "/.config/oidc"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let file = directory + "/config.json"
        try Data(profile.compact.utf8).write(to: URL(fileURLWithPath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
    }
}

extension ToolWorld {
    var store: SessionStore { SessionStore(directory: home + "/.local/state/oidc") }

    var key: SessionKey { SessionKey(provider: issuer, clientID: "demo") }

    /// A session as a sign-in would have left it.
    @discardableResult
    func signIn(
        scope: String = "openid profile email offline_access", _ change: (inout Session) -> Void = { _ in }
    ) throws -> Session {
        let tokens = try redeem(scope: scope)
        let now = Clock.now()
        let seconds = try #require(tokens["expires_in"]?.integer)
        let idToken = try tokens["id_token"].map { try #require($0.string) }
        let origin = try #require(WebURL(issuer))
        var session = Session(
            key: key,
            endpoints: Session.Endpoints(
                issuer: issuer, token: try #require(origin.replacingPath("/token")),
                userInfo: origin.replacingPath("/userinfo"), keys: origin.replacingPath("/jwks")),
            clientAuthentication: "none", createdAt: now, requestedScope: Scope(scope),
            tokens: TokenSet(
                access: AccessToken(
                    token: Redacted(try #require(tokens["access_token"]?.string)), type: .bearer,
                    obtainedAt: now, expiresAt: now.adding(seconds),
                    scope: Scope(tokens["scope"]?.string ?? scope)),
                refreshToken: tokens["refresh_token"]?.string.map { Redacted($0) },
                idToken: idToken.map { Redacted($0) }),
            subject: "alice")
        change(&session)
        try store.save(session, replacingDamaged: true)
        return session
    }

    private func redeem(scope: String) throws -> JSONValue {
        let redirect = "http://127.0.0.1:1/callback"
        let verifier = String(repeating: "v", count: 43)
        let challenge = Base64URL.encode(try Digest.hash(Array(verifier.utf8), .sha256))
        let origin = try #require(WebURL(issuer))
        let authorize = try #require(origin.replacingPath("/authorize")).appendingQuery(
            [
                ("response_type", "code"), ("client_id", "demo"), ("redirect_uri", redirect),
                ("scope", scope), ("state", "state"), ("nonce", "nonce"), ("code_challenge", challenge),
                ("code_challenge_method", "S256"),
            ].map { FormEncoding.Pair($0.0, $0.1) })
        let token = try #require(origin.replacingPath("/token"))
        return try provider.with { provider in
            let answer = provider.handle(HTTPRequest(.get, authorize), at: Clock.now())
            let callback = try #require(answer.headers["Location"].flatMap { WebURL($0) })
            let pairs = FormEncoding.decode(callback.query ?? "") ?? []
            let code = try #require(pairs.first { $0.name == "code" }?.value)
            let form = HTTPRequest.form(
                token,
                [
                    ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirect),
                    ("client_id", "demo"), ("code_verifier", verifier),
                ].map { FormEncoding.Pair($0.0, $0.1) })
            return try JSONValue(parsing: provider.handle(form, at: Clock.now()).body)
        }
    }
}

/// The result of a run of the program.
struct ToolResult: Equatable, CustomStringConvertible {
    let status: Posix.ExitStatus
    let output: String
    let errors: String

    init(_ outcome: ChildProcess.Outcome) {
        status = outcome.status
        output = String(decoding: outcome.output, as: UTF8.self)
        errors = String(decoding: outcome.errorOutput, as: UTF8.self)
    }

    var code: Int32? { if case .exited(let code) = status { code } else { nil } }

    func json() throws -> JSONValue { try JSONValue(parsing: output) }

    var description: String { "\(status)\nstdout: \(output)\nstderr: \(errors)" }
}

/// An API on loopback, and what it was asked.
final class ToolServer: Sendable {
    private final class Log: Sendable {
        let requests = Mutex<[HTTPRequest]>([])
    }

    private let log: Log
    private let server: BackgroundServer

    var origin: String { server.origin }
    var requests: [HTTPRequest] { log.requests.withLock { $0 } }

    fileprivate init(_ handle: @escaping @Sendable (HTTPRequest) -> HTTPResponse) throws {
        let log = Log()
        self.log = log
        server = try BackgroundServer { request in
            log.requests.withLock { $0.append(request) }
            return handle(request)
        }
    }

    deinit { server.end() }
}
