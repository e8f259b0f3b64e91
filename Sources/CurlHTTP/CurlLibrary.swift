import CLibcurl
package import OIDCCore
import Posix

/// libcurl, which is loaded at its first use.
package enum CurlLibrary {
    /// Throws if libcurl cannot be loaded.
    package static func require() throws(OIDCError) { _ = try load() }

    static func load() throws(OIDCError) -> UnsafePointer<oidc_curl_library> {
        if let library = oidc_curl() { return library }
        if let reason = Platform.descriptorShortage {
            throw OIDCError(.failed, "libcurl cannot be loaded: \(reason)", hint: reason.shortageHint)
        }
        let problem = String(cString: oidc_curl_problem())
        throw OIDCError(
            .failed, problem,
            hint: .loading(
                problem,
                install:
                    "install libcurl: apt install libcurl4 (Debian, Ubuntu), dnf install libcurl (Fedora)"))
    }

    static var outOfMemory: OIDCError { OIDCError(.failed, "libcurl has no memory for a request") }
}
