import CommandLineKit
import OIDCCore
import OIDCCrypto
import Posix

/// A setting: its name in files, `OIDC_<NAME>` variables and `--set`, and its kind of value.
struct Setting: Hashable, Sendable {
    let name: String
    let kind: SettingKind
    let reach: Reach
    let summary: String

    /// The servers for which the value of a setting may be used.
    enum Reach: Sendable {
        /// The value is for every server, also one that the settings do not name.
        case machine
        /// The value is for every server of the settings.
        case anyone
        /// The value is part of a sign-in's request. A profile's value is used only for the profile's own server.
        case asked
        /// The value says what a token is for: as with `asked`, but it is not used for the token of a resource outside the
        /// origins of the settings.
        case audience
        /// The value names where the tokens of one server go.
        case tokens
        /// The value is for one server only.
        case server
        /// The value is sent to one server and its endpoints only, for any client.
        case request
        /// The value is for one server, its endpoints and one client only.
        case client
    }

    /// Whether the value is for one server, one of its clients, or its tokens.
    var isForOneServer: Bool {
        switch reach {
        case .machine, .anyone, .asked, .audience: false
        case .server, .request, .client, .tokens: true
        }
    }

    init(_ name: String, _ kind: SettingKind, _ summary: String, reach: Reach = .anyone) {
        self.name = name
        self.kind = kind
        self.reach = reach
        self.summary = summary
    }

    var variable: String { "OIDC_" + String(decoding: name.utf8.map { ASCII.uppercased($0) }, as: UTF8.self) }

    /// Returns the setting that a variable sets. Names with lowercase letters are ignored.
    static func ofVariable(_ name: String) -> Setting? {
        guard !name.utf8.contains(where: ASCII.isLowercase) else { return nil }
        return named(ASCII.lowercased(name.dropFirst(5)))
    }

    static func == (left: Setting, right: Setting) -> Bool { left.name == right.name }
    func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The kind of value that a setting holds, parsed from JSON or from a word.
enum SettingKind: Sendable {
    case text
    /// A secret, never printed.
    case secret
    case choice([String])
    case url
    case path
    case integer(ClosedRange<Int64>)
    case flag
    /// A program and its arguments, run without a shell.
    case command
    /// Resource indicators (RFC 8707 §2).
    case uris
    /// Origins: scheme, host and port.
    case origins
    case ports
    case scope
    /// Names and their values, added to a request.
    case parameters
    /// Objects with string members; those in `required` must be present.
    case records(required: [String], optional: [String])
    /// Any array, sent as is (RFC 9396).
    case array

    /// The accepted values, if they can be listed.
    var choices: [String] {
        switch self {
        case .choice(let words): words
        case .flag: ["true", "false"]
        default: []
        }
    }

    var isSecret: Bool { if case .secret = self { true } else { false } }

    /// Whether a value may hold a secret: extra parameters and commands may, too.
    var mayBeSecret: Bool {
        switch self {
        case .secret, .parameters, .command: true
        default: false
        }
    }

    /// The text after "expected" in messages.
    var expectation: String {
        switch self {
        case .text, .secret: "a string"
        case .choice(let words): "one of \(words.joined(separator: ", "))"
        case .url: "an http(s) URL"
        case .path: "a file path"
        case .integer(let range): "a whole number from \(range.lowerBound) to \(range.upperBound)"
        case .flag: "true or false"
        case .command: "an array of strings, as in [\"program\", \"argument\"]"
        case .uris: "an absolute URI without a fragment, or an array of them"
        case .origins: "an https origin, as in https://api.example.com, or an array of them"
        case .ports: "an array of ports"
        case .scope: "scopes separated by spaces"
        case .parameters: "an object with string values"
        case .records(let required, let optional):
            "an array of objects with \(required.joined(separator: ", ")) and optionally "
                + optional.joined(separator: ", ")
        case .array: "an array"
        }
    }

