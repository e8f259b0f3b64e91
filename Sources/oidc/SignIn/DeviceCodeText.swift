import OIDCCore
import OIDCSystem

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

    var text: String {
        let code = "  \(authorization.verificationURI.text)\n  \(authorization.userCode)\n"
        let start = instructions.isEmpty ? "On any device," : "Or, on any device,"
        guard let complete = authorization.verificationURIComplete?.text else {
            return "\(start) open this URL and enter the code:\n\n\(code)"
        }
        let scanned = "\(start) scan this, or open the URL and enter the code:\n\(code)"
        if let picture = picture(of: complete, above: scanned) { return picture + scanned }
        return
            "\(start) open this URL, which includes the code:\n\n  \(complete)\n\nor this one, and enter the code:\n\n"
            + code
    }

    /// Returns the QR code if it fits between the instructions and the text, with a row for the status line.
    private func picture(of url: String, above text: String) -> String? {
        guard let size, usesUnicode, let code = QRCode(url), code.columns <= size.columns else { return nil }
        let textRows = rows(instructions + text, columns: size.columns)
        guard textRows + code.rows + 1 <= size.rows else { return nil }
        return code.text(usesColor: usesColor)
    }

    private func rows(_ text: String, columns: Int) -> Int {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            .reduce(0) { $0 + max(1, ($1.unicodeScalars.count + columns - 1) / columns) }
    }
}
