import CommandLineKit
import OIDCCore
import Posix

/// The `OIDC_…` variables that this program does not read. They may be another program's, or typing mistakes.
struct StrayVariables {
    let names: [String]

    private static let others = [
        "OIDC_PROFILE", "OIDC_CONFIG", "OIDC_STATE_DIR", "OIDC_CACHE_DIR", "OIDC_ACCESS_TOKEN",
        "OIDC_ID_TOKEN", LentSocket.variable,
    ]
    /// The variable of the commands that `oidc exec --proxy` starts, which may call this program.
    private static let proxy = "OIDC_PROXY_URL"

    private static var known: [String] { Setting.all.map(\.variable) + others }

    init(_ environment: Variables) {
        names = environment.names(startingWith: "OIDC_")
            .filter { !$0.hasPrefix(Self.proxy) && !Self.known.contains($0) }.sorted()
    }

    /// The variables whose names are close to a known one, which is compared without `OIDC_`.
    var meant: [(name: String, nearest: String)] {
        let known = Self.known.map { String($0.dropFirst(5)) }
        return names.compactMap { name in
            Nearest.match(String(name.dropFirst(5)), among: known).map { (name, "OIDC_\($0)") }
        }
    }

    /// Warns of likely typing mistakes, but only on a terminal: a job's variables may be for other programs.
    static func warn(_ context: CommandContext) {
        guard Terminal.isTerminal(.standardError) else { return }
        for (name, nearest) in StrayVariables(context.environment).meant {
            context.console.warn("\(DisplayText.clean(name)) is not read, did you mean \(nearest)?")
        }
    }
}
