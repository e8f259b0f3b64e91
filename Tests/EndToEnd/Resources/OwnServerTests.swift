import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite(
    "resources without metadata, as of MCP authorization 2025-03-26", .serialized, .waiting,
    .enabled(if: Installed.programs("curl"), "curl, the browser's stand-in, is not installed"))
struct OwnServerTests {
    /// A resource on the origin of an authorization server, without metadata of its own.
    private final class Legacy: Sendable {
        let world: ResourceWorld
        let front: BackgroundServer
        var url: String { front.origin + "/mcp" }

        init(
            status: Int = 401, metadata: String? = nil,
            issuer: @escaping @Sendable (String) -> String = { $0 }
        ) throws {
            let world = try ResourceWorld()
            let server = world.server.origin
            self.world = world
            front = try BackgroundServer { request in
                let origin = request.url.origin
                switch request.url.path {
                case "/mcp":
                    let isKnown = request.headers["Authorization"].map { $0.hasPrefix("Bearer token-") }
                    return isKnown == true ? .value(["ok": true]) : HTTPResponse(status: status)
                case "/.well-known/oauth-authorization-server":
                    return .value([
                        "issuer": .string(issuer(origin)),
                        "authorization_endpoint": .string("\(server)/authorize"),
                        "token_endpoint": .string("\(server)/token"),
                        "registration_endpoint": .string("\(server)/register"),
                        "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                    ])
                case "/.well-known/oauth-protected-resource":
                    let text = metadata?.replacingOccurrences(of: "ORIGIN", with: origin)
                    return (try? text.map { .value(try JSONValue(parsing: Array($0.utf8))) })
                        ?? HTTPResponse(status: 404)
                default: return HTTPResponse(status: 404)
                }
            }
            world.server.change { $0.responseIssuer = { _ in nil } }
        }

        deinit { front.end() }
    }

    @Test("after a 401 the origin's own server is used, and a line says so; no resource parameter is sent")
    func signIn() throws {
        let legacy = try Legacy()
        let login = try legacy.world.run(["login", legacy.url])
        expectSuccess(login)
        #expect(login.errorOutput.contains("has no metadata of its own"), "\(login.errorOutput)")
        let request = try #require(legacy.world.server.authorizations.first)
        #expect(request["resource"] == nil && legacy.world.server.tokenRequests[0].form["resource"] == nil)
        expectSuccess(try legacy.world.run(["token", legacy.url]))
        expectSuccess(try legacy.world.run(["request", legacy.url]))
        #expect(try legacy.world.run(["token", legacy.front.origin + "/other"]).status == 3)
        expectSuccess(try legacy.world.run(["login", legacy.url]))
        #expect(legacy.world.server.registrations.count == 1)
    }

    @Test("request --login finds it too")
    func request() throws {
        let legacy = try Legacy()
        expectSuccess(try legacy.world.run(["request", "--login", "POST", legacy.url, "-d", "{}"]))
    }

    @Test("without a 401, or if the server has another issuer, it stays a refusal")
    func refused() throws {
        for legacy in [
            try Legacy(status: 403), try Legacy(status: 200),
            try Legacy { _ in "https://other.example" }, try Legacy { $0 + "/path" },
        ] {
            let outcome = try legacy.world.run(["login", legacy.url])
            #expect(outcome.status == 4 && legacy.world.tabs.isEmpty, "\(outcome)")
            #expect(outcome.errorOutput.contains("does not say who protects it"), "\(outcome.errorOutput)")
        }
    }

    @Test(
        "metadata that are there and unusable are not taken for none",
        arguments: [
            #"{"resource":"ORIGIN","authorization_servers":["http://as.example"]}"#,
            #"{"resource":"ORIGIN","authorization_servers":["https://as.example?x"]}"#,
            #"{"resource":"ORIGIN","authorization_servers":"https://as.example"}"#,
            #"{"resource":["ORIGIN"],"authorization_servers":["https://as.example"]}"#,
        ])
    func unusable(metadata: String) throws {
        let legacy = try Legacy(metadata: metadata)
        let outcome = try legacy.world.run(["login", legacy.url])
        #expect([4, 7].contains(outcome.status) && legacy.world.tabs.isEmpty, "\(outcome)")
        #expect(!outcome.errorOutput.contains("has no metadata of its own"), "\(outcome.errorOutput)")
    }
}
