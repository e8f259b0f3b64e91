import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

@testable import OIDCSystem

/// One session, a clock that the test moves, and requests that are counted.
private final class Tokens: Sendable {
    let store: any SessionStoring
    let key: SessionKey
    private let time = Mutex(Instant(secondsSinceEpoch: 1_800_000_000))
    private let count = Mutex(0)
    private let waiting = Mutex(0)

    init(_ store: any SessionStoring, key: SessionKey = .example) {
        self.store = store
        self.key = key
    }

    var now: Instant { time.withLock { $0 } }
    var requests: Int { count.withLock { $0 } }
    /// How many have found the lock held.
    var waiters: Int { waiting.withLock { $0 } }

    func pass(_ seconds: Int64) { time.withLock { $0 = $0.adding(seconds) } }

    func refreshed(
        _ demand: TokenDemand = TokenDemand(), startedAt: MonotonicTime = .now(),
        _ request: @escaping (Session?) throws(OIDCError) -> SessionTokens.Answer
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let tokens = SessionTokens(
            store: store, key: key, now: { self.now },
            wait: LockWait(
                limit: .seconds(20), noticeAfter: .zero, onWaiting: { self.waiting.withLock { $0 += 1 } }),
            startedAt: startedAt
        ) { (current, _) throws(OIDCError) in
            self.count.withLock { $0 += 1 }
            return try request(current)
        }
        return try tokens.refreshed(demand, seen: try store.load(key), refusing: .none)
    }

    /// What a process ends with whose request fails so.
    func failure(_ error: OIDCError, _ demand: TokenDemand = TokenDemand()) -> OIDCError? {
        do {
            _ = try refreshed(demand) { (_) throws(OIDCError) in throw error }
            return nil
        } catch {
            return error
        }
    }
}

@Suite("what one process learned, all others know")
struct SharedFailureTests {
    private let scratch = ScratchDirectory()

    private func tokens() throws -> Tokens {
        let tokens = Tokens(FileSessionStore(directory: scratch.path))
        try tokens.store.save(.example(), replacingDamaged: false)
        return tokens
    }

    @Test(
        "within Retry-After nobody asks again, at most for five minutes",
        arguments: [(120, 120), (3_600, 300)])
    func retryAfter(asked: Int, honored: Int64) throws {
        let tokens = try tokens()
        let busy = OIDCError(.unreachable, "busy", hint: "try again", stage: .token, retryAfter: asked)
        #expect(tokens.failure(busy) == busy)
        tokens.pass(honored - 1)
        let shared = try #require(tokens.failure(OIDCError(.failed, "asked")))
        #expect(shared.kind == .unreachable && shared.message == "busy")
        #expect(shared.retryAfter == asked - Int(honored) + 1)
        #expect(tokens.requests == 1)
        tokens.pass(1)
        #expect(tokens.failure(busy) == busy)
        #expect(tokens.requests == 2)
    }

    @Test("without Retry-After a process that comes later asks at once")
    func sequential() throws {
        let tokens = try tokens()
        let down = OIDCError(.unreachable, "down", stage: .token)
        #expect(tokens.failure(down) == down)
        #expect(tokens.failure(down) == down)
        #expect(tokens.requests == 2)
    }

