/// Looking for a text in a text, byte for byte. What the standard library has for it brings its regular
/// expressions into the program, a tenth of it.
extension StringProtocol {
    /// What stands before and after the first occurrence of a text that is not empty.
    package func parts(around text: String) -> (before: SubSequence, after: SubSequence)? {
        var start = utf8.startIndex
        while start != utf8.endIndex {
            if utf8[start...].starts(with: text.utf8) {
                return (self[..<start], self[utf8.index(start, offsetBy: text.utf8.count)...])
            }
            utf8.formIndex(after: &start)
        }
        return nil
    }

    package func includes(_ text: String) -> Bool {
        parts(around: text) != nil
    }

    /// What stands before, between and after the occurrences of a text.
    package func pieces(between text: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = Substring(self)
        while let (before, after) = rest.parts(around: text) {
            pieces.append(before)
            rest = after
        }
        return pieces + [rest]
    }
}
