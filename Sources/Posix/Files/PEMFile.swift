package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A check of PEM files, for better error messages than those of TLS libraries.
package enum PEMFile {
    /// The largest size of a file; the largest bundles have a quarter of a megabyte.
    private static let limit = 16 * 1_024 * 1_024

    /// Checks that a file has a `-----BEGIN` line or a PEM header with `mark`, and returns its content.
    @discardableResult
    package static func require(
        _ path: String, named name: String, with mark: String, what: String, hint: Hint
    ) throws(OIDCError) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(Errno) { bytes = try content(path) } catch {
            throw OIDCError(
                error.isShortage ? .failed : .usage, "\(name): \(path) cannot be read: \(error)",
                hint: error.shortageHint ?? "use a PEM file that this user may read", stage: .settings)
        }
        guard let bytes else {
            throw OIDCError(
                .usage, "\(name): \(path) cannot be read: it is not a regular file",
                hint: "use a PEM file that this user may read", stage: .settings)
        }
        guard has(mark, in: bytes) else {
            throw OIDCError(
                .usage, "\(name): \(path) contains no PEM \(what)", hint: hint, stage: .settings)
        }
        return bytes
    }

    /// Reads a file; nil if it is not a regular one. A file over the limit counts as empty.
    package static func content(_ path: String) throws(Errno) -> [UInt8]? {
        let file = try OpenFile(path, for: .readingLinked)
        let status = try file.status()
        guard status.kind == .regular else { return nil }
        return try file.readAll(expected: Int(clamping: status.size), limit: limit) ?? []
    }

    package static func isReadable(_ path: String) -> Bool {
        access(path, R_OK) == 0
    }

    /// Returns whether a directory has certificates by the hash of their names, as `openssl rehash` links them,
    /// and only this user or root can change it.
    package static func isHashedDirectory(_ path: String) -> Bool {
        guard let directory = try? OpenFile(path, for: .sharedDirectory),
            let status = try? directory.status(), status.isTrusted, status.permissions & 0o022 == 0,
            UserFile.openDirectory(of: path) == nil, let names = try? directory.names()
        else { return false }
        return names.contains { name in
            name.utf8.count == 10 && name.hasSuffix(".0")
                && name.utf8.prefix(8).allSatisfy { ASCII.isHexDigit($0) }
        }
    }

    /// Returns whether a `-----BEGIN` line or a PEM header contains `mark`.
    package static func has(_ mark: String, in bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != .lineFeed }
            if line.starts(with: "-----BEGIN ".utf8) || line.starts(with: "Proc-Type:".utf8),
                String(decoding: line, as: UTF8.self).includes(mark)
            {
                return true
            }
            rest = rest[line.endIndex...].dropFirst()
        }
        return false
    }
}
