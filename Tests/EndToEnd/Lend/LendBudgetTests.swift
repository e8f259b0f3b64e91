import Foundation
import LoopbackHTTP
import OIDCCore
import OIDCSessions
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("lend: what callers can make it request", .serialized, .waitingLong)
struct LendBudgetTests {
    private func signIn(_ world: LendWorld, _ scope: String) throws {
        try world.world.signIn(scope: scope) { $0.requestedScope = Scope(scope) }
    }

    private func refreshes(_ world: LendWorld) -> Int {
        world.world.provider.requestCount(grant: "refresh_token")
    }

    @Test(
        "a program causes six refreshes a minute by other scopes, and all callers ten; eight are for the own token"
    )
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
        let others = try (0..<5).map { _ in try world.run("token", "--refresh") }
        #expect(others.prefix(4).allSatisfy { $0.status == 0 }, "\(others)")
        let last = try #require(others.last)
        #expect(last.status == 5 && last.errorOutput.contains("within a minute"), "\(last)")
        #expect(refreshes(world) == 10)
        // Another program's plain request, once the token has ended, and the same program's.
        for number in 1...2 {
            try end(world)
            let plain =
                number == 1
                ? try world.run("token").output : world.post(LendWorld.body("access_token"))
            #expect(number == 1 ? plain.utf8.count > 10 : plain.contains("\"access\""), "\(plain)")
            #expect(refreshes(world) == 10 + number)
        }
        #expect(try world.run("token", "--scope", "email").status == 5)
    }

    /// Lets the profile's own token end.
    private func end(_ world: LendWorld) throws {
        let now = Clock.now()
        try world.world.signIn { session in
            session.tokens.access = AccessToken(
                token: Redacted("old"), type: .bearer, obtainedAt: now.adding(-400),
                expiresAt: now.adding(-100), scope: session.tokens.access.scope)
        }
    }

    @Test("of a program's refusals within a minute, five are logged, and then the number of the others")
    func refusals() {
        var refusals = LendRefusals()
        let (one, other) = (LendCaller(user: 1, process: nil), LendCaller(user: 2, process: nil))
        let start = MonotonicTime.now()
        let shown = (0..<905).filter { refusals.isShown("line \($0)", of: one, at: start) }
        let isOtherShown = refusals.isShown("other", of: other, at: start)
        #expect(shown == Array(0..<5) && isOtherShown)
        let before = refusals.ended(at: start.adding(seconds: 59))
        let after = refusals.ended(at: start.adding(seconds: 60))
        #expect(before == [] && after == ["900 more refusals, the last: line 904"])
        let isShownAgain = refusals.isShown("new", of: one, at: start.adding(seconds: 61))
        #expect(isShownAgain)
    }

    @Test("of eighteen places, ten are for tokens that callers choose, eight for one of several users")
    func places() throws {
        func count(_ purposes: [LendBudget.Purpose], _ callers: [LendCaller], users: Int = 1) -> Int {
            var budget = LendBudget(users: users)
            let now = MonotonicTime.now()
            var count = 0
            for purpose in purposes {
                for _ in 0..<20 {
                    for caller in callers where budget.allows(caller, purpose, at: now) {
                        budget.spend(caller, purpose, at: now)
                        count += 1
                    }
                }
            }
            let isFree = budget.allows(callers[0], .chosen, at: now.adding(seconds: 60))
            #expect(isFree)
            return count
        }
        let process = try #require(ProcessFamily.Member(running: getpid()))
        let parent = try #require(ProcessFamily.Member(running: getppid()))
        let one = LendCaller(user: 1, process: process)
        let all = [one, LendCaller(user: 1, process: parent), LendCaller(user: 1, process: nil)]
        #expect(count([.chosen], [one]) == 6 && count([.own], [one]) == 8)
        #expect(count([.chosen], all) == 10 && count([.own], all) == 18)
        #expect(count([.chosen, .own], all) == 18 && count([.own, .chosen], all) == 18)
        // What one program has chosen does not keep it from its own token.
        #expect(count([.chosen, .own], [one]) == 14)
        #expect(count([.chosen], all, users: 2) == 8)
        #expect(count([.chosen], all + [LendCaller(user: 2, process: process)], users: 2) == 10)
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
        // The lender's own requests are not counted: callers would need a minute for so many.
        let loan = try loan(of: world)
        func token(_ scope: String) throws -> String? {
            let matter = LendRequest.Matter.accessToken(
                scope: Scope(scope), minimumValidity: 60, isRenewed: false, refused: nil)
            return try loan.answer(matter, Loan.Call(), profiles: ["work"]).get()["access"]?["token"]?.string
        }
        let tokens = try subsets.prefix(16).map { try token($0) }
        // Asked for again, the first one stays.
        #expect(try token(subsets[0]) == tokens[0])
        let last = try token(subsets[16])
        #expect(!tokens.contains(nil) && Set(tokens + [last]).count == 17)
        #expect(refreshes(world) == 17)
        let session = try #require(try world.world.store.load(world.world.key))
        let kept = session.derived.compactMap {
            $0.requestedScope?.text
        }
        #expect(Set(kept) == Set([subsets[0]] + subsets[2...]) && kept.count == 16, "\(kept)")
        #expect(try token(subsets[0]) == tokens[0] && token(subsets[16]) == last)
        #expect(refreshes(world) == 17)
    }

    /// Returns what lends the profile `work`, in this process.
    private func loan(of world: LendWorld) throws -> Loan {
        var common = CommonOptions()
        common.profile = "work"
        let context = CommandContext(
            console: Console(common), environment: ["HOME": world.world.home], common: common)
        return Loan(
            try context.target(ProviderOptions()), named: "work",
            Loan.Conditions(end: Clock.now().adding(600), lender: "alice"))
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
