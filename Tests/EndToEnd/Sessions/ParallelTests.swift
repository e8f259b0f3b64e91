import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("one session and many processes", .serialized, .waitingLong)
struct ParallelTests {
    @Test("two hundred at once on an expired token: one refresh, two hundred equal tokens")
    func twoHundred() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let outcomes = try world.crowd(200, ["token"])
        #expect(
            outcomes.count { $0.status == 0 } == 200,
            "\(outcomes.first { $0.status != 0 }?.errorOutput ?? "")")
        #expect(Set(outcomes.map(\.output)).count == 1)
        #expect(outcomes[0].token.count > 10)
        #expect(world.refreshes == 1)
        #expect(try world.program.run("userinfo", "--claim", "sub").status == 0)
    }

    /// Refusals of a token endpoint, and their exit codes.
    static let refusals: [(status: Int, error: String, exit: Int32)] = [
        (429, "slow_down", 5), (503, "temporarily_unavailable", 5), (400, "invalid_grant", 3),
        (401, "invalid_client", 4),
    ]

    @Test(
        "eight at once and a provider that refuses: two requests at most, and all exit with the same code",
        arguments: refusals)
    func eightRefused(_ refusal: (status: Int, error: String, exit: Int32)) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let requests = Counter()
        world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            requests.add()
            return .json(#"{"error":"\#(refusal.error)"}"#, status: refusal.status)
        }
        let outcomes = try world.crowd(8, ["token"])
        #expect(Set(outcomes.map(\.status)) == [refusal.exit], "\(Set(outcomes.map(\.errorOutput)))")
        #expect(outcomes.allSatisfy { $0.output == "" })
        #expect(requests.count <= 2)
    }

    @Test("eight at once and no server: each reports that, and none a lock")
    func unreachable() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        try world.point(toEndpoint: "http://127.0.0.1:9/token")
        let outcomes = try world.crowd(8, ["token"])
        #expect(Set(outcomes.map(\.status)) == [5], "\(Set(outcomes.map(\.errorOutput)))")
    }

    @Test("tokens that are stale as soon as they arrive are shared too")
    func shortLived() throws {
        let world = try SessionWorld.signedIn { $0.accessTokenLifetime = 1 }
        defer { world.remove() }
        try world.age()
        world.provider.delayTokens(milliseconds: 1_500)
        let outcomes = try world.crowd(8, ["token"])
        #expect(outcomes.allSatisfy { $0.status == 0 })
        #expect(world.refreshes == 1)
    }

    @Test(
        "eight wait for the two seconds that the provider takes, and stderr says so only with --verbose",
        arguments: [false, true])
    func slowProvider(isVerbose: Bool) throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        world.provider.delayTokens(milliseconds: 2_000)
        let outcomes = try world.crowd(8, ["token"] + (isVerbose ? ["-v"] : []))
        #expect(outcomes.allSatisfy { $0.status == 0 })
        #expect(Set(outcomes.map(\.output)).count == 1)
        #expect(world.refreshes == 1)
        let hasLog = outcomes.contains { $0.errorOutput.contains("debug: waiting for another oidc process") }
        #expect(hasLog == isVerbose)
        #expect(isVerbose || outcomes.allSatisfy { $0.errorOutput == "" }, "\(outcomes)")
    }

    @Test("an answer with the same token as before is shared too")
    func sameToken() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let answer =
            #"{"access_token":"the-same","token_type":"Bearer","expires_in":300,"refresh_token":"next"}"#
        try world.edit { object in
            var access = object["access"] as? [String: Any] ?? [:]
            access["token"] = "the-same"
            object["access"] = access
        }
        let requests = Counter()
        world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            requests.add()
            return .json(answer)
        }
        let outcomes = try world.crowd(8, ["token"])
        #expect(outcomes.allSatisfy { $0.status == 0 && $0.token == "the-same" })
        #expect(requests.count == 1)
    }

    @Test(
        "the winner killed during its request: one more refresh, and all get a token if the provider allows reuse"
    )
    func winnerKilled() throws {
        let world = try SessionWorld.signedIn { $0.refreshReuseGrace = 600 }
        defer { world.remove() }
        try world.age()
        var others: [Run] = []
        let winner = try world.duringTokenRequest {
            try world.program.start(["token"])
        } _: { winner in
            // However long it takes to start the others, the answer does not reach it.
            winner.signal(SIGSTOP)
            others = try (0..<10).map { _ in try world.program.start(["token"]) }
            usleep(100_000)
            winner.signal(SIGKILL)
        }
        _ = winner.finish()
        let outcomes = others.map { $0.finish() }
        #expect(outcomes.allSatisfy { $0.status == 0 }, "\(outcomes.map(\.errorOutput))")
        #expect(Set(outcomes.map(\.output)).count == 1)
        #expect(world.refreshes == 2)
    }

    @Test("the same if the provider revokes on reuse: 3, with the provider's error and the hint to sign in")
    func winnerKilledAndRevoked() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let winner = try world.duringTokenRequest {
            try world.program.start(["token"])
        } _: {
            $0.signal(SIGKILL)
        }
        _ = winner.finish()
        let outcome = try world.program.run("token")
        #expect(outcome.status == 3)
        #expect(outcome.output == "")
        #expect(outcome.error?.contains("invalid_grant") == true)
        #expect(outcome.errorOutput.contains("try: oidc login"))
        #expect(try world.program.signIn(at: world.provider).status == 0)
        #expect(try world.program.run("token").status == 0)
    }

    @Test("a waiter can be interrupted at once")
    func interruptedWaiter() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        let winner = try world.duringTokenRequest {
            try world.program.start(["token"])
        } _: { _ in
            let waiter = try world.program.start(["token"])
            usleep(200_000)
            waiter.signal(SIGINT)
            let start = Date()
            #expect(waiter.finish().status == 130)
            #expect(Date().timeIntervalSince(start) < 20)
        }
        #expect(winner.finish().status == 0)
    }

    @Test("a sign-out during a refresh: the session does not come back")
    func signedOutMeanwhile() throws {
        let world = try SessionWorld.signedIn()
        defer { world.remove() }
        try world.age()
        var logout: Run?
        let refresh = try world.duringTokenRequest {
            try world.program.start(["token"])
        } _: { _ in
            logout = try world.program.start(["logout"])
            usleep(300_000)
        }
        _ = refresh.finish()
        #expect(logout?.finish().status == 0)
        #expect(world.program.sessionFiles.isEmpty)
        #expect(try world.program.run("token").status == 3)
    }
}

/// Counts requests.
final class Counter: Sendable {
    private let lock = NSLock()
    nonisolated(unsafe) private var value = 0

    func add() { lock.withLock { value += 1 } }
    var count: Int { lock.withLock { value } }
}

extension HTTPResponse {
    static func json(_ text: String, status: Int = 200, _ headers: [(String, String)] = []) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([("Content-Type", "application/json")] + headers),
            body: Array(text.utf8))
    }
}
