import OIDCCore

extension HTTP1 {
    /// A parser of requests whose bytes arrive in pieces of any size. If RFC 9112 allows a server to accept
    /// or refuse, it refuses (CWE-444).
    ///
    /// Each byte is checked once and in order, so the sizes of the pieces make no difference. Lines are not copied.
    package struct RequestParser {
        package enum Outcome: Hashable, Sendable {
            case needsMore
            case request(HTTPServerRequest)
            /// A rejected request; no further request is read from the connection.
            case rejected(Rejection)
        }

        private enum Phase {
            case requestLine
            case headers
            case body(missing: Int)
            case rejected(Rejection)
        }

        /// The path of the rejected request, if it was read.
        package private(set) var rejectedPath: String?

        private let limits: Limits
        /// Whether requests are passed on: they are returned without their bodies, which the caller reads itself, and
        /// the values of their fields are Latin-1.
        private let leavesBody: Bool
        /// A function that returns whether the headers of a request, of which the first are known, may be longer than
        /// `limits.shortHeaders`.
        private let mayBeLong: (HTTPServerRequest) -> Bool
        private var phase = Phase.requestLine
        private var unread: [UInt8] = []
        /// The start of the line, or of the body, that is read.
        private var position = 0
        /// The end of the bytes that are known to be that line's.
        private var checked = 0
        private var emptyLines = 0
        private var headerBytes = 0
        private var isLong = false
        private var draft = HTTPServerRequest(.get, "/")
        /// Whether the peer waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
        package private(set) var awaitsContinue = false

        package init(
            limits: Limits = Limits(), leavesBody: Bool = false,
            mayBeLong: @escaping (HTTPServerRequest) -> Bool = { _ in true }
        ) {
            self.limits = limits
            self.leavesBody = leavesBody
            self.mayBeLong = mayBeLong
        }

        /// Whether no byte of the next request has arrived.
        package var isIdle: Bool {
            guard case .requestLine = phase else { return false }
            return position == unread.count
        }

        package mutating func feed(_ bytes: [UInt8]) {
            if position == unread.count {
                unread = bytes
            } else {
                unread.removeFirst(position)
                unread += bytes
            }
            (checked, position) = (checked - position, 0)
        }

        /// Removes and returns the bytes after the last returned request.
        package mutating func takeUnread() -> [UInt8] {
            defer { (unread, position, checked) = ([], 0, 0) }
            return Array(unread[position...])
        }

        /// Returns the next request from the bytes so far; later requests wait for the next call.
        package mutating func next() -> Outcome {
            do throws(Rejection) {
                while true {
                    if case .rejected(let rejection) = phase { throw rejection }
                    if case .body(let missing) = phase {
                        guard takeBody(missing) else { return .needsMore }
                        return .request(finishRequest())
                    }
                    guard let line = try takeLine() else { return .needsMore }
                    if case .headers = phase { try endHeaderLine(line) } else { try endRequestLine(line) }
                }
            } catch {
                if case .rejected = phase {} else { rejectedPath = partialPath }
                phase = .rejected(error)
                return .rejected(error)
            }
        }

        package mutating func clearAwaitsContinue() { awaitsContinue = false }

        private var partialPath: String? {
            guard case .requestLine = phase else { return draft.path }
            let words = unread[position..<checked]
                .split(separator: .space, maxSplits: 2, omittingEmptySubsequences: false)
            guard words.count > 1, words[1].first == .slash else { return nil }
            return String(decoding: words[1].prefix { $0 != .questionMark }, as: UTF8.self)
        }

        private mutating func finishRequest() -> HTTPServerRequest {
            let request = draft
            draft = HTTPServerRequest(.get, "/")
            phase = .requestLine
            headerBytes = 0
            isLong = false
            emptyLines = 0
            awaitsContinue = false
            return request
        }

        private mutating func takeBody(_ missing: Int) -> Bool {
            let count = min(missing, unread.count - position)
            draft.body += unread[position..<(position + count)]
            position += count
            checked = position
            phase = .body(missing: missing - count)
            return count == missing
        }

        /// Returns the line before CR LF; nil if it is incomplete. A bare LF is refused, as programs differ
        /// on whether it ends a line (RFC 9112 §2.2).
        private mutating func takeLine() throws(Rejection) -> ArraySlice<UInt8>? {
            let isHeader = if case .headers = phase { true } else { false }
            let start = checked
            checked = end(ofText: isHeader)
            let count = checked - position
            if isHeader {
                try checkLength(headerBytes + count, hasMore: checked > start)
            } else if count > limits.requestLine {
                checked = position + limits.requestLine
                throw Rejection(414, "the request line is too long")
            }
            guard checked < unread.count else { return nil }
            guard unread[checked] == .carriageReturn else {
                // A TLS handshake record starts with 22.
                if !isHeader, count == 0, unread[checked] == 22 {
                    throw Rejection(400, "TLS on a plain HTTP port")
                }
                throw Rejection(
                    400,
                    isHeader
                        ? "a header contains a control character"
                        : "the request line contains an invalid character")
            }
            guard checked + 1 < unread.count else { return nil }
            guard unread[checked + 1] == .lineFeed else {
                throw Rejection(400, "a CR is not followed by LF")
            }
            defer {
                if isHeader { headerBytes += count }
                position = checked + 2
                checked = position
            }
            return unread[position..<checked]
        }

        /// Returns the index of the first unchecked byte that is not part of a header, or of a request line.
        private func end(ofText isHeader: Bool) -> Int {
            unread.withUnsafeBufferPointer { bytes in
                var index = checked
                if isHeader {
                    while index < bytes.count, !ASCII.isControl(bytes[index]) || bytes[index] == .tab {
                        index += 1
                    }
                } else {
                    while index < bytes.count, ASCII.isPrintable(bytes[index]) { index += 1 }
                }
                return index
            }
        }

        /// Checks the length of the header lines so far, if a byte was added.
        private mutating func checkLength(_ count: Int, hasMore: Bool) throws(Rejection) {
            guard hasMore else { return }
            if !isLong, count > limits.shortHeaders { isLong = mayBeLong(draft) }
            guard count <= (isLong ? limits.headerBytes : min(limits.headerBytes, limits.shortHeaders)) else {
                throw Rejection(431, "the headers are too long")
            }
        }

        /// Parses the request line (RFC 9112 §3); empty lines before it are skipped (§2.2).
        private mutating func endRequestLine(_ line: ArraySlice<UInt8>) throws(Rejection) {
            guard !line.isEmpty else {
                emptyLines += 1
                guard emptyLines <= 4 else { throw Rejection(400, "the request line is missing") }
                return
            }
            let words = line.split(separator: .space, omittingEmptySubsequences: false)
            guard words.count == 3, HTTP1.isToken(words[0]), words[0].count <= 32 else {
                throw Rejection(400, "the request line is malformed")
            }
            switch String(decoding: words[2], as: UTF8.self) {
            case "HTTP/1.1": draft.minorVersion = 1
            case "HTTP/1.0": draft.minorVersion = 0
            case let version where version.hasPrefix("HTTP/"):
                throw Rejection(400, "the HTTP version is not supported")
            default: throw Rejection(400, "the request line is malformed")
            }
            guard words[1].first == .slash, !words[1].contains(.hash) else {
                throw Rejection(400, "the request target is not in origin form")
            }
            draft.method = HTTPMethod(String(decoding: words[0], as: UTF8.self))
            draft.target = String(decoding: words[1], as: UTF8.self)
            phase = .headers
        }

        /// Parses a header line (RFC 9112 §5). Folded lines (§5.2) are refused, as their name is not a token.
        private mutating func endHeaderLine(_ line: ArraySlice<UInt8>) throws(Rejection) {
            guard !line.isEmpty else { return try endHeaders() }
            headerBytes += 2
            guard let colon = line.firstIndex(of: .colon), HTTP1.isToken(line[..<colon]) else {
                throw Rejection(400, "a header line is malformed")
            }
            guard draft.headers.fields.count < limits.headerCount else {
                throw Rejection(431, "there are too many headers")
            }
            let value = Self.trimmed(line[(colon + 1)...])
            draft.headers.append(
                String(decoding: line[..<colon], as: UTF8.self),
                leavesBody ? Latin1.decode(value) : String(decoding: value, as: UTF8.self))
        }

        private static func trimmed(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            guard let start = value.firstIndex(where: { !ASCII.isBlank($0) }),
                let end = value.lastIndex(where: { !ASCII.isBlank($0) })
            else { return [] }
            return value[start...end]
        }

        private mutating func endHeaders() throws(Rejection) {
            try checkHost()
            try checkOptions()
            guard leavesBody || draft.headers.values("Transfer-Encoding").isEmpty else {
                throw Rejection(411, "Transfer-Encoding is not served")
            }
            let framing = try BodyFraming(of: draft)
            let expectsContinue = try draft.expectsContinue()
            guard !leavesBody else {
                phase = .body(missing: 0)
                return
            }
            guard case .length(let length) = framing else {
                throw Rejection(411, "Transfer-Encoding is not served")
            }
            guard length <= limits.body else { throw Rejection(413, "the body is too long") }
            awaitsContinue = length > 0 && expectsContinue
            phase = .body(missing: length)
        }

        /// Checks that the fields whose options are looked at one by one are short.
        private func checkOptions() throws(Rejection) {
            for name in ["Connection", "Upgrade"] {
                let count = draft.headers.values(name).reduce(0) { $0 + $1.utf8.count }
                guard count <= limits.optionBytes else {
                    throw Rejection(431, "the header \(name) is too long")
                }
            }
        }

        /// Checks that there is exactly one Host field, which only HTTP/1.0 may omit (RFC 9112 §3.2).
        private func checkHost() throws(Rejection) {
            let count = draft.headers.values("Host").count
            guard count == 1 || (count == 0 && draft.minorVersion == 0) else {
                throw Rejection(400, "there is not exactly one Host header")
            }
        }
    }
}
