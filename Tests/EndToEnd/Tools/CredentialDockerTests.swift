import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("credential docker", .serialized, .waiting)
struct DockerTests {
    private func world() throws -> ToolWorld {
        let world = try ToolWorld()
        try world.configure([
            "issuer": .string(world.issuer), "client_id": "demo",
            "docker_registries": [
                ["host": "registry.example.com"], ["host": "hub.example.com:5000", "username": "me"],
            ],
        ])
        return world
    }

    @Test(
        "get answers for a configured registry, by URL or by host",
        arguments: [
            ("registry.example.com", "oauth2"), ("https://registry.example.com/v2/", "oauth2"),
            ("hub.example.com:5000", "me"), ("https://registry.example.com:443", "oauth2"),
        ])
    func get(registry: String, name: String) throws {
        let world = try world()
        let token = try world.signIn().tokens.access.token.revealed
        let result = try world.run(["credential", "docker", "get"], input: registry + "\n")
        #expect(
            result.output == #"{"ServerURL":"\#(registry)","Username":"\#(name)","Secret":"\#(token)"}"#
                + "\n",
            "\(result)")
        #expect(result.code == 0)
    }

    @Test(
        "another registry, or no session, is not found in docker's own words",
        arguments: [
            "other.example.com", "http://registry.example.com", "", "registry.example.com:5000", "a b",
        ])
    func notFound(registry: String) throws {
        let world = try world()
        try world.signIn()
        let result = try world.run(["credential", "docker", "get"], input: registry)
        #expect(
            result.code == 1 && result.output == "credentials not found in native keychain\n", "\(result)")
        let signedOut = try self.world().run(["credential", "docker", "get"], input: "registry.example.com")
        #expect(
            signedOut.code == 1 && signedOut.output == result.output
                && signedOut.errors.contains("oidc login"))
    }

    @Test("any other failure is docker's to show, as it would hide it behind a pull without a password")
    func failure() throws {
        let world = try world()
        try world.signIn()
        let state = world.home + "/.local/state/oidc/"
        let name = try #require(
            try FileManager.default.contentsOfDirectory(atPath: state).first { $0.hasSuffix(".json") })
        try Data("{".utf8).write(to: URL(fileURLWithPath: state + name))
        let damaged = try world.run(["credential", "docker", "get"], input: "registry.example.com")
        #expect(damaged.code == 1 && damaged.errors.hasPrefix("error: the session file"), "\(damaged)")
        #expect(damaged.output.hasPrefix("oidc: the session file") && damaged.output.contains("(oidc login"))
        #expect(damaged.output.split(separator: "\n").count == 1)
        try world.configure(["issuer": 1])
        let misconfigured = try world.run(["credential", "docker", "get"], input: "registry.example.com")
        #expect(
            misconfigured.code == 1 && misconfigured.output.hasPrefix("oidc: ")
                && misconfigured.output.contains("issuer"), "\(misconfigured)")
    }

    @Test("a full stdout is reported in one line")
    func fullOutput() throws {
        let world = try world()
        try world.signIn()
        let result = try world.run(
            ["-c", "\"$0\" credential docker get >/dev/full", ToolWorld.program],
            input: "registry.example.com",
            as: "/bin/sh")
        #expect(result.code == 1 && result.errors.split(separator: "\n").count == 1, "\(result)")
    }

    @Test("called as docker-credential-oidc it is the same program")
    func byName() throws {
        let world = try world()
        try world.signIn()
        let link = world.home + "/docker-credential-oidc"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: ToolWorld.program)
        let result = try world.run(["get"], input: "registry.example.com", as: link)
        #expect(try result.json()["Username"]?.string == "oauth2")
        let list = try world.run(["list"], as: link)
        #expect(list.output == #"{"registry.example.com":"oauth2","hub.example.com:5000":"me"}"# + "\n")
        // The protocol's fifth word: NAME (PACKAGE) vVERSION.
        let version = try world.run(["version"], as: link)
        #expect(version.output.wholeMatch(of: /docker-credential-oidc \(oidc\) v\S+\n/) != nil, "\(version)")
        for action in ["store", "erase"] {
            let quiet = try world.run(
                [action], input: #"{"ServerURL":"x","Username":"u","Secret":"s"}"#, as: link)
            #expect(quiet.code == 0 && quiet.output == "" && quiet.errors == "", "\(quiet)")
        }
    }
}
