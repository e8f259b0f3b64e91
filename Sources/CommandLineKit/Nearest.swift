/// The known word that was most likely meant.
public enum Nearest {
    /// The closest of `words`, or nil when none is close: a third of the letters may differ, or the end be missing.
    public static func match(_ word: String, among words: [String]) -> String? {
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

    /// Insertions, deletions, substitutions and swaps of neighbours that turn one into the other.
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
