import OIDCCore

/// A host that git or docker is answered for.
struct ServedHost {
    /// As it is configured: a name or address, with a port where it is not the usual one.
    let host: String
    let username: String?

    /// What many hosts take beside a token; they look at the token alone.
    static let usualName = "oauth2"

    static func all(_ setting: Setting, in settings: Settings) throws(OIDCError) -> [ServedHost] {
        var hosts: [ServedHost] = []
        for record in settings[setting]?.array ?? [] {
            let served = ServedHost(host: record["host"]?.string ?? "", username: record["username"]?.string)
            let url = WebURL("https://\(served.host)")
            guard url != nil, url?.path == "", url?.query == nil, url?.fragment == nil else {
                throw .usage(
                    "\(setting.name): host: expected a name with or without a port, as in git.example.com, "
                        + "found \(DisplayText.quoted(served.host, limit: 80))")
            }
            guard served.username?.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) != false else {
                throw .usage("\(setting.name): username: expected a name without control characters")
            }
            hosts.append(served)
        }
        return hosts
    }

    /// The usual port may be written or left out; nothing else may differ.
    func serves(_ url: WebURL) -> Bool {
        WebURL("\(url.scheme)://\(host)")?.origin == url.origin
    }

    static func missing(_ setting: Setting, example: String) -> OIDCError {
        .usage(
            "\(setting.name) is not set",
            hint: "add to the profile: \"\(setting.name)\": [{\"host\": \"\(example)\"}]")
    }
}
