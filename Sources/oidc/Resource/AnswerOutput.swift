import OIDCCore
import OIDCSystem

/// Passes an answer on to stdout while it comes, in bounded memory.
final class AnswerOutput {
    private let includesHead: Bool
    private let isTerminal = Terminal.isTerminal(.standardOutput)
    /// JSON for a person is held back until it is whole, and indented.
    private var held: [UInt8]?
    private var filter = TerminalFilter()
    private static let heldLimit = 4 << 20

    init(includesHead: Bool, indentsJSON: Bool) {
        self.includesHead = includesHead
        held = indentsJSON && isTerminal ? [] : nil
    }

    func begin(_ head: HTTPResponse) throws(OIDCError) {
        if head.mediaType.map({ $0.hasSuffix("json") }) != true { held = nil }
        guard includesHead else { return }
        var lines = "HTTP/1.1 \(head.status)\n"
        for field in head.headers.fields { lines += "\(field.name): \(field.value)\n" }
        try write(Array((lines + "\n").utf8))
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws(OIDCError) {
        guard var gathered = held else { return try write(Array(bytes)) }
        held = nil
        gathered.append(contentsOf: bytes)
        if gathered.count <= AnswerOutput.heldLimit { held = gathered } else { try write(gathered) }
    }

    func end() throws(OIDCError) {
        guard let held, !held.isEmpty else { return }
        self.held = nil
        guard let json = try? JSONValue(parsing: held) else { return try write(held) }
        try write(Array((json.indented + "\n").utf8))
    }

    private func write(_ bytes: [UInt8]) throws(OIDCError) {
        try StandardOutput.write(isTerminal ? filter.passed(bytes) : bytes)
    }
}

/// Keeps from a terminal what would act on it (CWE-150): control characters but line ends and tabs, also those
/// that UTF-8 writes in two bytes, wherever the stream is cut.
struct TerminalFilter {
    private var isAfterC2 = false

    mutating func passed(_ bytes: [UInt8]) -> [UInt8] {
        var passed: [UInt8] = []
        passed.reserveCapacity(bytes.count + 1)
        for byte in bytes {
            if isAfterC2 {
                isAfterC2 = false
                if (0x80...0x9F).contains(byte) { continue }
                passed.append(0xC2)
            }
            switch byte {
            case 0xC2: isAfterC2 = true
            case 0x09, 0x0A, 0x20...0x7E, 0x80...0xFF: passed.append(byte)
            default: break
            }
        }
        return passed
    }
}
