import CLibcurl
@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCProxy
@testable import Posix
import TestSupport
import Testing

/// A TLS server and the machine's authorities, with the expected verdict.
struct CertificateCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let server: String
    var host = "127.0.0.1"
    var authorities = "both"
    /// Words of the error's message; nil if the server is trusted.
    var reason: String?
    /// How often a client with the directory connects: twice if that does not verify the server.
    var connections = 1

    static let all = [
        CertificateCase(testDescription: "good", server: "good"),
        CertificateCase(testDescription: "good, TLS 1.2", server: "tls12"),
        CertificateCase(testDescription: "good, RSA", server: "ofrsa"),
        CertificateCase(
            testDescription: "unknown issuer", server: "stranger", reason: "could not be verified",
            connections: 2),
        CertificateCase(
            testDescription: "self-signed", server: "selfsigned", reason: "could not be verified",
            connections: 2),
        CertificateCase(
            testDescription: "expired", server: "expired", reason: "could not be verified", connections: 2),
        CertificateCase(
            testDescription: "another host", server: "good", host: "localhost",
            reason: "could not be verified", connections: 2),
        CertificateCase(
            testDescription: "an authority of the right name with another key", server: "good",
            authorities: "imitations", reason: "could not be verified", connections: 2),
        CertificateCase(
            testDescription: "an authority of the right name with another RSA key", server: "ofrsa",
            authorities: "imitations", reason: "could not be verified", connections: 2),
        CertificateCase(
            testDescription: "TLS 1.1", server: "tls11", reason: "does not support TLS 1.2 or later"),
        CertificateCase(
            testDescription: "asks for a certificate", server: "demanding",
            reason: "requires a client certificate"),
    ]
}

private enum TLSLibrary {
    static let isOpenSSL =
        (oidc_curl()?.pointee.version_info(0).pointee.tls_library).map {
            String(cString: $0).hasPrefix("OpenSSL/")
        } ?? false
}

@Suite(
    "the machine's certificate authorities", .serialized, .waiting,
    .enabled(
        if: TLSServers.areAvailable && TLSLibrary.isOpenSSL,
        "needs python3 and openssl to play the server, and a libcurl with OpenSSL"))
struct SystemAuthoritiesTests {
    private let servers: TLSServers

    init() throws { servers = try #require(TLSServers.shared) }

    private func machine(bundle: String, directory: String?) -> CurlConfiguration {
        var configuration = CurlConfiguration()
        configuration.isCancelled = { false }
        configuration.systemAuthorities = SystemAuthorities(
            .init(
                bundle: servers.path("\(bundle).pem"),
                directories: directory.map { [servers.path($0)] } ?? []))
        return configuration
    }

    /// A port that leads to a server and counts the connections.
    private func relay(to name: String) throws -> ScriptedServer {
        let port = servers.port(name)
        return try ScriptedServer { $0.relay(to: port) }
    }

    private func outcome(_ url: WebURL, _ configuration: CurlConfiguration) -> Result<[UInt8], OIDCError> {
        Result { () throws(OIDCError) in
            try CurlTransport(configuration).send(.form(url, [.init("code", "x")]), stage: .token).body
        }
    }

    @Test(
        "the directory of authorities leads to the same verdict and message as the bundle",
        arguments: CertificateCase.all)
    func verdict(certificate: CertificateCase) throws {
        let relay = try relay(to: certificate.server)
        let url = try #require(WebURL("https://\(certificate.host):\(relay.port)/x?secret"))
        let authorities = certificate.authorities
        let expected = outcome(url, machine(bundle: authorities, directory: nil))
        #expect(relay.connectionCount == 1)
        #expect(outcome(url, machine(bundle: authorities, directory: authorities)) == expected)
        #expect(relay.connectionCount == 1 + certificate.connections)
        switch (expected, certificate.reason) {
        case (.success, nil): break
        case (.failure(let error), let reason?):
            #expect(error.message.contains(reason), "\(error)")
            #expect(error.kind == (certificate.server == "demanding" ? .unreachable : .untrusted))
        default: Issue.record("\(expected)")
        }
    }

    @Test("the bundle is not read if the directory verifies the server")
    func directoryAlone() throws {
        let relay = try relay(to: "good")
        let url = try #require(WebURL("https://127.0.0.1:\(relay.port)/"))
        #expect(throws: Never.self) {
            try outcome(url, machine(bundle: "missing", directory: "both")).get()
        }
        #expect(relay.connectionCount == 1)
    }

