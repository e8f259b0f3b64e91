import OIDCCore
import Posix

/// The variables that make callers use a network proxy. Such a proxy would see the secret in our URLs, and
/// content that is meant for https.
enum ProxyVariables {
    private static let proxies = ["http_proxy", "all_proxy", "https_proxy"]

    /// Returns the first variable that is set and has one of the names, in any case, as Python's urllib reads it.
    private static func first(of names: [String], in environment: Variables) -> String? {
        environment.names().first {
            names.contains(ASCII.lowercased($0)) && environment[$0]?.isEmpty == false
        }
    }

    /// Returns `no_proxy` and `NO_PROXY` with this machine's IP address added, if a proxy is set and they
    /// lack it.
    static func exceptions(in environment: Variables) -> Variables {
        var exceptions: Variables = [:]
        guard first(of: proxies, in: environment) != nil else { return exceptions }
        let other = first(of: ["no_proxy"], in: environment).flatMap { environment[$0] } ?? ""
        for name in ["no_proxy", "NO_PROXY"] {
            let own = environment[name] ?? ""
            let value = own.isEmpty ? other : own
            let hosts = value.pieces(between: ",").map { ASCII.trimmed(String($0)) }
            let isCovered = hosts == ["*"] || hosts.contains("127.0.0.1")
            if isCovered, !own.isEmpty { continue }
            exceptions[name] = isCovered ? value : value.isEmpty ? "127.0.0.1" : "\(value),127.0.0.1"
        }
        return exceptions
    }

    /// Returns the warning about a network proxy that callers with the same environment would use.
    static func warning(in environment: Variables) -> String? {
        guard !exceptions(in: environment).names().isEmpty,
            let name = first(of: proxies, in: environment)
        else { return nil }
        return "\(name) is set: a caller that uses it sends these URLs there, with their secret, "
            + "unless no_proxy has 127.0.0.1"
    }
}
