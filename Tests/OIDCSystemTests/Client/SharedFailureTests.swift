import Foundation
import OIDCCore
@testable import OIDCSessions
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("a failure of one process is shared with all others")
struct SharedFailureTests {
    private let scratch = ScratchDirectory()

    private func tokens() throws -> CountedTokens {
        let tokens = CountedTokens(SessionStore(directory: scratch.path))
        try tokens.store.save(.example(), replacingDamaged: false)
        return tokens
    }

    @Test(
        "within Retry-After no process sends a request, for five minutes at most",
        arguments: [(120, 120), (3_600, 300)])
    func retryAfter(asked: Int, honored: Int64) throws {
        let tokens = try tokens()
        let busy = OIDCError(.unreachable, "busy", hint: "try again", stage: .token, retryAfter: asked)
        #expect(tokens.failure(busy) == busy)
        // The failure may have happened at the end of its second.
        tokens.pass(honored)
        let shared = try #require(tokens.failure(OIDCError(.failed, "asked")))
        #expect(shared.kind == .unreachable && shared.message == "busy")
        #expect(shared.retryAfter == asked - Int(honored) + 1)
        #expect(tokens.requests == 1)
        tokens.pass(1)
        #expect(tokens.failure(busy) == busy)
        #expect(tokens.requests == 2)
    }

    @Test("without Retry-After a later process sends a request at once")
    func sequential() throws {
        let tokens = try tokens()
        let down = OIDCError(.unreachable, "down", stage: .token)
        #expect(tokens.failure(down) == down)
        #expect(tokens.failure(down) == down)
        #expect(tokens.requests == 2)
    }

    @Test(
        "a process that was started before the failure shares it, even without waiting; a later one sends a request"
    )
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

    @Test("a process that queued behind others that share the failure shares it too")
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
        // Another process, ahead in the queue, has shared the failure meanwhile.
        var shared = left
        shared.sharedAt = tokens.now
        tokens.store.leave(shared, for: .example, replacing: nil)
        holder = nil
        #expect(await queued == down)
        #expect(tokens.requests == 1)
        withExtendedLifetime(holder) {}
    }

    @Test(
        "a process that waited shares the failure, of any kind",
        arguments: [
            OIDCError(.unreachable, "down", stage: .token),
            OIDCError(.refused, "invalid_client", stage: .token, oauthError: "invalid_client"),
            OIDCError(.untrusted, "exp", stage: .idToken),
            OIDCError(
                .loginRequired, "over", stage: .token, oauthError: "invalid_grant", code: .sessionEnded),
        ])
    func waiting(_ error: OIDCError) async throws {
        let tokens = try tokens()
        let loaded = try #require(try tokens.store.load(.example))
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
        // What the holder records when its request has failed.
        tokens.store.leave(
            SharedFailure(
                error: error, time: tokens.now, id: "1", refreshTokenHash: SessionTokens.hash(loaded),
                machine: Platform.networkID, credentials: tokens.credentialsHash),
            for: .example, replacing: nil)
        holder = nil
        #expect(await waiters.allSatisfy { $0 == error })
        #expect(tokens.requests == 0)
        withExtendedLifetime(holder) {}
        // Processes that arrive within two seconds share it too; later ones send a request.
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

    @Test("a failure recorded by a clock that is ahead is ignored")
    func wrongClock() throws {
        let tokens = try tokens()
        let busy = OIDCError(.unreachable, "busy", stage: .token, retryAfter: 60)
        #expect(tokens.failure(busy) == busy)
        tokens.pass(-600)
        #expect(tokens.failure(busy) == busy)
        #expect(tokens.requests == 2)
    }

    @Test("a refused resource is not shared with other requests; an unreachable provider is")
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

    @Test("a shared failure does not replace a newer one")
    func replaced() throws {
        let store = SessionStore(directory: scratch.path)
        let failure = { (id: String) in
            SharedFailure(
                error: OIDCError(.refused, id), time: Instant(secondsSinceEpoch: 1), id: id,
                refreshTokenHash: nil)
        }
        for store in [store, SessionStore.inMemory()] as [SessionStore] {
            store.leave(failure("new"), for: .example, replacing: nil)
            store.leave(failure("old"), for: .example, replacing: "old")
            #expect(store.failure(of: .example)?.id == "new")
            store.leave(nil, for: .example, replacing: nil)
            store.leave(failure("old"), for: .example, replacing: "old")
            #expect(store.failure(of: .example) == nil)
        }
    }

    @Test("a refused secret fails no process that has another one; an unreachable provider does")
    func otherSecret() throws {
        let tokens = try tokens()
        let start = MonotonicTime.now()
        let refused = OIDCError(.refused, "wrong secret", stage: .token, oauthError: "invalid_client")
        let asked = OIDCError(.failed, "asked")
        #expect(tokens.failure(refused, secret: "old") == refused)
        #expect(tokens.failure(asked, startedAt: start, secret: "old") == refused)
        #expect(tokens.failure(asked, startedAt: start, secret: "new") == asked)
        // What is stored has 256 values, so no guess can be confirmed by it.
        let stored = try #require(tokens.store.failure(of: .example)?.credentials)
        #expect(stored.utf8.count == 2)
        tokens.pass(40)
        let down = OIDCError(.unreachable, "down", stage: .token)
        #expect(tokens.failure(down, secret: "old") == down)
        #expect(tokens.failure(asked, startedAt: start, secret: "new") == down)
    }

    @Test("after a new sign-in the failure of the old one is ignored, and success removes it")
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

    @Test("the recorded failure has no refresh token, is private, and is removed with the session")
    func noSecret() throws {
        let tokens = try tokens()
        _ = tokens.failure(OIDCError(.refused, "no", stage: .token))
        let name = try #require(scratch.names.first { $0.hasSuffix(".failure") })
        #expect(mode(scratch[name]) == 0o600)
        #expect(scratch.text(name)?.contains("rt-1") == false)
        try tokens.store.remove(.example)
        #expect(scratch.names.filter { $0.hasSuffix(".failure") } == [])
    }

    @Test(
        "a recorded failure that cannot be read is ignored", arguments: ["", "{}", "[1]", #"{"kind":"odd"}"#])
    func damaged(text: String) throws {
        let tokens = try tokens()
        scratch.put(text, "\(SessionKey.example.fileStem).failure")
        #expect(tokens.store.failure(of: .example) == nil)
    }
}
