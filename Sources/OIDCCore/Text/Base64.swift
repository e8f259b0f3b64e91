/// RFC 4648 §4 with padding, as HTTP Basic authentication wants it (RFC 7617 §2).
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        let unpadded = Base64URL.encode(bytes).utf8.map { character -> UInt8 in
            switch character {
            case 0x2D: 0x2B
            case 0x5F: 0x2F
            default: character
            }
        }
        let padding = String(repeating: "=", count: (4 - unpadded.count % 4) % 4)
        return String(decoding: unpadded, as: UTF8.self) + padding
    }

    /// Nil unless the text is padded to a multiple of four and uses this alphabet alone.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard text.utf8.count % 4 == 0, !text.utf8.contains(0x2D), !text.utf8.contains(0x5F) else {
            return nil
        }
        var characters = Array(text.utf8)
        for _ in 0..<2 where characters.last == 0x3D { characters.removeLast() }
        let translated = characters.map { character -> UInt8 in
            switch character {
            case 0x2B: 0x2D
            case 0x2F: 0x5F
            default: character
            }
        }
        return Base64URL.decode(String(decoding: translated, as: UTF8.self))
    }
}
