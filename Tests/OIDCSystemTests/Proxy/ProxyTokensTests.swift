@testable import CurlHTTP
import Foundation
import OIDCCore
import OIDCCrypto
@testable import OIDCProxy
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the proxy's tokens", .serialized, .waiting)
struct ProxyTokensTests {
    /// Tokens with a clock that only the test moves.
    private final class World: Sendable {
        let now = Mutex(Instant(secondsSinceEpoch: 1_800_000_000))
        let calls = Mutex<[String?]>([])
        let failure = Mutex<OIDCError?>(nil)
        let ended = Mutex(0)
        let ending = Mutex<OIDCError?>(nil)
        /// Whether requests for a token, and sign-ins, do not end before the gate opens.
        let hangs = Mutex(false)
        let isAsking = Mutex(false)
        let gate = DispatchSemaphore(value: 0)
        let pipe: (reading: FileDescriptor, writing: FileDescriptor)

        init() throws {
            pipe = try FileDescriptor.pipe()
            try pipe.reading.setNonBlocking()
        }

        deinit {
            pipe.reading.close()
            pipe.writing.close()
        }

        var time: Instant { now.withLock { $0 } }
        var callCount: Int { calls.withLock { $0.count } }

        func delivery(_ token: String, _ type: TokenType) -> SessionTokens.Delivery {
            let access = AccessToken(
                token: Redacted(token), type: type, obtainedAt: time, expiresAt: time.adding(1), scope: nil)
            return SessionTokens.Delivery(
                session: Session(
                    key: SessionKey(provider: "https://op.example", clientID: "demo"),
                    endpoints: Session.Endpoints(issuer: nil, token: WebURL("https://op.example/t")!),
                    createdAt: time, requestedScope: nil, tokens: TokenSet(access: access)),
                access: access)
        }

        func tokens(signingIn: Bool = false) -> ProxyTokens {
            var source = ProxyTokenSource(
                environment: OIDCContext(
                    transport: CurlTransport(), cache: NoCache(), now: { [self] in time },
                    random: { Random.bytes($0) }),
                token: { [self] refused throws(OIDCError) in
                    let number = calls.withLock { calls in
                        calls.append(refused?.access.token.revealed)
                        return calls.count
                    }
                    if hangs.withLock({ $0 }) { _ = gate.wait(timeout: .now() + 30) }
                    if let failure = failure.withLock({ $0 }) { throw failure }
                    return delivery("token-\(number)", .bearer)
                },
                ending: { [self] in ending.withLock { $0 } },
                onEnd: { [self] _ in ended.withLock { $0 += 1 } })
            source.isAsking = { [self] in isAsking.withLock { $0 } }
            guard signingIn else {
                return ProxyTokens(source, wake: pipe.writing, now: MonotonicTime(nanoseconds: 0))
            }
            source.stepUp = { [self] (_, _) throws(OIDCError) in
                _ = gate.wait(timeout: .now() + 30)
                throw OIDCError(.timedOut, "nobody signed in")
            }
            return ProxyTokens(source, wake: pipe.writing, now: MonotonicTime(nanoseconds: 0))
        }

        /// Waits for the running job.
        func wait() {
            var interests = [Poll.Interest(pipe.reading.rawValue, .reading)]
            Poll.wait(&interests, until: .now().adding(seconds: 30))
            _ = try? pipe.reading.read(limit: 16)
        }
    }

