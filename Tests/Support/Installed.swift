import Foundation

/// A program or ability of the machine that a test needs; without it, the test is skipped and says why.
package enum Installed {
    /// Whether programs of these names are on PATH, or where daemons are.
    package static func programs(_ names: String...) -> Bool {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let directories = path.split(separator: ":").map(String.init) + ["/usr/sbin", "/usr/bin", "/bin"]
        return names.allSatisfy { name in
            directories.contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(name)") }
        }
    }

    /// Whether there is a list of authorities, without which no TLS connection can be made.
    package static let certificateAuthorities = [
        "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem",
    ].contains { FileManager.default.fileExists(atPath: $0) }
}
