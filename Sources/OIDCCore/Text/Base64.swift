/// Base64 with padding (RFC 4648 §4), as HTTP Basic authentication uses it (RFC 7617 §2).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        let unpadded = Base64URL.encode(bytes).utf8.map { character -> UInt8 in
            switch character {
            case .hyphen: .plus
            case .underscore: .slash
            default: character
            }
        }
        let padding = String(repeating: "=", count: (4 - unpadded.count % 4) % 4)
        return String(decoding: unpadded, as: UTF8.self) + padding
    }

    /// Decodes a string; returns nil unless it is padded to a multiple of four and uses only this alphabet.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count % 4 == 0, !text.utf8.contains(.hyphen), !text.utf8.contains(.underscore) else {
            return nil
        }
        var characters = Array(text.utf8)
        for _ in 0..<2 where characters.last == .equals { characters.removeLast() }
        let translated = characters.map { character -> UInt8 in
            switch character {
            case .plus: .hyphen
            case .slash: .underscore
            default: character
            }
        }
        return Base64URL.decode(String(decoding: translated, as: UTF8.self))
    }
}

/// Base64url without padding (RFC 4648 §5), as JOSE uses it (RFC 7515 §2), decoded strictly.
package enum Base64URL {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        var index = 0
        while index < bytes.count {
            let available = min(3, bytes.count - index)
            var group = UInt32(bytes[index]) << 16
            if available > 1 { group |= UInt32(bytes[index + 1]) << 8 }
            if available > 2 { group |= UInt32(bytes[index + 2]) }
            for position in 0...available {
                text.append(alphabet[Int(group >> (18 - 6 * UInt32(position))) & 63])
            }
            index += 3
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Decodes a string; returns nil for padding, white space, another alphabet, an impossible length or stray
    /// bits at the end.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(bytes: text.utf8)
    }

    static func decode(bytes text: some Collection<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count * 3 / 4)
        var buffer: UInt32 = 0
        var bits: UInt32 = 0
        for character in text {
            guard let value = value(of: character) else { return nil }
            buffer = (buffer << 6 | value) & 0xFFFF
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        let strayBits = buffer & ((1 << bits) - 1)
        return bits < 6 && strayBits == 0 ? bytes : nil
    }

    private static func value(of character: UInt8) -> UInt32? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
        case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
        case .hyphen: 62
        case .underscore: 63
        default: nil
        }
    }
}
