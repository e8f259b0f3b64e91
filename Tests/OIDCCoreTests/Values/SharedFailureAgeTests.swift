import Testing

@testable import OIDCCore

@Suite("how long a failure is shared")
struct SharedFailureAgeTests {
    private static let time = Instant(secondsSinceEpoch: 1_800_000_000)
    /// The failure happened at this time of the monotonic clock, and 900 milliseconds into its second.
    private static let moment: Int64 = 5_000_000_000

    private func failure(retryAfter: Int? = nil, isShared: Bool = false) -> SharedFailure {
        var failure = SharedFailure(
            error: OIDCError(.unreachable, "down", retryAfter: retryAfter), time: Self.time, id: "1",
            refreshTokenHash: nil, moment: Self.moment)
        if isShared { failure.sharedAt = Self.time }
        return failure
    }

    /// Asks so many milliseconds after the failure, as a process that was started so long before or after it.
    private func answers(_ failure: SharedFailure, after milliseconds: Int64, startedAfter start: Int64 = 1)
        -> Bool
    {
        failure.answersNewcomer(
            at: Self.time.adding((900 + milliseconds) / 1_000),
            moment: Self.moment + milliseconds * 1_000_000, startedAt: Self.moment + start * 1_000_000)
    }

    @Test(
        "Retry-After is neither cut short nor prolonged by rounding, whoever adopts the failure",
        arguments: [true, false])
    func retryAfter(isShared: Bool) {
        let failure = failure(retryAfter: 2, isShared: isShared)
        for milliseconds in [0, 99, 100, 1_100, 1_999] as [Int64] {
            #expect(answers(failure, after: milliseconds), "\(milliseconds)")
        }
        for milliseconds in [2_000, 2_100, 3_000] as [Int64] {
            #expect(!answers(failure, after: milliseconds), "\(milliseconds)")
        }
    }

