import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("an outage does not lead to another sign-in", .serialized, .waiting)
struct OutageTests {
    /// The session stays byte for byte, and once the provider is back the next call succeeds.
    private func outage(
        _ status: Int32, naming word: String, _ options: [String] = [],
        _ begin: (SessionWorld) throws -> Void
    ) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let endpoint = "\(world.provider.origin)/token"
        try begin(world)
        let before = try world.bytes
        let outcome = try world.program.start(["token"] + options).finish()
        #expect(outcome.status == status, "\(outcome.errorOutput)")
        #expect(outcome.output == "")
        #expect(outcome.errorOutput.contains(word), "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("oidc login"))
        #expect(try world.bytes == before)
        world.provider.intercept(nil)
        world.provider.delayTokens(milliseconds: 0)
        try world.point(toEndpoint: endpoint)
        let recovered = try world.program.run("token")
        #expect(recovered.status == 0, "\(recovered.errorOutput)")
        #expect(!recovered.token.isEmpty)
    }

    @Test(
        "an answer that asks to try later is 5",
        arguments: [
            (500, "server_error", "500"), (502, "", "502"), (503, "temporarily_unavailable", "503"),
            (429, "slow_down", "429"),
        ])
    func serverErrors(status: Int, code: String, word: String) throws {
        try outage(5, naming: word) { world in
            world.provider.intercept { request in
                guard request.url.path == "/token" else { return nil }
                return .json(#"{"error":"\#(code)"}"#, status: status)
            }
        }
    }

    @Test("429 with Retry-After: no process sends a request before that time has passed")
    func retryAfter() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let before = try world.bytes
        let requests = Counter()
        world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            requests.add()
            return .json("{}", status: 429, [("Retry-After", "120")])
        }
        for arguments in [["token"], ["token", "--refresh"], ["userinfo"], ["exec", "--", "true"]] {
            let outcome = try world.program.start(arguments).finish()
            #expect(outcome.status == 5)
            #expect(outcome.errorOutput.contains("try again in 1"), "\(outcome.errorOutput)")
        }
        #expect(requests.count == 1)
        #expect(try world.bytes == before)
        world.provider.intercept(nil)
        #expect(try world.program.run("token").status == 5)
        try world.moveFailure(by: -121)
        #expect(try world.program.run("token").status == 0)
        #expect(try world.failureFile == nil)
    }

    @Test(
        "a failure that a wrong clock noted, ahead or far back, is not believed", arguments: [600, -86_400])
    func failureOfAnotherTime(seconds: Int) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        world.provider.intercept { request in
            request.url.path == "/token" ? .json("{}", status: 503, [("Retry-After", "900")]) : nil
        }
        #expect(try world.program.run("token").status == 5)
        world.provider.intercept(nil)
        try world.moveFailure(by: seconds)
        #expect(try world.program.run("token").status == 0)
    }

    @Test("a connection that is refused is 5")
    func down() throws {
        try outage(5, naming: "127.0.0.1") { try $0.point(toEndpoint: "http://127.0.0.1:9/token") }
    }

    @Test("a name that does not resolve: 5")
    func unknownName() throws {
        try outage(5, naming: "provider.invalid") {
            try $0.point(toEndpoint: "https://provider.invalid/token")
        }
    }

    @Test("no answer in time: 5")
    func timeout() throws {
        try outage(5, naming: "1 s", ["--set", "http_timeout=1"]) {
            $0.provider.delayTokens(milliseconds: 1_600)
            // A request that arrives too late is dropped, so the refresh token stays unused.
            $0.provider.intercept { request in
                guard request.url.path == "/token" else { return nil }
                usleep(1_600_000)
                return HTTPResponse(status: 503)
            }
        }
    }

    @Test(
        "a server that does not speak TLS: 5",
        .enabled(if: Installed.certificateAuthorities, "this machine has no certificate authorities"))
    func brokenTLS() throws {
        try outage(5, naming: "TLS") { world in
            let secure = world.provider.origin.replacingOccurrences(of: "http:", with: "https:")
            try world.point(toEndpoint: "\(secure)/token")
        }
    }

    @Test(
        "a certificate that cannot be verified is 7, and the request is not sent",
        .enabled(if: Installed.programs("python3", "openssl"), "python3 or openssl is not installed"))
    func certificate() throws {
        let server = try OddServer(.untrusted)
        try outage(7, naming: "certificate") {
            try $0.point(toEndpoint: "https://127.0.0.1:\(server.port)/token")
        }
        #expect(server.requests == 0)
    }

    @Test(
        "a connection that ends before the answer is 5; the refresh is not repeated, and the error says so",
        .enabled(if: Installed.programs("python3"), "python3 is not installed"))
    func lostAnswer() throws {
        let server = try OddServer(.closing)
        try outage(5, naming: "the provider may have acted on it") {
            try $0.point(toEndpoint: "http://127.0.0.1:\(server.port)/token")
        }
        #expect(server.requests == 1)
    }

    @Test("a refresh that is refused with a code other than invalid_grant is 4, and the session stays")
    func refusedOtherwise() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let before = try world.bytes
        for (status, body) in [(400, ""), (401, #"{"error":"invalid_client"}"#), (403, "<html>")] {
            world.provider.intercept { request in
                request.url.path == "/token" ? .json(body, status: status) : nil
            }
            let outcome = try world.program.run("token")
            #expect(outcome.status == 4, "\(outcome.errorOutput)")
            #expect(try world.bytes == before)
        }
        world.provider.intercept(nil)
        #expect(try world.program.run("token").status == 0)
    }

    @Test("an error as JSON is one object on stderr with the documented members")
    func json() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        world.provider.with { $0.faults = [.refuses(.token, "invalid_grant")] }
        let outcome = try world.program.run("token", "-o", "json")
        #expect(outcome.status == 3)
        let object = try #require(
            try JSONSerialization.jsonObject(with: Data(outcome.errorOutput.utf8)) as? [String: Any])
        let error = try #require(object["error"] as? [String: Any])
        #expect(error["kind"] as? String == "login_required")
        #expect(error["oauth_error"] as? String == "invalid_grant")
        #expect(error["exit"] as? Int == 3)
    }
}
