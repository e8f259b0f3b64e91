public import OIDCCore

extension JSONObject {
    /// Decodes the members as a type of the program, such as the claims of a token or of UserInfo. Throws a
    /// `DecodingError` with the path of the wrong member.
    public func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try Value(from: ClaimsDecoder(value: .object(self), codingPath: []))
    }
}

/// Decodes a JSON value that was already parsed.
private struct ClaimsDecoder: Decoder {
    let value: JSONValue
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let object = value.object else { throw mismatch([String: Any].self, "an object") }
        return KeyedDecodingContainer(Members(object: object, decoder: self))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let items = value.array else { throw mismatch([Any].self, "an array") }
        return Items(items: items, decoder: self)
    }

    func singleValueContainer() throws -> any SingleValueDecodingContainer { SingleValue(decoder: self) }

    /// Returns the decoder of a value below this one.
    func below(_ value: JSONValue, _ key: any CodingKey) -> ClaimsDecoder {
        ClaimsDecoder(value: value, codingPath: codingPath + [key])
    }

    /// Decodes the value. A number must fit its type.
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let found: Any? =
            switch type {
            case is String.Type: value.string
            case is Bool.Type: value.bool
            case is Double.Type: value.number.flatMap { Double($0.text) }
            case is Float.Type: value.number.flatMap { Float($0.text) }
            case let integer as any FixedWidthInteger.Type: whole(integer)
            default: try Value(from: self)
            }
        guard let result = found as? Value else { throw mismatch(type, "a value of type \(type)") }
        return result
    }

    private func whole<Number: FixedWidthInteger>(_ type: Number.Type) -> Number? {
        guard let number = value.number else { return nil }
        return Number(number.text) ?? number.integer.flatMap { Number(exactly: $0) }
    }

    private func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError {
        .typeMismatch(
            type,
            DecodingError.Context(
                codingPath: codingPath, debugDescription: "expected \(expected), found \(value.typeName)"))
    }
}

/// A position in an array, as a key of a coding path.
private struct Position: CodingKey {
    let index: Int
    var intValue: Int? { index }
    var stringValue: String { "Index \(index)" }

    init(_ index: Int) { self.index = index }
    init?(intValue: Int) { self.init(intValue) }
    init?(stringValue: String) { nil }
}

/// The members of an object.
private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let object: JSONObject
    let decoder: ClaimsDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { object.names.compactMap { Key(stringValue: $0) } }
    func contains(_ key: Key) -> Bool { object[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try member(key).value == .null }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key).decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { decoder }
    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) }

    private func member(_ key: Key) throws -> ClaimsDecoder {
        guard let value = object[key.stringValue] else {
            throw DecodingError.keyNotFound(
                key,
                DecodingError.Context(codingPath: codingPath, debugDescription: "the member is missing"))
        }
        return decoder.below(value, key)
    }
}

/// The elements of an array.
private struct Items: UnkeyedDecodingContainer {
    let items: [JSONValue]
    let decoder: ClaimsDecoder
    private(set) var currentIndex = 0

    init(items: [JSONValue], decoder: ClaimsDecoder) {
        self.items = items
        self.decoder = decoder
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { items.count }
    var isAtEnd: Bool { currentIndex == items.count }

    mutating func decodeNil() throws -> Bool {
        guard try current().value == .null else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try current().decode(type)
        currentIndex += 1
        return value
    }

    mutating func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type
    ) throws -> KeyedDecodingContainer<Nested> {
        let container = try current().container(keyedBy: type)
        currentIndex += 1
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try current().unkeyedContainer()
        currentIndex += 1
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let element = try current()
        currentIndex += 1
        return element
    }

    private func current() throws -> ClaimsDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                Any.self,
                DecodingError.Context(
                    codingPath: codingPath, debugDescription: "the array has no more elements"))
        }
        return decoder.below(items[currentIndex], Position(currentIndex))
    }
}

/// One value.
private struct SingleValue: SingleValueDecodingContainer {
    let decoder: ClaimsDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }
    func decodeNil() -> Bool { decoder.value == .null }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.decode(type) }
}
