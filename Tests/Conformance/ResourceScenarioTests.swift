import Foundation
import Testing

@Suite("the client scenarios of the MCP conformance suite")
struct ResourceScenarioTests {
    /// Those of its lists for authorization, extensions and the draft (github.com/modelcontextprotocol/conformance at
    /// c321dd3, 2026-08-07).
    private static let names = [
        "metadata-default", "metadata-var1", "metadata-var2", "metadata-var3", "basic-cimd",
        "scope-from-www-authenticate", "scope-from-scopes-supported", "scope-omitted-when-undefined",
        "scope-step-up", "scope-retry-limit", "token-endpoint-auth-basic", "token-endpoint-auth-post",
        "token-endpoint-auth-none", "pre-registration", "resource-mismatch", "offline-access-scope",
        "offline-access-not-supported", "authorization-server-migration", "iss-supported",
        "iss-not-advertised", "iss-supported-missing", "iss-wrong-issuer", "iss-unexpected",
        "iss-normalized", "metadata-issuer-mismatch", "client-credentials-jwt", "client-credentials-basic",
        "enterprise-managed-authorization", "dpop", "dpop-nonce", "wif-jwt-bearer",
    ]

    @Test("each of the 31 has a test whose title starts with its name")
    func named() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let folder = tests.appendingPathComponent("EndToEnd/Resources")
        let sources = try FileManager.default.contentsOfDirectory(atPath: folder.path).map {
            try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8)
        }.joined()
        #expect(ResourceScenarioTests.names.count == 31)
        let missing = ResourceScenarioTests.names.filter { !sources.contains("\"\($0): ") }
        #expect(missing.isEmpty)
    }
}