    @Test("an authority that only the bundle has is trusted, and its server remembered")
    func bundleHasMore() throws {
        let relay = try relay(to: "good")
        let url = try #require(WebURL("https://127.0.0.1:\(relay.port)/"))
        let transport = CurlTransport(machine(bundle: "both", directory: "others"))
        for count in [2, 3, 4] {
            let response = try transport.send(.form(url, [.init("code", "x")]), stage: .token)
            #expect(response.body == Array("TLSv1.3 nobody".utf8))
            #expect(relay.connectionCount == count)
        }
    }

    @Test("the bundle is used without a directory, which is tried again if it does not verify the server")
    func bundleAlone() throws {
        let library = try CurlLibrary.load()
        let easy = try #require(library.pointee.easy_init())
        defer { library.pointee.easy_cleanup(easy) }
        let configuration = machine(bundle: "both", directory: "others")
        let setup = CurlSetup(library: library, configuration: configuration, stage: .token)
        let url = try #require(WebURL("https://127.0.0.1:1/"))
        let authorities = configuration.systemAuthorities
        let now = MonotonicTime.now()
        func source(seconds: Int64) -> SystemAuthorities.Source {
            authorities.source(for: url, setup, easy, at: now.adding(seconds: seconds))
        }
        authorities.noteRefusal(of: url, at: now)
        #expect(source(seconds: 9) == .directory(servers.path("others")))
        authorities.useBundle(for: url)
        #expect(source(seconds: 1_000_000) == .bundleAlone(servers.path("both.pem")))
        authorities.noteRefusal(of: url, at: now)
        #expect(source(seconds: 0) == .bundleAlone(servers.path("both.pem")))
        authorities.noteRefusal(of: url, at: now.adding(seconds: 9))
        #expect(source(seconds: 1) == .directory(servers.path("others")))
        authorities.useBundle(for: url)
        #expect(source(seconds: 1_000_000) == .bundleAlone(servers.path("both.pem")))
    }

