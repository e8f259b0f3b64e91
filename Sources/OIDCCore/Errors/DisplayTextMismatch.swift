/// Expected and found values, printed with their difference visible.
extension DisplayText {
    /// Returns both values of a mismatch, safe to print. If they look alike, all but visible ASCII is written
    /// as `\u{…}`; if they differ only beyond the limit, each starts shortly before the difference.
    package static func sides(
        expected: String, found: String, limit: Int = 300
    ) -> (expected: String, found: String) {
        if looksAlike(expected, found) {
            return fromDifference(escaped(expected), escaped(found), limit: limit)
        }
        return fromDifference(expected, found, limit: limit)
    }

    /// Returns an unexpected text, escaped if it looks like one of the expected ones.
    package static func distinct(
        _ text: String, from expected: [String], limit: Int = 300
    ) -> String {
        clean(expected.contains { looksAlike($0, text) } ? escaped(text) : text, limit: limit)
    }

    /// Returns whether two different texts look the same: they differ only in invisible characters,
    /// normalization or spaces, or in letters of another alphabet in place of ASCII.
    package static func looksAlike(_ one: String, _ other: String) -> Bool {
        guard !ExactText.isSame(one, other) else { return false }
        let (left, right) = (skeleton(one), skeleton(other))
        // `==` compares canonically, so two normalizations of one text are equal.
        if left == right { return true }
        guard left.unicodeScalars.count == right.unicodeScalars.count else { return false }
        return zip(left.unicodeScalars, right.unicodeScalars).allSatisfy { a, b in
            a == b || a.isASCII != b.isASCII
        }
    }

    /// Returns a string with `\u{…}` for every scalar that is not a visible ASCII character, and for spaces
    /// that are easily overlooked.
    package static func escaped(_ text: String) -> String {
        let scalars = Array(text.unicodeScalars.prefix(comparedLength))
        var result = ""
        for (index, scalar) in scalars.enumerated() {
            let isHiddenSpace =
                scalar == " "
                && (index == 0 || index == scalars.count - 1 || scalars[index - 1] == " ")
            if (0x20..<0x7F).contains(scalar.value), !isHiddenSpace {
                result.unicodeScalars.append(scalar)
            } else {
                result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            }
        }
        return result
    }

    /// The number of characters of a string that are compared or escaped.
    private static let comparedLength = 4_096

    private static func skeleton(_ text: String) -> String {
        clean(text, limit: comparedLength).split(separator: " ").joined(separator: " ")
    }

    /// Returns both values, cut to the limit. If they differ only beyond it, each starts shortly before the
    /// difference.
    private static func fromDifference(
        _ expected: String, _ found: String, limit: Int
    ) -> (expected: String, found: String) {
        let sides = (clean(expected, limit: limit), clean(found, limit: limit))
        guard sides.0 == sides.1, !ExactText.isSame(expected, found) else { return sides }
        let shared = zip(expected.unicodeScalars, found.unicodeScalars).prefix { $0 == $1 }.count
        func tail(_ text: String) -> String {
            "…" + clean(String(text.unicodeScalars.dropFirst(max(0, shared - 20))), limit: limit - 1)
        }
        return (tail(expected), tail(found))
    }
}
