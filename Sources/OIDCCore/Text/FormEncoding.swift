/// `application/x-www-form-urlencoded` (RFC 6749 appendix B), for queries and bodies.
public enum FormEncoding {
    /// One name and its value.
    public struct Pair: Hashable, Sendable {
        /// The name.
        public var name: String
        /// The value.
        public var value: String

        /// Makes a pair.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Encodes pairs as `application/x-www-form-urlencoded`.
    public static func encode(_ pairs: [Pair]) -> String {
        pairs.map { "\(encode($0.name))=\(encode($0.value))" }.joined(separator: "&")
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
                encoded.append(0x25)
                encoded.append(hexDigit(byte >> 4))
                encoded.append(hexDigit(byte & 15))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Decodes the pairs of a query or body; nil for a broken escape or invalid UTF-8. A pair without `=` has
    /// an empty value; empty pairs are skipped.
    public static func decode(_ text: some StringProtocol) -> [Pair]? {
        var pairs: [Pair] = []
        for part in Array(text.utf8).split(separator: 0x26) {
            let sides = part.split(separator: 0x3D, maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decodeComponent(sides[0]),
                let value = sides.count > 1 ? decodeComponent(sides[1]) : ""
            else { return nil }
            pairs.append(Pair(name, value))
        }
        return pairs
    }

    private static func decodeComponent(_ bytes: ArraySlice<UInt8>) -> String? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        var index = bytes.startIndex
        while index < bytes.endIndex {
            switch bytes[index] {
            case 0x2B:
                decoded.append(0x20)
            case 0x25:
                guard bytes.endIndex - index > 2, let high = hexValue(bytes[index + 1]),
                    let low = hexValue(bytes[index + 2])
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
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: true
        default: false
        }
    }

    private static func hexDigit(_ value: UInt8) -> UInt8 {
        value < 10 ? 0x30 + value : 0x41 + value - 10
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x41...0x46: digit - 0x41 + 10
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }
}
