import Foundation
import OIDCCore
@testable import OIDCSessions
import OIDCSignIn
@testable import OIDCAccount
@testable import OIDCSystem
@testable import Posix
import Synchronization
import Testing

// The examples of the documentation, between markers; the test is that they compile.
// begin OIDCSystem
func greeting() async throws(OIDCError) -> String {
    let client = OIDCClient(issuer: "https://login.example.com", clientID: "my-app")
    try await client.signIn(scope: "openid profile email")
    let claims = try await client.userInfo()
    let token = try await client.accessToken()
    return "\(claims["name"]?.string ?? "a user"), with a \(token.type) token"
}
// end

// begin SignIn
func signedInUser() async throws(OIDCError) -> String? {
    var client = OIDCClient(issuer: "https://login.example.com", clientID: "my-app")
    client.notice = { notice in
        if let url = notice.url { print("Sign in at \(url)") }
    }
    let session = try await client.signIn(scope: "openid profile email")
    return session.displayName
}
// end

// begin GetAToken
func authorizationHeader() async throws(OIDCError) -> String {
    let client = OIDCClient(issuer: "https://login.example.com", clientID: "my-app")
    do throws(OIDCError) {
        let token = try await client.accessToken()
        return "\(token.type) \(token.token.revealed)"
    } catch {
        guard error.kind == .loginRequired else { throw error }
        let session = try await client.signIn()
        return "\(session.tokens.access.type) \(session.tokens.access.token.revealed)"
    }
}
// end

// begin CallAnAPI
func issues() async throws(OIDCError) -> JSONValue? {
    var configuration = ClientConfiguration(issuer: "https://login.example.com", clientID: "my-app")
    configuration.resources = ["https://api.example.com"]
    let client = OIDCClient(configuration)
    guard let url = WebURL("https://api.example.com/issues") else { return nil }
    let answer = try await client.send(.json(url))
    return answer.isSuccess ? try? JSONValue(parsing: answer.body) : nil
}
// end

// begin OwnTheStorage
/// Sessions as rows of a database, which is a dictionary here.
final class RowStore: RecordStore {
    let description = "the database"
    private let rows = Mutex<[RecordName: [UInt8]]>([:])
    private let turns = MemoryRecords()

    func read(_ name: RecordName) throws(OIDCError) -> Record? {
        rows.withLock { $0[name] }.map { Record(bytes: $0) }
    }

    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool {
        rows.withLock { rows in
            guard rows[name] == current?.bytes else { return false }
            rows[name] = bytes
            return true
        }
    }

    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool {
        rows.withLock { rows in
            guard current == nil || rows[name] == current?.bytes else { return false }
            rows[name] = nil
            return true
        }
    }

    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] {
        rows.withLock { rows in rows.keys.filter { $0.kind == kind } }
    }

    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try turns.withLock(name, for: purpose, wait, body)
    }
}

func client(keepingSessionsIn rows: RowStore) -> OIDCClient {
    var configuration = ClientConfiguration(issuer: "https://login.example.com", clientID: "my-app")
    configuration.store = SessionStore(records: rows)
    return OIDCClient(configuration)
}
// end

// begin OwnTheTransport
/// A provider's answers by URL, for tests.
struct CannedTransport: HTTPTransport {
    var answers: [String: HTTPResponse]

    func send(_ request: HTTPRequest, stage: OIDCError.Stage) throws(OIDCError) -> HTTPResponse {
        guard let answer = answers[request.url.withoutQuery] else {
            throw OIDCError(.unreachable, "\(stage): cannot connect to \(request.url.origin)", stage: stage)
        }
        return answer
    }
}

func client(over transport: any HTTPTransport) -> OIDCClient {
    var configuration = ClientConfiguration(issuer: "https://login.example.com", clientID: "my-app")
    configuration.transport = transport
    return OIDCClient(configuration)
}
// end

// begin OIDCCore
func startSignIn(
    at metadata: ProviderMetadata, random: (Int) -> [UInt8]
) throws(OIDCError) -> PendingAuthorization {
    let request = AuthorizationRequest(
        client: OAuthClient(id: "my-app"), redirectURI: "http://127.0.0.1:8484/callback",
        scope: OAuthScope("openid profile email"))
    return try request.begin(metadata, random: random)
}

func finishSignIn(
    _ pending: PendingAuthorization, query: String
) throws(OIDCError) -> AuthorizationCode? {
    try pending.accept(FormEncoding.decode(query) ?? [])
}
// end

@Test("the store of the documentation does what a store of files does")
func rowStore() throws {
    let store = SessionStore(records: RowStore())
    #expect(try store.load(.example) == nil)
    try store.save(.example(), replacingDamaged: false)
    #expect(try store.load(.example) == .example())
    #expect(try store.replace(.example(), with: .example("at-2")))
    #expect(try !store.replace(.example(), with: .example("at-3")))
    #expect(try store.all().map(\.session) == [.example("at-2")])
    let ran = try store.withLock(.example, LockWait(limit: .zero)) { () throws(OIDCError) in true }
    #expect(ran)
    let failure = SharedFailure(
        error: OIDCError(.unreachable, "down"), time: Instant(secondsSinceEpoch: 1_700_000_000), id: "1",
        refreshTokenHash: nil)
    store.leave(failure, for: .example, replacing: nil)
    #expect(store.failure(of: .example)?.id == "1")
    try store.remove(.example)
    #expect(try store.load(.example) == nil && store.failure(of: .example) == nil)
}

@Test("a damaged row is replaced by a sign-in only")
func damagedRow() throws {
    let rows = RowStore()
    #expect(
        try rows.write(Array("{".utf8), to: SessionKey.example.recordName, replacing: nil, lifetime: nil))
    let store = SessionStore(records: rows)
    let error = failure { () throws(OIDCError) in try store.load(.example) }
    #expect(error?.code == .damagedSession && error?.hint == .signIn)
    #expect(throws: OIDCError.self) { try store.save(.example(), replacingDamaged: false) }
    try store.save(.example(), replacingDamaged: true)
    #expect(try store.load(.example) == .example())
}

@Test(
    "the examples of the documentation are those that compile here",
    arguments: [
        ("OIDCSystem", "Sources/OIDCSystem/Documentation.docc/OIDCSystem.md"),
        ("OIDCCore", "Sources/OIDCCore/Documentation.docc/OIDCCore.md"),
        ("SignIn", "Sources/OIDCSystem/Documentation.docc/SignIn.md"),
        ("GetAToken", "Sources/OIDCSystem/Documentation.docc/GetAToken.md"),
        ("CallAnAPI", "Sources/OIDCSystem/Documentation.docc/CallAnAPI.md"),
        ("OwnTheStorage", "Sources/OIDCSessions/Documentation.docc/OwnTheStorage.md"),
        ("OwnTheTransport", "Sources/OIDCSystem/Documentation.docc/OwnTheTransport.md"),
    ])
func examples(module: String, document: String) throws {
    let here = URL(fileURLWithPath: #filePath)
    let root = here.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let page = try String(contentsOf: root.appendingPathComponent(document), encoding: .utf8)
    let source = try String(contentsOf: here, encoding: .utf8)
    let start = try #require(source.range(of: "// begin \(module)\n"))
    let rest = source[start.upperBound...]
    let end = try #require(rest.range(of: "// end\n"))
    #expect(page.contains(rest[..<end.lowerBound]))
}
