extension Hint {
    /// The JSON form in which a failure is stored for other processes: a string for text, else a code and a
    /// value. Other versions ignore codes that they do not know.
    package var stored: JSONValue {
        switch self {
        case .text(let text): .string(text)
        case .signIn: Hint.coded("sign_in")
        case .signInForScope(let scope): Hint.coded("sign_in", scope)
        case .tryAgain(let seconds): Hint.coded("try_again", seconds.map { "\($0)" })
        case .advice(let advice): Hint.coded("advice", advice.rawValue)
        case .set(let setting, let value): Hint.coded("set", setting.rawValue, detail: value)
        case .setEndpoint(let endpoint): Hint.coded("set_endpoint", endpoint.rawValue)
        case .useIssuer(let issuer): Hint.coded("use_issuer", issuer)
        case .allowAlgorithm(let name, let stage):
            Hint.coded("allow_algorithm", name, detail: stage.rawValue)
        case .checkSecret(let method, let other):
            Hint.coded("check_secret", method, detail: other)
        case .checkPath(let name): Hint.coded("check_path", name)
        case .keepSessions(let path): Hint.coded("keep_sessions", path)
        case .open(let url): Hint.coded("open", url.text)
        case .trustAuthority(let setting): Hint.coded("trust_authority", setting)
        case .checkRegistration(let url, let clientID):
            Hint.coded("check_registration", url, detail: clientID)
        case .command(let words): ["code": "command", "words": .array(words.map { .string($0) })]
        case .options(let words): ["code": "options", "words": .array(words.map { .string($0) })]
        case .joined(let hints): ["code": "joined", "hints": .array(hints.map(\.stored))]
        }
    }

    private static func coded(_ code: String, _ value: String? = nil, detail: String? = nil) -> JSONValue {
        var object = JSONObject()
        object["code"] = .string(code)
        object["value"] = value.map { .string($0) }
        object["detail"] = detail.map { .string($0) }
        return .object(object)
    }

    /// Parses the stored form; returns nil for any other JSON, or for a code of a later version.
    package init?(stored json: JSONValue) {
        if let text = json.string {
            self = .text(text)
            return
        }
        let value = json["value"]?.string
        let words = json["words"]?.array?.compactMap(\.string) ?? []
        switch json["code"]?.string {
        case "command": self = .command(words)
        case "options": self = .options(words)
        case "joined":
            let stored = json["hints"]?.array ?? []
            let hints = stored.compactMap { Hint(stored: $0) }
            guard hints.count == stored.count else { return nil }
            self = .joined(hints)
        case "sign_in": self = value.map { .signInForScope($0) } ?? .signIn
        case "try_again": self = .tryAgain(seconds: value.flatMap { Int($0) })
        case "trust_authority": self = .trustAuthority(setting: value)
        case let code?:
            guard let value, let hint = Hint(code: code, value: value, detail: json["detail"]?.string) else {
                return nil
            }
            self = hint
        case nil: return nil
        }
    }

    private init?(code: String, value: String, detail: String?) {
        let hint: Hint? =
            switch code {
            case "advice": Advice(rawValue: value).map { .advice($0) }
            case "set": Setting(rawValue: value).flatMap { setting in detail.map { .set(setting, to: $0) } }
            case "check_registration":
                detail.map { .checkRegistration(redirectURL: value, clientID: $0) }
            case "check_secret": detail.map { .checkSecret(sentBy: value, other: $0) }
            case "set_endpoint": ProviderEndpoint(rawValue: value).map { .setEndpoint($0) }
            case "use_issuer": .useIssuer(value)
            case "allow_algorithm":
                .allowAlgorithm(value, in: detail.map { OIDCError.Stage(rawValue: $0) } ?? .idToken)
            case "check_path": .checkPath(of: value)
            case "keep_sessions": .keepSessions(in: value)
            case "open": WebURL(value).map { .open($0) }
            default: nil
            }
        guard let hint else { return nil }
        self = hint
    }
}
