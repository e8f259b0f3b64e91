@testable import LoopbackHTTP
import OIDCCore
@testable import Posix
import TestSupport
import Testing

@Suite("a listener that speaks TLS")
struct TLSIdentityTests {
    private func server(_ policy: HTTP1Server.Policy = HTTP1Server.Policy()) throws -> LoopbackServer {
        let (certificate, key) = try TLSIdentity.made()
        let scratch = ScratchDirectory()
        scratch.put(certificate, "certificate.pem")
        scratch.put(key.revealed, "key.pem")
        let files = TLSFiles(certificate: scratch["certificate.pem"], key: scratch["key.pem"])
        let server = try LoopbackServer(LoopbackAddress(host: .ipv4), policy)
        server.secure(with: try files.identity(for: "localhost", at: Clock.now()))
        #expect(server.origin == "https://127.0.0.1:\(server.port)")
        for host in ["127.0.0.1", "::1"] { _ = try files.identity(for: host, at: Clock.now()) }
        for host in ["localhost.example", "127.0.0.2", "example.com", "localhos"] {
            #expect(throws: OIDCError.self, "\(host)") { try files.identity(for: host, at: Clock.now()) }
        }
        for (moment, message) in [(-7_200, "is not valid yet"), (398 * 86_400, "has expired")]
            as [(Int64, String)]
        {
            let found = failure { () throws(OIDCError) in
                try files.identity(for: "localhost", at: Clock.now().adding(moment))
            }
            #expect(found?.kind == .usage && found?.message.hasSuffix(message) == true, "\(moment)")
        }
        return server
    }

    @Test("a handshake that trickles ends at the time limit, counted from its start, and nothing is handled")
    func handshakes() throws {
        var policy = HTTP1Server.Policy()
        policy.idleMilliseconds = 300
        let server = try server(policy)
        let client = try LoopbackClient(server)
        defer { client.close() }
        var handled = 0
        // The head of a hello of 512 bytes, and then a byte at a time.
        try client.send([0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3])
        let start = MonotonicTime.now()
        var isOpen = true
        while isOpen, MonotonicTime.now() < start.adding(seconds: 20) {
            _ = server.serve(until: .now().adding(milliseconds: 50)) { _ in
                handled += 1
                return HTTPResponse(status: 200)
            }
            isOpen = server.connectionCount > 0
            if isOpen { try? client.send([0]) }
        }
        #expect(!isOpen && handled == 0)
    }
}
