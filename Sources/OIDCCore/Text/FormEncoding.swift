/// `application/x-www-form-urlencoded` (RFC 6749 appendix B), for queries and bodies.
public enum FormEncoding {
    /// One name and its value.
    public struct Pair: Hashable, Sendable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a pair.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Encodes pairs as `application/x-www-form-urlencoded`.
    public static func encode(_ pairs: [Pair]) -> String {
        var text = ""
        for pair in pairs {
            if !text.isEmpty { text += "&" }
            text += "\(encode(pair.name))=\(encode(pair.value))"
        }
        return text
    }

    /// Escapes everything but the unreserved characters of RFC 3986 §2.3. A space becomes `%20`, which is
    /// valid in both queries and form bodies.
    public static func encode(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isUnreserved(byte) {
                encoded.append(byte)
            } else {
                ASCII.appendEscape(of: byte, to: &encoded)
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes the pairs of a query or body; returns nil for a broken escape or invalid UTF-8. A pair without
    /// `=` has an empty value; empty pairs are skipped.
    public static func decode(_ text: some StringProtocol) -> [Pair]? {
        var pairs: [Pair] = []
        for part in Array(text.utf8).split(separator: .ampersand) {
            let sides = part.split(separator: .equals, maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decodeComponent(sides[0]),
                let value = sides.count > 1 ? decodeComponent(sides[1]) : ""
            else { return nil }
            pairs.append(Pair(name, value))
        }
        return pairs
    }

    /// Decodes the escapes of a name or value; nil for a broken one or invalid UTF-8.
    package static func decodeComponent(_ bytes: ArraySlice<UInt8>, plusIsSpace: Bool = true) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            switch bytes[index] {
            case .plus where plusIsSpace:
                decoded.append(.space)
            case .percent:
                guard bytes.endIndex - index > 2, let high = ASCII.hexValue(bytes[index + 1]),
                    let low = ASCII.hexValue(bytes[index + 2])
                else { return nil }
                decoded.append(high << 4 | low)
                index += 2
            case let byte:
                decoded.append(byte)
            }
            index += 1
        }
        return String(validating: decoded, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case .hyphen, .period, .underscore, .tilde: true
        default: ASCII.isAlphanumeric(byte)
        }
    }
}
