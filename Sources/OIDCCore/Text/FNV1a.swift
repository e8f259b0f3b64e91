/// FNV-1a, 64 bits: short names for files, and whether a string changed. It keeps nothing secret that has less
/// than 64 bits to guess, and files that have the same name are compared whole.
package enum FNV1a {
    /// Sixteen hexadecimal digits.
    package static func digits(_ text: String) -> String {
        let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }
}
