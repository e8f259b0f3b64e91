import CommandLineKit
import OIDCCore
import Posix

struct DoctorCommand: RunnableCommand {
    static let name = "doctor"
    static let summary = "Diagnose configuration and connection problems"
    static let declaration = Declaration<DoctorCommand>(
        discussion: """
            Checks the configuration, the provider, the network, this machine and the store. Prints one line for \
            each check (ok, warning or problem) with a hint, and a summary. Prints no secrets, so it is safe to \
            share.

            For the grants client_credentials and jwt_bearer it requests one token, which is not stored.
            """,
        examples: [
            Example("oidc doctor", "the default profile"),
            Example("oidc doctor -p work -o json", "another profile, as JSON"),
            Example("oidc doctor --offline", "only what can be checked without the network"),
        ],
        exitCodes: [ExitCode("0", "no problem"), ExitCode("1", "a problem")],
        options: [
            .flag(\.isOffline, "--offline", "send nothing to the provider or a shared store"),
            .group(\.options), .group(\.common),
        ])

    var isOffline = false
    var options = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let findings = try Doctor(context: context, options: options, isOffline: isOffline).findings()
        if context.console.isJSON {
            try context.console.output(.array(findings.map(\.json)))
            guard findings.allSatisfy({ $0.result != .problem }) else {
                throw OIDCError(.failed, Doctor.summary(of: findings))
            }
        } else {
            let style = TextStyle(isOn: Terminal.usesColor(.standardOutput, environment: context.environment))
            let width = findings.map(\.check.utf8.count).max() ?? 0
            for finding in findings {
                let line = finding.text(width: width, style)
                try context.console.report(Terminal.text(line, environment: context.environment))
            }
            try context.console.report("\n" + Doctor.summary(of: findings))
        }
        return findings.contains { $0.result == .problem } ? 1 : 0
    }
}
