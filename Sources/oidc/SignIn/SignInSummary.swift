import OIDCCore
import OIDCSystem

/// The lines after a sign-in: who, where, until when, and with which scopes.
struct SignInSummary {
    let report: SessionReport
    var style = TextStyle(isOn: false)
    /// Whether to start with a check mark.
    var isMarked = false
    var localTime: (Instant) -> LocalTime? = { LocalTime($0) }

    private var session: Session { report.session }

    var text: String {
        let subject = session.displayName ?? session.subject
        let name = subject.map { " as \(DisplayText.clean($0, limit: 120))" } ?? ""
        let mark = isMarked ? "\(style.good("✓")) " : ""
        let rows = rows.map { ("  \($0)", DisplayText.clean($1)) }
        return "\(mark)Signed in\(name)\n\(Table.text(rows))"
    }

    private var rows: [(String, String)] {
        let profile = report.profile.map { " (profile \($0))" } ?? ""
        var rows = report.session.key.resources.map { ("resource", $0) }
        rows += [("where", report.issuer + profile), ("until", expiry)]
        if let scope = session.grantedScope, !scope.isEmpty { rows.append(("scope", scope.text)) }
        return rows
    }

    private var expiry: String {
        guard let expiresAt = session.tokens.access.expiresAt else {
            return "unknown, as the provider did not say"
        }
        let relative = TimeWords.relative(expiresAt, to: report.now)
        let time = clock(expiresAt).map { "\($0), \(relative)" } ?? relative
        return report.canRefresh ? "\(time); then refreshed automatically" : time
    }

    /// Returns the local time, as in `14:32`, with the date if it is not today.
    private func clock(_ instant: Instant) -> String? {
        guard let time = localTime(instant), let now = localTime(report.now) else { return nil }
        func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let clock = "\(padded(time.hour)):\(padded(time.minute))"
        let isToday = (time.year, time.month, time.day) == (now.year, now.month, now.day)
        return isToday ? clock : "\(time.year)-\(padded(time.month))-\(padded(time.day)) \(clock)"
    }
}
