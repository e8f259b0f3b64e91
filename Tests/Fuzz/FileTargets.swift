import CommandLineKit
@testable import OIDCCore
@testable import CurlHTTP
@testable import OIDCSessions
@testable import OIDCSignIn
@testable import Posix
@testable import oidc

@Sendable func fuzzConfig(_ bytes: [UInt8]) {
    let read = outcome { () throws(OIDCError) in
        try ConfigurationFile(parsing: bytes, path: "config.json")
    }
    guard let file = read else { return }
    _ = outcome { () throws(OIDCError) in try file.profile(named: nil) }
}

@Sendable func fuzzSession(_ bytes: [UInt8]) {
    _ = try? Session(stored: bytes)
}

/// A configuration file, or settings as variables and options give them, `name=value` a line.
@Sendable func fuzzSettings(_ bytes: [UInt8]) {
    var environment: Variables = [:]
    var options: [SettingLayers.Entry] = []
    var file: ConfigurationFile?
    if bytes.first == 0x7B {
        file = outcome { () throws(OIDCError) in try ConfigurationFile(parsing: bytes, path: "config.json") }
        guard file != nil else { return }
    } else {
        for line in text(bytes).split(separator: "\n").prefix(4).map(String.init) {
            let sides = line.split(separator: "=", maxSplits: 1).map(String.init)
            if sides.count == 2, let setting = Setting.named(sides[0]) {
                environment[setting.variable] = sides[1]
            }
            guard let entry = outcome({ () throws(OIDCError) in try SettingsLoader.assignment(line) }) else {
                continue
            }
            if case .secret = entry.setting.kind { require(false, "a secret from the command line") }
            options.append(entry)
        }
    }
    let loader = SettingsLoader(environment: environment, common: CommonOptions())
    for given in [options, []] {
        let loaded = outcome { () throws(OIDCError) in
            try loader.load(given, from: file, in: "config.json")
        }
        guard let settings = loaded else { continue }
        requireSound(settings)
    }
}

private func requireSound(_ settings: Settings) {
    for entry in settings.layers.entries {
        let again = entry.setting.kind.normalized(entry.value)
        require(again?.bytes == entry.value.bytes, "\(entry.setting.name) is not in its one form")
        if case .url = entry.setting.kind {
            require(entry.value.string.flatMap(WebURL.init) != nil, "\(entry.setting.name) is not a URL")
        }
    }
    for setting in [settings.tools.gitHosts, settings.tools.dockerRegistries] {
        let hosts = outcome { () throws(OIDCError) in try setting.checked() }
        for host in hosts ?? [] {
            guard let url = WebURL("https://\(host.host)") else { return require(false, "no host") }
            require(host.serves(url), "a host that is not served")
        }
    }
    _ = outcome { () throws(OIDCError) in try RedirectAddress(settings.signIn.redirectURI) }
}

/// What a credential helper says, a sealed session, and an answer in the cache.
@Sendable func fuzzHelper(_ bytes: [UInt8]) {
    if let entry = CredentialHelper.Entry(answer: bytes, to: issuer) {
        let again = CredentialHelper.Entry(answer: entry.json.bytes, to: issuer)
        require(again == entry && entry.serverURL == issuer, "writing is not undone")
    }
    if let sealed = try? EncryptedSession(stored: bytes) {
        let again = try? EncryptedSession(stored: sealed.json.bytes)
        require(again == sealed, "writing is not undone")
        require((try? sealed.open(with: zeros(32))) == nil, "opened with another key")
    }
    guard let url = WebURL(issuer), let body = MetadataCache.body(of: bytes, for: url, at: now),
        let json = try? JSONValue(parsing: bytes)
    else { return }
    require(json["url"]?.string == issuer && json["body"]?.string == text(body), "another answer")
    let times = ["fetched_at", "fresh_until"].map { json[$0]?.integer ?? 0 }
    require(times[0] <= now.secondsSinceEpoch && now.secondsSinceEpoch < times[1], "kept for too long")
    require(times[1] - times[0] <= HTTPCacheLifetime.longest, "kept for too long")
}

/// What git, docker and kubectl ask.
@Sendable func fuzzCallers(_ bytes: [UInt8]) {
    if let question = outcome({ () throws(OIDCError) in try GitCredential(parsing: bytes) }) {
        let names = [question.username, question.password?.revealed].compactMap { $0 }
        require(!names.contains { $0.utf8.contains { [0x00, 0x0A, 0x0D].contains($0) } }, "a line in a name")
        if let url = question.url {
            require(url.isSecure || url.isLoopback, "a token over plain http")
            require(url.path.isEmpty && url.query == nil, "more than a host")
            let host = CredentialHost(host: "git.example", username: nil)
            let isServed = question.served(by: [host]) != nil
            require(!isServed || ["https://git.example"].contains(url.origin), "another host is served")
        }
    }
    if let registry = DockerCredential.registry(bytes) {
        require(registry.url.isSecure || registry.url.isLoopback, "a token over plain http")
    }
    let kubernetes = outcome { () throws(OIDCError) in try KubernetesCredential(executionInfo: text(bytes)) }
    if let kubernetes {
        let known = ["v1", "v1beta1"].map { "\(KubernetesCredential.group)/\($0)" }
        require(known.contains(kubernetes.apiVersion), "a version that is not known")
    }
}

/// What AWS answers.
@Sendable func fuzzXML(_ bytes: [UInt8]) {
    let answer = response(bytes)
    if let read = try? XMLAnswer(parsing: answer.body) {
        require(Set(read.elements.map(\.path)).count == read.elements.count, "an element is repeated")
        for element in read.elements {
            let again = try? XMLAnswer(parsing: Array(written(element).utf8))
            require(again?[element.path] == element.text, "writing is not undone")
        }
    }
    let settings = SettingLayers(
        profile: nil,
        entries: [
            SettingLayers.Entry(
                setting: .awsRoleARN, value: "arn:aws:iam::1:role/a", origin: .option("--set"))
        ])
    let read = outcome { () throws(OIDCError) in
        let role = try AWSCredential.Role(ToolSettings(layers: settings))
        return try AWSCredential.call(role, Redacted(secret)).read(answer)
    }
    guard let read else { return }
    let members = [read.accessKeyID, read.secretAccessKey.revealed, read.sessionToken.revealed]
    require(answer.isSuccess && members.allSatisfy(isVisibleASCII), "keys that are none")
}

/// Writes line ends and tabs unchanged, as an entity may not stand for them, and everything else as entities.
private func written(_ element: XMLAnswer.Element) -> String {
    let text = element.text.unicodeScalars.map { $0.value < 0x20 ? "\($0)" : "&#\($0.value);" }.joined()
    return element.path.split(separator: "/").reversed().reduce(text) { "<\($1)>\($0)</\($1)>" }
}
