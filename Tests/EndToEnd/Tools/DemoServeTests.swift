import Foundation
import LoopbackHTTP
import OIDCCore
import TestSupport
import Testing

@Suite("demo --serve", .serialized, .waiting)
struct DemoServeTests {
    @Test("answers its own Host only, and prints each client with its secret")
    func host() throws {
        let program = try Program()
        defer { program.remove() }
        // A port that was free a moment ago; another one is used if it is taken meanwhile.
        for _ in 0..<5 {
            let free = try LoopbackServer()
            let port = free.port
            free.close()
            let run = try program.start(["demo", "--serve", "--port", "\(port)"])
            defer {
                run.signal(SIGTERM)
                _ = run.finish()
            }
            let secret = "demo-confidential (secret: demo-secret)"
            guard let text = run.errorOutput(where: { $0.contains(secret) ? $0 : nil }) else { continue }
            #expect(text.contains("  demo (public)"))
            #expect(status(port, host: "127.0.0.1:\(port)") == 200)
            for host in ["evil.example", "evil.example:\(port)", "127.0.0.1", "127.0.0.1:1", "localhost"] {
                #expect(status(port, host: host) == 421, "\(host)")
            }
            let words = [
                "--grant", "client_credentials", "--client-id", "demo-confidential",
                "--issuer", "http://127.0.0.1:\(port)",
            ]
            for command in ["token", "request"] {
                let machine = try program.start(
                    [command, "http://127.0.0.1:\(port)/mcp"] + words, ["OIDC_CLIENT_SECRET": "demo-secret"]
                ).finish()
                #expect(machine.status == 0, "\(machine)")
            }
            run.signal(SIGINT)
            let end = run.finish()
            #expect(end.status == 130 && !end.errorOutput.contains("error:"), "\(end)")
            return
        }
        Issue.record("no port was free")
    }

    private func status(_ port: UInt16, host: String) -> Int? {
        let request =
            "GET /.well-known/openid-configuration HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n"
        return RawConnection.status(RawConnection.exchange(port: port, request))
    }
}
