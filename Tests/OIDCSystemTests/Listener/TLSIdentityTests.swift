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

    @Test(
        "a client cannot choose finite-field Diffie-Hellman, which would cost this side alone (RFC 7919)",
        arguments: [false, true])
    func keyExchange(offersCurve: Bool) throws {
        func vector(_ size: Int, _ bytes: [UInt8]) -> [UInt8] {
            (0..<size).reversed().map { UInt8(truncatingIfNeeded: bytes.count >> ($0 * 8)) } + bytes
        }
        func entry(_ type: UInt8, _ content: [UInt8]) -> [UInt8] { [0, type] + vector(2, content) }
        // TLS 1.3 with ffdhe2048, or X25519. The shares are 4, a square as the group's numbers are, and any point.
        let group: [UInt8] = offersCurve ? [0, 0x1D] : [1, 0]
        let share =
            group + vector(2, [UInt8](repeating: offersCurve ? 7 : 0, count: offersCurve ? 31 : 255) + [4])
        let extensions =
            entry(43, vector(1, [3, 4])) + entry(10, vector(2, group)) + entry(13, vector(2, [4, 3]))
            + entry(51, vector(2, share))
        let hello =
            [3, 3] + [UInt8](repeating: 7, count: 32) + vector(1, []) + vector(2, [0x13, 1]) + vector(1, [0])
            + vector(2, extensions)
        let server = try server()
        let client = try LoopbackClient(server)
        defer { client.close() }
        try client.send([22, 3, 1] + vector(2, [1] + vector(3, hello)))
        var answer: String?
        let end = MonotonicTime.now().adding(seconds: 60)
        repeat {
            _ = server.serve(until: .now().adding(milliseconds: 50)) { _ in HTTPResponse(status: 200) }
            answer = client.received()
        } while answer == "" && MonotonicTime.now() < end
        // A handshake's record, or an alert's.
        #expect(answer?.utf8.first == (offersCurve ? 22 : 21))
    }
}
