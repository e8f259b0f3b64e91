import Foundation
import OIDCCore
@testable import OIDCSessions
import OIDCSignIn
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
        if case .url(let url) = notice { print("Sign in at \(url)") }
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
final class RowStore: SessionStoring {
    let description = "the database"
    private let rows = Mutex<[String: [UInt8]]>([:])
    private let turns = MemorySessionStore()

    func location(of key: SessionKey) -> String { key.fileStem }

    func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        guard let row = rows.withLock({ $0[key.fileStem] }) else { return nil }
        do { return try Session(stored: row, for: key) } catch {
            throw damaged(error)
        }
    }

    /// A sign-in replaces it, as the code says.
    private func damaged(_ damage: Session.Damage) -> OIDCError {
        OIDCError(
            .loginRequired, "the session is damaged: \(damage)", hint: .signIn, stage: .store,
            code: .damagedSession)
    }

    func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        rows.withLock { $0[session.key.fileStem] = session.json.bytes }
    }

    func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        rows.withLock { rows in
            guard rows[session.key.fileStem] == current?.json.bytes else { return false }
            rows[session.key.fileStem] = session.json.bytes
            return true
        }
    }

    func remove(_ key: SessionKey) throws(OIDCError) {
        rows.withLock { $0[key.fileStem] = nil }
    }

    func all() throws(OIDCError) -> [StoredSession] {
        rows.withLock { $0 }.sorted { $0.key < $1.key }.map { name, row in
            let content = Result { () throws(Session.Damage) in try Session(stored: row) }.mapError(damaged)
            return StoredSession(name: name, location: name, content: content)
        }
    }

    func remove(_ stored: StoredSession) throws(OIDCError) {
        rows.withLock { $0[stored.name] = nil }
    }

    func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait,
        _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try turns.withLock(key, for: purpose, wait, body)
    }

    func probe(_ key: SessionKey) throws(OIDCError) {}
}
// end

// begin OwnTheTransport
/// A provider's answers by URL, for tests.
struct CannedTransport: HTTPTransport {
    var answers: [String: HTTPResponse]

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
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
        client: Client(id: "my-app"), redirectURI: "http://127.0.0.1:8484/callback",
        scope: Scope("openid profile email"))
    return try request.begin(metadata, random: random)
}

func finishSignIn(
    _ pending: PendingAuthorization, query: String
) throws(OIDCError) -> AuthorizationCode? {
    try pending.accept(FormEncoding.decode(query) ?? [])
}
// end

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
