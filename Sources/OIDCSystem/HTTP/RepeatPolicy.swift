import OIDCCore

/// When a request that failed is sent again: a GET twice after a failed connection or an answer that asks for
/// patience, and once after a connection that broke before the answer; anything else once, and only if no
/// connection was ever made.
struct RepeatPolicy {
    /// A provider that wants more patience than this is not waited for.
    static let longestPause = Duration.seconds(5)

    let method: HTTPMethod

    private var limit: Int { method == .get ? 2 : 1 }

    /// The pause before the next try; nil where there is none.
    func pause(after result: CurlResult, tries: Int) -> Duration? {
        guard case .code(let code) = result.ending else { return nil }
        if result.isSent {
            let isBroken = [52, 55, 56].contains(code) && !result.isAnswerBegun
            return method == .get && isBroken && tries == 1 ? backOff(tries) : nil
        }
        return [5, 6, 7].contains(code) && tries <= limit ? backOff(tries) : nil
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
