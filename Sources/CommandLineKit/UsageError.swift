/// An error on the command line, with a hint about what to type instead.
package struct UsageError: Error, Equatable {
    package let message: String
    package var hint: Hint?
    /// The misspelled option or value, if a known one is similar.
    package var misspelling: Misspelling?

    package init(_ message: String, hint: Hint? = nil, misspelling: Misspelling? = nil) {
        self.message = message
        self.hint = hint
        self.misspelling = misspelling
    }

    /// The next step, shown after `try: `.
    package enum Hint: Equatable, Sendable {
        /// One plain sentence.
        case text(String)
        /// A command: the words after the program's name, and the text before and after it.
        case command([String], before: String = "", after: String = "")
        /// The options to add to the command line.
        case options([String])
    }

    /// An unknown option, value or command, as it was typed, and the similar known one.
    package struct Misspelling: Equatable, Sendable {
        package let typed: String
        let meant: String

        /// Returns the command line with the misspelling corrected; nil if it is not a whole word or value.
        package func corrected(_ words: [String]) -> [String]? {
            let parts = typed.split(separator: " ").map(String.init)
            if parts.count > 1, words.starts(with: parts) {
                return meant.split(separator: " ").map(String.init) + words.dropFirst(parts.count)
            }
            for (index, word) in words.enumerated() {
                var words = words
                if word == typed {
                    words.replaceSubrange(
                        index...index,
                        with: typed.contains(" ") ? [meant] : meant.split(separator: " ").map(String.init))
                } else if word.hasPrefix("\(typed)=") {
                    words[index] = meant + word.dropFirst(typed.count)
                } else if word.hasPrefix("--"), word.hasSuffix("=\(typed)") {
                    words[index] = word.dropLast(typed.count) + meant
                } else {
                    continue
                }
                return words
            }
            return nil
        }
    }

    /// Quotes an argument for a message, without control characters. A long argument is left out, as it may
    /// be a token that was pasted in the wrong place.
    package static func quoted(_ argument: String) -> String {
        let scalars = argument.unicodeScalars
        guard scalars.count <= 40 else { return "a string of \(scalars.count) characters" }
        var shown = String.UnicodeScalarView()
        for scalar in scalars { shown.append(scalar.isPrintable ? scalar : "?") }
        return "'\(String(shown))'"
    }

    func hinting(_ hint: Hint) -> UsageError {
        UsageError(message, hint: self.hint ?? hint, misspelling: misspelling)
    }
}

extension Unicode.Scalar {
    fileprivate var isPrintable: Bool {
        switch properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
            false
        default: true
        }
    }
}

/// The search for the known word most similar to a misspelled one.
package enum Nearest {
    /// Returns the closest of `words`, or nil if none is close enough: at most a third of the letters may
    /// differ, or the end may be missing.
    package static func match(_ word: String, among words: [String]) -> String? {
        let typed = Array(word.unicodeScalars)
        guard !typed.isEmpty, typed.count <= 64 else { return nil }
        var best: (word: String, distance: Int)?
        for candidate in words {
            let known = Array(candidate.unicodeScalars)
            let isStart = typed.count >= 2 && known.starts(with: typed)
            let distance = isStart ? 0 : editDistance(typed, known)
            guard distance <= max(1, typed.count / 3) else { continue }
            if distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.word
    }

    /// Returns the number of insertions, deletions, substitutions and swaps of neighbors that turn one word
    /// into the other.
    static func editDistance(_ left: [Unicode.Scalar], _ right: [Unicode.Scalar]) -> Int {
        if left.isEmpty || right.isEmpty { return left.count + right.count }
        var before: [Int] = []
        var previous = Array(0...right.count)
        for row in 1...left.count {
            var current = [row]
            for column in 1...right.count {
                let cost = left[row - 1] == right[column - 1] ? 0 : 1
                var least = min(previous[column] + 1, current[column - 1] + 1, previous[column - 1] + cost)
                if row > 1, column > 1, left[row - 1] == right[column - 2], left[row - 2] == right[column - 1]
                {
                    least = min(least, before[column - 2] + 1)
                }
                current.append(least)
            }
            (before, previous) = (previous, current)
        }
        return previous[right.count]
    }
}
