import OIDCCore
import OIDCSystem
import Synchronization

/// Remembers the provider's `Date`, to hold this machine's clock against.
final class DateProbe: HTTPTransport {
    private let transport: CurlTransport
    private let date = Mutex<Instant?>(nil)

    init(transport: CurlTransport) {
        self.transport = transport
    }

    func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        let response = try transport.send(request, stage: stage)
        if let found = response.headers["Date"].flatMap(HTTPDate.instant) {
            date.withLock { $0 = found }
        }
        return response
    }

    func clock(now: Instant) -> [Finding] {
        guard let date = date.withLock({ $0 }) else { return [] }
        let difference = now.seconds(since: date)
        guard abs(difference) > 5 else { return [Finding("clock", .ok, "agrees with the provider's")] }
        let words =
            "\(TimeWords.duration(abs(difference))) \(difference > 0 ? "ahead of" : "behind") the provider's"
        return [
            Finding(
                "clock", abs(difference) > 60 ? .problem : .warning, words,
                remedy: "set this machine's clock; ID tokens are refused beyond the leeway")
        ]
    }
}
