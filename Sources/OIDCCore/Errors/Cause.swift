extension OIDCError {
    /// The broken rule.
    package enum Cause: Hashable, Sendable {
        /// A member of an answer, or a claim of a token, is missing or has a wrong value.
        case mismatch(member: String, expected: String, found: String)
        /// No key verifies a token's signature.
        case signature
    }

    /// The member of an answer, or the claim of a token, that the error is about, as on the wire; nil if there is none.
    public var member: String? { mismatch?.member }
    /// The expected value of the member, safe to print.
    public var expected: String? { mismatch?.expected }
    /// The value that was found instead, safe to print.
    public var found: String? { mismatch?.found }

    private var mismatch: (member: String, expected: String, found: String)? {
        if case .mismatch(let member, let expected, let found) = cause {
            (member, expected, found)
        } else {
            nil
        }
    }

    /// Creates an error. Its message, unless given, describes the cause: `id_token: aud: expected "app",
    /// found "other"`.
    package init(
        _ kind: Kind, _ stage: Stage, _ cause: Cause, message: String? = nil, hint: Hint? = nil
    ) {
        self.init(kind, "\(stage.title): \(message ?? cause.message)", hint: hint, stage: stage, cause: cause)
    }
}

extension OIDCError.Cause {
    package var message: String {
        switch self {
        case .mismatch(let member, let expected, let found):
            "\(member): expected \(expected), found \(found.isEmpty ? "an empty one" : found)"
        case .signature: "signature: no key verifies it"
        }
    }

    /// The JSON form in which a failure is stored for other processes.
    var stored: JSONValue {
        switch self {
        case .mismatch(let member, let expected, let found):
            ["member": .string(member), "expected": .string(expected), "found": .string(found)]
        case .signature: "signature"
        }
    }

    /// Parses the stored form; returns nil for any other JSON.
    init?(stored json: JSONValue) {
        if json.string == "signature" {
            self = .signature
            return
        }
        guard let member = json["member"]?.string, let expected = json["expected"]?.string,
            let found = json["found"]?.string
        else { return nil }
        self = .mismatch(member: member, expected: expected, found: found)
    }
}
