import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

extension HTTP1 {
    /// The framing of a request's body (RFC 9112 §6).
    package enum BodyFraming: Hashable, Sendable {
        case length(Int)
        case chunked

        /// Parses the framing. A length must be a single Content-Length of plain digits: other programs would
        /// read a request with two lengths, or also with Transfer-Encoding, differently (§6.1).
        package init(of request: HTTPServerRequest) throws(Rejection) {
            let lengths = request.headers.values("Content-Length")
            let codings = request.headers.values("Transfer-Encoding")
            guard codings.isEmpty else {
                guard lengths.isEmpty else {
                    throw Rejection(400, "the request has both Content-Length and Transfer-Encoding")
                }
                guard request.minorVersion == 1 else {
                    throw Rejection(400, "HTTP/1.0 has no Transfer-Encoding")
                }
                guard codings.count == 1, ASCII.isSameIgnoringCase(codings[0], "chunked") else {
                    throw Rejection(501, "Transfer-Encoding is not served")
                }
                self = .chunked
                return
            }
            guard let length = lengths.first else {
                self = .length(0)
                return
            }
            guard lengths.count == 1 else {
                throw Rejection(400, "the request has two Content-Length fields")
            }
            guard (1...18).contains(length.utf8.count),
                length.utf8.allSatisfy({ ASCII.isDigit($0) }), let number = Int(length)
            else { throw Rejection(400, "Content-Length is malformed") }
            self = .length(number)
        }
    }

    /// A decoder of the chunked transfer coding (RFC 9112 §7.1). Chunk extensions and trailers are read and
    /// dropped; only CR LF ends a line, as programs that take a bare LF see the end of the chunk elsewhere.
    package struct ChunkedDecoder: Sendable {
        private enum Phase {
            case size(digits: Int, value: Int)
            /// Whitespace before a chunk extension.
            case space(size: Int)
            case chunkExtension(size: Int)
            case sizeEnd(Int)
            case content(missing: Int)
            case contentEnd
            case contentLineFeed
            case trailer(isEmpty: Bool)
            case trailerEnd(isEmpty: Bool)
            case complete
        }

        private static let trailerLimit = 8_192
        /// The size limit of a line with the size of a chunk.
        private static let sizeLineLimit = 1_024
        /// The size limit of all chunk extensions of a request together (§7.1.1), beyond the size of its content.
        private static let extensionLimit = 16_384
        private var phase = Phase.size(digits: 0, value: 0)
        private var trailerBytes = 0
        private var sizeLineBytes = 0
        private var extensionBytes = 0

        package init() {}

        package var isComplete: Bool { if case .complete = phase { true } else { false } }

        /// Decodes in place and moves the content to the start of the buffer. Returns the length of the
        /// content and the number of bytes used; bytes after the end of the body are not used.
        package mutating func decode(
            _ buffer: UnsafeMutableRawBufferPointer
        ) throws(Rejection) -> (content: Int, used: Int) {
            var content = 0
            var position = 0
            while position < buffer.count, !isComplete {
                if case .content(let missing) = phase {
                    let count = min(missing, buffer.count - position)
                    if position != content, let base = buffer.baseAddress {
                        memmove(base + content, base + position, count)
                    }
                    content += count
                    position += count
                    extensionBytes = max(0, extensionBytes - count)
                    phase = count == missing ? .contentEnd : .content(missing: missing - count)
                } else {
                    try step(buffer[position])
                    position += 1
                }
            }
            return (content, position)
        }

        private mutating func step(_ byte: UInt8) throws(Rejection) {
            switch phase {
            case .size(let digits, let value):
                try countSizeLine()
                if let digit = ASCII.hexValue(byte) {
                    guard value < 1 << 56 else { throw Rejection(400, "a chunk is too large") }
                    phase = .size(digits: digits + 1, value: value << 4 + Int(digit))
                } else {
                    guard digits > 0 else { throw Rejection(400, "the size of a chunk is malformed") }
                    try endSize(byte, value)
                }
            case .space(let size):
                try countSizeLine()
                guard byte != .carriageReturn else {
                    throw Rejection(400, "the size of a chunk is malformed")
                }
                try endSize(byte, size)
            case .chunkExtension(let size):
                try countSizeLine()
                extensionBytes += 1
                guard extensionBytes <= Self.extensionLimit else {
                    throw Rejection(400, "the chunk extensions are too long")
                }
                if byte == .carriageReturn {
                    phase = .sizeEnd(size)
                } else if !HTTP1.isFieldValue(CollectionOfOne(byte)) {
                    throw Rejection(400, "a chunk extension contains a control character")
                }
            case .sizeEnd(let size):
                try expectLineFeed(byte)
                sizeLineBytes = 0
                phase = size == 0 ? .trailer(isEmpty: true) : .content(missing: size)
            case .contentEnd:
                guard byte == .carriageReturn else {
                    throw Rejection(400, "a chunk is longer than its size")
                }
                phase = .contentLineFeed
            case .contentLineFeed:
                try expectLineFeed(byte)
                phase = .size(digits: 0, value: 0)
            case .trailer(let isEmpty):
                trailerBytes += 1
                guard trailerBytes <= Self.trailerLimit else {
                    throw Rejection(431, "the trailers are too long")
                }
                if byte == .carriageReturn {
                    phase = .trailerEnd(isEmpty: isEmpty)
                } else {
                    guard HTTP1.isFieldValue(CollectionOfOne(byte)) else {
                        throw Rejection(400, "a trailer contains a control character")
                    }
                    phase = .trailer(isEmpty: false)
                }
            case .trailerEnd(let isEmpty):
                try expectLineFeed(byte)
                phase = isEmpty ? .complete : .trailer(isEmpty: true)
            case .content, .complete: break
            }
        }

        /// Parses the byte after the size of a chunk, or after whitespace behind it.
        private mutating func endSize(_ byte: UInt8, _ size: Int) throws(Rejection) {
            switch byte {
            case .carriageReturn: phase = .sizeEnd(size)
            case .semicolon: phase = .chunkExtension(size: size)
            case .space, .tab: phase = .space(size: size)
            default: throw Rejection(400, "the size of a chunk is malformed")
            }
        }

        private mutating func countSizeLine() throws(Rejection) {
            sizeLineBytes += 1
            guard sizeLineBytes <= Self.sizeLineLimit else {
                throw Rejection(400, "the line with the size of a chunk is too long")
            }
        }

        private func expectLineFeed(_ byte: UInt8) throws(Rejection) {
            guard byte == .lineFeed else { throw Rejection(400, "a CR is not followed by LF") }
        }
    }
}

extension HTTPServerRequest {
    /// Returns whether the peer waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1).
    package func expectsContinue() throws(HTTP1.Rejection) -> Bool {
        guard let expectation = headers["Expect"] else { return false }
        guard ASCII.isSameIgnoringCase(expectation, "100-continue") else {
            throw HTTP1.Rejection(417, "the expectation is not known")
        }
        return minorVersion == 1
    }
}
