import CommandLineKit
import OIDCCore

/// The command line as it was typed, for hints that differ from it in one word.
struct TypedLine: Sendable {
    /// The words after the program's name.
    let words: [String]

    /// Returns the line with a misspelled word replaced; nil if it would be refused too, or if a word may be a secret.
    func correcting(_ misspelling: UsageError.Misspelling?) -> Hint? {
        guard let misspelling,
            !misspelling.typed.hasPrefix("-")
                || !TypedLine.secretNames.contains(where: misspelling.typed.includes)
        else { return nil }
        return misspelling.corrected(words).flatMap { TypedLine.isUsable($0) ? .command($0) : nil }
    }

    /// Parts of the names of unknown options whose value may be a secret.
    private static let secretNames = ["secret", "key", "pass", "token", "cred"]

    /// Returns the line with an option and its value in place of an earlier value; nil if it would be refused, if a
    /// word may be a secret, or if there are other values beside which it may not help.
    func adding(_ parts: [String]) -> String? {
        guard parts.count < 3, case .run(_, let path)? = try? Program.oidc.parse(words) else { return nil }
        let value = parts.dropFirst().first
        var words = words
        if let value, let index = index(ofValueOf: parts[0], like: value) {
            let option = Program.oidc.command(path)?.options.first { $0.name == parts[0] }
            guard option?.isRepeatable != true || parts[0] == "--set" else { return nil }
            words[index] = words[index].hasPrefix("\(parts[0])=") ? "\(parts[0])=\(value)" : value
            return TypedLine.line(words)
        }
        guard Program.oidc.command(path)?.stopsAtFirstOperand == false else { return nil }
        words += [parts[0]] + (value.map { [$0] } ?? [])
        return TypedLine.line(words)
    }

    /// Returns the index of the word with the value that an option has already. If the option is `--set`, it is the
    /// value of the same setting, or else of none that is known.
    private func index(ofValueOf option: String, like value: String) -> Int? {
        let start = option == "--set" ? String(value.prefix { $0 != "=" }) + "=" : ""
        let same = words.indices.first { index in
            words[index].hasPrefix("\(option)=\(start)")
                || index > words.startIndex && words[index - 1] == option && words[index].hasPrefix(start)
        }
        if same != nil || option != "--set" { return same }
        return words.indices.first { index in
            let isAttached = words[index].hasPrefix("--set=")
            guard isAttached || index > words.startIndex && words[index - 1] == option else { return false }
            let assignment = words[index].dropFirst(isAttached ? "--set=".count : 0)
            return Setting.named(String(assignment.prefix { $0 != "=" })) == nil
        }
    }

    private static func line(_ words: [String]) -> String? {
        isUsable(words) ? ShellWord.line(["oidc"] + words) : nil
    }

    /// Returns whether the line would be accepted, and no word may be a secret.
    private static func isUsable(_ words: [String]) -> Bool {
        switch try? Program.oidc.parse(words) {
        case .run, .version: words.allSatisfy(isHarmless)
        case .help, nil: false
        }
    }

    /// Returns whether a word holds no secret: no header, no body, no value of a setting that may be secret, and no URL
    /// with a user's name or a query.
    private static func isHarmless(_ word: String) -> Bool {
        let settings = word.pieces(between: "=").dropLast().compactMap { Setting.named(String($0)) }
        let carriers = ["-H", "-d", "--data", "--param"]
        return word.utf8.count <= 100 && word != "--" && !word.includes(": ")
            && !carriers.contains(where: word.hasPrefix) && !settings.contains(where: \.kind.mayBeSecret)
            && !(word.includes("://") && (word.includes("@") || word.includes("?")))
    }
}
