import CLibcurl
package import OIDCCore
import Posix
import Synchronization

/// The certificate authorities of this machine, as a bundle and as a directory.
///
/// libcurl parses a whole bundle for each connection, which takes two thirds of a request's CPU time. In a
/// directory, OpenSSL finds the authorities of one certificate by the hash of their names (`openssl rehash`).
/// So libcurl gets the directory alone, and the bundle only for a server that the directory does not verify:
/// a bundle may have more.
package final class SystemAuthorities: Sendable {
    /// A bundle, and the directories that systems fill with the same certificates.
    package struct Place: Hashable, Sendable {
        var bundle: String
        var directories: [String]

        package init(bundle: String, directories: [String]) {
            self.bundle = bundle
            self.directories = directories
        }

        private static let fedora = [
            "/etc/pki/ca-trust/extracted/pem/directory-hash", "/etc/pki/tls/certs",
        ]

        /// Those of Debian, Alpine, Arch, Fedora and openSUSE.
        fileprivate static let usual = [
            Place(bundle: "/etc/ssl/certs/ca-certificates.crt", directories: ["/etc/ssl/certs"]),
            Place(bundle: "/etc/pki/tls/certs/ca-bundle.crt", directories: fedora),
            Place(bundle: "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", directories: fedora),
            Place(bundle: "/etc/ssl/ca-bundle.pem", directories: ["/etc/ssl/certs"]),
            Place(bundle: "/etc/ssl/cert.pem", directories: ["/etc/ssl/certs"]),
        ]
    }

    /// What libcurl is given for a server.
    enum Source: Hashable, Sendable {
        case directory(String)
        /// A bundle for a libcurl that was built for another system; nil means libcurl's own authorities.
        case bundle(String?)
        /// A bundle without a directory: only such authorities does libcurl (7.87 or later) keep for all connections.
        case bundleAlone(String)
    }

    private struct Found {
        var directory: String?
        var bundle: String?
        /// The bundle, also if it is libcurl's own; nil if that is not known.
        var readableBundle: String?
    }

    private struct State {
        var found: Found?
        /// The origins whose certificates the directory does not verify.
        var unknown: Set<String> = []
        /// Those that the bundle does not verify either, and when the directory is tried again: it may have authorities
        /// that the bundle has not, and somebody on the way may have sent another certificate.
        var retries: [String: MonotonicTime] = [:]
    }

    private let place: Place?
    private let state = Mutex(State())

    /// Uses the given place, or the one that libcurl was built for.
    package init(_ place: Place? = nil) {
        self.place = place
    }

    func source(
        for url: WebURL, _ setup: CurlSetup, _ easy: OpaquePointer, at now: MonotonicTime = .now()
    ) -> Source {
        state.withLock { state in
            let found = state.found ?? find(setup, easy)
            state.found = found
            guard let directory = found.directory else { return .bundle(found.bundle) }
            if let time = state.retries[url.origin], time <= now {
                state.retries[url.origin] = nil
                state.unknown.remove(url.origin)
            }
            guard state.unknown.contains(url.origin) else { return .directory(directory) }
            return found.readableBundle.map(Source.bundleAlone) ?? .bundle(found.bundle)
        }
    }

    /// Has the bundle used for a server from now on.
    func useBundle(for url: WebURL) {
        state.withLock { _ = $0.unknown.insert(url.origin) }
    }

    /// Has the directory tried again for a server that the bundle does not verify, but not for each connection.
    func noteRefusal(of url: WebURL, at now: MonotonicTime = .now()) {
        state.withLock { state in
            guard state.unknown.contains(url.origin), state.retries[url.origin] == nil else { return }
            state.retries[url.origin] = now.adding(seconds: 1)
        }
    }

    private func find(_ setup: CurlSetup, _ easy: OpaquePointer) -> Found {
        var found = place.map { Found(bundle: $0.bundle) } ?? Found()
        var directories = place?.directories ?? []
        var known = place?.bundle
        if place == nil {
            var (bundle, directory) = (
                CurlInfo.text(OIDC_CURLINFO_CAINFO, of: easy), CurlInfo.text(OIDC_CURLINFO_CAPATH, of: easy)
            )
            let own = [bundle, directory].compactMap { $0 }
            if !own.isEmpty, !own.contains(where: PEMFile.isReadable) {
                found.bundle = Place.usual.first { PEMFile.isReadable($0.bundle) }?.bundle
                (bundle, directory) = (found.bundle, nil)
            }
            known = bundle
            directories = [directory].compactMap { $0 }
            directories += Place.usual.first { $0.bundle == bundle }?.directories ?? []
        }
        found.readableBundle = known.flatMap { PEMFile.isReadable($0) ? $0 : nil }
        // Other TLS libraries read every file of a directory.
        if setup.tlsLibrary.hasPrefix("OpenSSL/") {
            found.directory = directories.first(where: PEMFile.isHashedDirectory)
        }
        return found
    }
}

extension CurlConfiguration {
    /// Returns whether to repeat a request with the bundle, since the directory of authorities alone does not
    /// verify the server. Nothing was sent.
    package func needsBundle(after result: CurlResult, from url: WebURL) -> Bool {
        guard !result.isSent, case .code(let code) = result.ending,
            code.isCertificateRefusal || code == .unusableAuthorities
                || code == .handshakeFailed && CurlTLSFailure.isOfAnotherKey(result.text)
        else { return false }
        guard result.trustsDirectoryAlone else {
            systemAuthorities.noteRefusal(of: url)
            return false
        }
        systemAuthorities.useBundle(for: url)
        return true
    }
}
