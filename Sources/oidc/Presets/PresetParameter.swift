import OIDCCore

/// A parameter of a preset's URLs, such as a tenant.
struct PresetParameter: Sendable {
    let name: String
    let example: String
    let check: Check
    let meaning: String
    /// The default value.
    var standard: String?
    /// Special values, with settings that replace the preset's.
    var special: KeyValuePairs<String, Preset.Templates> = [:]

    init(
        _ name: String, _ example: String, _ check: Check, _ meaning: String, standard: String? = nil,
        special: KeyValuePairs<String, Preset.Templates> = [:]
    ) {
        self.name = name
        self.example = example
        self.check = check
        self.meaning = meaning
        self.standard = standard
        self.special = special
    }

    /// The values that can be listed.
    var knownValues: [String] {
        var values = special.map(\.key)
        if case .oneOf(let words) = check { values += words }
        return values + (standard.map { values.contains($0) ? [] : [$0] } ?? [])
    }

    /// Returns why a value is not accepted; nil if it is.
    func problem(_ value: String) -> String? {
        if special.contains(where: { ExactText.isSame($0.key, value) }) || check.accepts(value) { return nil }
        let others = special.map { ", or \($0.key)" }.joined()
        return "expected \(check.expectation)\(others), found "
            + DisplayText.quoted(DisplayText.address(value), limit: 80)
    }

    /// Returns the value that was probably meant by one that is not accepted: a host without the scheme, the path or
    /// the slash at the end.
    func meant(by value: String) -> String? {
        var candidates = [value]
        if value.hasSuffix("/") { candidates.append(String(value.dropLast())) }
        if let url = WebURL(value) ?? WebURL("https://\(value)") {
            candidates += [url.hostAndPort, url.host]
        }
        return candidates.first { problem($0) == nil }
    }

    /// The rule for a parameter's values. No accepted value can change other parts of the URL.
    enum Check: Sendable {
        /// A host's name with at least one dot, without scheme and port.
        case host
        /// Letters, digits, `-` and `_`.
        case label
        /// A path segment of letters, digits, `-`, `_` and `.`.
        case segment
        case uuid
        /// The host or URL of a server: https, or http on this machine. A path is allowed, a slash at the end
        /// is not.
        case server
        /// Like `server`, but a slash at the end is allowed.
        case issuer
        /// An https URL; a path is allowed.
        case address
        case oneOf([String])

        var expectation: String {
            switch self {
            case .host: "a host name"
            case .label: "letters, digits, - and _"
            case .segment: "letters, digits, -, _ and ."
            case .uuid: "a UUID"
            case .server: "a host name, or an https URL without a slash at the end"
            case .issuer: "a host name, or an https URL"
            case .address: "an https URL"
            case .oneOf(let words): "one of \(words.joined(separator: ", "))"
            }
        }

        func accepts(_ value: String) -> Bool {
            guard !value.isEmpty, value.utf8.count <= 253 else { return false }
            switch self {
            case .host:
                let labels = value.split(separator: ".", omittingEmptySubsequences: false)
                return labels.count > 1 && labels.allSatisfy { Check.isLabel($0, allowing: "-") }
            case .label: return Check.isLabel(value, allowing: "-_")
            case .segment:
                return value.utf8.first != UInt8(ascii: ".") && Check.isLabel(value, allowing: "-_.")
            case .uuid: return Check.isUUID(value)
            case .server: return Check.isURL(completed(value), allowsLoopback: true) && !value.hasSuffix("/")
            case .issuer: return Check.isURL(completed(value), allowsLoopback: true)
            case .address: return Check.isURL(value, allowsLoopback: false)
            case .oneOf(let words): return words.contains { ExactText.isSame($0, value) }
            }
        }

        /// Returns the https URL of a server that is given by its host and an optional port; any other value
        /// unchanged.
        func completed(_ value: String) -> String {
            switch self {
            case .server, .issuer:
                let parts = value.split(separator: ":", omittingEmptySubsequences: false)
                let isPort = parts.count < 2 || UInt16(parts[1]) != nil
                return parts.count < 3 && isPort && Check.host.accepts(String(parts[0]))
                    ? "https://\(value)" : value
            default: return value
            }
        }

        private static func isLabel(_ text: some StringProtocol, allowing others: String) -> Bool {
            !text.isEmpty && text.utf8.first != UInt8(ascii: "-")
                && text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || others.utf8.contains($0) }
        }

        private static func isUUID(_ text: String) -> Bool {
            text.split(separator: "-", omittingEmptySubsequences: false).map(\.utf8.count) == [
                8, 4, 4, 4, 12,
            ]
                && text.utf8.allSatisfy { ASCII.isHexDigit($0) || $0 == UInt8(ascii: "-") }
        }

        private static func isURL(_ text: String, allowsLoopback: Bool) -> Bool {
            guard let url = WebURL(text), url.query == nil, url.fragment == nil,
                url.isSecure || (allowsLoopback && url.isLoopback)
            else { return false }
            let steps = url.path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
            return url.path.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "/-_.~".utf8.contains($0) }
                && !steps.dropLast().contains("") && !steps.contains(".") && !steps.contains("..")
        }
    }
}
