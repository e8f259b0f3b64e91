import OIDCCore

/// A host that git or docker may get a token for.
struct CredentialHost: Sendable {
    /// The configured name or IP address, with a port unless it is the default.
    let host: String
    let username: String?

    /// The user name that many hosts expect with a token; they check only the token.
    static let usualName = "oauth2"

    /// Returns whether the URL is on this host. The default port is optional.
    func serves(_ url: WebURL) -> Bool {
        WebURL("\(url.scheme)://\(host)")?.origin == url.origin
    }
}

/// The hosts of a setting.
struct CredentialHosts: Sendable {
    let setting: Setting
    let layers: SettingLayers

    func checked() throws(OIDCError) -> [CredentialHost] {
        let hosts = layers.records(setting).map {
            CredentialHost(host: $0["host"]?.string ?? "", username: $0["username"]?.string)
        }
        try layers.checking(setting) { () throws(OIDCError) in try check(hosts) }
        return hosts
    }

    private func check(_ hosts: [CredentialHost]) throws(OIDCError) {
        for served in hosts {
            let url = WebURL("https://\(served.host)")
            guard url != nil, url?.path == "", url?.query == nil, url?.fragment == nil else {
                throw .usage(
                    "\(setting.name): host: expected a name with or without a port, as in git.example.com, "
                        + "found \(DisplayText.quoted(served.host, limit: 80))")
            }
            guard served.username?.utf8.contains(where: ASCII.isControl) != true else {
                throw .usage("\(setting.name): username: expected a name without control characters")
            }
        }
    }

    /// Returns the hosts. Throws if none is set.
    func required(example: String) throws(OIDCError) -> [CredentialHost] {
        let hosts = try checked()
        guard hosts.isEmpty else { return hosts }
        throw .usage(
            layers.absence(of: setting),
            hint: .run("config set", "\(setting.name)=[{\"host\":\"\(example)\"}]"))
    }
}
