import CPlatform
import OIDCCore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What a process sets up once for itself.
package enum Platform {
    /// Closed standard descriptors are filled so nothing else takes their place, and a broken pipe is
    /// an error instead of a death; before anything else is opened.
    package static func secureStandardDescriptors() {
        oidc_reserve_standard_descriptors()
        oidc_ignore_broken_pipes()
    }

    static var isDarwin: Bool {
        #if canImport(Darwin)
            true
        #else
            false
        #endif
    }

    /// Linux that Windows runs names its maker in its version.
    static var isWSL: Bool {
        guard let file = try? OpenFile("/proc/version", for: .reading),
            let version = try? file.readAll(expected: 0, limit: 4096)
        else { return false }
        return ASCII.lowercased(String(decoding: version, as: UTF8.self)).includes("microsoft")
    }

    static func isContainer(_ environment: [String: String]) -> Bool {
        let marks = ["/.dockerenv", "/run/.containerenv"]
        return !environment["container", default: ""].isEmpty
            || marks.contains { (try? FilePath.status($0)) != nil }
    }

    /// No core dump of this process, and no tracing of it: it holds secrets.
    package static func forbidDumps() {
        _ = oidc_forbid_dumps()
    }

    /// Ends this process at once: nothing is left to be written, and taking the program apart costs time.
    package static func exit(_ code: Int32) -> Never {
        _exit(code)
    }

    /// How many descriptors this process may have open.
    static var descriptorLimit: Int { Int(oidc_descriptor_limit()) }

    /// Why a connection cannot be made that takes a few descriptors; nil where they can be had.
    static var descriptorShortage: Errno? {
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

/// The two shapes of `strerror_r` come to this one: whether `code` is known, its text in `text`.
func describeError(_ code: Int32, _ text: inout [CChar]) -> Bool {
    strerror_r(code, &text, text.count) == 0
}