    @Test("the seconds that are left are rounded up, so that a call after them is served")
    func secondsLeft() {
        let failure = failure(retryAfter: 2)
        for (milliseconds, left) in [(0, 2), (999, 2), (1_000, 1), (1_999, 1), (2_000, 0)] as [(Int64, Int64)]
        {
            #expect(
                failure.secondsLeft(
                    at: Self.time.adding((900 + milliseconds) / 1_000),
                    moment: Self.moment + milliseconds * 1_000_000) == left)
        }
    }

    @Test(
        "without a comparable monotonic clock, the second of the failure counts in full",
        arguments: [nil, 0, 9_999_000_000_000])
    func otherMachine(moment: Int64?) {
        let failure = failure(retryAfter: 2)
        for (seconds, left) in [(0, 3), (2, 1), (3, 0)] as [(Int64, Int64)] {
            let now = Self.time.adding(seconds)
            #expect(failure.secondsLeft(at: now, moment: moment) == left)
            #expect(failure.answersNewcomer(at: now, moment: moment) == (left > 0))
        }
    }

    @Test("a failure that others adopted is shared for two seconds, and as long as a crowd is still starting")
    func crowd() throws {
        let failure = failure(isShared: true)
        #expect(answers(failure, after: 1_999))
        #expect(!answers(failure, after: 2_000))
        #expect(!answers(self.failure(), after: 50))
        func adopted(after milliseconds: Int64) throws -> SharedFailure {
            try #require(
                failure.adopted(at: Self.time.adding(3), moment: Self.moment + milliseconds * 1_000_000))
        }
        let crowded = try adopted(after: 3_000)
        #expect(answers(crowded, after: 3_149) && !answers(crowded, after: 3_150))
        #expect(!answers(try adopted(after: 14_900), after: 15_000))
        #expect(crowded.adopted(at: Self.time, moment: Self.moment + 3_040_000_000) == nil)
        #expect(SharedFailure(stored: Array(crowded.json.compact.utf8)) == crowded)
    }

    @Test("a failure less than 100 ms old may still be adopted")
    func justNow() {
        func awaits(_ failure: SharedFailure, after milliseconds: Int64) -> Bool {
            failure.awaitsAdoption(
                at: Self.time.adding((900 + milliseconds) / 1_000),
                moment: Self.moment + milliseconds * 1_000_000)
        }
        #expect(awaits(failure(), after: 99) && !awaits(failure(), after: 100))
        #expect(!awaits(failure(isShared: true), after: 1) && !awaits(failure(retryAfter: 1), after: 1))
    }

    @Test(
        "a process that was started before the failure shares it a little longer, as a busy machine delays it"
    )
    func delayed() {
        #expect(answers(failure(), after: 14_000, startedAfter: -1))
        #expect(!answers(failure(), after: 15_000, startedAfter: -1))
        #expect(answers(failure(retryAfter: 1), after: 1_500, startedAfter: -1))
        // Another machine's start tells nothing.
        #expect(
            !failure().answersNewcomer(at: Self.time.adding(3), moment: 9_000_000_000_000, startedAt: 1))
    }

    @Test(
        "another machine is told what the provider said of the session or of a pause, not what this one's network did"
    )
    func byMachine() {
        let ended = OIDCError(.loginRequired, "ended", oauthError: "invalid_grant", code: .sessionEnded)
        var busy = OIDCError(.unreachable, "busy")
        busy.retryAfter = 5
        let errors = [
            (ended, true), (busy, true), (OIDCError(.unreachable, "no network"), false),
            (OIDCError(.unreachable, "answered 503", code: .tryLater), false),
            (OIDCError(.refused, "wrong secret", oauthError: "invalid_client"), false),
        ]
        for (error, isForAll) in errors {
            let failure = SharedFailure(
                error: error, time: Self.time, id: "x", refreshTokenHash: nil, moment: Self.moment,
                machine: "a")
            for (machine, isAnswered) in [("a", true), ("b", isForAll)] {
                let answers = failure.concerns(.own, on: machine)
                let isForWaiters = isAnswered || error.code == .tryLater
                #expect(failure.concerns(.own, on: machine, hasWaited: true) == isForWaiters)
                #expect(answers == isAnswered, "\(error) on \(machine)")
            }
        }
    }

    @Test("who waited shares the silence of another machine's provider once two machines have met it")
    func silence() {
        func silence(on machine: String, after last: SharedFailure?, hash: String? = "h") -> SharedFailure {
            var failure = SharedFailure(
                error: OIDCError(.unreachable, "no answer"), time: Self.time, id: machine,
                refreshTokenHash: hash, moment: Self.moment, machine: machine)
            failure.confirm(after: last)
            return failure
        }
        func isShared(_ failure: SharedFailure) -> Bool {
            let stored = SharedFailure(stored: failure.json.bytes)
            #expect(stored == failure)
            return stored?.concerns(.own, on: "c", hasWaited: true) == true
        }
        let first = silence(on: "a", after: nil)
        #expect(!isShared(first) && !isShared(silence(on: "a", after: first)))
        let second = silence(on: "b", after: first)
        // A machine that goes on alone does not keep the others out.
        #expect(isShared(second) && !isShared(silence(on: "b", after: second)))
        #expect(isShared(silence(on: "a", after: second)))
        #expect(!second.concerns(.own, on: "c"))
        // Another session's silence, an old one, and an answer say nothing of this one.
        #expect(!isShared(silence(on: "b", after: first, hash: "other")))
        var (old, answer) = (first, first)
        old.time = Self.time.adding(-91)
        answer.error.code = .tryLater
        #expect(!isShared(silence(on: "b", after: old)) && !isShared(silence(on: "b", after: answer)))
    }

    @Test("absurd times and pauses neither crash nor last", arguments: [Int.max, Int.min, 0])
    func absurd(pause: Int) {
        let failure = failure(retryAfter: pause)
        for seconds in [Int64.min, -1, 0, 299, 301, Int64.max] {
            let now = Self.time.adding(seconds)
            for moment in [Int64.min, 0, Int64.max] {
                let isShared = failure.answersNewcomer(at: now, moment: moment, startedAt: moment)
                #expect(!isShared || (0...300).contains(seconds))
            }
        }
    }
}
