import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("register", .waiting)
struct RegisterTests {
    private func profile(_ world: ToolWorld, _ name: String = "default") throws -> JSONValue {
        let path = world.home + "/.config/oidc/config.json"
        let data = try Data(contentsOf: URL(fileURLWithPath: path))
        return try #require(try JSONValue(parsing: Array(data))["profiles"]?[name])
    }

    @Test("a public client is registered, and its profile is enough to sign in with")
    func registers() throws {
        let world = try ToolWorld()
        let result = try world.run(["register", "--issuer", world.issuer, "--name", "My tool", "-o", "json"])
        let id = try #require(try result.json()["client_id"]?.string, "\(result)")
        let profile = try profile(world)
        #expect(profile == ["issuer": .string(world.issuer), "client_id": .string(id)], "\(profile)")
        let sent = try #require(world.requests.first { $0.url.path == "/register" })
        let document = try JSONValue(parsing: sent.body)
        #expect(
            document["client_name"]?.string == "My tool"
                && document["token_endpoint_auth_method"]?.string == "none"
                && document["redirect_uris"] == ["http://127.0.0.1/callback"]
                && document["application_type"]?.string == "native")
        let address = try world.run(["authorize-url"]).json()
        #expect(address["url"]?.string?.contains("client_id=\(id)") == true)
    }

    @Test("a secret that comes with it goes into a file of its own")
    func secret() throws {
        let world = try ToolWorld()
        let result = try world.run([
            "register", "--issuer", world.issuer, "-p", "ma chine", "--set", "client_auth=client_secret_post",
        ])
        #expect(result.code == 0, "\(result)")
        let profile = try profile(world, "ma chine")
        let file = try #require(profile["client_secret_file"]?.string)
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        let secret = try String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(mode == 0o600 && !secret.isEmpty && !(result.output + result.errors).contains(secret))
        #expect(profile["client_auth"]?.string == "client_secret_post" && profile["client_secret"] == nil)
        let token = try world.run(["token", "--grant", "client_credentials", "-p", "ma chine"])
        #expect(
            token.errors.contains("unauthorized_client"),
            "the secret is right, the grant was not asked for: \(token)")
    }

    @Test("the initial access token comes from a file or stdin, and nowhere else")
    func initialToken() throws {
        let world = try ToolWorld { $0.initialAccessToken = "let-me-in" }
        let register = ["register", "--issuer", world.issuer]
        let refused = try world.run(register)
        #expect(refused.code == 4 && refused.errors.contains("initial access token"), "\(refused)")
        let argument = try world.run(register + ["--initial-access-token", "let-me-in"])
        #expect(argument.code == 2)
        let input = try world.run(register + ["--initial-access-token", "-"], input: "let-me-in\n")
        #expect(input.code == 0, "\(input)")
    }

    @Test("a profile that is there is not replaced, and then nothing is registered")
    func existing() throws {
        let world = try ToolWorld()
        try world.configure(["profiles": ["default": ["client_id": "mine"], "other": ["scope": "a"]]])
        let result = try world.run(["register", "--issuer", world.issuer])
        #expect(result.code == 2 && world.requests.isEmpty, "\(result)")
        #expect(try world.run(["register", "--issuer", world.issuer, "--force"]).code == 0)
        #expect(try profile(world, "other") == ["scope": "a"])
    }

    @Test("a provider that registers nobody is told so")
    func unsupported() throws {
        let world = try ToolWorld()
        let api = try world.serve { _ in HTTPResponse(status: 404) }
        let result = try world.run(["register", "--set", "registration_endpoint=\(api.origin)/register"])
        #expect(result.code == 4 && result.output == "", "\(result)")
        #expect(!FileManager.default.fileExists(atPath: world.home + "/.config/oidc/config.json"))
    }
}
