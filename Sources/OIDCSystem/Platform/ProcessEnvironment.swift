import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The environment variables as a value: what a child gets is decided by removing from it.
public enum ProcessEnvironment {
    /// The first of variables with the same name counts, as for `getenv`.
    public static var current: [String: String] {
        var variables: [String: String] = [:]
        guard var entry = oidc_environment() else { return variables }
        while let text = entry.pointee {
            let pair = String(cString: text)
            if let separator = pair.utf8.firstIndex(of: 0x3D) {
                let name = String(pair[..<separator])
                if variables[name] == nil {
                    variables[name] = String(pair[pair.utf8.index(after: separator)...])
                }
            }
            entry += 1
        }
        return variables
    }

    /// For a program that takes the place of this one; before that, nothing reads the environment again.
    static func set(_ name: String, to value: String) {
        _ = setenv(name, value, 1)
    }

    static func remove(_ name: String) {
        _ = unsetenv(name)
    }

    /// For a program that has no business with this one: without any `OIDC_` variable, secrets among them.
    public static func withoutOurs(_ environment: [String: String]) -> [String: String] {
        environment.filter { !$0.key.hasPrefix("OIDC_") }
    }

    /// For a program that a setting names: everything but the client's secret.
    public static func withoutSecret(_ environment: [String: String]) -> [String: String] {
        environment.filter { $0.key != "OIDC_CLIENT_SECRET" }
    }
}
