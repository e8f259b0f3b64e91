import OIDCCore

/// The result of one check.
struct Finding {
    enum Result: String {
        case ok
        case warning
        case problem
    }

    let check: String
    let result: Result
    private(set) var detail: String
    private(set) var hint: Hint?

    /// The outcome of a check.
    struct Outcome {
        let result: Result
        let detail: String
        var hint: Hint?

        static func ok(_ detail: String, hint: Hint? = nil) -> Outcome {
            Outcome(result: .ok, detail: detail, hint: hint)
        }

        static func warning(_ detail: String, hint: Hint? = nil) -> Outcome {
            Outcome(result: .warning, detail: detail, hint: hint)
        }

        static func problem(_ detail: String, hint: Hint? = nil) -> Outcome {
            Outcome(result: .problem, detail: detail, hint: hint)
        }
    }

    /// Runs a check. Its error is a problem.
    init(_ check: String, _ body: () throws(OIDCError) -> Outcome) {
        do throws(OIDCError) {
            let outcome = try body()
            self.init(check, outcome.result, outcome.detail, hint: outcome.hint)
        } catch {
            self.init(check, error)
        }
    }

    init(_ check: String, _ result: Result, _ detail: String, hint: Hint? = nil) {
        self.check = check
        self.result = result
        self.detail = DisplayText.clean(detail)
        self.hint = hint
    }

    /// Creates a finding from an error and its hint.
    init(_ check: String, _ error: OIDCError, _ result: Result = .problem) {
        self.init(check, result, error.message, hint: error.hint)
    }

    var json: JSONValue {
        [
            "check": .string(check), "result": .string(result.rawValue), "detail": .string(detail),
            "hint": JSONValue(hint?.commandLine),
        ]
    }

    func text(width: Int, _ style: TextStyle) -> String {
        let word =
            switch result {
            case .ok: style.good("ok     ")
            case .warning: style.warning("warning")
            case .problem: style.bad("problem")
            }
        let padding = String(repeating: " ", count: width - check.utf8.count)
        return "\(word)  \(check)\(padding)  \(detail)"
            + (hint.map { "\n         try: \($0.commandLine)" } ?? "")
    }
}

extension Finding {
    /// Returns the finding as it is printed for a command line, with `~` in place of the home directory, which contains
    /// the user's name.
    func printed(for line: InvokedLine, home: String?) -> Finding {
        func shown(_ text: String) -> String {
            guard let home, home.utf8.count > 1 else { return text }
            return text.pieces(between: home).joined(separator: "~")
        }
        var finding = self
        finding.detail = shown(detail)
        finding.hint = hint.map { .text(shown(line.text($0))) }
        return finding
    }
}
