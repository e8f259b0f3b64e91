import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A search in PEM files, for better error messages than those of TLS libraries.
enum PEMFile {
    enum Finding: Equatable {
        case found
        case absent
        case unreadable(String)
        /// This machine or process lacks a resource.
        case unavailable(Errno)
    }

    /// The number of bytes that are searched; the largest bundles have a quarter of a megabyte.
    private static let limit = 16 * 1_024 * 1_024

    /// Searches for a `-----BEGIN` line or a PEM header that contains one of the marks.
    static func look(_ path: String, for marks: [String]) -> Finding {
        let descriptor = FileDescriptor(rawValue: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        guard descriptor.rawValue >= 0 else {
            let reason = Errno.last
            return reason.isShortage ? .unavailable(reason) : .unreadable(reason.description)
        }
        defer { descriptor.close() }
        var status = stat()
        guard fstat(descriptor.rawValue, &status) == 0 else { return .unreadable(Errno.last.description) }
        guard FileStatus(status).kind == .regular else { return .unreadable("it is not a regular file") }
        var carried: [UInt8] = []
        var total = 0
        while total < limit {
            let piece: [UInt8]
            do throws(Errno) {
                piece = try descriptor.read()
            } catch {
                return .unreadable(error.description)
            }
            guard !piece.isEmpty else { return .absent }
            total += piece.count
            var lines = (carried + piece).split(separator: .lineFeed, omittingEmptySubsequences: false)
            carried = Array((lines.popLast() ?? []).prefix(4_096))
            if (lines + [carried[...]]).contains(where: { holds($0, marks) }) { return .found }
        }
        return .absent
    }

    /// Returns the first megabyte; nil if the file cannot be read.
    static func content(_ path: String) -> [UInt8]? {
        let descriptor = FileDescriptor(rawValue: open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK))
        guard descriptor.rawValue >= 0 else { return nil }
        defer { descriptor.close() }
        return try? descriptor.read(limit: 1_024 * 1_024)
    }

    static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    private static func holds(_ line: ArraySlice<UInt8>, _ marks: [String]) -> Bool {
        guard line.starts(with: "-----BEGIN ".utf8) || line.starts(with: "Proc-Type:".utf8) else {
            return false
        }
        let text = String(decoding: line, as: UTF8.self)
        return marks.contains { text.includes($0) }
    }
}
