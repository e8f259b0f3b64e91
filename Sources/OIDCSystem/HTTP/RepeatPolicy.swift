import OIDCCore

/// When a request that failed is sent again: a GET twice, after a failed connection or an answer that
/// asks for patience; anything else once, and only if no connection was ever made.
struct RepeatPolicy {
    /// A provider that wants more patience than this is not waited for.
    static let longestPause = Duration.seconds(5)

    let method: HTTPMethod

    private var limit: Int { method == .get ? 2 : 1 }

    /// The pause before the next try; nil where there is none.
    func pause(after result: CurlResult, tries: Int) -> Duration? {
        guard case .code(let code) = result.ending, [5, 6, 7].contains(code), !result.isSent, tries <= limit
        else { return nil }
        return backOff(tries)
    }

    func pause(after response: HTTPResponse, tries: Int) -> Duration? {
        guard method == .get, [502, 503, 504].contains(response.status), tries <= limit else { return nil }
        guard let text = response.headers["Retry-After"] else { return backOff(tries) }
        // A date (RFC 9110 §10.2.3) is further away than we wait.
        guard let seconds = Int(text), seconds >= 0, Duration.seconds(seconds) <= Self.longestPause else {
            return nil
        }
        return max(.seconds(seconds), backOff(tries))
    }

    private func backOff(_ tries: Int) -> Duration {
        .milliseconds(tries == 1 ? 200 : 600)
    }
}
