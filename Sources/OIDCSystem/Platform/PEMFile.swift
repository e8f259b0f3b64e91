#if canImport(Darwin)
    internal import Darwin
#else
    internal import Glibc
#endif

/// A look into a PEM file, before a TLS library with less to say about it reads it.
enum PEMFile {
    enum Finding: Equatable {
        case found
        case absent
        case unreadable(String)
    }

    /// Beyond this nothing is looked for: the largest bundles have a quarter of a megabyte.
    private static let limit = 16 * 1_024 * 1_024

    /// Whether one of its lines that begin with `-----BEGIN` or are a PEM header holds one of the marks.
    static func look(_ path: String, for marks: [String]) -> Finding {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return .unreadable(Descriptor.lastProblem) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return .unreadable(Descriptor.lastProblem) }
        guard status.st_mode & S_IFMT == S_IFREG else { return .unreadable("it is no regular file") }
        var carried: [UInt8] = []
        var total = 0
        var buffer = [UInt8](repeating: 0, count: 64 * 1_024)
        while total < limit {
            let count = buffer.withUnsafeMutableBytes { Descriptor.read(descriptor, into: $0) }
            guard let count else { return .unreadable(Descriptor.lastProblem) }
            guard count > 0 else { return .absent }
            total += count
            var lines = (carried + buffer[..<count]).split(separator: 0x0A, omittingEmptySubsequences: false)
            carried = Array((lines.popLast() ?? []).prefix(4_096))
            if (lines + [carried[...]]).contains(where: { holds($0, marks) }) { return .found }
        }
        return .absent
    }

    private static func holds(_ line: ArraySlice<UInt8>, _ marks: [String]) -> Bool {
        guard line.starts(with: "-----BEGIN ".utf8) || line.starts(with: "Proc-Type:".utf8) else {
            return false
        }
        let text = String(decoding: line, as: UTF8.self)
        return marks.contains { text.contains($0) }
    }
}
