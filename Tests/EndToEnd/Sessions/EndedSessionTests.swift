import DemoProvider
import Foundation
import OIDCCore
import OIDCSessions
import TestSupport
import Testing

@Suite("a session that the provider has ended", .waiting)
struct EndedSessionTests {
    /// As Keycloak 26.7 answers after a sign-out in the browser.
    private static let refusal = #"{"error":"invalid_grant","error_description":"Session not active"}"#

    /// A session whose refresh token is refused; its access token too if `isRevoked`.
    private func ended(isRevoked: Bool) throws -> SessionWorld {
        let world = try SessionWorld.signedIn()
        world.provider.intercept { request in
            switch request.url.path {
            case "/token": .json(Self.refusal, status: 400)
            case "/userinfo" where isRevoked: HTTPResponse(status: 401)
            default: nil
            }
        }
        return world
    }

    @Test("after a 401, it has ended for every command, with the reason, and is not asked about again")
    func everywhere() throws {
        let world = try ended(isRevoked: true)
        defer { world.remove() }
        let first = try world.program.run("userinfo")
        #expect(first.status == 3 && first.output == "", "\(first)")
        #expect(first.error?.contains("Session not active") == true, "\(first)")
        let sent = RequestLog()
        world.provider.intercept { request in
            sent.note(request)
            return HTTPResponse(status: 500)
        }
        for words in [
            ["token"], ["token", "--refresh"], ["token", "--type", "id"], ["userinfo"],
            ["exec", "--", "echo", "ran"],
            ["request", "--allow-origin", world.provider.origin, "\(world.provider.origin)/userinfo"],
        ] {
            let again = try world.program.start(words).finish()
            #expect(again.status == 3 && again.output == "", "\(words): \(again)")
            #expect(again.error?.contains("Session not active") == true, "\(words): \(again)")
        }
        let status = try world.program.run("status")
        #expect(status.status == 3, "\(status)")
        #expect(
            status.output.contains("ended ") && status.output.contains(": Session not active"), "\(status)")
        #expect(status.output.contains("signed out ") && !status.output.contains("signed in as"), "\(status)")
        let configuration = world.program.home.appendingPathComponent(".config/oidc")
        try FileManager.default.createDirectory(at: configuration, withIntermediateDirectories: true)
        try Data(#"{"issuer":"\#(world.provider.origin)","client_id":"demo"}"#.utf8).write(
            to: configuration.appendingPathComponent("config.json"))
        for words in [["config", "list"], ["switch"], ["doctor", "--offline"]] {
            let outcome = try world.program.start(words).finish()
            let text = outcome.output + outcome.errorOutput
            #expect(text.contains("signed out") && !text.contains("expired"), "\(words): \(outcome)")
            if words[0] == "doctor" { #expect(text.contains(": Session not active"), "\(outcome)") }
        }
        #expect(sent.all.isEmpty)
        let report = try JSONValue(parsing: try world.program.run("status", "-o", "json").output)
        #expect(report["ended"]?["error"] == "invalid_grant" && report["can_refresh"] == false, "\(report)")
        world.provider.intercept(nil)
        #expect(try world.program.signIn(at: world.provider).status == 0)
        #expect(try world.program.run("token").status == 0)
        #expect(
            try JSONValue(parsing: try world.program.run("status", "-o", "json").output)["ended"] == .null)
    }

    @Test(
        "without a 401, the access token is given until it expires, and status says since when it is not refreshed"
    )
    func untilExpiry() throws {
        let world = try ended(isRevoked: false)
        defer { world.remove() }
        #expect(try world.program.run("token", "--refresh").status == 3)
        #expect(try world.program.run("token").status == 0)
        let status = try world.program.run("status")
        #expect(status.status == 0 && status.output.contains("not refreshed since "), "\(status)")
        #expect(status.output.contains(": Session not active"), "\(status)")
        let forced = try world.program.run("token", "--refresh")
        #expect(forced.status == 3 && forced.error?.contains("Session not active") == true, "\(forced)")
        try world.age()
        let expired = try world.program.run("token")
        #expect(expired.status == 3 && expired.error?.contains("Session not active") == true, "\(expired)")
        #expect(try world.program.run("status").output.contains("ended "))
    }

    @Test("a refresh token that may be of use again is kept; until then, the session has ended too")
    func kept() throws {
        let world = try ended(isRevoked: true)
        defer { world.remove() }
        // Dex 2.45
        let refusal = #"{"error":"invalid_request","error_description":"Refresh token expired."}"#
        world.provider.intercept { request in
            switch request.url.path {
            case "/token": .json(refusal, status: 400)
            case "/userinfo": HTTPResponse(status: 401)
            default: nil
            }
        }
        for words in [["userinfo"], ["token"], ["exec", "--", "echo", "ran"]] {
            let outcome = try world.program.start(words).finish()
            #expect(outcome.status == 3 && outcome.output == "", "\(words): \(outcome)")
            #expect(outcome.error?.contains("Refresh token expired.") == true, "\(words): \(outcome)")
        }
        let status = try world.program.run("status")
        #expect(status.status == 3 && status.output.contains(": Refresh token expired."), "\(status)")
        let report = try JSONValue(parsing: try world.program.run("status", "-o", "json").output)
        #expect(report["can_refresh"] == false, "\(report)")
        world.provider.intercept(nil)
        let again = try world.program.run("token", "--refresh")
        #expect(again.status == 0, "\(again)")
        let healed = try world.program.run("status")
        #expect(healed.status == 0 && healed.output.contains("automatic"), "\(healed)")
    }

    @Test("of 20 processes that ask at once, all give the same reason")
    func crowd() throws {
        let world = try ended(isRevoked: true)
        defer { world.remove() }
        for outcome in try world.crowd(20, ["userinfo"]) {
            #expect(outcome.status == 3, "\(outcome)")
            #expect(outcome.error?.contains("Session not active") == true, "\(outcome)")
        }
    }

    @Test(
        "--login signs in, once, for a session that has ended and for one that needs the user",
        arguments: [
            refusal, #"{"error":"invalid_request","error_description":"Refresh token expired."}"#,
        ])
    func login(answer: String) throws {
        let world = try ToolWorld { $0.deviceInterval = 1 }
        let keeps = answer != Self.refusal
        try world.signIn { $0.tokens.access.expiresAt = $0.tokens.access.obtainedAt }
        world.provider.intercept { request in
            let form = FormEncoding.decode(String(decoding: request.body, as: UTF8.self)) ?? []
            return form.contains { $0.name == "grant_type" && $0.value == "refresh_token" }
                ? .json(answer, status: 400) : nil
        }
        let refused = try world.run(["token"], world.person)
        #expect(refused.code == 3 && refused.output == "", "\(refused)")
        #expect((try world.store.load(world.key)?.tokens.refreshToken != nil) == keeps)
        for asks in [true, false] {
            let result = try world.run(["token", "--login"], world.person)
            #expect(result.code == 0, "\(result)")
            #expect(result.errors.contains("Sign in at:") == asks, "\(result)")
        }
        // A new session that cannot be refreshed either asks again, and no more than once.
        let forced = try world.run(["token", "--login", "--refresh"], world.person)
        #expect(forced.errors.components(separatedBy: "Sign in at:").count == 2, "\(forced)")
    }

    @Test("UserInfo that refuses the token of a resource says what the token is for")
    func resource() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.edit { $0["requested_resource"] = ["https://api.example"] }
        world.provider.intercept { $0.url.path == "/userinfo" ? HTTPResponse(status: 401) : nil }
        let outcome = try world.program.run("userinfo")
        #expect(outcome.status == 4 && outcome.errorOutput.contains("for the profile's resource"))
        try world.edit { $0["requested_resource"] = nil }
        #expect(!(try world.program.run("userinfo").errorOutput.contains("resource")))
    }

    @Test("a 401 without a refresh token is a sign-in, at UserInfo and at a resource")
    func noRefreshToken() throws {
        let world = try ended(isRevoked: true)
        defer { world.remove() }
        try world.edit { $0["refresh_token"] = nil }
        for words in [
            ["userinfo"],
            ["request", "--allow-origin", world.provider.origin, "\(world.provider.origin)/userinfo"],
        ] {
            let outcome = try world.program.start(words).finish()
            #expect(outcome.status == 3 && outcome.output == "", "\(words): \(outcome)")
            #expect(outcome.error?.contains("the access token was refused") == true, "\(words): \(outcome)")
        }
    }

    @Test("the words of a provider in a warning stay as they are, also those that look like a command")
    func quotedCommand() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        let other = try world.program.signIn(at: world.provider, ["--account", "other"])
        try #require(other.status == 0, "\(other.errorOutput)")
        let words = "run oidc token now"
        world.provider.intercept { request in
            guard request.url.path == "/revoke" else { return nil }
            return .json(#"{"error":"invalid_request","error_description":"\#(words)"}"#, status: 400)
        }
        let outcome = try world.program.run("logout", "--all", "--set", "http_timeout=29")
        #expect(outcome.status == 4, "\(outcome.errorOutput)")
        let lines = outcome.errorOutput.split(separator: "\n").filter { $0.contains(words) }
        #expect(lines.count == 2 && lines.contains { $0.hasPrefix("warning: ") }, "\(outcome.errorOutput)")
    }
}
