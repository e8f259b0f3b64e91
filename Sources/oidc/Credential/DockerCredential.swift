import OIDCCore

/// The protocol of `docker-credential-…` programs.
enum DockerCredential {
    /// The name of the program that docker runs; `-PROFILE` may follow, because docker passes no options.
    static let helper = "docker-credential-oidc"

    /// The only error that docker recognizes; it then continues without a password.
    static let notFound = "credentials not found in native keychain"
    static let limit = 65_536

    /// Formats an error on one line, as docker shows it.
    static func text(_ error: OIDCError) -> String {
        DisplayText.clean("oidc: \(Warning(error.message, hint: error.hint).commandLine)", limit: 900)
    }

    /// Returns the registry named on stdin, as a URL or as a bare host.
    static func registry(_ bytes: [UInt8]) -> (text: String, url: WebURL)? {
        guard bytes.count <= limit, let whole = String(validating: bytes, as: UTF8.self) else { return nil }
        let text = ASCII.trimmed(whole)
        let isAddress = text.hasPrefix("https://") || text.hasPrefix("http://")
        guard let url = WebURL(isAddress ? text : "https://\(text)"), url.isSecure || url.isLoopback else {
            return nil
        }
        return (text, url)
    }

    static func answer(_ text: String, _ host: CredentialHost, _ token: CredentialToken) -> JSONValue {
        [
            "ServerURL": .string(text), "Username": .string(host.username ?? CredentialHost.usualName),
            "Secret": .string(token.text.revealed),
        ]
    }

    static func list(_ hosts: [CredentialHost]) -> JSONValue {
        var list = JSONObject()
        for host in hosts { list[host.host] = .string(host.username ?? CredentialHost.usualName) }
        return .object(list)
    }
}
