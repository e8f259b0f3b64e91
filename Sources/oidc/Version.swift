import CPlatform
import CurlHTTP
import OIDCCore
import OIDCCrypto

/// The output of `oidc --version`.
enum Version {
    static let number = "0.2.0-dev"
    /// The day of the version, for the manual page.
    static let date = "2026-11-22"

    static var commit: String { String(cString: oidc_build_commit()) }
    static var text: String { commit.isEmpty ? "oidc \(number)" : "oidc \(number) (\(commit))" }

    /// The versions of the program and of the libraries it would load; null for a missing one.
    static var json: JSONValue {
        [
            "name": "oidc", "version": .string(number), "commit": commit.isEmpty ? .null : .string(commit),
            "libcurl": JSONValue(CurlTransport.libraryVersion),
            "openssl": JSONValue(Digest.libraryVersion),
        ]
    }
}
