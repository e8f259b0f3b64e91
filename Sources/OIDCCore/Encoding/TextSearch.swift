/// Looking for a text in a text, byte for byte. What the standard library has for it brings its regular
/// expressions into the program, a tenth of it.
extension StringProtocol {
    package func includes(_ text: String) -> Bool {
        self[...].range(of: text) != nil
    }

    /// What stands before, between and after the occurrences of a text.
    package func pieces(between text: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = Substring(self)
        while let range = rest.range(of: text) {
            pieces.append(rest[..<range.lowerBound])
            rest = rest[range.upperBound...]
        }
        return pieces + [rest]
    }
}

extension StringProtocol {
    /// The first occurrence of a text that is not empty.
    private func range(of text: String) -> Range<Index>? {
        var start = utf8.startIndex
        while start != utf8.endIndex {
            if utf8[start...].starts(with: text.utf8) {
                return start..<utf8.index(start, offsetBy: text.utf8.count)
            }
            utf8.formIndex(after: &start)
        }
        return nil
    }
}
