package import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// An open directory that only this user can access. Files in it are used relative to its descriptor, so
/// another directory cannot be substituted (CWE-59, CWE-377).
package final class PrivateDirectory: Sendable {
    let path: String
    package let file: OpenFile

    private init(path: String, file: consuming OpenFile) {
        self.path = path
        self.file = file
    }

    /// Opens a directory; returns nil if it does not exist. Throws for a symbolic link, another owner, or a
    /// mode that gives others access.
    package static func open(_ path: String) throws(OIDCError) -> PrivateDirectory? {
        let path = FilePath.trimmed(path)
        let directory: PrivateDirectory
        do {
            directory = PrivateDirectory(path: path, file: try OpenFile(path, for: .directory))
        } catch {
            if error.isAbsent { return nil }
            throw storeError(path, error)
        }
        try directory.check()
        return directory
    }

    /// Opens a directory; creates it and its parents with mode 0700 if necessary, regardless of the umask.
    package static func create(_ path: String) throws(OIDCError) -> PrivateDirectory {
        let path = FilePath.trimmed(path)
        if let directory = try open(path) { return directory }
        do {
            try makeWithParents(path)
        } catch {
            throw storeError(path, error)
        }
        guard let directory = try open(path) else {
            throw .store("the directory \(DisplayText.clean(path)) was removed while it was made")
        }
        return directory
    }

    /// Checks that files could be written to a directory, which need not exist yet. Leaves nothing behind.
    package static func checkWritable(_ path: String) throws(OIDCError) {
        let path = FilePath.trimmed(path)
        _ = try open(path)
        var nearest = path
        while true {
            do throws(Errno) {
                _ = try Errno.check { access(nearest, W_OK | X_OK) }
                return
            } catch {
                guard error.isAbsent, nearest != "/" else { throw storeError(path, error) }
                nearest = FilePath.split(nearest).directory
            }
        }
    }

    /// Checks a directory that need not be of use: it may not exist, this user need not be able to write there, and others
    /// may read it. Throws as `open` does if another user, except root, can move what is in it, or if it is a link.
    package static func checkTrusted(_ path: String) throws(OIDCError) {
        let path = FilePath.trimmed(path)
        guard let kind = try? FilePath.status(path).kind else { return }
        let isOpen = kind == .directory && UserFile.openDirectory(of: FilePath.join(path, ".")) != nil
        if isOpen || kind == .symbolicLink { _ = try open(path) }
    }

    /// Opens a directory that others may enter, such as that of the configuration file; creates it if
    /// necessary.
    static func shared(_ path: String) throws(OIDCError) -> PrivateDirectory {
        do throws(Errno) {
            if (try? FilePath.status(path)) == nil { try makeWithParents(path) }
            return PrivateDirectory(path: path, file: try OpenFile(path, for: .sharedDirectory))
        } catch {
            throw .store("the directory \(DisplayText.clean(path))", error)
        }
    }

    func path(of name: String) -> String { FilePath.join(path, name) }

    private func check() throws(OIDCError) {
        let status: FileStatus
        do { status = try file.status() } catch { throw PrivateDirectory.storeError(path, error) }
        let name = DisplayText.clean(path)
        guard !status.isSomeoneElses else {
            throw .store(
                "the directory \(name) belongs to another user (id \(status.owner), this is"
                    + " \(FileStatus.currentUser))",
                hint: ownDirectory)
        }
        guard !status.isOpenToOthers else {
            throw .store(
                "the directory \(name) is open to others: expected mode 0700, found"
                    + " \(PrivateDirectory.octal(status.permissions))",
                hint: status.permissions & 0o400 != 0 && isForOthers(status)
                    ? ownDirectory : .text("chmod 700 \(ShellWord.quoted(path))"))
        }
    }

    /// The hint to keep sessions in a directory of one's own: below this one, if this user can make it there.
    private var ownDirectory: Hint {
        FilePath.isWritable(path)
            ? .keepSessions(in: FilePath.join(path, "oidc")) : .advice(.useOwnDirectory)
    }

    /// Returns whether other users or programs probably need the directory, so `chmod 700` would lock them
    /// out.
    ///
    /// That is assumed of a directory with the sticky bit, such as `/tmp`, and of one that has files but no
    /// sessions, such as `/etc`.
    private func isForOthers(_ status: FileStatus) -> Bool {
        guard status.permissions & 0o1000 == 0, let names = try? file.names() else { return true }
        return !names.isEmpty
            && !names.contains {
                $0.hasSuffix(".json") || $0.hasSuffix(".sealed") || $0.hasSuffix(".version")
                    || PrivateDirectory.ownNames.contains($0)
            }
    }

    /// The names of directories beside sessions.
    private static let ownNames: Set = [
        "clients", "pending", "registrations", "resources", "sign-ins", "versions",
    ]

    /// Creates a directory and its parents with mode 0700, as the XDG specification requires, regardless of
    /// the umask.
    private static func makeWithParents(_ path: String) throws(Errno) {
        do {
            try FilePath.createDirectory(path)
        } catch {
            if error.isExisting { return }
            guard error.isAbsent, let slash = path.utf8.lastIndex(of: .slash), slash != path.startIndex else {
                throw error
            }
            try makeWithParents(String(path[..<slash]))
            do {
                try FilePath.createDirectory(path)
            } catch {
                if error.isExisting { return }
                throw error
            }
        }
        let status = try FilePath.status(path)
        if status.kind == .directory, status.permissions & 0o700 != 0o700 {
            try FilePath.setPermissions(path, 0o700)
        }
    }

    private static func storeError(_ path: String, _ error: Errno) -> OIDCError {
        let name = DisplayText.clean(path)
        let kind = (try? FilePath.status(path))?.kind
        if kind == .symbolicLink {
            return .store(
                "\(name) is a symbolic link, expected a directory",
                hint: .advice(.useRealDirectory))
        }
        if let kind, kind != .directory {
            return .store(
                "\(name) is \(kind.rawValue), expected a directory",
                hint: .advice(.moveDirectoryAway))
        }
        var storeError = OIDCError.store("the directory \(name)", error, at: path)
        if storeError.hint == nil {
            storeError.hint = .advice(.useWritableDirectory)
            storeError.code = .notWritable
        }
        return storeError
    }

    static func octal(_ permissions: UInt32) -> String {
        let digits = String(permissions & 0o7777, radix: 8)
        return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
    }
}
