import OIDCCore

/// The header fields of the final answer, collected line by line, without those of interim answers (RFC 9110
/// §15.2) and trailers.
struct ResponseHead {
    /// The size limit of all lines together, including interim answers.
    static let byteLimit = 256 * 1_024

    private(set) var status = 0
    private(set) var isComplete = false
    private var byteCount = 0
    private var fields: [(String, String)] = []

    var headers: HTTPHeaders { HTTPHeaders(fields) }

    /// Whether the body may be long or endless; then a new connection costs less than reading it.
    var announcesLongBody: Bool {
        let type = headers["Content-Type"] ?? ""
        if ASCII.lowercased(type).hasPrefix("text/event-stream") { return true }
        guard let length = headers["Content-Length"] else { return status < 400 }
        return (Int(length) ?? .max) > 65_536
    }

    enum Line {
        case more
        /// The empty line after the final answer's fields.
        case complete
        case tooLarge
    }

    mutating func take(_ line: UnsafeRawBufferPointer) -> Line {
        byteCount += line.count
        guard byteCount <= ResponseHead.byteLimit else { return .tooLarge }
        guard !isComplete else { return .more }
        let text = String(decoding: line, as: UTF8.self)
        if text.utf8.starts(with: "HTTP/".utf8) {
            begin(text)
        } else if let first = text.utf8.first, first == .space || first == .tab, !fields.isEmpty {
            fields[fields.count - 1].1 += " " + ASCII.trimmed(text)
        } else if ASCII.trimmed(text).isEmpty {
            isComplete = status >= 200
            return isComplete ? .complete : .more
        } else if let colon = text.utf8.firstIndex(of: .colon) {
            fields.append(
                (ASCII.trimmed(text[..<colon]), ASCII.trimmed(text[text.utf8.index(after: colon)...])))
        }
        return .more
    }

    private mutating func begin(_ statusLine: String) {
        let words = statusLine.split(separator: " ", maxSplits: 2)
        status = words.count > 1 ? Int(ASCII.trimmed(words[1])) ?? 0 : 0
        fields = []
    }
}
