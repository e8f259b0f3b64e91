#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

package import OIDCCore

/// Why a system call failed.
package struct Errno: Error, Hashable, Sendable, CustomStringConvertible {
    package let code: Int32

    package init(_ code: Int32) {
        self.code = code
    }

    /// Of the call that failed just before.
    static var last: Errno { Errno(errno) }

    static let interrupted = Errno(EINTR)
    static let wouldBlock = Errno(EAGAIN)
    static let noSuchFile = Errno(ENOENT)
    static let exists = Errno(EEXIST)
    static let notADirectory = Errno(ENOTDIR)
    static let permissionDenied = Errno(EACCES)
    static let notPermitted = Errno(EPERM)
    static let notExecutable = Errno(ENOEXEC)
    static let badDescriptor = Errno(EBADF)
    static let brokenPipe = Errno(EPIPE)
    static let noSpace = Errno(ENOSPC)
    static let addressInUse = Errno(EADDRINUSE)
    static let addressNotAvailable = Errno(EADDRNOTAVAIL)
    static let familyNotSupported = Errno(EAFNOSUPPORT)
    static let tooManyDescriptors = Errno(EMFILE)
    static let tooManyDescriptorsOfAll = Errno(ENFILE)
    static let noBuffers = Errno(ENOBUFS)
    static let noMemory = Errno(ENOMEM)

    /// The machine or this process has too little of something for now.
    var isShortage: Bool { shortageHint != nil }

    /// What to do about a shortage; nil for any other reason.
    package var shortageHint: Hint? {
        switch self {
        case .tooManyDescriptors, .tooManyDescriptorsOfAll:
            "end other programs, or raise the limit (ulimit -n)"
        case .noBuffers, .noMemory: "end other programs"
        default: nil
        }
    }

    /// In the words of the system: "No such file or directory".
    package var description: String {
        var text = [CChar](repeating: 0, count: 256)
        let isKnown = describeError(code, &text)
        guard isKnown else { return "error \(code)" }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
