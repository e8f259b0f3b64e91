import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@Suite("lend: what callers can make it request", .serialized, .waitingLong)
struct LendBudgetTests {
    private func signIn(_ world: LendWorld, _ scope: String) throws {
        try world.world.signIn(scope: scope) { $0.requestedScope = Scope(scope) }
    }

    private func refreshes(_ world: LendWorld) -> Int {
        world.world.provider.requestCount(grant: "refresh_token")
    }

    @Test("a program causes six refreshes a minute, and all together eighteen, also by other scopes")
    func limits() throws {
        let world = try LendWorld()
        let scopes = [
            "openid", "profile", "email", "openid profile", "openid email", "profile email",
            "openid profile email", "openid offline_access",
        ]
        let answers = scopes.map { world.post(LendWorld.body("access_token", #""scope":"\#($0)""#)) }
        #expect(answers.prefix(6).allSatisfy { $0.contains("\"access\"") }, "\(answers)")
        #expect(answers.suffix(2).allSatisfy { $0.contains("within a minute") }, "\(answers)")
        #expect(refreshes(world) == 6)
        // The others are not used up, and a fresh token costs nothing.
        #expect(world.post(LendWorld.body("access_token")).contains("\"access\""))
        let others = try (0..<13).map { _ in try world.run("token", "--refresh") }
        #expect(others.prefix(12).allSatisfy { $0.status == 0 }, "\(others)")
        let last = try #require(others.last)
        #expect(last.status == 5 && last.errorOutput.contains("within a minute"), "\(last)")
        #expect(refreshes(world) == 18)
    }

    @Test("a token of another scope than asked for is kept for the next caller")
    func otherScope() throws {
        let world = try LendWorld()
        let requests = RequestCounter()
        world.world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            requests.add()
            let body = #"{"access_token":"narrow","token_type":"Bearer","expires_in":300,"scope":"openid"}"#
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(body.utf8))
        }
        for _ in 0..<8 {
            let answer = world.post(LendWorld.body("access_token", #""scope":"openid profile""#))
            #expect(LendWorld.members(answer)["access"]?["token"]?.string == "narrow", "\(answer)")
        }
        #expect(requests.value == 1)
    }

    @Test("tokens of sixteen scopes are kept in the owner's session: the one that nobody asks for gives way")
    func scopes() throws {
        let world = try LendWorld()
        let words = ["openid", "profile", "email", "api:read", "api:write"]
        try signIn(world, (words + ["offline_access"]).joined(separator: " "))
        let subsets = (1...17).map { number in
            words.indices.filter { number >> $0 & 1 == 1 }.map { words[$0] }.joined(separator: " ")
        }
        let outcomes = try subsets.prefix(16).map { try world.run("token", "--scope", $0) }
        // Asked for again, the first one stays.
        #expect(try world.run("token", "--scope", subsets[0]).output == outcomes[0].output)
        let last = try world.run("token", "--scope", subsets[16])
        #expect(outcomes.allSatisfy { $0.status == 0 } && last.status == 0, "\(outcomes) \(last)")
        #expect(refreshes(world) == 17)
        let session = try #require(try world.world.store.load(world.world.key))
        let kept = session.derived.compactMap {
            $0.requestedScope?.text
        }
        #expect(Set(kept) == Set([subsets[0]] + subsets[2...]) && kept.count == 16, "\(kept)")
        #expect(try world.run("token", "--scope", subsets[0]).output == outcomes[0].output)
        #expect(try world.run("token", "--scope", subsets[16]).output == last.output)
        #expect(refreshes(world) == 17)
    }

    /// An ID token that ends in 100 seconds, of a lifetime of ten minutes.
    private func idToken(_ world: LendWorld) -> String {
        let now = Clock.now().secondsSinceEpoch
        let claims =
            #"{"iss":"\#(world.world.issuer)","aud":"demo","sub":"alice","iat":\#(now - 500),"exp":\#(now + 100)}"#
        return [#"{"alg":"RS256"}"#, claims, "x"].map { Base64URL.encode(Array($0.utf8)) }
            .joined(separator: ".")
    }

    @Test(
        "--min-valid is for ID tokens, too, and one that a refresh does not replace is lent without another")
    func idTokens() throws {
        let world = try LendWorld(["-p", "work", "--type", "id", "--min-valid", "300"])
        let old = idToken(world)
        try world.world.signIn { $0.tokens.idToken = Redacted(old) }
        let new = LendWorld.members(world.post(LendWorld.body("id_token")))["id_token"]?.string
        #expect(new != nil && new != old)
        #expect(refreshes(world) == 1)
        let stored = try world.world.signIn { $0.tokens.idToken = Redacted(old) }
        let counter = RequestCounter()
        world.world.provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            counter.add()
            let body = #"{"access_token":"new","token_type":"Bearer","expires_in":300}"#
            return HTTPResponse(
                status: 200, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(body.utf8))
        }
        for _ in 0..<8 {
            let answer = world.post(LendWorld.body("id_token"))
            #expect(LendWorld.members(answer)["id_token"]?.string == old, "\(answer) \(stored)")
        }
        #expect(counter.value == 1)
    }
}
