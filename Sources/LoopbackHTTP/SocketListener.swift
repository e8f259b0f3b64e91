import CPlatform
package import OIDCCore
package import Posix

/// A listening Unix socket of mode 0600, in a directory to which no other user may write.
package struct SocketListener {
    package let path: String
    package let descriptor: FileDescriptor
    /// The status of the socket's file when it was made; no other file is removed.
    private let file: FileStatus?

    package init(_ path: String) throws(OIDCError) {
        if let kind = try? FilePath.status(path).kind, kind != .socket {
            throw OIDCError(
                .usage, "\(DisplayText.clean(path)) is \(kind.rawValue), not a socket",
                hint: "choose another path")
        }
        try SocketListener.checkDirectory(of: path)
        do throws(Errno) {
            try SocketListener.removeAbandoned(path)
            let result = oidc_listen_unix(path, LoopbackListener.backlog)
            guard result >= 0 else { throw Errno(-result) }
            descriptor = FileDescriptor(rawValue: result)
        } catch {
            throw OIDCError(
                error == .addressInUse ? .failed : .usage,
                "cannot listen on the socket \(DisplayText.clean(path)): \(error)",
                hint: error == .addressInUse
                    ? "end the program that uses it, or choose another path"
                    : "choose a path in a directory of your own, of at most 100 characters")
        }
        self.path = path
        file = try? FilePath.status(path)
    }

    /// Refuses a directory that others may write to: callers would send their requests to whoever replaces the socket.
    private static func checkDirectory(of path: String) throws(OIDCError) {
        let directory = FilePath.split(path).directory
        guard UserFile.openDirectory(of: FilePath.join(directory, ".")) != nil else { return }
        let isOwn = (try? FilePath.status(FilePath.join(directory, ".")))?.isSomeoneElses == false
        throw OIDCError(
            .usage,
            "other users can replace the socket \(DisplayText.clean(path)), as they may write to its directory",
            hint: .text(
                isOwn
                    ? "let only yourself write there: chmod go-w \(ShellWord.quoted(directory))"
                    : "choose a path in a directory of your own"))
    }

    /// Returns a warning if other users can replace the directory of a socket, and so the socket; nil if they cannot. It is
    /// not refused: volumes that containers share are often open to all who mount them.
    package static func warning(of path: String) -> String? {
        let directory = FilePath.split(path).directory
        return UserFile.openDirectory(above: directory).map {
            "other users can replace the directory of the socket \(DisplayText.clean(path)), as they may write to "
                + DisplayText.clean($0)
        }
    }

    /// Removes a socket of this user that no program listens on, such as one left by a crash. Only a socket:
    /// `connect` is refused at a pipe or a device, too.
    private static func removeAbandoned(_ path: String) throws(Errno) {
        guard let status = try? FilePath.status(path) else { return }
        guard status.kind == .socket, !status.isSomeoneElses else { throw .addressInUse }
        let result = oidc_connect_unix(path)
        guard result < 0 else {
            FileDescriptor(rawValue: result).close()
            throw .addressInUse
        }
        guard Errno(-result) == .connectionRefused else { throw .addressInUse }
        try FilePath.remove(path)
    }

    /// Removes a socket of this user as above, if it is older than some seconds: another program may be about to listen
    /// on a new one.
    package static func removeAbandoned(_ path: String, olderThan seconds: Int64) {
        guard let status = try? FilePath.status(path), status.age(at: Clock.now()) > seconds else { return }
        try? removeAbandoned(path)
    }

    /// Removes the socket's file.
    package func remove() {
        guard let file, let current = try? FilePath.status(path), current.isSameFile(as: file) else { return }
        try? FilePath.remove(path)
    }
}

/// The program at the other end of a Unix socket, as the kernel names it.
package struct SocketPeer: Hashable, Sendable {
    package let user: UInt32
    /// The process; nil if the system does not say. It may have passed the connection on.
    package let process: Int32?

    /// Asks the kernel; returns nil if it does not know.
    package init?(of descriptor: FileDescriptor) {
        var user: UInt32 = 0
        var process: Int32 = 0
        guard oidc_unix_peer(descriptor.rawValue, &user, &process) == 0 else { return nil }
        self.user = user
        self.process = process > 0 ? process : nil
    }
}
