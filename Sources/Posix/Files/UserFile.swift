import CPlatform

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

package import OIDCCore

/// A file that the user named, with its whole content; links are followed.
package struct UserFile: Sendable {
    package let bytes: [UInt8]
    package let permissions: UInt32
    package let owner: UInt32
    /// Whether this is a regular file, and not a device or a pipe.
    package let isRegular: Bool

    /// Reads a file; returns nil if it does not exist. `name` is the setting or option with the path, for
    /// messages.
    ///
    /// A pipe, such as one of `<(…)` in a shell, must deliver each part within `patience` milliseconds. A
    /// pipe that no program opens for writing is refused after a second.
    package static func read(
        _ path: String, limit: Int, named name: String, patience: Int64 = 30_000
    ) throws(OIDCError) -> UserFile? {
        // Without O_NONBLOCK, opening a named pipe would wait until something opens it for writing.
        let number = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard number >= 0 else {
            let reason = Errno.last
            guard !reason.isAbsent, reason != .notADirectory else { return nil }
            try Interruption.throwIfPending()
            var error = unusable(path, name, reason.description)
            error.hint = .checkPath(of: name)
            if let hint = reason.shortageHint { (error.kind, error.hint) = (.failed, hint) }
            throw error
        }
        let file = FileDescriptor(rawValue: number)
        defer { file.close() }
        var status = stat()
        guard fstat(number, &status) == 0 else { throw unusable(path, name, Errno.last.description) }
        guard FileStatus(status).kind != .directory else {
            var error = unusable(path, name, "it is a directory")
            error.hint = .checkPath(of: name)
            throw error
        }
        // A terminal is refused, as only a sign-in prompts.
        guard isatty(number) == 0 else { throw unusable(path, name, "it is a terminal") }
        let isRegular = FileStatus(status).kind == .regular
        return UserFile(
            bytes: try isRegular
                ? whole(file, size: Int(status.st_size), limit: limit, path, name)
                : bytes(of: file, limit: limit, path, name, patience: patience),
            permissions: UInt32(status.st_mode) & 0o7777, owner: UInt32(status.st_uid), isRegular: isRegular)
    }

    /// Reads a file that must exist.
    package static func require(_ path: String, limit: Int, named name: String) throws(OIDCError) -> UserFile
    {
        guard let file = try read(path, limit: limit, named: name) else { throw missing(path, named: name) }
        return file
    }

    /// Returns the error for a file that does not exist.
    package static func missing(_ path: String, named name: String, hint: Hint? = nil) -> OIDCError {
        var error = unusable(path, name, "there is no such file")
        error.hint = hint ?? .checkPath(of: name)
        return error
    }

    /// Reads all of stdin.
    package static func readStandardInput(limit: Int) throws(OIDCError) -> [UInt8] {
        try bytes(of: .standardInput, limit: limit, "stdin", "stdin")
    }

    /// Reads a regular file.
    private static func whole(
        _ file: FileDescriptor, size: Int, limit: Int, _ path: String, _ name: String
    ) throws(OIDCError) -> [UInt8] {
        let bytes: [UInt8]?
        do throws(Errno) { bytes = try file.readAll(expected: size, limit: limit) } catch {
            throw unusable(path, name, error.description)
        }
        guard let bytes else { throw unusable(path, name, "it is larger than \(limit) bytes") }
        return bytes
    }

    private static func bytes(
        of file: FileDescriptor, limit: Int, _ path: String, _ name: String, patience: Int64? = nil
    ) throws(OIDCError) -> [UInt8] {
        let subject = path == name ? name : "\(name): \(DisplayText.clean(path))"
        let (bytes, isWhole) = try beginning(of: file, limit: limit, named: subject, patience: patience)
        guard isWhole else { throw unusable(path, name, "it is larger than \(limit) bytes") }
        return bytes
    }

    /// Reads all bytes, or stops after slightly more than `limit`; `isWhole` is then false.
    package static func beginning(
        of file: FileDescriptor, limit: Int, named name: String, patience: Int64? = nil
    ) throws(OIDCError) -> (bytes: [UInt8], isWhole: Bool) {
        var bytes: [UInt8] = []
        // A named pipe without a writer is at its end; a slow writer is waited for.
        if let patience, let first = try? file.read() {
            bytes = first
            if first.isEmpty, try !hasInput(file, min(patience, 1_000)), let next = try? file.read() {
                guard !next.isEmpty else {
                    throw .usage("\(name) cannot be read: no program has this pipe open for writing")
                }
                bytes = next
            }
            guard bytes.count <= limit else { return (bytes, false) }
        }
        while true {
            guard try hasInput(file, patience) else {
                throw .usage(
                    "\(name) cannot be read: nothing was written to it within \((patience ?? 0) / 1000) s")
            }
            let part: [UInt8]
            do throws(Errno) { part = try file.read() } catch {
                if error == .wouldBlock { continue }
                throw .usage("\(name) cannot be read: \(error)")
            }
            guard !part.isEmpty else { return (bytes, true) }
            bytes += part
            guard bytes.count <= limit else { return (bytes, false) }
        }
    }

    /// Waits for input, at most `patience` milliseconds, and returns whether there is some; a signal ends the
    /// wait.
    private static func hasInput(_ file: FileDescriptor, _ patience: Int64?) throws(OIDCError) -> Bool {
        let end = patience.map { MonotonicTime.now().adding(milliseconds: $0) }
        let isReady = Poll.wait(for: file.rawValue, .reading, until: end)
        try Interruption.throwIfPending()
        return isReady || end.map { $0 > .now() } ?? true
    }

    /// Rewrites a user's file atomically, with mode 0600 unless another one is given. A link is followed, or
    /// replaced if `followingLinks` is false.
    ///
    /// The file is locked, so no other process that uses this function changes it between the read in
    /// `content` and the write.
    package static func rewrite(
        _ path: String, followingLinks: Bool = true, named name: String, permissions: UInt32 = 0o600,
        with content: () throws(OIDCError) -> [UInt8]
    ) throws(OIDCError) {
        let target = followingLinks ? resolved(path) ?? path : path
        // A pipe or a device would be replaced by a file. A dangling link is refused, as its target may be
        // missing by mistake.
        if let kind = try? FilePath.status(target).kind, kind != .regular,
            followingLinks || kind != .symbolicLink
        {
            throw unwritable(target, name, "it is \(kind.rawValue)")
        }
        let (parent, file) = FilePath.split(target)
        let directory: PrivateDirectory
        let lock: FileLock?
        do throws(OIDCError) {
            directory = try PrivateDirectory.shared(parent)
            lock = try FileLock.acquire(
                "\(file).new", in: directory, LockWait(limit: .seconds(10)), noun: "file")
        } catch {
            guard error.kind != .interrupted else { throw error }
            throw unwritable(target, name, error.message)
        }
        guard let lock else { return }
        defer { withExtendedLifetime(lock) {} }
        do throws(OIDCError) {
            let bytes = try content()
            do throws(Errno) {
                if permissions != 0o600 { try lock.file.setPermissions(permissions) }
                try AtomicFile.fill(lock.file, bytes)
                try directory.file.rename("\(file).new", to: file)
                try AtomicFile.synchronize(directory)
            } catch {
                throw unwritable(target, name, error.description)
            }
        } catch {
            try? directory.file.remove("\(file).new")
            throw error
        }
    }

    /// Removes a file; a missing one is not an error.
    package static func remove(_ path: String) { try? FilePath.remove(path) }

    /// Returns whether the path exists, even as a dangling link.
    package static func isThere(_ path: String) -> Bool { (try? FilePath.status(path)) != nil }

    /// Returns the absolute form of a path.
    package static func absolute(_ path: String) -> String { FilePath.join(currentDirectory, path) }

    package static var currentDirectory: String {
        guard let current = getcwd(nil, 0) else { return "." }
        defer { free(current) }
        return String(cString: current)
    }

    /// Returns the path without symbolic links; nil if it does not exist.
    package static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func unwritable(_ path: String, _ name: String, _ reason: String) -> OIDCError {
        OIDCError(
            .failed, "\(name): \(DisplayText.clean(path)) cannot be written: \(reason)", stage: .settings)
    }

    private static func unusable(_ path: String, _ name: String, _ reason: String) -> OIDCError {
        let subject = path == name ? name : "\(name): \(DisplayText.clean(path))"
        return .usage("\(subject) cannot be read: \(reason)")
    }

    /// Whether another user, except root, owns the file or may write to it.
    package var isUnderForeignControl: Bool {
        (owner != geteuid() && owner != 0) || permissions & 0o022 != 0
    }

    /// Returns the directory in which another user, except root, could put another file at the path, also one
    /// that the path leads to through links; nil if there is none.
    ///
    /// In a directory with the sticky bit, such as /tmp, only the owners of a file and of the directory can
    /// replace it. On a read-only file system, nobody can: Kubernetes mounts its volumes read-only, with mode
    /// 0777.
    package static func openDirectory(of path: String) -> String? {
        var path = path
        // The kernel follows at most forty links.
        for _ in 0..<40 {
            let directory = FilePath.split(path).directory
            var raw = stat()
            guard stat(directory, &raw) == 0, let status = try? FilePath.status(path) else { return nil }
            let parent = FileStatus(raw)
            let isSticky = parent.permissions & 0o1000 != 0
            let isOpen = !parent.isTrusted || (parent.permissions & 0o022 != 0 && !isSticky)
            if isOpen || !status.isTrusted {
                let isReadOnly = access(directory, W_OK) != 0 && Errno.last.isReadOnly
                if !isReadOnly { return directory }
            }
            guard status.kind == .symbolicLink, let target = FilePath.target(ofLink: path) else { return nil }
            path = FilePath.join(directory, target)
        }
        return nil
    }

    /// Returns the directory in which another user, except root, could put another directory in place of the path, or of
    /// one above it; nil if there is none.
    package static func openDirectory(above path: String) -> String? {
        for path in Set([absolute(path), resolved(path) ?? "/"]).sorted() {
            var path = path
            while path != "/" {
                if let open = openDirectory(of: path) { return open }
                path = FilePath.split(path).directory
            }
        }
        return nil
    }

    package var isOwn: Bool { owner == geteuid() }

    /// Whether this user owns the file and others may read it.
    package var isOwnAndOpen: Bool { owner == geteuid() && permissions & 0o077 != 0 }
}
