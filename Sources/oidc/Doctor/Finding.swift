import OIDCCore

/// One line of the doctor's.
struct Finding {
    enum Result: String {
        case ok
        case warning
        case problem
    }

    let check: String
    let result: Result
    private(set) var detail: String
    private(set) var remedy: String?

    init(_ check: String, _ result: Result, _ detail: String, remedy: String? = nil) {
        self.check = check
        self.result = result
        self.detail = DisplayText.clean(detail)
        self.remedy = remedy.map { DisplayText.clean($0) }
    }

    /// A failure of a step, with its own remedy.
    init(_ check: String, _ error: OIDCError, _ result: Result = .problem) {
        self.init(check, result, error.message, remedy: error.hint?.commandLine)
    }

    var json: JSONValue {
        [
            "check": .string(check), "result": .string(result.rawValue), "detail": .string(detail),
            "remedy": JSONValue(remedy),
        ]
    }

    func text(width: Int, _ paint: Paint) -> String {
        let word =
            switch result {
            case .ok: paint.good("ok     ")
            case .warning: paint.warning("warning")
            case .problem: paint.bad("problem")
            }
        let padding = String(repeating: " ", count: width - check.utf8.count)
        return "\(word)  \(check)\(padding)  \(detail)" + (remedy.map { "\n         try: \($0)" } ?? "")
    }
}

extension Finding {
    /// Without the name of who asks: what stands in the home directory is shown from `~` on.
    func redacted(home: String?) -> Finding {
        guard let home, home.utf8.count > 1 else { return self }
        var finding = self
        finding.detail = Finding.shortened(detail, home)
        finding.remedy = remedy.map { Finding.shortened($0, home) }
        return finding
    }

    private static func shortened(_ text: String, _ home: String) -> String {
        let (bytes, sought) = (Array(text.utf8), Array(home.utf8))
        var shown: [UInt8] = []
        var position = 0
        while position < bytes.count {
            if bytes[position...].starts(with: sought) {
                shown.append(0x7E)
                position += sought.count
            } else {
                shown.append(bytes[position])
                position += 1
            }
        }
        return String(decoding: shown, as: UTF8.self)
    }
}
