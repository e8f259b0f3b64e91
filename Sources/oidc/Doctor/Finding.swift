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
    private(set) var hint: String?

    init(_ check: String, _ result: Result, _ detail: String, hint: String? = nil) {
        self.check = check
        self.result = result
        self.detail = DisplayText.clean(detail)
        self.hint = hint.map { DisplayText.clean($0) }
    }

    /// Creates a finding from an error and its hint.
    init(_ check: String, _ error: OIDCError, _ result: Result = .problem) {
        self.init(check, result, error.message, hint: error.hint?.commandLine)
    }

    var json: JSONValue {
        [
            "check": .string(check), "result": .string(result.rawValue), "detail": .string(detail),
            "hint": JSONValue(hint),
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
        return "\(word)  \(check)\(padding)  \(detail)" + (hint.map { "\n         try: \($0)" } ?? "")
    }
}

extension Finding {
    /// Returns the finding with the options of the command line in its hint.
    func completed(by completion: HintCompletion) -> Finding {
        var finding = self
        finding.hint = hint.map(completion.completed)
        return finding
    }

    /// Returns the finding with `~` in place of the home directory, which contains the user's name.
    func redacted(home: String?) -> Finding {
        guard let home, home.utf8.count > 1 else { return self }
        var finding = self
        finding.detail = detail.pieces(between: home).joined(separator: "~")
        finding.hint = hint?.pieces(between: home).joined(separator: "~")
        return finding
    }
}
