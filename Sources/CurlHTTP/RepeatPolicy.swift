import OIDCCore

/// The rules for repeating a failed request. A GET is repeated twice if no connection was made or the server
/// is unavailable (502, 503, 504), and once if the connection broke before the answer; any other request is
/// repeated once, and only if no connection was made. A connection that this machine itself refuses is not
/// repeated: nothing listens there.
struct RepeatPolicy {
    /// The longest Retry-After that is waited for.
    private static let longestPause = Duration.seconds(5)

    let method: HTTPMethod
    /// Whether the server is on this machine.
    var isLoopback = false

    private var limit: Int { method == .get ? 2 : 1 }

    /// Returns the pause before the next attempt; nil if there is none.
    func pause(after result: CurlResult, tries: Int) -> Duration? {
        guard case .code(let code) = result.ending else { return nil }
        if result.isSent {
            let isBroken = [.noAnswer, .sendFailed, .receiveFailed].contains(code) && !result.hasAnswerBytes
            return method == .get && isBroken && tries == 1 ? backOff(tries) : nil
        }
        guard !isLoopback || code != .noConnection else { return nil }
        let isUnconnected = [.unresolvedProxy, .unresolvedHost, .noConnection].contains(code)
        return isUnconnected && tries <= limit ? backOff(tries) : nil
    }

    func pause(after response: HTTPResponse, tries: Int) -> Duration? {
        guard method == .get, [502, 503, 504].contains(response.status), tries <= limit else { return nil }
        guard response.headers["Retry-After"] != nil else { return backOff(tries) }
        guard let seconds = response.retryAfter, Duration.seconds(seconds) <= Self.longestPause else {
            return nil
        }
        return max(.seconds(seconds), backOff(tries))
    }

    private func backOff(_ tries: Int) -> Duration {
        .milliseconds(tries == 1 ? 200 : 600)
    }
}
