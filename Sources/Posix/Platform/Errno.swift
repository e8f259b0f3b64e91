#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

package import OIDCCore

/// The error number of a failed system call.
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// The error of the last failed call.
    static var last: Errno { Errno(errno) }

    static let interrupted = Errno(EINTR)
    package static let wouldBlock = Errno(EAGAIN)
    package static let noSuchFile = Errno(ENOENT)
    static let exists = Errno(EEXIST)
    package static let notADirectory = Errno(ENOTDIR)
    package static let permissionDenied = Errno(EACCES)
    static let notPermitted = Errno(EPERM)
    static let notExecutable = Errno(ENOEXEC)
    package static let badDescriptor = Errno(EBADF)
    static let brokenPipe = Errno(EPIPE)
    static let noSpace = Errno(ENOSPC)
    /// The error of `open` for a symbolic link that must not be followed.
    package static let tooManyLinks = Errno(ELOOP)
    /// The error of `open` for a pipe that no program reads.
    package static let noReader = Errno(ENXIO)
    package static let addressInUse = Errno(EADDRINUSE)
    package static let connectionRefused = Errno(ECONNREFUSED)
    package static let addressNotAvailable = Errno(EADDRNOTAVAIL)
    package static let familyNotSupported = Errno(EAFNOSUPPORT)
    private static let tooManyDescriptors = Errno(EMFILE)
    private static let tooManyDescriptorsOfAll = Errno(ENFILE)
    static let noBuffers = Errno(ENOBUFS)
    private static let noMemory = Errno(ENOMEM)

    /// Whether the machine or this process lacks a resource, such as memory or descriptors.
    package var isShortage: Bool { shortageHint != nil }

    /// The hint if a resource is lacking; nil for any other error.
    package var shortageHint: Hint? {
        switch self {
        case .tooManyDescriptors, .tooManyDescriptorsOfAll:
            "end other programs, or raise the limit (ulimit -n)"
        case .noBuffers, .noMemory: "end other programs"
        default: nil
        }
    }

    /// The hint if a process or thread could not be started for lack of a resource; nil for any other error.
    /// In other calls, `wouldBlock` only means that nothing can be read yet.
    package var startHint: Hint? {
        self == .wouldBlock ? "end other programs, or raise the limit (ulimit -u)" : shortageHint
    }

    /// The system's description, such as "No such file or directory".
    package var description: String {
        var text = [CChar](repeating: 0, count: 256)
        let isKnown = describeError(code, &text)
        guard isKnown else { return "error \(code)" }
        return String(terminated: text)
    }
}
