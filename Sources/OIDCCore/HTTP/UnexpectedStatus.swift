extension OIDCError {
    /// An answer that is neither what was asked for nor explained by the provider: 429 and 5xx mean later,
    /// all else is a refusal.
    static func unexpectedStatus(_ response: HTTPResponse, _ stage: Stage) -> OIDCError {
        let isTemporary = response.status == 429 || (500..<600).contains(response.status)
        let seconds = response.headers["Retry-After"].flatMap { Int(ASCII.trimmed($0)) }
        return OIDCError(
            isTemporary ? .unreachable : .refused,
            "\(stage.title): the provider answered with status \(response.status)", stage: stage,
            retryAfter: seconds.flatMap { (0...86_400).contains($0) ? $0 : nil })
    }
}
