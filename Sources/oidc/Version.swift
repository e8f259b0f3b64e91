import CPlatform

/// What `oidc --version` prints.
enum Version {
    static let number = "0.1.0"

    static var commit: String { String(cString: oidc_build_commit()) }
    static var text: String { commit.isEmpty ? "oidc \(number)" : "oidc \(number) (\(commit))" }
}
