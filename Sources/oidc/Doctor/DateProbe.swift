import OIDCCore
import OIDCSystem
import Synchronization

/// Remembers what else answers tell: the provider's `Date`, to hold this machine's clock against, and why the
/// first request did not get through.
final class DateProbe: HTTPTransport {
    private struct Seen {
        var date: Instant?
        var answers = 0
        var failure: OIDCError?
    }

    private let transport: CurlTransport
    private let seen = Mutex(Seen())

    init(transport: CurlTransport) {
        self.transport = transport
    }

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        do {
            let response = try transport.send(request, stage: stage)
            seen.withLock {
                $0.answers += 1
                $0.date = response.headers["Date"].flatMap(HTTPDate.instant) ?? $0.date
            }
            return response
        } catch {
            seen.withLock { $0.failure = $0.failure ?? error }
            throw error
        }
    }

    var failure: OIDCError? { seen.withLock { $0.failure } }
    var isAnswered: Bool { seen.withLock { $0.answers > 0 } }

    /// A few seconds are the answer's way; beyond the leeway tokens are refused.
    func clock(now: Instant, leeway: Int64) -> Finding {
        guard let date = seen.withLock({ $0.date }) else {
            return Finding("clock", .ok, "\(now); nothing to compare it with")
        }
        let difference = now.seconds(since: date)
        guard abs(difference) > 5 else { return Finding("clock", .ok, "agrees with the provider's") }
        let words =
            "\(TimeWords.duration(abs(difference))) \(difference > 0 ? "ahead of" : "behind") the provider's"
        return Finding(
            "clock", abs(difference) > leeway ? .problem : .warning, words,
            remedy: "set this machine's clock; ID tokens are refused beyond the leeway of \(leeway) s")
    }
}
