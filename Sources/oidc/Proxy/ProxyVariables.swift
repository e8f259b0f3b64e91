import OIDCCore
import Posix

/// The variables that make callers use a network proxy. Such a proxy would see the secret in our URLs, and
/// content that is meant for https.
enum ProxyVariables {
    private static let proxies = [
        "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "https_proxy", "HTTPS_PROXY",
    ]

    /// Returns `no_proxy` and `NO_PROXY` with this machine's IP address added, if a proxy is set and they
    /// lack it.
    static func exceptions(in environment: Variables) -> Variables {
        var exceptions: Variables = [:]
        guard proxies.contains(where: { environment[$0]?.isEmpty == false }) else { return exceptions }
        for (name, other) in [("no_proxy", "NO_PROXY"), ("NO_PROXY", "no_proxy")] {
            let own = environment[name] ?? ""
            let value = own.isEmpty ? environment[other] ?? "" : own
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
            let name = proxies.first(where: { environment[$0]?.isEmpty == false })
        else { return nil }
        return "\(name) is set: a caller that uses it sends these URLs there, with their secret, "
            + "unless no_proxy has 127.0.0.1"
    }
}
