/// A JSON value (RFC 8259). It keeps the order of members, and numbers as they were written.
public enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    /// The string; nil for any other type.
    public var string: String? { if case .string(let text) = self { text } else { nil } }
    /// The boolean; nil for any other type.
    public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }
    /// The array; nil for any other type.
    public var array: [JSONValue]? { if case .array(let items) = self { items } else { nil } }
    /// The object; nil for any other type.
    public var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
    /// The number; nil for any other type.
    public var number: JSONNumber? { if case .number(let number) = self { number } else { nil } }

    /// The array's strings; nil if it has other elements, or for any other type.
    public var strings: [String]? {
        guard let array, case let strings = array.compactMap(\.string), strings.count == array.count else {
            return nil
        }
        return strings
    }

    /// The whole number; nil for a fraction, a number out of range, or any other type.
    public var integer: Int64? { number?.integer }

    /// A member of an object; nil for any other type.
    public subscript(name: String) -> JSONValue? { object?[name] }

    /// The type's name, for messages about a member of an unexpected type.
    public var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Creates a string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// Creates a number.
    public init(integerLiteral value: Int64) { self = .number(JSONNumber(value)) }
    /// Creates a boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Creates an array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }

    /// Creates an object. A later member replaces an earlier one with the same name.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        var object = JSONObject()
        for (name, value) in elements { object[name] = value }
        self = .object(object)
    }

    /// Creates a number.
    public init(_ number: Int64) { self = .number(JSONNumber(number)) }

    /// Creates a string, or null for nil.
    public init(_ text: String?) { self = text.map { .string($0) } ?? .null }
}

/// A number as it was written, so 1e999 and integers beyond 64 bits neither crash nor are silently rounded.
public struct JSONNumber: Hashable, Sendable {
    /// The number as it was written.
    public let text: String

    /// Creates a number.
    public init(_ value: Int64) { text = String(value) }

    /// Creates a number from text that was already checked against the grammar of RFC 8259 §6.
    init(validated text: String) { self.text = text }

    /// The value if it is whole and fits 64 bits, in any notation (`3600`, `3600.0`, `3.6e3`).
    public var integer: Int64? {
        if let exact = Int64(text) { return exact }
        guard let approximate = Double(text), approximate.rounded(.towardZero) == approximate,
            abs(approximate) <= 9_007_199_254_740_992
        else { return nil }
        return Int64(exactly: approximate)
    }

    /// The value rounded down, for times with a fraction (RFC 7519 §2); nil if it does not fit 64 bits.
    public var wholePart: Int64? {
        if let exact = Int64(text) { return exact }
        guard let approximate = Double(text), abs(approximate) <= 9_007_199_254_740_992 else { return nil }
        return Int64(exactly: approximate.rounded(.down))
    }
}

/// The members of an object in their order, with unique names.
public struct JSONObject: Hashable, Sendable {
    /// A name and its value.
    public struct Member: Hashable, Sendable {
        /// The name.
        public var name: String
        /// The value.
        public var value: JSONValue
    }

    /// The members in their order.
    public private(set) var members: [Member] = []

    /// Creates an empty object.
    public init() {}

    /// Creates an object from members that were already checked for duplicates.
    init(unique members: [Member]) { self.members = members }

    /// Whether the object has no members.
    public var isEmpty: Bool { members.isEmpty }
    /// The names in their order.
    public var names: [String] { members.map(\.name) }

    /// The value of a member. Setting nil removes the member; setting a value keeps the member's position.
    public subscript(name: String) -> JSONValue? {
        get { index(of: name).map { members[$0].value } }
        set {
            switch (index(of: name), newValue) {
            case (let index?, let value?): members[index].value = value
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(Member(name: name, value: value))
            case (nil, nil): break
            }
        }
    }

    /// Returns the position of a member. Compares names in place, without a copy of each member's value.
    private func index(of name: String) -> Int? {
        members.indices.first { ExactText.isSame(members[$0].name, name) }
    }
}
