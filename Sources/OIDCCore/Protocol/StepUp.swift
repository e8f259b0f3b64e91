/// What a resource wants of the next sign-in (RFC 9470 §3): a stronger or a more recent one.
package struct StepUp: Hashable, Sendable {
    /// Left out where it holds what does not belong into a line that somebody may copy.
    package let acrValues: String?
    package let maxAge: Int64?

    /// Nil unless a challenge asks for it.
    package init?(_ challenges: [AuthenticationChallenge]) {
        guard let asked = challenges.first(where: { $0.error == "insufficient_user_authentication" }) else {
            return nil
        }
        acrValues = asked.acrValues.flatMap { StepUp.isPlain($0) ? $0 : nil }
        maxAge = asked.maxAge
    }

    private static func isPlain(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.count <= 300
            && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || " -._~:/+@".utf8.contains($0) }
    }
}
