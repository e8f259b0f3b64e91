import CLibcurl
@testable import CurlHTTP
import Foundation
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite(
    "TLS", .serialized, .waiting,
    .enabled(if: TLSServers.areAvailable, "needs python3 and openssl to play the server"))
struct CurlTLSTests {
    let servers: TLSServers

    init() throws {
        servers = try #require(TLSServers.shared)
    }

    private func trusting(_ file: String = "ca.pem") -> CurlConfiguration {
        var configuration = CurlConfiguration()
        configuration.caFile = .init(path: servers.path(file))
        return configuration
    }

    private func presenting(_ certificate: String, _ key: String, passphrase: String? = nil)
        -> CurlConfiguration
    {
        var configuration = trusting()
        configuration.clientCertificate = .init(
            certificatePath: servers.path(certificate), keyPath: servers.path(key),
            passphrase: passphrase.map { Redacted($0) })
        return configuration
    }

    private func get(
        _ name: String, host: String = "127.0.0.1", asClient: Bool = false, _ configuration: CurlConfiguration
    ) throws -> String {
        var request = HTTPRequest.json(try #require(servers.url(name, host: host)))
        request.usesClientCertificate = asClient
        return String(
            decoding: try CurlTransport(configuration).send(request, stage: .token).body, as: UTF8.self)
    }

    private func failure(
        _ name: String, host: String = "127.0.0.1", asClient: Bool = false, _ configuration: CurlConfiguration
    ) -> OIDCError? {
        #expect(throws: OIDCError.self) { try get(name, host: host, asClient: asClient, configuration) }
    }

    private func address(_ name: String, host: String = "127.0.0.1") throws -> String {
        try #require(servers.url(name, host: host)).hostAndPort
    }

    @Test(
        "a certificate of the authority in ca_file is trusted",
        arguments: [("good", "TLSv1.3"), ("tls12", "TLSv1.2")])
    func trusted(name: String, version: String) throws {
        #expect(try get(name, trusting()) == "\(version) nobody")
    }

    @Test("a certificate of an unknown authority is not trusted", arguments: [false, true])
    func unknownAuthority(withFile: Bool) throws {
        let error = failure(withFile ? "stranger" : "good", withFile ? trusting() : CurlConfiguration())
        #expect(error?.kind == .untrusted)
        let host = try address(withFile ? "stranger" : "good")
        #expect(error?.message.hasPrefix("token: the certificate of \(host) could not be verified: ") == true)
        #expect(error?.hint == .trustAuthority(setting: withFile ? "certificate authorities" : nil))
    }

    @Test(
        "a certificate that an authority of this name signed with another key is not trusted, and not an outage",
        arguments: [("good", "imitation.pem"), ("ofrsa", "rsaimitation.pem")])
    func otherKey(name: String, file: String) throws {
        let error = failure(name, trusting(file))
        #expect(error?.kind == .untrusted)
        let start = "token: the certificate of \(try address(name)) could not be verified: "
        #expect(error?.message.hasPrefix(start) == true)
        #expect(error?.hint == .trustAuthority(setting: "certificate authorities"))
    }

    @Test("a certificate for another host is not trusted")
    func otherHost() throws {
        let error = failure("good", host: "localhost", trusting())
        #expect(error?.kind == .untrusted)
        #expect(error?.hint == "check the host name in the URL")
    }

    @Test("an expired certificate is not trusted")
    func expired() throws {
        let error = failure("expired", trusting())
        #expect(error?.kind == .untrusted)
        guard error?.message.contains("expired") != true else {
            #expect(error?.hint == "check this machine's clock, or report it to the provider")
            return
        }
        #expect(error?.message.hasSuffix("unknown issuer, or expired") == true)
    }

    @Test("a server that knows no TLS 1.2 is not trusted")
    func oldVersion() throws {
        #expect(
            failure("tls11", trusting())
                == OIDCError(
                    .untrusted, "token: \(try address("tls11")) does not support TLS 1.2 or later",
                    hint: "the provider must support TLS 1.2 or 1.3", stage: .token))
    }

    @Test(
        "our client certificate is sent if the request asks for it",
        arguments: ["asking", "demanding", "demanding12"])
    func clientCertificate(name: String) throws {
        let version = name.hasSuffix("12") ? "TLSv1.2" : "TLSv1.3"
        #expect(try get(name, asClient: true, presenting("client.pem", "client.key")) == "\(version) client")
    }

