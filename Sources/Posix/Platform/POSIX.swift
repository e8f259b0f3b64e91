import CPlatform
import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Properties and settings of this process and its machine.
package enum Platform {
    /// Opens closed standard descriptors, so no other file gets their numbers, and makes a broken pipe an
    /// error instead of a signal. Call it before anything is opened.
    package static func secureStandardDescriptors() {
        oidc_reserve_standard_descriptors()
        oidc_ignore_broken_pipes()
    }

    /// Whether stderr was closed when the program started, so nobody can see what it prints.
    package static var isStandardErrorClosed: Bool { fcntl(2, F_GETFL) & O_ACCMODE == O_RDONLY }

    /// The name of this machine; nil if it has none.
    package static var hostName: String? {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return nil }
        let name = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return name.isEmpty ? nil : name
    }

    /// An identifier of this boot and network namespace, which distinguishes machines and containers that
    /// share a store; the host name if there is no `/proc`.
    package static let networkID: String? = {
        guard
            let boot = try? UserFile.read("/proc/sys/kernel/random/boot_id", limit: 64, named: "boot_id"),
            let network = FilePath.target(ofLink: "/proc/self/ns/net")
        else { return hostName }
        return FNV1a.digits(String(decoding: boot.bytes, as: UTF8.self) + network)
    }()

    package static var isDarwin: Bool {
        #if canImport(Darwin)
            true
        #else
            false
        #endif
    }

    /// Returns whether this is the Windows Subsystem for Linux. It sets `WSL_DISTRO_NAME`, which `sudo` removes; the
    /// version of its kernel contains "microsoft", unless the user built the kernel.
    package static func isWSL(_ environment: Variables = ProcessEnvironment.current) -> Bool {
        guard environment["WSL_DISTRO_NAME", default: ""].isEmpty else { return true }
        guard let file = try? OpenFile("/proc/version", for: .reading),
            let version = try? file.readAll(expected: 0, limit: 4096)
        else { return false }
        return ASCII.lowercased(String(decoding: version, as: UTF8.self)).includes("microsoft")
    }

    package static func isContainer(_ environment: Variables) -> Bool {
        let marks = ["/.dockerenv", "/run/.containerenv"]
        return !environment["container", default: ""].isEmpty
            || marks.contains { (try? FilePath.status($0)) != nil }
    }

    /// Disables core dumps and tracing of this process, as it contains secrets.
    package static func forbidDumps() {
        _ = oidc_forbid_dumps()
    }

    /// Ends this process immediately, without the exit handlers, which take time.
    package static func exit(_ code: Int32) -> Never {
        _exit(code)
    }

    /// The number of descriptors that this process may open.
    package static var descriptorLimit: Int { Int(oidc_descriptor_limit()) }

    /// The error if even the few descriptors for one connection are not available; nil if they are.
    package static var descriptorShortage: Errno? {
        var copies: [Int32] = []
        defer { for copy in copies { FileDescriptor(rawValue: copy).close() } }
        for _ in 0..<4 {
            let copy = dup(2)
            let reason = Errno.last
            guard copy >= 0 else { return reason.isShortage ? reason : nil }
            copies.append(copy)
        }
        return nil
    }
}

/// Stores an error's description in `text` and returns whether the code is known. Works with both variants of
/// `strerror_r`.
func describeError(_ code: Int32, _ text: inout [CChar]) -> Bool {
    strerror_r(code, &text, text.count) == 0
}

extension String {
    /// Decodes the bytes of a buffer up to its first zero.
    package init(terminated bytes: [CChar]) {
        self.init(decoding: bytes.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// Runs `body` with SIGPIPE blocked on this thread, and discards a SIGPIPE that it causes. A TLS library may
/// write to a closed connection without `MSG_NOSIGNAL`, which would end the process.
package func withoutBrokenPipeSignal<Result>(_ body: () -> Result) -> Result {
    var brokenPipe = sigset_t()
    sigemptyset(&brokenPipe)
    sigaddset(&brokenPipe, SIGPIPE)
    var pending = sigset_t()
    sigemptyset(&pending)
    sigpending(&pending)
    let wasPending = sigismember(&pending, SIGPIPE) == 1
    var previous = sigset_t()
    guard !wasPending, pthread_sigmask(SIG_BLOCK, &brokenPipe, &previous) == 0 else { return body() }
    defer {
        sigpending(&pending)
        var number: Int32 = 0
        if sigismember(&pending, SIGPIPE) == 1 { sigwait(&brokenPipe, &number) }
        pthread_sigmask(SIG_SETMASK, &previous, nil)
    }
    return body()
}
