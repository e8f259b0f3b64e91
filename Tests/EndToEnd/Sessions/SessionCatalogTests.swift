import Foundation
import Posix
import Testing

@testable import OIDCCore
@testable import OIDCSessions
@testable import oidc

@Suite("the sessions of several stores")
struct SessionCatalogTests {
    /// Returns the profile in whose shared store a sign-out of the URL leaves a session; nil if it ends it. The profile
    /// has further settings.
    private func keeper(_ settings: String) throws -> String? {
        let home = FileManager.default.temporaryDirectory.appendingPathComponent("oidc-\(UUID())")
        defer { try? FileManager.default.removeItem(at: home) }
        try FileManager.default.createDirectory(
            at: home, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let file = home.appendingPathComponent("config.json")
        let text = """
            {"default_profile":"here","profiles":{"here":{},
            "fleet":{\(settings),"store":"redis://127.0.0.1:1","store_key_file":"key"}}}
            """
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        let context = CommandContext(
            console: Console(CommonOptions()),
            environment: ["HOME": home.path, "OIDC_CONFIG": file.path, "OIDC_STATE_DIR": home.path],
            common: CommonOptions())
        let catalog = try SessionCatalog(try context.provider(ProviderOptions()))
        let store = try #require(
            try catalog.stores { error, _ in Issue.record("\(error)") }.first(where: \.isShared))
        let url = "https://api.example/mcp"
        let key = SessionKey(provider: "https://as.example", clientID: "x", resources: [url])
        return catalog.keeper(of: key, in: store, at: try #require(WebURL(url)))
    }

    @Test("a sign-out of a URL leaves the session in the shared store of a profile of something else")
    func others() throws {
        #expect(try keeper(#""issuer":"https://op.example","client_id":"fl""#) == "fleet")
        #expect(try keeper(#""issuer":"https://as.example","client_id":"fl""#) == "fleet")
        #expect(try keeper(#""resource":"https://api.example/mcp""#) == nil)
        #expect(try keeper(#""resource":"https://api.example/""#) == nil)
    }
}
