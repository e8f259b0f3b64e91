/// The members of an object, read by type. The caller chooses the error for a member of another type.
package struct JSONReader<Failure: Error> {
    package var members: JSONObject
    private let readsNullAsAbsent: Bool
    private let failure: (_ member: String, _ expected: String, _ flaw: JSONFlaw) -> Failure

    package init(
        _ members: JSONObject, readsNullAsAbsent: Bool = false,
        failure: @escaping (_ member: String, _ expected: String, _ flaw: JSONFlaw) -> Failure
    ) {
        self.members = members
        self.readsNullAsAbsent = readsNullAsAbsent
        self.failure = failure
    }

    package subscript(name: String) -> JSONValue? {
        let value = members[name]
        return readsNullAsAbsent && value == .null ? nil : value
    }

    /// Returns a member in the type that `convert` returns; nil if it is absent.
    package func value<Value>(
        _ name: String, _ expected: String, _ convert: (JSONValue) -> Value?
    ) throws(Failure) -> Value? {
        guard let found = self[name] else { return nil }
        guard let value = convert(found) else { throw failure(name, expected, .type(found)) }
        return value
    }

    package func string(_ name: String) throws(Failure) -> String? {
        try value(name, "a string", \.string)
    }

    package func bool(_ name: String) throws(Failure) -> Bool? {
        try value(name, "true or false", \.bool)
    }

    package func integer(_ name: String) throws(Failure) -> Int64? {
        try value(name, "a whole number", \.integer)
    }

    package func object(_ name: String) throws(Failure) -> JSONObject? {
        try value(name, "an object", \.object)
    }

    package func array(_ name: String) throws(Failure) -> [JSONValue]? {
        try value(name, "an array", \.array)
    }

    package func strings(_ name: String) throws(Failure) -> [String]? {
        let expected = "an array of strings"
        return try value(name, expected, \.array)?.map { item throws(Failure) in
            guard let text = item.string else { throw failure(name, expected, .element(item)) }
            return text
        }
    }

    /// Returns a string in the form that `convert` parses; nil if it is absent.
    package func text<Value>(
        _ name: String, _ expected: String, _ convert: (String) -> Value?
    ) throws(Failure) -> Value? {
        guard let text = try string(name) else { return nil }
        guard let value = convert(text) else { throw failure(name, expected, .form(text)) }
        return value
    }

    package func url(_ name: String) throws(Failure) -> WebURL? {
        try text(name, "an http(s) URL") { WebURL($0) }
    }

    /// Returns the bytes that a string encodes; nil if it is absent.
    package func bytes(_ name: String) throws(Failure) -> [UInt8]? {
        try text(name, "base64url") { Base64URL.decode($0) }
    }

    /// Returns the result of `read`, such as `string`; throws if the member is absent.
    package func required<Value>(
        _ name: String, expected: String = "a value", _ read: (String) throws(Failure) -> Value?
    ) throws(Failure) -> Value {
        guard let value = try read(name) else { throw failure(name, expected, .missing) }
        return value
    }

    /// Returns a string that is not empty.
    package func requiredString(_ name: String) throws(Failure) -> String {
        let text = try required(name, string)
        guard !text.isEmpty else { throw failure(name, "a string", .empty) }
        return text
    }

    /// Returns the bytes, at least one, that a string encodes.
    package func requiredBytes(_ name: String) throws(Failure) -> [UInt8] {
        let bytes = try required(name, bytes)
        guard !bytes.isEmpty else { throw failure(name, "base64url", .form("")) }
        return bytes
    }
}

/// The reason why a member cannot be used.
package enum JSONFlaw: Sendable {
    case missing
    case empty
    /// A value of another type.
    case type(JSONValue)
    /// An element, of another type, of an array.
    case element(JSONValue)
    /// A string in another form.
    case form(String)

    /// A short description of what was found.
    package var found: String {
        switch self {
        case .missing: "none"
        case .empty: "an empty one"
        case .type(let value): value.typeName
        case .element(let value): "an array with \(value.typeName)"
        case .form(let text): text
        }
    }
}
