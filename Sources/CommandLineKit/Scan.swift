/// An argument list sorted into options and operands. The scan keeps the first error and continues, as
/// `--help` may follow.
struct Scan {
    /// An option on the command line.
    struct Setting: Equatable {
        /// The option's index in the table.
        let index: Int
        let argument: String
    }

    private(set) var settings: [Setting] = []
    private(set) var operands: [String] = []
    private(set) var request: OptionDescription.Role?
    private(set) var fault: UsageError?
    /// The option that caused the error, if it is not in the table.
    private(set) var unknownOption: String?
    /// The option at the end of the arguments that still needs a value.
    private(set) var waiting: Int?
    /// Whether `--` or an operand has ended the options.
    private(set) var optionsEnded = false
    /// The arguments before the first operand, without a final `--`.
    private(set) var leading: ArraySlice<String>
    /// Words that follow the name of an unknown option in the error message.
    private let context: String

    /// Sorts the arguments. `table` is evaluated only if they contain an option.
    init(
        _ arguments: ArraySlice<String>, table makeTable: @autoclosure () -> [OptionDescription],
        stopsAtFirstOperand: Bool = false, context: String = ""
    ) {
        leading = arguments
        self.context = context
        lazy var table = makeTable()
        var rest = arguments
        while let word = rest.first {
            if word == "--" || (stopsAtFirstOperand && !Self.isOption(word)) {
                optionsEnded = true
                if operands.isEmpty { leading = arguments[..<rest.startIndex] }
                operands += word == "--" ? rest.dropFirst() : rest
                return
            }
            rest = rest.dropFirst()
            if !Self.isOption(word) {
                operands.append(word)
            } else if word.utf8.starts(with: "--".utf8) {
                readLong(word, &rest, table)
            } else {
                readShort(word, &rest, table)
            }
        }
    }

    /// Returns whether an argument is an option; `-` alone is an operand, which means standard input.
    static func isOption(_ word: String) -> Bool {
        word.utf8.first == UInt8(ascii: "-") && word.utf8.count > 1
    }

    private mutating func readLong(
        _ word: String, _ rest: inout ArraySlice<String>, _ table: [OptionDescription]
    ) {
        let equals = word.utf8.firstIndex(of: UInt8(ascii: "="))
        let name = equals.map { String(word[..<$0]) } ?? word
        let attached = equals.map { String(word[word.utf8.index(after: $0)...]) }
        guard let index = table.firstIndex(where: { $0.name == name }) else {
            if fault == nil { unknownOption = name }
            return noteUnknown(name, meaning: name, table)
        }
        if table[index].valueName != nil {
            takeValue(index, attached, &rest, table)
        } else if attached != nil {
            note("\(name) takes no value")
        } else {
            raise(index, table)
        }
    }

    /// Reads one or more short options: `-vq` means `-v -q`, and `-pwork` means `-p work`.
    private mutating func readShort(
        _ word: String, _ rest: inout ArraySlice<String>, _ table: [OptionDescription]
    ) {
        var letters = word.unicodeScalars.dropFirst()
        while let letter = letters.popFirst() {
            guard let index = table.firstIndex(where: { $0.short == Character(letter) }) else {
                if fault == nil { unknownOption = "-\(letter)" }
                return note("unknown option \(UsageError.quoted("-\(letter)"))\(context)")
            }
            if table[index].valueName != nil {
                let attached = letters.isEmpty ? nil : String(String.UnicodeScalarView(letters))
                return takeValue(index, attached, &rest, table)
            }
            // An option with one dash too few, such as `-header`, must not print the help.
            guard table[index].role == .ordinary || letters.isEmpty else {
                if fault == nil { unknownOption = word }
                return noteUnknown(word, meaning: "-" + word, table)
            }
            raise(index, table)
        }
    }

    private mutating func takeValue(
        _ index: Int, _ attached: String?, _ rest: inout ArraySlice<String>, _ table: [OptionDescription]
    ) {
        let option = table[index]
        guard let value = attached ?? Self.nextValue(&rest, table) else {
            if rest.isEmpty { waiting = index }
            let choices = option.choices.isEmpty ? "" : ": \(TextLayout.list(option.choices))"
            return note("\(option.name) needs a value\(choices)")
        }
        if !option.isRepeatable, settings.contains(where: { $0.index == index }) {
            return note("\(option.name) is given twice")
        }
        settings.append(Setting(index: index, argument: value))
    }

    /// Returns the next argument unless it is an option. A value that looks like an option must be written
    /// `--issuer=-x`.
    private static func nextValue(_ rest: inout ArraySlice<String>, _ table: [OptionDescription]) -> String? {
        guard let next = rest.first else { return nil }
        let letter = Self.isOption(next) ? next.unicodeScalars.dropFirst().first.map { Character($0) } : nil
        guard letter == "-" || table.contains(where: { letter != nil && $0.short == letter }) else {
            rest = rest.dropFirst()
            return next
        }
        // `--issuer --version` is a mistake, not a request for the version.
        if Scan([next], table: table).request != nil { rest = rest.dropFirst() }
        return nil
    }

    private mutating func raise(_ index: Int, _ table: [OptionDescription]) {
        if table[index].role == .ordinary {
            settings.append(Setting(index: index, argument: ""))
        } else if request == nil {
            request = table[index].role
        }
    }

    private mutating func note(_ message: String, _ misspelling: UsageError.Misspelling? = nil) {
        if fault == nil { fault = UsageError(message, misspelling: misspelling) }
    }

    /// Records an unknown option, and the option with the name nearest to `name`.
    private mutating func noteUnknown(
        _ word: String, meaning name: String, _ table: [OptionDescription]
    ) {
        let names = table.filter { !$0.isHidden }.map { String($0.name.dropFirst(2)) }
        let nearest = Nearest.match(String(name.dropFirst(2)), among: names).map { "--\($0)" }
        note(
            "unknown option \(UsageError.quoted(word))\(context)"
                + (nearest.map { ", did you mean \($0)?" } ?? ""),
            nearest.map { UsageError.Misspelling(typed: word, meant: $0) })
    }
}
