import OIDCCore
import Posix

/// The lines after a sign-in: the user, the provider, the end of the session and its scopes.
struct SignInSummary {
    let report: SessionReport
    var style = TextStyle(isOn: false)
    /// Advice on how to keep a session that ends soon unless it is used.
    var longerSession: String?
    /// Whether to start with a check mark.
    var isMarked = false
    var localTime: (Instant) -> LocalTime? = { LocalTime($0) }

    private var session: Session { report.session }

    var text: String {
        let subject = session.displayName ?? session.subject
        let account = session.key.account.map { " (account \(DisplayText.clean($0, limit: 80)))" } ?? ""
        let name = (subject.map { " as \(DisplayText.clean($0, limit: 120))" } ?? "") + account
        let mark = isMarked ? "\(style.good("✓")) " : ""
        let rows = rows.map { ("  \($0)", DisplayText.clean($1)) }
        return "\(mark)Signed in\(name)\n\(Table.text(rows))"
    }

    private var rows: [(String, String)] {
        let profile = report.profile.map { " (profile \($0))" } ?? ""
        var rows = report.session.key.resources.map { ("resource", $0) }
        rows += [("where", report.issuer + profile), ("until", expiry)]
        if report.canRefresh, let end = session.refreshEnd(at: report.now) {
            let time = clock(end) ?? TimeWords.relative(end, to: report.now)
            rows.append(("ends", "\(time) unless used" + (longerSession.map { "; \($0)" } ?? "")))
        }
        if let scope = session.grantedScope, !scope.isEmpty { rows.append(("scope", scope.text)) }
        return rows
    }

    private var expiry: String {
        guard let expiresAt = session.tokens.access.expiresAt else {
            return "unknown, as the provider did not say"
        }
        let relative = TimeWords.relative(expiresAt, to: report.now)
        let time = clock(expiresAt).map { "\($0), \(relative)" } ?? relative
        if report.canRefresh {
            let isLate = session.refreshEnd(at: report.now).map { $0 < expiresAt } ?? false
            return "\(time); then "
                + (isLate ? "sign in again, as the refresh token ends before" : "refreshed automatically")
        }
        return session.tokens.refreshToken == nil
            ? "\(time); then sign in again, as there is no refresh token" : time
    }

    private func clock(_ instant: Instant) -> String? {
        TimeWords.clock(instant, now: report.now, localTime: localTime)
    }
}

extension Session {
    /// Returns the time at which a refresh token that was just issued expires unless it is used; nil if the
    /// provider did not say: Keycloak sends `refresh_expires_in`, others `refresh_token_expires_in`
    /// (2026-11).
    func refreshEnd(at now: Instant) -> Instant? {
        let names = ["refresh_expires_in", "refresh_token_expires_in"]
        let seconds = names.lazy.compactMap { self.tokens.extra[$0]?.integer }.first
        return seconds.flatMap { $0 > 0 && $0 < 4_000_000_000 ? now.adding($0) : nil }
    }
}
