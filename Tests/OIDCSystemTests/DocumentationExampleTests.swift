import Foundation
import OIDCCore
import OIDCSystem
import Testing

// The examples of the documentation, between the markers as they stand there: that they compile is the test.
// begin OIDCSystem
func greeting() async throws(OIDCError) -> String {
    let client = OIDCClient(issuer: "https://login.example.com", clientID: "my-app")
    try await client.signIn(scope: "openid profile email")
    let claims = try await client.userInfo()
    let token = try await client.accessToken()
    return "\(claims["name"]?.string ?? "somebody"), with a \(token.type) token"
}
// end

// begin OIDCCore
func beginSignIn(
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
        ("OIDCSystem", "Sources/OIDCSystem/Documentation.docc/OIDCSystem.md"), ("OIDCSystem", "README.md"),
        ("OIDCCore", "Sources/OIDCCore/Documentation.docc/OIDCCore.md"),
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
