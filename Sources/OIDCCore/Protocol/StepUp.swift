/// What a resource wants of the next sign-in (RFC 9470 §3): a stronger or a more recent one.
public struct StepUp: Hashable, Sendable {
    public let acrValues: String?
    public let maxAge: Int64?

    /// Nil unless a challenge asks for it.
    public init?(_ challenges: [AuthenticationChallenge]) {
        let asked = challenges.first { $0.error == "insufficient_user_authentication" }
        guard let asked else { return nil }
        acrValues = asked.acrValues.flatMap { StepUp.isPlain($0) ? $0 : nil }
        maxAge = asked.maxAge
    }

    /// The line that satisfies it.
    public var loginLine: String {
        var words = ["oidc login"]
        if let acrValues {
            words.append(
                "--set " + (acrValues.contains(" ") ? "'acr_values=\(acrValues)'" : "acr_values=\(acrValues)")
            )
        }
        if let maxAge { words.append("--set max_age=\(maxAge)") }
        if words.count == 1 { words.append("--prompt login") }
        return words.joined(separator: " ")
    }

    /// Only what a shell takes as it stands is put into a line that somebody may copy.
    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 300
            && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || " -._~:/+@".utf8.contains($0) }
    }
}
