import OIDCSystem

/// One line for each request and each answer; addresses come without their queries.
extension HTTPTraceEvent {
    var line: String {
        switch self {
        case .request(let method, let url, let bytes):
            "→ \(method) \(url)" + (bytes > 0 ? " (\(bytes) bytes)" : "")
        case .answer(let method, let url, let status, let elapsed, let isReused, let bytes):
            "← \(status) \(method) \(url) (\(bytes) bytes, \(HTTPTraceEvent.milliseconds(elapsed)) ms, "
                + "\(isReused ? "same connection" : "new connection"))"
        case .failure(let method, let url, let elapsed, let message):
            "← failed \(method) \(url) (\(HTTPTraceEvent.milliseconds(elapsed)) ms): \(message)"
        case .repeating(let method, let url, let pause):
            "again in \(HTTPTraceEvent.milliseconds(pause)) ms: \(method) \(url)"
        }
    }

    private static func milliseconds(_ duration: Duration) -> Int64 {
        duration.components.seconds * 1_000 + duration.components.attoseconds / 1_000_000_000_000_000
    }
}
