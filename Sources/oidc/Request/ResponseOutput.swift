import OIDCCore
import Posix

/// The output of a response on stdout, in bounded memory.
final class ResponseOutput {
    private let includesHead: Bool
    private let isTerminal = Terminal.isTerminal(.standardOutput)
    private let isJSON: Bool
    /// JSON, held back until it is complete.
    private var held: [UInt8]?
    /// Whether the body is left out, because it is not JSON and the status is an error.
    private var isSkipped = false
    private var isSuccess = true
    private var filter = TerminalFilter()
    private static let heldLimit = 4 << 20

    init(includesHead: Bool, isJSON: Bool) {
        self.includesHead = includesHead
        self.isJSON = isJSON
        held = isJSON ? [] : nil
    }

    func begin(_ head: HTTPResponse) throws(OIDCError) {
        try check(head)
        guard includesHead else { return }
        var lines = "HTTP/1.1 \(head.status)\n"
        for field in head.headers.fields { lines += "\(field.name): \(field.value)\n" }
        try write(Array((lines + "\n").utf8))
    }

    /// Refuses a body that is not JSON. If the status is not 2xx, it is the error, and the body is only
    /// skipped.
    private func check(_ head: HTTPResponse) throws(OIDCError) {
        isSuccess = head.isSuccess
        guard isJSON, let type = head.mediaType, !type.hasSuffix("json") else { return }
        guard !head.isSuccess else {
            throw OIDCError(
                .refused, "resource: expected JSON, found \(DisplayText.quoted(type, limit: 80))",
                hint: "leave -o json out", stage: .resource)
        }
        (isSkipped, held) = (true, nil)
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws(OIDCError) {
        guard !isSkipped else { return }
        guard var gathered = held else { return try write(Array(bytes)) }
        held = nil
        gathered.append(contentsOf: bytes)
        if gathered.count <= ResponseOutput.heldLimit { held = gathered } else { try write(gathered) }
    }

    func end() throws(OIDCError) {
        try endHeld()
        if isTerminal { try StandardOutput.write(filter.end()) }
    }

    /// Prints the JSON, or null for an empty body.
    private func endHeld() throws(OIDCError) {
        guard let held else { return }
        self.held = nil
        guard !held.isEmpty else { return try write(Array("null\n".utf8)) }
        let json: JSONValue
        do { json = try JSONValue(parsing: held) } catch {
            guard isSuccess else { return }
            throw OIDCError(
                .refused, "resource: expected JSON, found something else: \(error.inFile)",
                hint: "leave -o json out", stage: .resource)
        }
        try write(isTerminal ? Array((json.indented + "\n").utf8) : held)
    }

    private func write(_ bytes: [UInt8]) throws(OIDCError) {
        try StandardOutput.write(isTerminal ? filter.passed(bytes) : bytes)
    }
}

/// A filter that removes what a terminal would act on or hide (CWE-150): control characters except line ends
/// and tabs, bidirectional and other invisible characters, and bytes that are not UTF-8, as some terminals
/// interpret a lone 0x9B as the start of an escape sequence. The stream may be cut anywhere.
struct TerminalFilter {
    /// The first bytes of an incomplete character.
    private var pending: [UInt8] = []

    mutating func passed(_ bytes: [UInt8]) -> [UInt8] {
        let all = pending + bytes
        let end = all.count - TerminalFilter.unfinishedCount(all)
        pending = Array(all[end...])
        return shown(all[..<end])
    }

    /// Returns the incomplete character at the end of the stream.
    mutating func end() -> [UInt8] {
        defer { pending = [] }
        return shown(pending[...])
    }

    private func shown(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        if bytes.allSatisfy({ ASCII.isPrintable($0) || $0 == .tab || $0 == .lineFeed }) {
            return Array(bytes)
        }
        var passed = String.UnicodeScalarView()
        // Each invalid byte sequence becomes U+FFFD.
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars
        where scalar == "\n" || scalar == "\t" || !DisplayText.isInvisible(scalar) {
            passed.append(scalar)
        }
        return Array(String(passed).utf8)
    }

    /// Returns the number of bytes at the end that may be the start of a character.
    private static func unfinishedCount(_ bytes: [UInt8]) -> Int {
        for count in 1...3 where count <= bytes.count {
            let byte = bytes[bytes.count - count]
            let length =
                switch byte {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            if length > 1 { return length > count ? count : 0 }
            guard byte & 0xC0 == 0x80 else { return 0 }
        }
        return 0
    }
}