    @Test("the client certificate is sent to no other server, not even over a connection that has used it")
    func noClientCertificate() throws {
        let transport = CurlTransport(presenting("client.pem", "client.key"))
        var request = HTTPRequest.json(try #require(servers.url("asking")))
        let names = try [false, true, false, true].map { asClient in
            request.usesClientCertificate = asClient
            return String(decoding: try transport.send(request, stage: .token).body, as: UTF8.self)
        }
        #expect(names == ["TLSv1.3 nobody", "TLSv1.3 client", "TLSv1.3 nobody", "TLSv1.3 client"])
    }

    @Test(
        "the client certificate is also sent to the origins that get it with every request, and to no others")
    func certificateOrigins() throws {
        var configuration = presenting("client.pem", "client.key")
        configuration.certificateOrigins = [try #require(servers.url("asking")).origin]
        #expect(try get("asking", configuration) == "TLSv1.3 client")
        configuration.certificateOrigins = [try #require(servers.url("demanding")).origin]
        #expect(try get("asking", configuration) == "TLSv1.3 nobody")
    }

    @Test(
        "a server that requires a certificate and gets none, or another one",
        arguments: ["demanding", "demanding12"])
    func demanded(name: String) throws {
        let hint = Hint.advice(.useKnownClientCertificate)
        let host = try address(name)
        let missing = failure(name, trusting())
        #expect(missing?.kind == .unreachable)
        #expect(missing?.hint == hint || missing?.hint == .advice(.giveClientCertificateIfAsked))
        let refused = failure(name, asClient: true, presenting("stranger.pem", "stranger.key"))
        #expect(refused?.kind == .unreachable)
        #expect(refused?.hint == hint)
        // GnuTLS has no words for the alert.
        guard refused?.message != "token: \(host) ended the TLS connection with an alert" else { return }
        #expect(refused?.message == "token: \(host) does not accept the client certificate")
        if name == "demanding" { #expect(missing?.message == "token: \(host) requires a client certificate") }
    }

    @Test("through a proxy's tunnel, only the provider's answer is returned")
    func tunnel() throws {
        let port = try #require(servers.url("good")).effectivePort
        let proxy = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            peer.write("HTTP/1.1 200 Connection established\r\nX-Proxy: yes\r\n\r\n")
            peer.relay(to: port)
        }
        var configuration = trusting()
        configuration.proxy = .url("http://127.0.0.1:\(proxy.port)")
        let url = try #require(WebURL("https://idp.invalid/token"))
        let transport = CurlTransport(configuration)
        for request in [HTTPRequest.json(url), .form(url, [.init("code", "x")]), .json(url)] {
            let response = try transport.send(request, stage: .token)
            #expect(response.body == Array("TLSv1.3 nobody".utf8))
            #expect(response.headers["X-Proxy"] == nil)
        }
    }

    @Test("an encrypted key is opened with its passphrase")
    func passphrase() throws {
        let configuration = presenting("client.pem", "locked.key", passphrase: "open sesame")
        #expect(try get("asking", asClient: true, configuration) == "TLSv1.3 client")
    }

    @Test(
        "a pair that cannot be used names its setting",
        arguments: [
            ("client.pem", "good.key", nil, "client key: KEY does not belong to the certificate CERT"),
            (
                "client.pem", "locked.key", nil,
                "client key: KEY is encrypted and no passphrase is configured"
            ),
            ("client.pem", "locked.key", "open sesam", "client key: KEY cannot be used as a private key"),
            ("client.pem", "missing", nil, "client key: KEY cannot be read: No such file or directory"),
            (
                "missing", "client.key", nil,
                "client certificate: CERT cannot be read: No such file or directory"
            ),
            ("client.key", "client.key", nil, "client certificate: CERT contains no PEM certificate"),
            ("client.pem", "client.pem", nil, "client key: KEY contains no PEM private key"),
        ] as [(String, String, String?, String)])
    func unusablePair(certificate: String, key: String, passphrase: String?, message: String) {
        let error = failure("asking", asClient: true, presenting(certificate, key, passphrase: passphrase))
        #expect(error?.kind == .usage)
        let expected = message.replacingOccurrences(of: "KEY", with: servers.path(key))
            .replacingOccurrences(of: "CERT", with: servers.path(certificate))
        #expect(error?.message == expected)
        #expect(error?.message.contains("sesam") == false)
    }

    @Test("a client certificate that is not needed is not read")
    func notLookedAt() throws {
        #expect(try get("good", presenting("missing", "missing")) == "TLSv1.3 nobody")
    }

    @Test(
        "up to 32 certificates are taken, in any order and of any kind",
        arguments: ["chain6", "chain612", "chain32", "chain3212"])
    func longChain(name: String) throws {
        // GnuTLS verifies chains of up to 16.
        guard try name.hasPrefix("chain6") || canLimitReads() else { return }
        #expect(try get(name, trusting()).hasSuffix(" nobody"))
    }

    /// The extensions of a certificate with points of revocation lists (RFC 5280 §4.2.1.13).
    private static func lists(_ points: [UInt8], before critical: [UInt8] = []) -> [UInt8] {
        func element(_ tag: UInt8, _ value: [UInt8]) -> [UInt8] { [tag, UInt8(value.count)] + value }
        let value = critical + element(4, element(0x30, points))
        return element(0xA3, element(0x30, element(0x30, [6, 3, 0x55, 0x1D, 0x1F] + value)))
    }

    /// The identifiers of such keys, and of a curve, in DER.
    private static let ec: [UInt8] = [6, 7, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 2, 1]
    private static let secp224r1: [UInt8] = [6, 5, 0x2B, 0x81, 4, 0, 0x21]

    /// The error of a server whose certificates are not read.
    private func refusal(_ host: String) -> OIDCError {
        OIDCError(
            .untrusted,
            "token: the certificates of \(host) could not be verified: they are malformed, more than 32 or 64 KiB, or "
                + "a key has a compressed point or explicit curve parameters",
            hint: "check for a proxy on the way, or report it to the provider", stage: .token)
    }

    @Test(
        "certificates that cost too much to read are refused (RFC 5480 §2.1.1, §2.2)",
        arguments: ["chain33", "large", "explicitchain", "compressedchain"].flatMap { [$0, $0 + "12"] })
    func expensiveCertificates(name: String) throws {
        guard try canLimitReads() else { return }
        #expect(failure(name, trusting()) == refusal(try address(name)))
        #expect(failure(name, CurlConfiguration()) == refusal(try address(name)))
    }

    @Test(
        "a key with a curve of its own or a compressed point, and a list named by its issuer, is not read, whoever sends it",
        arguments: [
            [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01, 0x01],
            [0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01, 0x02],
            [0x06, 0x81, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x01, 0x01],
            ec + secp224r1 + [3, 3, 0, 2, 7], ec + secp224r1 + [3, 3, 0, 3, 7],
            ec + secp224r1 + [3, 3, 0, 6, 7],
            ec + secp224r1 + [3, 0x82, 0, 3, 0, 2, 7], ec + secp224r1 + [3, 0x81, 3, 0, 2, 7],
            ec + secp224r1 + [0x23, 5, 3, 3, 0, 2, 7], ec + secp224r1 + [0, 0, 3, 3, 0, 2, 7],
            ec + [6, 0x81] + secp224r1[1...] + [3, 3, 0, 2, 7], ec + [5, 0, 3, 3, 0, 4, 7],
            [6, 8, 0x2A, 0x81, 0x1C, 0xCF, 0x55, 1, 0x82, 0x2D] + secp224r1 + [3, 3, 0, 2, 7],
            // Of revocation lists: one named by its issuer's name, and one that is not in DER.
            lists([0x30, 4, 0xA0, 2, 0xA1, 0]), lists([0x30, 0x81, 2, 0xA0, 0]),
            lists([0x30, 4, 0xA0, 2, 0x81, 0]), lists([0x30, 4, 0x80, 2, 0xA1, 0]),
            lists([0x31, 4, 0xA0, 2, 0xA1, 0]),
            lists([0x30, 4, 0xA0, 2, 0xA1, 0], before: [1, 1, 0xFF, 4, 2, 0x30, 0]),
            lists([0x30, 5, 0xA0, 3, 0xBF, 1, 0]), [0xBF, 3] + lists([0x30, 4, 0xA0, 2, 0xA1, 0])[1...],
            // A key behind what looks like another one's curve.
            ec + [6, 127] + ec + secp224r1 + [3, 3, 0, 2, 7],
        ] as [[UInt8]])
    func expensiveKey(field: [UInt8]) throws {
        guard try canLimitReads() else { return }
        let (error, host) = try answer(field)
        #expect(error == refusal(host))
    }

    @Test(
        "what certificates usually have is left to OpenSSL, which reads this one no further for another reason",
        arguments: [
            lists([0x30, 6, 0xA0, 4, 0xA0, 2, 0x86, 0]),
            lists([0x30, 6, 0xA0, 4, 0xA0, 2, 0x86, 0], before: [1, 1, 0xFF]),
            lists([0x30, 14, 0xA0, 4, 0xA0, 2, 0x86, 0, 0x81, 2, 5, 0x60, 0xA2, 2, 0x86, 0]),
        ])
    func usualList(field: [UInt8]) throws {
        guard try canLimitReads() else { return }
        let (error, host) = try answer(field)
        #expect(error != nil && error != refusal(host))
    }

    /// Returns the error for a certificate with a field.
    private func answer(_ field: [UInt8]) throws -> (error: OIDCError?, host: String) {
        // ServerHello and Certificate of TLS 1.2.
        func message(_ type: UInt8, _ body: [UInt8]) -> [UInt8] { [type, 0, 0, UInt8(body.count)] + body }
        let hello = message(
            2, [3, 3] + [UInt8](repeating: 7, count: 32) + [0, 0xC0, 0x2B, 0, 0, 5, 0xFF, 1, 0, 1, 0])
        let certificate = [0x30, UInt8(field.count + 2), 0x30, UInt8(field.count)] + field
        let count = UInt8(certificate.count)
        let messages = hello + message(11, [0, 0, count + 3, 0, 0, count] + certificate)
        let server = try ScriptedServer { peer in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            guard recv(peer.descriptor, &buffer, buffer.count, 0) > 0 else { return }
            peer.write([22, 3, 3, 0, UInt8(messages.count)] + messages)
            peer.waitForEnd()
        }
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/"))
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport(trusting()).send(.json(url), stage: .token)
        }
        return (error, url.hostAndPort)
    }

    /// Returns whether libcurl uses OpenSSL, which can be limited.
    private func canLimitReads() throws -> Bool {
        let library = try CurlLibrary.load()
        let handle = try #require(library.pointee.easy_init())
        defer { library.pointee.easy_cleanup(handle) }
        return oidc_curl_can_limit_reads(handle) != 0
    }

    @Test("a server cannot choose finite-field Diffie-Hellman (RFC 7919, RFC 9325 §4.1)")
    func keyExchange() throws {
        let hello = Mutex<[UInt8]>([])
        let server = try ScriptedServer { peer in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            let count = recv(peer.descriptor, &buffer, buffer.count, 0)
            let bytes = Array(buffer.prefix(max(0, count)))
            hello.withLock { $0 = bytes }
        }
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/"))
        #expect(throws: OIDCError.self) { try CurlTransport(trusting()).send(.json(url), stage: .token) }
        let offer = try #require(TLSOffer(hello.withLock { $0 }))
        #expect(offer.groups.contains(0x0017), "secp256r1 in \(offer.groups)")
        guard try canLimitReads() else { return }
        #expect(!offer.groups.contains { (0x0100..<0x0200).contains($0) }, "\(offer.groups)")
        // DHE-RSA with AES in GCM.
        #expect(offer.ciphers.contains(0xC02F) && Set(offer.ciphers).isDisjoint(with: [0x009E, 0x009F]))
    }
}

/// The ciphers and groups of a ClientHello (RFC 8446 §4.1.2, §4.2.7).
private struct TLSOffer {
    var ciphers: [Int] = []
    var groups: [Int] = []

    /// Returns nil if the bytes are not a whole ClientHello in one record.
    init?(_ bytes: [UInt8]) {
        var rest = bytes.dropFirst(5 + 4 + 2 + 32)
        func number(_ size: Int) -> Int? {
            guard rest.count >= size else { return nil }
            defer { rest = rest.dropFirst(size) }
            return rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
        }
        func numbers(_ bytes: ArraySlice<UInt8>) -> [Int] {
            stride(from: bytes.startIndex, to: bytes.endIndex - 1, by: 2).map {
                Int(bytes[$0]) << 8 | Int(bytes[$0 + 1])
            }
        }
        func vector(_ size: Int) -> ArraySlice<UInt8>? {
            guard let count = number(size), rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        guard vector(1) != nil, let ciphers = vector(2), vector(1) != nil, number(2) != nil else {
            return nil
        }
        self.ciphers = numbers(ciphers)
        while !rest.isEmpty {
            guard let type = number(2), let content = vector(2) else { return nil }
            if type == 10 { groups = numbers(content.dropFirst(2)) }
        }
    }
}
