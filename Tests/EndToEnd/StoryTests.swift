import Foundation
import TestSupport
import Testing

@Suite("what --verbose logs, by the built program", .serialized, .waiting)
struct StoryTests {
    @Test(
        "a sign-in logs file, profile, flow, port, cache, requests and each check of the ID token, without secrets"
    )
    func signIn() throws {
        let provider = try ProviderServer()
        let program = try Program()
        defer { program.remove() }
        let file = program.home.appendingPathComponent("config.json")
        try Data(#"{"profiles":{"demo":{"issuer":"\#(provider.origin)","client_id":"demo"}}}"#.utf8).write(
            to: file)
        let options = ["--config", file.path, "-v"]
        let login = try program.signIn(at: provider, options)
        #expect(login.status == 0, "\(login)")
        for line in [
            "configuration: \(file.path), profile demo", "options and variables: flow (--flow)",
            "cache: no entry for \(provider.origin)/.well-known/openid-configuration",
            "← 200 GET \(provider.origin)/.well-known/openid-configuration", "flow browser (--flow); ",
            "no browser: --no-browser", "listening on port ", "← 200 POST \(provider.origin)/token",
            "ID token: iss is \(provider.origin)", "ID token: aud contains demo",
            "ID token: nonce is the one sent",
            "ID token: exp ", "ID token: at_hash fits the access token", "is valid by key ",
        ] {
            #expect(
                login.errorOutput.contains("debug: ") && login.errorOutput.contains(line), "\(line): \(login)"
            )
        }
        let fresh = try program.start(["token"] + options).finish()
        #expect(fresh.errorOutput.contains("debug: token: fresh, "), "\(fresh)")
        #expect(fresh.errorOutput.contains(" s left\n"))
        #expect(!fresh.errorOutput.contains(fresh.output.trimmingCharacters(in: .newlines)))
        let refreshed = try program.start(["token", "--refresh", "--min-valid", "86400"] + options).finish()
        #expect(refreshed.errorOutput.contains("ID token: iat "), "\(refreshed)")
        #expect(try program.start(["token", "--config", file.path]).finish().errorOutput == "")
        let other = try program.start(["token", "--scope", "openid"] + options).finish()
        let reason = "debug: token: none is stored for that scope or resource\n"
        #expect(other.errorOutput.contains(reason), "\(other)")
    }
}