    private func moment(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0).adding(milliseconds: milliseconds)
    }

    @Test("10,000 requests over 1,000 lifetimes of one second: every token is valid, and obtained once")
    func lifetimes() throws {
        let world = try World()
        let tokens = world.tokens()
        var valid = 0
        for lifetime in 0..<1_000 {
            for request in 0..<10 {
                let now = moment(Int64(lifetime * 1_000 + request * 90))
                tokens.obtain(now: now) { result, _ in
                    if case .success(let grant) = result,
                        grant.delivery.access.expiresAt.map({ $0 > world.time }) == true
                    {
                        valid += 1
                    }
                }
                if valid < lifetime * 10 + request + 1 {
                    world.wait()
                    tokens.advance(now: now)
                }
            }
            world.now.withLock { $0 = $0.adding(1) }
        }
        #expect(valid == 10_000)
        #expect(world.callCount == 1_000)
    }

    @Test("one job serves all that wait, also those whose token was refused meanwhile")
    func sharing() throws {
        let world = try World()
        let tokens = world.tokens()
        var results: [String] = []
        func ask(insteadOf refused: String? = nil) {
            tokens.obtain(insteadOf: refused.map { Redacted($0) }, now: moment(0)) { result, _ in
                results.append((try? result.get())?.token.revealed ?? "none")
            }
        }
        for _ in 0..<100 { ask() }
        world.wait()
        tokens.advance(now: moment(0))
        #expect(results == Array(repeating: "token-1", count: 100) && world.callCount == 1)
        results = []
        for _ in 0..<100 { ask(insteadOf: "token-1") }
        world.wait()
        tokens.advance(now: moment(0))
        #expect(results == Array(repeating: "token-2", count: 100))
        #expect(world.calls.withLock { $0 } == [nil, "token-1"])
        ask(insteadOf: "token-1")
        #expect(results.count == 101 && world.callCount == 2)
    }

    @Test(
        "a token that is being replaced is handed to nobody; unless the session has ended, others then go on with it",
        arguments: [
            (nil, nil, "token-2"), (.unreachable, nil, "token-1"), (.refused, nil, "token-1"),
            (.loginRequired, .noRefreshToken, "token-1"), (.loginRequired, .sessionEnded, "none"),
            (.loginRequired, nil, "none"),
        ] as [(OIDCError.Kind?, OIDCError.Code?, String)])
    func replacing(_ failure: OIDCError.Kind?, _ code: OIDCError.Code?, _ expected: String) throws {
        let world = try World()
        let tokens = world.tokens()
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        world.failure.withLock { $0 = failure.map { OIDCError($0, "no", code: code) } }
        var refusedOne = ""
        var others: [String] = []
        tokens.obtain(insteadOf: Redacted("token-1"), now: moment(0)) { result, _ in
            refusedOne = (try? result.get())?.token.revealed ?? "none"
        }
        tokens.obtain(now: moment(0)) { result, _ in
            others.append((try? result.get())?.token.revealed ?? "none")
        }
        #expect(others == [])
        world.wait()
        tokens.advance(now: moment(0))
        #expect(refusedOne == (failure == nil ? "token-2" : "none"))
        #expect(others == [expected] && world.callCount == 2)
        #expect(world.ended.withLock { $0 } == (expected == "none" ? 1 : 0))
        // It is not handed out in place of itself either, and its server is not asked about again at once.
        tokens.obtain(insteadOf: Redacted("token-1"), now: moment(40)) { result, _ in
            #expect((try? result.get()) == nil || failure == nil)
        }
        #expect(world.callCount == 2)
    }

    @Test("after a second the session is looked at again, so a replaced one is noticed")
    func replaced() throws {
        let world = try World()
        let tokens = world.tokens()
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        #expect(tokens.ready(now: moment(999)) != nil)
        #expect(tokens.ready(now: moment(1_000)) == nil)
    }

    @Test("a request with a good token does not wait for a store or a provider that does not answer")
    func patience() throws {
        let world = try World()
        let tokens = world.tokens()
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        world.hangs.withLock { $0 = true }
        var results: [String] = []
        func ask(insteadOf refused: String? = nil, at milliseconds: Int64) {
            tokens.obtain(insteadOf: refused.map { Redacted($0) }, now: moment(milliseconds)) { result, _ in
                results.append((try? result.get())?.token.revealed ?? "none")
            }
        }
        ask(at: 1_500)
        ask(insteadOf: "token-1", at: 1_500)
        tokens.advance(now: moment(3_499))
        #expect(results.isEmpty && tokens.nextMoment == moment(3_500))
        tokens.advance(now: moment(3_500))
        #expect(results == ["token-1"])
        ask(at: 3_600)
        #expect(results == ["token-1", "token-1"])
        // The request whose token was refused goes on waiting for another one.
        world.gate.signal()
        world.wait()
        tokens.advance(now: moment(3_700))
        #expect(results == ["token-1", "token-1", "token-2"])
    }

    @Test("a sign-in that nobody answers holds no other request, and a sign-out is noticed meanwhile")
    func unansweredStepUp() throws {
        let world = try World()
        let tokens = world.tokens(signingIn: true)
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        var steppedUp: [OIDCError.Kind?] = []
        let refusal = ProxyTokenSource.Answer(
            HTTPResponse(status: 403), of: try #require(WebURL("https://api.example/")))
        tokens.obtain(insteadOf: Redacted("token-1"), after: refusal, now: moment(0)) { result, _ in
            if case .failure(let error) = result {
                steppedUp.append(error.kind)
            } else {
                steppedUp.append(nil)
            }
        }
        var results: [String] = []
        func ask(at milliseconds: Int64) {
            tokens.obtain(now: moment(milliseconds)) { result, _ in
                results.append((try? result.get())?.token.revealed ?? "none")
            }
        }
        ask(at: 1_500)
        world.wait()
        tokens.advance(now: moment(1_500))
        #expect(results == ["token-2"] && steppedUp.isEmpty)
        world.failure.withLock { $0 = OIDCError(.loginRequired, "signed out") }
        ask(at: 3_000)
        world.wait()
        tokens.advance(now: moment(3_000))
        #expect(results == ["token-2", "none"] && steppedUp.isEmpty)
        #expect(world.ended.withLock { $0 } == 1)
        world.gate.signal()
        world.wait()
        tokens.advance(now: moment(3_100))
        #expect(steppedUp == [.timedOut])
    }

    @Test("a sign-in in place of a token that one server refused holds no request to another")
    func unansweredReplacement() throws {
        let world = try World()
        let tokens = world.tokens(signingIn: true)
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        world.failure.withLock { $0 = OIDCError(.loginRequired, "refused", code: .noRefreshToken) }
        var replaced: [OIDCError.Kind?] = []
        tokens.obtain(insteadOf: Redacted("token-1"), now: moment(0)) { result, _ in
            if case .failure(let error) = result {
                replaced.append(error.kind)
            } else {
                replaced.append(nil)
            }
        }
        world.wait()
        tokens.advance(now: moment(0))
        world.failure.withLock { $0 = nil }
        var results: [String] = []
        for milliseconds in [100, 60_000] as [Int64] {
            tokens.obtain(now: moment(milliseconds)) { result, _ in
                results.append((try? result.get())?.token.revealed ?? "none")
            }
            if milliseconds > 1_000 {
                world.wait()
                tokens.advance(now: moment(milliseconds))
            }
        }
        #expect(results == ["token-1", "token-3"] && replaced.isEmpty)
        world.gate.signal()
        world.wait()
        tokens.advance(now: moment(60_100))
        #expect(replaced == [.timedOut] && world.ended.withLock { $0 } == 0)
    }

    @Test("a proof that is signed elsewhere holds no other request, however long it takes")
    func signedElsewhere() throws {
        let world = try World()
        let tokens = world.tokens()
        let gate = DispatchSemaphore(value: 0)
        var delivery = world.delivery("bound", .dpop)
        delivery.signing = { (_, _, nonce) throws(OIDCError) in
            guard nonce != "quick" else { return "proof-quick" }
            _ = gate.wait(timeout: .now() + 30)
            throw OIDCError(.unreachable, "the lender is gone")
        }
        let grant = try ProxyTokens.Grant(delivery, after: nil)
        var results: [String] = []
        for nonce in ["slow", "quick"] {
            tokens.authorize(
                grant, .get, WebURL("https://api.example/")!, nonce: nonce, isNeeded: { true }
            ) { result in
                let proof = try? result.get().first { $0.name == DPoP.header }?.value
                results.append(proof ?? "none")
            }
        }
        #expect(results.isEmpty && tokens.isAwaited)
        world.wait()
        tokens.advance(now: moment(0))
        #expect(results == ["proof-quick"] && tokens.isAwaited)
        gate.signal()
        world.wait()
        tokens.advance(now: moment(0))
        #expect(results == ["proof-quick", "none"] && !tokens.isAwaited)
        // A token without a key elsewhere waits for nothing.
        let own = try ProxyTokens.Grant(world.delivery("own", .bearer), after: nil)
        tokens.authorize(
            own, .get, WebURL("https://api.example/")!, nonce: nil, isNeeded: { true }
        ) { result in
            results.append((try? result.get().first?.value) ?? "none")
        }
        #expect(results.last == "Bearer own")
    }

    @Test("few proofs are signed elsewhere at a time, and none for a caller that has left")
    func signedInTurn() throws {
        let world = try World()
        let tokens = world.tokens()
        let (gate, started) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        var delivery = world.delivery("bound", .dpop)
        delivery.signing = { (_, _, nonce) throws(OIDCError) in
            world.ended.withLock { $0 += 1 }
            started.signal()
            _ = gate.wait(timeout: .now() + 60)
            return "proof-\(nonce ?? "")"
        }
        let grant = try ProxyTokens.Grant(delivery, after: nil)
        var results: [String] = []
        for number in 0..<20 {
            tokens.authorize(
                grant, .get, WebURL("https://api.example/")!, nonce: "\(number)",
                isNeeded: { number != 17 }
            ) { result in
                results.append((try? result.get().first { $0.name == DPoP.header }?.value) ?? "none")
            }
        }
        for _ in 0..<16 { #expect(started.wait(timeout: .now() + 60) == .success) }
        tokens.advance(now: moment(0))
        #expect(world.ended.withLock { $0 } == 16 && results.isEmpty)
        for _ in 0..<19 { gate.signal() }
        let end = MonotonicTime.now().adding(seconds: 60)
        while tokens.isAwaited, MonotonicTime.now() < end {
            world.wait()
            tokens.advance(now: moment(0))
        }
        #expect(results.count == 19 && !results.contains("proof-17") && !results.contains("none"))
    }

    @Test(
        "a lender that cannot be reached keeps nobody waiting twice, and one that is full fails no other proof",
        arguments: [true, false])
    func lostLender(isGone: Bool) throws {
        let world = try World()
        let tokens = world.tokens()
        var delivery = world.delivery("bound", .dpop)
        let gate = DispatchSemaphore(value: 0)
        delivery.signing = { (_, _, nonce) throws(OIDCError) in
            guard let number = nonce.flatMap({ Int($0) }), number < 16 else { return "proof" }
            _ = gate.wait(timeout: .now() + 60)
            throw OIDCError(.unreachable, "no proof", code: isGone ? .noLender : nil)
        }
        let grant = try ProxyTokens.Grant(delivery, after: nil)
        var failures = 0
        for number in 0..<50 {
            tokens.authorize(
                grant, .get, WebURL("https://api.example/")!, nonce: "\(number)", isNeeded: { true }
            ) { result in
                if case .failure = result { failures += 1 }
            }
        }
        for _ in 0..<16 { gate.signal() }
        let end = MonotonicTime.now().adding(seconds: 60)
        while tokens.isAwaited, MonotonicTime.now() < end {
            world.wait()
            tokens.advance(now: moment(0))
        }
        #expect(failures == (isGone ? 50 : 16) && !tokens.isAwaited)
    }

    @Test("where a request may sign in, a good token does not wait for the replacement of a refused one")
    func besideReplacement() throws {
        let world = try World()
        let tokens = world.tokens(signingIn: true)
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        world.hangs.withLock { $0 = true }
        var results: [String] = []
        for refused in [Redacted("token-1"), nil] {
            tokens.obtain(insteadOf: refused, now: moment(1_500)) { result, _ in
                results.append((try? result.get())?.token.revealed ?? "none")
            }
        }
        tokens.advance(now: moment(3_499))
        #expect(results.isEmpty)
        // The session may be gone, and the user is asked.
        world.isAsking.withLock { $0 = true }
        tokens.advance(now: moment(3_500))
        #expect(results.isEmpty)
        world.isAsking.withLock { $0 = false }
        tokens.advance(now: moment(3_500))
        #expect(results == ["token-1"])
        world.gate.signal()
        world.wait()
        tokens.advance(now: moment(3_600))
        #expect(results == ["token-1", "token-2"])
    }

    @Test("where a request may sign in, none goes on with a token whose session may be over")
    func signingIn() throws {
        let world = try World()
        let tokens = world.tokens(signingIn: true)
        tokens.obtain(now: moment(0)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(0))
        world.hangs.withLock { $0 = true }
        var results: [String] = []
        for milliseconds in [1_500, 4_000] as [Int64] {
            tokens.obtain(now: moment(milliseconds)) { result, _ in
                results.append((try? result.get())?.token.revealed ?? "none")
            }
            tokens.advance(now: moment(milliseconds))
        }
        #expect(results.isEmpty)
        world.gate.signal()
        world.wait()
        tokens.advance(now: moment(4_100))
        #expect(results == ["token-2", "token-2"])
    }

    @Test("a failure is shared for a second, then tried again")
    func failures() throws {
        let world = try World()
        let tokens = world.tokens()
        world.failure.withLock { $0 = OIDCError(.unreachable, "out of reach") }
        var kinds: [OIDCError.Kind] = []
        func ask(_ milliseconds: Int64) {
            tokens.obtain(now: moment(milliseconds)) { result, _ in
                if case .failure(let error) = result { kinds.append(error.kind) }
            }
        }
        ask(0)
        world.wait()
        tokens.advance(now: moment(0))
        ask(500)
        #expect(kinds == [.unreachable, .unreachable] && world.callCount == 1)
        ask(1_000)
        world.wait()
        tokens.advance(now: moment(1_000))
        #expect(world.callCount == 2)
    }

    @Test("a missing session is looked for again soon, as the user may be signing in")
    func signedOutAndIn() throws {
        let world = try World()
        let tokens = world.tokens()
        world.failure.withLock { $0 = OIDCError(.loginRequired, "signed out") }
        var isSignedIn: [Bool] = []
        func ask(_ milliseconds: Int64) {
            tokens.obtain(now: moment(milliseconds)) { result, _ in
                if case .success = result { isSignedIn.append(true) } else { isSignedIn.append(false) }
            }
        }
        ask(0)
        world.wait()
        tokens.advance(now: moment(0))
        ask(ProxyTokens.signedOutTrust - 1)
        #expect(isSignedIn == [false, false] && world.callCount == 1)
        world.failure.withLock { $0 = nil }
        ask(ProxyTokens.signedOutTrust)
        world.wait()
        tokens.advance(now: moment(ProxyTokens.signedOutTrust))
        #expect(isSignedIn == [false, false, true])
    }

    @Test("a session that ended is reported once, also if no request comes")
    func ending() throws {
        let world = try World()
        let tokens = world.tokens()
        world.ending.withLock { $0 = OIDCError(.loginRequired, "signed out") }
        for round in 1...3 {
            tokens.advance(now: moment(Int64(round) * (ProxyTokens.lookInterval + 1)))
            world.wait()
            tokens.advance(now: moment(Int64(round) * (ProxyTokens.lookInterval + 1)))
        }
        #expect(world.ended.withLock { $0 } == 1)
        world.ending.withLock { $0 = nil }
        world.failure.withLock { $0 = nil }
        tokens.obtain(now: moment(60_000)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(60_000))
        world.failure.withLock { $0 = OIDCError(.loginRequired, "signed out again") }
        tokens.obtain(insteadOf: Redacted("token-1"), now: moment(61_000)) { _, _ in }
        world.wait()
        tokens.advance(now: moment(61_000))
        #expect(world.ended.withLock { $0 } == 2)
    }
}
