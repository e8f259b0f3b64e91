import OIDCCore
import Posix

/// The checks of everything that a sign-in depends on. They continue after a problem, but not after a signal.
struct Doctor {
    let context: CommandContext
    let options: ProviderOptions
    /// Whether nothing is sent to the provider or a shared store.
    var isOffline = false

    func findings() throws(OIDCError) -> [Finding] {
        var findings: [Finding] = []
        let settingsChecks = SettingsChecks(context: context, options: options)
        let settings: Settings
        do throws(OIDCError) {
            settings = try context.settings(options)
            findings.append(
                Finding("configuration") { () throws(OIDCError) in
                    try settingsChecks.configuration(settings)
                })
        } catch {
            findings.append(Finding("configuration", error))
            settings = context.settings(profile: nil, [])
        }
        let isConfigured = findings.allSatisfy { $0.result != .problem }
        let provider = ProviderContext(settings, context)
        findings.append(Finding("variables", settingsChecks.variables))
        if isConfigured {
            findings.append(Finding("precedence") { settingsChecks.precedence(settings) })
            // The server of a resource need not issue ID tokens.
            let server =
                settings.provider.issuer == nil ? provider : ProfileSessions.provider(settings, context)
            findings += ProviderChecks(provider: server, isOffline: isOffline).findings()
            findings += grant(provider, after: findings)
        }
        findings.append(Finding("libcrypto", libraries))
        findings += MachineChecks(provider: provider).findings()
        if isConfigured { findings += StoreChecks(provider: provider, isOffline: isOffline).findings() }
        // A signal leaves the checks incomplete, so nothing is reported.
        try Interruption.throwIfPending()
        return findings.map { $0.printed(for: context.console.line, home: context.environment["HOME"]) }
    }

    /// Returns the last line: `17 checks: 15 ok, 2 warnings, no problems`.
    static func summary(of findings: [Finding]) -> String {
        func count(_ result: Finding.Result, _ noun: String) -> String {
            let count = findings.filter { $0.result == result }.count
            return "\(count == 0 ? "no" : String(count)) \(noun)\(count == 1 ? "" : "s")"
        }
        let ok = findings.filter { $0.result == .ok }.count
        return
            "\(findings.count) checks: \(ok) ok, \(count(.warning, "warning")), \(count(.problem, "problem"))"
    }

    /// Tries a grant that needs no user, unless an earlier problem shows that it would fail.
    private func grant(_ provider: ProviderContext, after findings: [Finding]) -> [Finding] {
        let checks = ["client", "discovery", "metadata", "provider", "TLS"]
        let isBlocked = findings.contains { $0.result == .problem && checks.contains($0.check) }
        guard !isBlocked else { return [] }
        return GrantCheck(provider: provider, isOffline: isOffline).finding().map { [$0] } ?? []
    }

    /// Checks that libcrypto can be used. The requests to the provider show the same for libcurl.
    private func libraries() throws(OIDCError) -> Finding.Outcome {
        _ = try Fingerprint.of("")
        return .ok("can be used")
    }
}
