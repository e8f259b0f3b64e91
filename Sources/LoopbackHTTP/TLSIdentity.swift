import CLibssl
package import OIDCCore
import Posix

/// The PEM files of a server's certificate and key.
package struct TLSFiles: Hashable, Sendable {
    package let certificate: String
    package let key: String

    /// The name of the setting, in messages.
    private static let (certificateName, keyName) = ("callback_certificate", "callback_key")
    private static let limit = 1 << 20

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// The files as they are named from any working directory.
    package var absolute: TLSFiles {
        TLSFiles(certificate: UserFile.absolute(certificate), key: UserFile.absolute(key))
    }

    /// Reads the files, and checks that the certificate is for a host and valid at a time.
    package func identity(for host: String, at now: Instant) throws(OIDCError) -> TLSIdentity {
        let identity = try identity()
        guard identity.isFor(host) else {
            throw .usage(
                "\(subject) is not for \(DisplayText.clean(host)), the host of the redirect URL",
                hint: "use one that names it")
        }
        guard let (start, end) = identity.validity, now >= start else {
            throw .usage("\(subject) is not valid yet", hint: "check the clock of this machine")
        }
        guard now < end else {
            throw .usage("\(subject) has expired", hint: "make or request a new one")
        }
        return identity
    }

    /// Reads the files. The key has to be this user's alone.
    package func identity() throws(OIDCError) -> TLSIdentity {
        let chain = try UserFile.require(certificate, limit: TLSFiles.limit, named: TLSFiles.certificateName)
        let secret = try UserFile.require(key, limit: TLSFiles.limit, named: TLSFiles.keyName)
        guard !secret.isUnderForeignControl, !secret.isOwnAndOpen else {
            throw .usage(
                "\(TLSFiles.keyName): \(DisplayText.clean(key)) belongs to another user, or others may read it",
                hint: secret.isOwnAndOpen
                    ? .text("chmod 600 \(ShellWord.quoted(key))") : "use a file of your own with mode 0600")
        }
        return try TLSIdentity(chain.bytes, secret.bytes, named: subject)
    }

    private var subject: String { "\(TLSFiles.certificateName): \(DisplayText.clean(certificate))" }
}

/// A server's certificate and key, for TLS 1.2 and later.
package final class TLSIdentity {
    fileprivate let server: OpaquePointer

    fileprivate init(_ certificate: [UInt8], _ key: [UInt8], named subject: String) throws(OIDCError) {
        var isMissing: Int32 = 0
        var failure = [CChar](repeating: 0, count: 256)
        guard
            let server = libssl_open(
                certificate, certificate.count, key, key.count, &isMissing, &failure, failure.count)
        else {
            let reason = String(terminated: failure)
            guard isMissing == 0 else {
                throw OIDCError(.failed, reason, hint: "install OpenSSL 3, or use a redirect URL with http")
            }
            throw .usage("\(subject) \(reason)", hint: "use the PEM files of a certificate and its key")
        }
        self.server = server
    }

    deinit { libssl_close(server) }

    fileprivate func isFor(_ host: String) -> Bool { libssl_is_for(server, host) != 0 }

    /// The time from which the certificate is valid, and the one at which it expires.
    package var validity: (start: Instant, end: Instant)? {
        var (start, end): (Int64, Int64) = (0, 0)
        guard libssl_validity(server, &start, &end) != 0 else { return nil }
        return (Instant(secondsSinceEpoch: start), Instant(secondsSinceEpoch: end))
    }

    /// Makes a key, and a certificate for `localhost` and the loopback addresses, which cannot issue others. Returns both
    /// as PEM. A year and a month is the longest that browsers accept.
    package static func made() throws(OIDCError) -> (certificate: String, key: Redacted<String>) {
        let lifetime: Int64 = 397 * 86_400
        var certificate = [CChar](repeating: 0, count: 8_192)
        var key = [CChar](repeating: 0, count: 8_192)
        var failure = [CChar](repeating: 0, count: 256)
        guard
            libssl_make(
                lifetime, &certificate, certificate.count, &key, key.count, &failure, failure.count) != 0
        else { throw OIDCError(.failed, String(terminated: failure), hint: "install OpenSSL 3") }
        return (String(terminated: certificate), Redacted(String(terminated: key)))
    }
}

/// The TLS side of one connection, which reads and writes no descriptor.
final class TLSConnection {
    private let identity: TLSIdentity
    private let connection: OpaquePointer
    /// Whether nothing can be sent any more.
    private(set) var isBroken = false
    private var hasInput = false

    enum Received {
        /// Decrypted bytes; none during the handshake.
        case plain([UInt8])
        case ended
        /// `isTLS` is false if the first byte is not that of a handshake (RFC 8446 §5.1).
        case failed(isTLS: Bool)
    }

    /// Starts a connection; nil if there is no memory.
    init?(_ identity: TLSIdentity) {
        guard let connection = libssl_accept(identity.server) else { return nil }
        self.connection = connection
        self.identity = identity
    }

    deinit { libssl_end(connection) }

    var isEstablished: Bool { libssl_is_established(connection) != 0 }

    func decrypt(_ bytes: [UInt8]) -> Received {
        guard hasInput || bytes.first == 0x16 else {
            isBroken = true
            return .failed(isTLS: false)
        }
        hasInput = true
        var plain: [UInt8] = []
        guard !isBroken, libssl_feed(connection, bytes, bytes.count) != 0 else {
            isBroken = true
            return .failed(isTLS: true)
        }
        var part = [UInt8](repeating: 0, count: LoopbackSocket.readSize)
        while true {
            let count = libssl_receive(connection, &part, part.count)
            switch count {
            case 1...: plain += part[..<count]
            case 0: return .plain(plain)
            case -1: return plain.isEmpty ? .ended : .plain(plain)
            default:
                isBroken = true
                return plain.isEmpty ? .failed(isTLS: true) : .plain(plain)
            }
        }
    }

    /// Returns what the handshake has to send.
    func output() -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: LoopbackSocket.readSize)
        while case let count = libssl_take(connection, &part, part.count), count > 0 {
            bytes += part[..<count]
        }
        return bytes
    }

    func encrypt(_ bytes: [UInt8]) -> [UInt8] {
        guard !isBroken, !bytes.isEmpty else { return [] }
        if libssl_send(connection, bytes, bytes.count) == 0 { isBroken = true }
        return output()
    }

    /// Returns the announcement that nothing more is sent.
    func end() -> [UInt8] {
        guard !isBroken, isEstablished else { return [] }
        libssl_shutdown(connection)
        return output()
    }
}