    /// Returns the value in its canonical form, or nil if the setting does not accept it.
    func normalized(_ value: JSONValue) -> JSONValue? {
        switch self {
        case .text:
            // Hints and lists repeat the value, which must stay the same when it is pasted.
            guard let text = value.string, !text.isEmpty, DisplayText.isClean(text) else { return nil }
            return value
        case .secret, .path: return value.string.flatMap { $0.isEmpty ? nil : value }
        case .choice(let words): return value.string.flatMap { words.contains($0) ? value : nil }
        case .url: return value.string.flatMap(WebURL.init).map { .string($0.text) }
        case .integer(let range): return value.integer.flatMap { range.contains($0) ? value : nil }
        case .flag: return value.bool.map { .bool($0) }
        case .command: return SettingKind.texts(value).flatMap { $0.first?.isEmpty == false ? value : nil }
        case .uris:
            let texts = value.string.map { [$0] } ?? SettingKind.texts(value)
            return texts.flatMap {
                $0.allSatisfy(ResourceIndicator.accepts) ? .array($0.map { .string($0) }) : nil
            }
        case .origins:
            let texts = value.string.map { [$0] } ?? SettingKind.texts(value)
            let origins = texts?.compactMap { SettingKind.secureOrigin($0) }
            return origins.flatMap {
                $0.isEmpty || $0.count != texts?.count ? nil : .array($0.map { .string($0) })
            }
        case .ports:
            let ports = (value.array ?? [value]).map(\.integer)
            let isFit = ports.allSatisfy { port in port.map { (1...65_535).contains($0) } ?? false }
            return isFit && !ports.isEmpty ? .array(ports.compactMap { $0.map { JSONValue($0) } }) : nil
        case .scope:
            // A scope may contain a comma, but one beside `openid` means that a list was separated by commas.
            guard let text = value.string ?? SettingKind.texts(value)?.joined(separator: " "),
                Scope(text).isWellFormed, !text.includes("openid,"), !text.includes(",openid")
            else { return nil }
            return .string(Scope(text).text)
        case .parameters: return SettingKind.parameters(value)
        case .records(let required, let optional):
            return SettingKind.isRecords(value, required, optional) ? value : nil
        case .array: return value.array.map { _ in value }
        }
    }

    /// Parses a variable or the right side of `--set key=value`. Lists and objects are JSON.
    func parsed(_ word: String) -> JSONValue? {
        switch self {
        case .text, .secret, .choice, .url, .path, .scope: return normalized(.string(word))
        case .integer: return Int64(word).flatMap { normalized(JSONValue($0)) }
        case .flag: return word == "true" || word == "false" ? .bool(word == "true") : nil
        case .uris where word.first != "[", .origins where word.first != "[":
            return normalized(.string(word))
        case .command, .uris, .origins, .ports, .parameters, .records, .array:
            return (try? JSONValue(parsing: word)).flatMap { normalized($0) }
        }
    }

    /// Returns the JSON error of a value that starts with `[` or `{`; nil for any other value.
    func mistake(in word: String) -> String? {
        switch self {
        case .command, .uris, .origins, .ports, .parameters, .records, .array: break
        default: return nil
        }
        guard let first = word.utf8.first, first == .leftBracket || first == .leftBrace else { return nil }
        do {
            _ = try JSONValue(parsing: word)
            return nil
        } catch {
            return error.inFile
        }
    }

    /// Returns the value with the path of its file or program resolved in a directory. A program without a
    /// slash is found in PATH, and `~/` is the home directory.
    func resolved(_ value: JSONValue, in directory: String) -> JSONValue {
        func absolute(_ path: String) -> JSONValue {
            .string(path.hasPrefix("~/") ? path : FilePath.join(directory, path))
        }
        switch self {
        case .path: return value.string.map(absolute) ?? value
        case .command:
            guard let words = value.array, let program = words.first?.string, program.contains("/") else {
                return value
            }
            return .array([absolute(program)] + words.dropFirst())
        default: return value
        }
    }

