import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("the secret of a registered client", .serialized, .waiting)
struct RegisteredSecretTests {
    @Test("a secret that comes with it goes into a file of its own")
    func secret() throws {
        let world = try ToolWorld()
        let result = try world.run([
            "register", "--issuer", world.issuer, "-p", "ma chine", "--set", "client_auth=client_secret_post",
        ])
        #expect(result.code == 0, "\(result)")
        let profile = try world.profile("ma chine")
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

    private func register(_ world: ToolWorld, _ profile: String, _ more: String...) throws -> ToolResult {
        try world.run(
            ["register", "--issuer", world.issuer, "-p", profile, "--set", "client_auth=client_secret_post"]
                + more)
    }

    private func secret(_ world: ToolWorld, _ name: String) throws -> String {
        let file = try #require(try world.profile(name)["client_secret_file"]?.string)
        return try String(contentsOfFile: file, encoding: .utf8)
    }

    @Test("each profile has a secret file of its own, with any characters in the names")
    func ownSecrets() throws {
        let world = try ToolWorld()
        let names = ["a/b", "a_b", "a%2fb", "A_b", "../a_b", "."]
        for name in names { #expect(try register(world, name).code == 0, "\(name)") }
        #expect(Set(try names.map { try secret(world, $0) }).count == names.count)
        let files = try FileManager.default.contentsOfDirectory(atPath: world.home + "/.config/oidc")
        #expect(files.count == names.count + 1, "\(files)")
    }

    @Test(
        "an existing secret is not replaced, and then nothing is registered; another profile's secret is never replaced"
    )
    func keepsSecrets() throws {
        let world = try ToolWorld()
        let directory = world.home + "/.config/oidc"
        try world.configure(["profiles": ["other": ["client_secret_file": "work.secret"]]])
        try "theirs".write(toFile: directory + "/work.secret", atomically: true, encoding: .utf8)
        try "left over".write(toFile: directory + "/mine.secret", atomically: true, encoding: .utf8)
        for more in [[], ["--force"]] {
            let result = try world.run(["register", "--issuer", world.issuer, "-p", "work"] + more)
            #expect(result.code == 2 && result.errors.contains("work.secret"), "\(result)")
        }
        #expect(try register(world, "mine").code == 2 && world.requests.isEmpty)
        #expect(try register(world, "mine", "--force").code == 0)
        #expect(try String(contentsOfFile: directory + "/work.secret", encoding: .utf8) == "theirs")
        #expect(try secret(world, "mine") != "left over")
    }

    @Test("a link in place of the secret file is replaced, and its target stays")
    func link() throws {
        let world = try ToolWorld()
        try world.configure(["profiles": [:]])
        let victim = world.home + "/victim"
        try "as it was".write(toFile: victim, atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(
            atPath: world.home + "/.config/oidc/work.secret", withDestinationPath: victim)
        #expect(try register(world, "work", "--force").code == 0)
        #expect(try String(contentsOfFile: victim, encoding: .utf8) == "as it was")
        #expect(try secret(world, "work") != "as it was")
    }
}