    @Test(
        "a directory that others may write, that another user owns, or without hashes is not used",
        arguments: ["open to a group", "open to all", "another user's", "in another's", "without hashes"])
    func refusedDirectory(fault: String) throws {
        let folder = servers.path("refused-\(UInt64.random(in: 0 ... .max))")
        let manager = FileManager.default
        try manager.createDirectory(
            atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let directory = folder + "/certs"
        try manager.copyItem(atPath: servers.path("both"), toPath: directory)
        #expect(PEMFile.isHashedDirectory(directory))
        switch fault {
        case "open to a group": chmod(directory, 0o775)
        case "open to all": chmod(directory, 0o777)
        case "another user's": guard chown(directory, 65_534, 65_534) == 0 else { return }
        case "in another's": chmod(folder, 0o777)
        default:
            for name in try manager.contentsOfDirectory(atPath: directory) where name.hasSuffix(".0") {
                try manager.removeItem(atPath: "\(directory)/\(name)")
            }
        }
        #expect(!PEMFile.isHashedDirectory(directory))
        let relay = try relay(to: "good")
        let url = try #require(WebURL("https://127.0.0.1:\(relay.port)/"))
        var configuration = CurlConfiguration()
        configuration.systemAuthorities = SystemAuthorities(
            .init(bundle: servers.path("others.pem"), directories: [directory]))
        let error = #expect(throws: OIDCError.self) { try outcome(url, configuration).get() }
        #expect(error?.kind == .untrusted)
        #expect(relay.connectionCount == 1)
    }

    @Test("ca_file alone is trusted, whatever the machine's directory has")
    func caFile() throws {
        let relay = try relay(to: "good")
        let url = try #require(WebURL("https://127.0.0.1:\(relay.port)/"))
        var configuration = machine(bundle: "both", directory: "both")
        configuration.caFile = .init(path: servers.path("others.pem"))
        let error = #expect(throws: OIDCError.self) { try outcome(url, configuration).get() }
        #expect(error?.kind == .untrusted)
        #expect(relay.connectionCount == 1)
    }

    @Test(
        "a proxy that is reached with TLS is verified in the same way",
        arguments: [("good", 1), ("stranger", 2), ("expired", 2)])
    func proxy(name: String, connections: Int) throws {
        let relay = try relay(to: name)
        let url = try #require(WebURL("https://idp.invalid/"))
        func outcome(directory: String?) -> Result<[UInt8], OIDCError> {
            var configuration = machine(bundle: "both", directory: directory)
            configuration.proxy = .url("https://127.0.0.1:\(relay.port)")
            // Makes the proxy refuse.
            configuration.userAgent = "token-1"
            return self.outcome(url, configuration)
        }
        let expected = outcome(directory: nil)
        #expect(outcome(directory: "both") == expected)
        #expect(relay.connectionCount == 1 + connections)
        let error = #expect(throws: OIDCError.self) { try expected.get() }
        #expect(error?.message.contains("it answered 401") == (name == "good"), "\(expected)")
    }

    @Test(
        "the proxy command's requests are sent once, whether the directory verifies the server or the bundle",
        arguments: [("both", "both", 1), ("others", "both", 2), ("others", "imitations", 2)])
    func proxied(directory: String, bundle: String, connections: Int) throws {
        let relay = try relay(to: "good")
        let url = try #require(WebURL("https://127.0.0.1:\(relay.port)/"))
        let authorities = machine(bundle: bundle, directory: directory).systemAuthorities
        let world = try ProxyWorld([url]) { $0.curl.systemAuthorities = authorities }
        // The server refuses the first token, so the request is sent again over the same connection.
        let reply = try world.exchange("GET", "x")
        #expect(reply.hasSuffix("TLSv1.3 nobody") == (bundle == "both"), "\(reply)")
        #expect(reply.contains(bundle == "both" ? "200 OK" : "could not be verified"), "\(reply)")
        #expect(relay.connectionCount == connections)
        guard bundle == "both" else { return }
        let post = try world.exchange("POST", "x", ["Content-Length: 5"], body: "abcde")
        #expect(post.hasSuffix("TLSv1.3 nobody"), "\(post)")
    }

    @Test("a body is sent whole over the connection that the bundle verified")
    func proxiedBody() throws {
        let relay = try relay(to: "good")
        let url = try #require(WebURL("https://127.0.0.1:\(relay.port)/"))
        let authorities = machine(bundle: "both", directory: "others").systemAuthorities
        let world = try ProxyWorld([url]) { $0.curl.systemAuthorities = authorities }
        let reply = try world.exchange(
            "POST", "x", ["Transfer-Encoding: chunked"], body: "1\r\na\r\n0\r\n\r\n")
        #expect(reply.hasSuffix("TLSv1.3 nobody"), "\(reply)")
    }

    @Test(
        "a shared store's server is verified in the same way",
        arguments: [("both", "both", 1), ("others", "both", 2), ("others", "imitations", 2)])
    func wire(directory: String, bundle: String, connections: Int) throws {
        let relay = try relay(to: "good")
        let outcome = Result { () throws(WireFault) in
            try CurlWire.connect(
                "127.0.0.1:\(relay.port)", machine(bundle: bundle, directory: directory),
                until: .now().adding(seconds: 30))
        }
        #expect(relay.connectionCount == connections)
        switch outcome {
        case .success(let wire):
            #expect(bundle == "both")
            try wire.send(Array("GET / HTTP/1.1\r\n\r\n".utf8), until: .now().adding(seconds: 30))
            let answer = try wire.receive(until: .now().adding(seconds: 30))
            #expect(String(decoding: answer, as: UTF8.self).hasPrefix("HTTP/1.1 200 OK"))
        case .failure(.other(let error)): #expect(error.kind == .untrusted && bundle == "imitations")
        case .failure(let fault): Issue.record("\(fault)")
        }
    }
}