    /// Returns the first unknown member of the records; the value may be an array or its JSON text.
    func strayMember(of value: JSONValue) -> String? {
        guard case .records(let required, let optional) = self else { return nil }
        let records = value.string.flatMap { try? JSONValue(parsing: $0) } ?? value
        return records.array?.lazy.flatMap { $0.object?.names ?? [] }
            .first { !(required + optional).contains($0) }
    }

    private static func texts(_ value: JSONValue) -> [String]? {
        guard let items = value.array else { return nil }
        let texts = items.compactMap(\.string)
        return texts.count == items.count ? texts : nil
    }

    private static func secureOrigin(_ text: String) -> String? {
        guard let url = WebURL(text), url.isSecure, ["", "/"].contains(url.path), url.query == nil,
            url.fragment == nil
        else { return nil }
        return url.origin
    }

    private static func parameters(_ value: JSONValue) -> JSONValue? {
        guard let members = value.object?.members else { return nil }
        var texts = JSONObject()
        for member in members {
            switch member.value {
            case .string: texts[member.name] = member.value
            case .number(let number): texts[member.name] = .string(number.text)
            case .bool(let flag): texts[member.name] = .string(flag ? "true" : "false")
            default: return nil
            }
        }
        return .object(texts)
    }

    private static func isRecords(_ value: JSONValue, _ required: [String], _ optional: [String]) -> Bool {
        guard let items = value.array else { return false }
        return items.allSatisfy { item in
            guard let object = item.object else { return false }
            return required.allSatisfy { object[$0]?.string?.isEmpty == false }
                && object.members.allSatisfy {
                    $0.value.string != nil && (required + optional).contains($0.name)
                }
        }
    }
}

/// Related settings and the known prompts.
extension Setting {
    /// The known prompts (OpenID Connect Core §3.1.2.1, Initiating User Registration §4).
    static let promptList = "none, login, consent, select_account, create"
    static let prompts = promptList.pieces(between: ", ").map(String.init)

    /// Checks the value of `--prompt`, where an unknown word is probably a typing error. A prompt that only
    /// one provider knows can be sent with the setting.
    static func checkPrompt(_ value: String?) throws(UsageError) {
        guard let value, value != "off" else { return }
        for word in value.split(separator: " ").map(String.init) where !prompts.contains(word) {
            var error = UsageError.unaccepted(
                word, for: "--prompt", expected: "\(promptList) or off", prompts)
            error.hint = .text("if the provider has a prompt of its own, --set prompt=VALUE")
            throw error
        }
    }

    /// The settings that name the source of a machine's identity token.
    static let subjectSources: [Setting] = [.subjectTokenSource, .subjectTokenFile, .subjectTokenEnv]

    /// The settings that together define the redirect URL.
    static let redirectURLs: [Setting] = [.redirectURI, .port, .redirectPorts]

    /// The settings that together define the redirect URL and how the redirect reaches the listener.
    static let redirects: [Setting] =
        redirectURLs + [.callbackListen, .callbackPath, .callbackCertificate, .callbackKey]

    /// The names of signature algorithms. `Ed25519` is the newer name of `EdDSA` with that curve (RFC 9864 §2.2).
    static let signatureAlgorithms = SignatureAlgorithm.allCases.map(\.rawValue) + ["Ed25519"]

    /// The settings for the client certificate.
    static let certificates: [Setting] = [
        .tlsClientCertificate, .tlsClientKey, .privateKeyPassphraseFile, .tlsClientCertificateFor,
    ]

    /// The settings for the client secret.
    static let clientSecrets: [Setting] = [.clientSecret, .clientSecretFile, .clientSecretCommand]

    /// Returns the settings whose secret, or token of the machine's identity, a grant presents to the server, which could
    /// then use it elsewhere.
    static func presented(by grant: GrantType) -> [Setting] {
        clientSecrets + [.clientAssertionSource] + (grant.needsUser ? [] : subjectSources)
    }

    /// Returns the same with the certificate. It is useless to the server, as the key stays here, but says who the client is.
    static func identifying(by grant: GrantType) -> [Setting] {
        presented(by: grant) + [.tlsClientCertificate]
    }
}
