/// Text compared code point by code point, without normalisation (RFC 7519 §7.3, RFC 8259 §8.3): `==` on
/// strings takes canonically equivalent spellings for the same.
package enum ExactText {
    package static func isSame(_ left: some StringProtocol, _ right: some StringProtocol) -> Bool {
        left.utf8.count == right.utf8.count && left.utf8.elementsEqual(right.utf8)
    }
}
