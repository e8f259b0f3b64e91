import OIDCCore

/// The text that shows a device code. URL and code are the last lines, so they stay visible; the QR code
/// precedes them if everything fits into the terminal.
struct DeviceCodeText {
    let authorization: DeviceAuthorization
    /// The terminal's size; nil if stderr is not a terminal.
    var size: (columns: Int, rows: Int)?
    var usesColor = false
    var usesUnicode = false
    /// The text that was printed above: how to sign in without the code.
    var instructions = ""

    /// The rows of the text that will follow below.
    var rowsBelow = 0
    /// The user and machine that requested the sign-in; nil to leave them out.
    var origin: Origin?

    /// The origin of a sign-in, which the user compares with what they started themselves. Attackers send
    /// codes of their own sign-ins to others (RFC 10027).
    struct Origin {
        let clientID: String
        let machine: String?
        let provider: WebURL?

        /// Returns the lines that precede a code: who asks, and a page on a host that is not the provider's.
        func warning(_ authorization: DeviceAuthorization) -> String {
            let client = DisplayText.clean(clientID, limit: 120)
            let place = machine.map { " on \(DisplayText.clean($0, limit: 80))" } ?? ""
            var text = "oidc\(place) asks, as client \(client). Continue only if you started this.\n"
            if let provider, authorization.isElsewhere(than: provider) {
                let page = authorization.verificationURI.host
                text += "The page is on \(page), and the provider is \(provider.host).\n"
            }
            return text
        }
    }

    private var warning: String { origin?.warning(authorization) ?? "" }

    var text: String {
        let (picture, code) = code
        return wrapped(warning) + picture + wrapped(code)
    }

    private func wrapped(_ text: String) -> String { WrappedText(width: size?.columns).text(text) }

    /// Returns a code as it is shown. One with other characters than codes have could look like a line of this program, so
    /// it is in quotes.
    static func shown(_ code: String) -> String { isUsual(code) ? code : DisplayText.quoted(code) }

    /// Returns whether a code has only the characters that codes have.
    static func isUsual(_ code: String) -> Bool {
        func isOf(_ more: String, _ isLetter: (UInt8) -> Bool) -> Bool {
            code.utf8.allSatisfy { isLetter($0) || more.utf8.contains($0) }
        }
        return isOf("-", ASCII.isAlphanumeric) || isOf("- ") { ASCII.isUppercase($0) || ASCII.isDigit($0) }
    }

    /// The QR code, or an empty string, and the text below it.
    private var code: (picture: String, text: String) {
        let code =
            "  \(authorization.verificationURI.text)\n  \(DeviceCodeText.shown(authorization.userCode))\n"
        let start = instructions.isEmpty ? "On any device," : "Or, on any device,"
        guard let complete = authorization.verificationURIComplete?.text else {
            return ("", "\(start) open this URL and enter the code:\n\n\(code)")
        }
        let scanned = "\(start) scan this, or open the URL and enter the code:\n\(code)"
        if let picture = picture(of: complete, above: warning + scanned) { return (picture, scanned) }
        let both = "\n\n  \(complete)\n\nor this one, and enter the code:\n\n"
        return ("", "\(start) open this URL, which includes the code:\(both)\(code)")
    }

    /// Returns the QR code if it fits between the instructions and the text, with a row for the status line.
    private func picture(of url: String, above text: String) -> String? {
        guard let size, usesUnicode, let code = QRCode(url), code.columns <= size.columns else { return nil }
        let textRows = rows(wrapped(instructions + text), columns: size.columns)
        guard textRows + code.rows + rowsBelow + 1 <= size.rows else { return nil }
        return code.text(usesColor: usesColor)
    }

    private func rows(_ text: String, columns: Int) -> Int {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .reduce(0) { $0 + max(1, ($1.unicodeScalars.count + columns - 1) / columns) }
    }
}
