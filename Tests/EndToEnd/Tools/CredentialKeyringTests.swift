import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("credential keyring", .serialized, .waiting)
struct KeyringTests {
    private func world() throws -> ToolWorld {
        let world = try ToolWorld()
        try world.configure([
            "issuer": .string(world.issuer), "client_id": "demo",
            "keyring_hosts": [
                ["host": "pypi.example.com"], ["host": "named.example.com:8443", "username": "me"],
            ],
        ])
        return world
    }

    @Test("pip and uv get the token for the index's URL or host, and uv the user name too")
    func get() throws {
        let world = try world()
        let token = try world.signIn().tokens.access.token.revealed
        // pip 23.2 and uv run `keyring get SERVICE USERNAME`; uv runs `keyring get SERVICE --mode creds` without a
        // user name.
        for (words, output) in [
            (["https://pypi.example.com/simple/", "oauth2"], token), (["pypi.example.com", "you"], token),
            (["https://pypi.example.com:443/simple", "--mode", "creds"], "oauth2\n\(token)"),
            (["named.example.com:8443", "me"], token),
            (["https://named.example.com:8443/x", "--mode", "creds"], "me\n\(token)"),
        ] {
            let result = try world.run(["credential", "keyring", "get"] + words)
            #expect(
                result.code == 0 && result.output == output + "\n" && result.errors == "",
                "\(words) \(result)")
        }
    }

    @Test(
        "for any other host it ends with 1 and prints nothing, as pip asks for every index",
        arguments: [
            ["https://pypi.org/simple/", "u"], ["pypi.org", "u"], ["http://pypi.example.com/simple/", "u"],
            ["https://pypi.example.com.evil.example/", "u"], ["https://pypi.example.com:8443/", "u"],
            ["https://named.example.com:8443/", "you"], ["https://u@pypi.example.com/", "u"], ["", "u"],
        ])
    func silence(words: [String]) throws {
        let world = try world()
        try world.signIn()
        let result = try world.run(["credential", "keyring", "get"] + words)
        #expect(result.code == 1 && result.output == "" && result.errors == "", "\(result)")
    }

    @Test("without a session it says how to sign in; what is stored is ignored")
    func others() throws {
        let world = try world()
        let result = try world.run(["credential", "keyring", "get", "pypi.example.com", "u"])
        #expect(result.code == 3 && result.output == "" && result.errors.contains("oidc login"), "\(result)")
        for action in ["set", "del"] {
            let stored = try world.run(
                ["credential", "keyring", action, "pypi.example.com", "u"], input: "x\n")
            #expect(stored.code == 0 && stored.output == "", "\(stored)")
        }
        #expect(try world.run(["credential", "keyring", "get"]).code == 2)
    }

    @Test("a link named keyring, or the program that --setup makes, answers")
    func link() throws {
        let world = try world()
        let token = try world.signIn().tokens.access.token.revealed
        let bin = "\(world.home)/.local/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(
            atPath: "\(bin)/keyring", withDestinationPath: ToolWorld.program)
        let words = ["get", "https://pypi.example.com/simple/", "u"]
        let linked = try world.run(words, as: "\(bin)/keyring")
        #expect(linked.output == token + "\n", "\(linked)")

        try FileManager.default.removeItem(atPath: "\(bin)/keyring")
        let path = "\(URL(fileURLWithPath: ToolWorld.program).deletingLastPathComponent().path):/usr/bin:/bin"
        let setup = try world.run(["credential", "keyring", "--setup"], ["PATH": path])
        #expect(setup.output.contains("oidc credential keyring -p default"), "\(setup)")
        let made = try world.run(["-c", setup.output], ["PATH": path], as: "/bin/sh")
        #expect(made.code == 0, "\(made)")
        let answered = try world.run(words, ["PATH": path], as: "\(bin)/keyring")
        #expect(answered.output == token + "\n", "\(answered)")
    }
}