    @Test("a process that was started before the failure takes it, though it never waited; a later one asks")
    func startedBefore() throws {
        let tokens = try tokens()
        let start = MonotonicTime.now()
        let down = OIDCError(.unreachable, "down", stage: .token)
        #expect(tokens.failure(down) == down)
        #expect(throws: down) {
            try tokens.refreshed(startedAt: start) { (_) throws(OIDCError) in
                throw OIDCError(.failed, "asked")
            }
        }
        #expect(tokens.requests == 1)
        // A machine whose clock began to count later does not take it for ever.
        tokens.pass(40)
        #expect(throws: OIDCError(.failed, "asked")) {
            try tokens.refreshed(startedAt: start) { (_) throws(OIDCError) in
                throw OIDCError(.failed, "asked")
            }
        }
    }

    @Test("who queued behind a crowd that took the failure takes it too")
    func queued() async throws {
        let tokens = try tokens()
        let down = OIDCError(.unreachable, "down", stage: .token)
        #expect(tokens.failure(down) == down)
        let left = try #require(tokens.store.failure(of: .example))
        let directory = try #require(try PrivateDirectory.open(scratch.path))
        var holder: FileLock? = try FileLock.acquire(
            "\(SessionKey.example.fileStem).lock", in: directory, LockWait(limit: .seconds(20)))
        async let queued = detached { tokens.failure(OIDCError(.failed, "asked")) }
        while tokens.waiters < 1 { try await Task.sleep(for: .milliseconds(5)) }
        // Somebody of the same crowd, ahead in the queue, has taken the failure meanwhile.
        var shared = left
        shared.sharedAt = tokens.now
        tokens.store.leave(shared, for: .example, replacing: nil)
        holder = nil
        #expect(await queued == down)
        #expect(tokens.requests == 1)
        withExtendedLifetime(holder) {}
    }

    @Test(
        "who waited takes the failure, whatever its class",
        arguments: [
            OIDCError(.unreachable, "down", stage: .token),
            OIDCError(.refused, "invalid_client", stage: .token, oauthError: "invalid_client"),
            OIDCError(.untrusted, "exp", stage: .idToken),
            OIDCError(.loginRequired, "over", stage: .token, oauthError: "invalid_grant"),
        ])
    func waiting(_ error: OIDCError) async throws {
        let tokens = try tokens()
        let seen = try #require(try tokens.store.load(.example))
        let directory = try #require(try PrivateDirectory.open(scratch.path))
        var holder: FileLock? = try FileLock.acquire(
            "\(SessionKey.example.fileStem).lock", in: directory, LockWait(limit: .seconds(20)))
        async let waiters = withTaskGroup(of: OIDCError?.self) { group in
            for _ in 0..<8 {
                group.addTask { await detached { tokens.failure(OIDCError(.failed, "asked")) } }
            }
            return await group.reduce(into: [OIDCError?]()) { $0.append($1) }
        }
        while tokens.waiters < 8 { try await Task.sleep(for: .milliseconds(5)) }
        // What the holder leaves when its request has failed.
        tokens.store.leave(
            SharedFailure(
                error: error, time: tokens.now, id: "1", refreshTokenHash: SessionTokens.hash(seen)),
            for: .example, replacing: nil)
        holder = nil
        #expect(await waiters.allSatisfy { $0 == error })
        #expect(tokens.requests == 0)
        withExtendedLifetime(holder) {}
        // Those of the same crowd that come only now take it too, and a while later everybody asks.
        #expect(tokens.failure(OIDCError(.failed, "asked")) == error)
        tokens.pass(3)
        #expect(tokens.failure(OIDCError(.failed, "asked"))?.message == "asked")
    }

    @Test(
        "faults of one process or its command line are not shared",
        arguments: [
            OIDCError.Kind.failed, .usage, .timedOut, .interrupted,
        ])
    func unshared(_ kind: OIDCError.Kind) throws {
        let tokens = try tokens()
        #expect(tokens.failure(OIDCError(kind, "mine", retryAfter: 60))?.kind == kind)
        #expect(tokens.store.failure(of: .example) == nil)
    }

    @Test("a failure noted by a clock that is ahead is not believed")
    func wrongClock() throws {
        let tokens = try tokens()
        let busy = OIDCError(.unreachable, "busy", stage: .token, retryAfter: 60)
        #expect(tokens.failure(busy) == busy)
        tokens.pass(-600)
        #expect(tokens.failure(busy) == busy)
        #expect(tokens.requests == 2)
    }

    @Test("a refused resource is nobody else's failure; a provider out of reach is everybody's")
    func otherDemand() throws {
        let tokens = try tokens()
        let api = TokenDemand(resources: ["https://api.example"])
        let refused = OIDCError(.refused, "invalid_target", stage: .token, retryAfter: 60)
        #expect(tokens.failure(refused, api) == refused)
        #expect(tokens.failure(OIDCError(.failed, "asked"), api)?.message == "invalid_target")
        #expect(tokens.failure(OIDCError(.failed, "asked"))?.message == "asked")
        let down = OIDCError(.unreachable, "down", stage: .token, retryAfter: 60)
        #expect(tokens.failure(down) == down)
        #expect(tokens.failure(OIDCError(.failed, "asked"), api)?.message == "down")
    }

    @Test("a failure that was taken does not replace a newer one")
    func replaced() throws {
        let store = FileSessionStore(directory: scratch.path)
        let failure = { (id: String) in
            SharedFailure(
                error: OIDCError(.refused, id), time: Instant(secondsSinceEpoch: 1), id: id,
                refreshTokenHash: nil)
        }
        for store in [store, MemorySessionStore()] as [any SessionStoring] {
            store.leave(failure("new"), for: .example, replacing: nil)
            store.leave(failure("old"), for: .example, replacing: "old")
            #expect(store.failure(of: .example)?.id == "new")
            store.leave(nil, for: .example, replacing: nil)
            store.leave(failure("old"), for: .example, replacing: "old")
            #expect(store.failure(of: .example) == nil)
        }
    }

    @Test("after a new sign-in the failure of the old one does not count, and success removes it")
    func newSession() throws {
        let tokens = try tokens()
        let busy = OIDCError(.unreachable, "busy", stage: .token, retryAfter: 60)
        #expect(tokens.failure(busy) == busy)
        var session = Session.example()
        session.tokens.refreshToken = Redacted("another")
        try tokens.store.save(session, replacingDamaged: false)
        var next = session
        next.tokens.access.token = Redacted("new")
        let delivery = try tokens.refreshed { [next] (_) throws(OIDCError) in
            SessionTokens.Answer { () throws(OIDCError) in
                TokenRefresh.Outcome(session: next, access: .success(next.tokens.access))
            }
        }
        #expect(delivery.access.token.revealed == "new")
        #expect(scratch.names.filter { $0.hasSuffix(".failure") } == [])
    }

    @Test("what is left there holds no refresh token, is for this user alone, and goes with the session")
    func noSecret() throws {
        let tokens = try tokens()
        _ = tokens.failure(OIDCError(.refused, "no", stage: .token))
        let name = try #require(scratch.names.first { $0.hasSuffix(".failure") })
        #expect(mode(scratch[name]) == 0o600)
        #expect(scratch.text(name)?.contains("rt-1") == false)
        try tokens.store.remove(.example)
        #expect(scratch.names.filter { $0.hasSuffix(".failure") } == [])
    }

    @Test("what cannot be read there is no failure", arguments: ["", "{}", "[1]", #"{"kind":"odd"}"#])
    func damaged(text: String) throws {
        let tokens = try tokens()
        scratch.put(text, "\(SessionKey.example.fileStem).failure")
        #expect(tokens.store.failure(of: .example) == nil)
    }
}

@Suite("the order in which a refresh is stored")
struct RefreshOrderTests {
    private let scratch = ScratchDirectory()

    private func tokens() throws -> Tokens {
        let tokens = Tokens(FileSessionStore(directory: scratch.path))
        try tokens.store.save(.example(), replacingDamaged: false)
        return tokens
    }

    private var successor: Session {
        var session = Session.example()
        session.tokens.refreshToken = Redacted("rt-2")
        return session
    }

    @Test("the successor is on disk when the checks begin, and stays when they fail")
    func successorFirst() throws {
        let tokens = try tokens()
        let error = #expect(throws: OIDCError.self) {
            try tokens.refreshed { [successor] (_) throws(OIDCError) in
                SessionTokens.Answer(successor: successor) { () throws(OIDCError) in
                    #expect(try tokens.store.load(.example) == successor)
                    throw OIDCError(.untrusted, "exp", stage: .idToken)
                }
            }
        }
        #expect(error?.message == "exp")
        #expect(try tokens.store.load(.example) == successor)
    }

    @Test("no file descriptor is left: nothing is presented")
    func noDescriptors() async throws {
        let tokens = try tokens()
        _ = tokens
        await #expect(processExitsWith: .success) { [path = scratch.path as String] in
            let tokens = Tokens(FileSessionStore(directory: path))
            var limit = rlimit(rlim_cur: 10, rlim_max: 10)
            setrlimit(.init(RLIMIT_NOFILE.rawValue), &limit)
            let error = #expect(throws: OIDCError.self) {
                try tokens.refreshed { (_) throws(OIDCError) in throw OIDCError(.refused, "presented") }
            }
            #expect(error?.kind == .failed)
        }
    }

    @Test("a refused refresh token is dropped, and the access token stays")
    func refused() throws {
        let tokens = try tokens()
        let over = OIDCError(.loginRequired, "over", stage: .token, oauthError: "invalid_grant")
        #expect(tokens.failure(over) == over)
        let left = try #require(try tokens.store.load(.example))
        #expect(left.tokens.refreshToken == nil)
        #expect(left.tokens.access == Session.example().tokens.access)
        #expect(tokens.failure(over)?.kind == .loginRequired)
        #expect(tokens.requests == 1)
    }

    @Test("invalid_grant for a resource does not end a session whose own token is still given")
    func refusedResource() throws {
        let tokens = try tokens()
        let over = OIDCError(.loginRequired, "over", stage: .token, oauthError: "invalid_grant")
        let requests = Mutex(0)
        let error = #expect(throws: OIDCError.self) {
            try tokens.refreshed(TokenDemand(resources: ["https://api.example"])) {
                (current) throws(OIDCError) in
                guard
                    requests.withLock({
                        $0 += 1; return $0
                    }) > 1
                else { throw over }
                var session = current ?? .example()
                session.tokens.access.token = Redacted("own")
                session.tokens.refreshToken = Redacted("rt-2")
                return SessionTokens.Answer(successor: session) { () throws(OIDCError) in
                    TokenRefresh.Outcome(session: session, access: .success(session.tokens.access))
                }
            }
        }
        #expect(error?.kind == .refused && error?.oauthError == "invalid_grant")
        let left = try #require(try tokens.store.load(.example))
        #expect(left.tokens.refreshToken?.revealed == "rt-2" && left.tokens.access.token.revealed == "own")
        // When it has ended, the second request says so too, and the token is dropped.
        let ended = #expect(throws: OIDCError.self) {
            try tokens.refreshed(TokenDemand(resources: ["https://api.example"])) { (_) throws(OIDCError) in
                throw over
            }
        }
        #expect(ended?.endsSession == true)
        #expect(try tokens.store.load(.example)?.tokens.refreshToken == nil)
    }

    @Test("a token that was revoked while a process waited is not handed out to it")
    func revokedMeanwhile() throws {
        let tokens = try tokens()
        let seen = try #require(try tokens.store.load(.example))
        var revoked = seen
        revoked.expire(seen.tokens.access.token)
        try tokens.store.save(revoked, replacingDamaged: false)
        let late = SessionTokens(
            store: tokens.store, key: .example, now: { tokens.now }, wait: LockWait(limit: .seconds(20))
        ) { (_, _) throws(OIDCError) in throw OIDCError(.unreachable, "asked") }
        let error = #expect(throws: OIDCError.self) {
            try late.refreshed(TokenDemand(), seen: seen, refusing: .none)
        }
        #expect(error?.message == "asked")
    }

    @Test("without a session nothing is locked, created or asked")
    func nothing() throws {
        let tokens = Tokens(FileSessionStore(directory: scratch["none"]))
        let error = tokens.failure(OIDCError(.failed, "asked"))
        #expect(error?.kind == .loginRequired)
        #expect(tokens.requests == 0 && scratch.names == [])
    }

    @Test("a grant without a user hands its token out if nothing can be stored, and says so")
    func unkept() throws {
        scratch.put("", "file")
        let key = SessionKey(provider: "https://op.example", clientID: "app", grant: .clientCredentials)
        let tokens = Tokens(FileSessionStore(directory: scratch["file"] + "/below"), key: key)
        let session = Session.example("machine", key: key)
        let tokensOfNobody = SessionTokens(
            store: tokens.store, key: key, now: { tokens.now }, wait: LockWait(limit: .zero)
        ) { (_, _) throws(OIDCError) in
            SessionTokens.Answer { () throws(OIDCError) in
                TokenRefresh.Outcome(session: session, access: .success(session.tokens.access))
            }
        }
        let delivery = try tokensOfNobody.refreshed(TokenDemand(), seen: nil, refusing: .none)
        #expect(delivery.access.token.revealed == "machine")
        #expect(delivery.warnings.count == 1)
    }
}

/// Runs work that blocks, off the tests' own threads.
private func detached<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        do {
            try BackgroundThread { continuation.resume(returning: body()) }.detach()
        } catch {
            continuation.resume(returning: body())
        }
    }
}
