import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("the listener under floods, in the built program", .serialized, .waiting)
struct ListenerFloodTests {
    enum Flood: String, CaseIterable {
        case idle, slowloris, slowBody, halfLine, resets
    }

    private func descriptorCount(_ run: Run) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(run.identifier)/fd"))?.count ?? 0
    }

    private func peakMemory(_ run: Run) -> Int {
        let status = (try? String(contentsOfFile: "/proc/\(run.identifier)/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return Int(line.filter(\.isNumber)) ?? 0
    }

    /// Enough for a thousand connections and what other tests have open.
    private func raiseDescriptorLimit() {
        var limit = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 8_192))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }

    @Test(
        "connections that never finish: descriptors stay bounded, the true callback signs in",
        arguments: Flood.allCases.map { ($0, 300) } + [(.idle, 1_000), (.slowloris, 1_000)])
    func connections(flood: Flood, count: Int) throws {
        raiseDescriptorLimit()
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        // What it was started with may hold descriptors of tests that run beside this one.
        let inherited = descriptorCount(signIn.run)
        var open: [RawConnection] = []
        for _ in 0..<count {
            let connection = try #require(RawConnection(port: signIn.port))
            switch flood {
            case .idle: break
            case .slowloris: connection.send("GET /callback HTTP/1.1\r\nX: ")
            case .slowBody:
                connection.send(
                    "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(signIn.port)\r\nContent-Length: 9\r\n\r\na")
            case .halfLine: connection.send("GET /callb")
            case .resets: continue
            }
            open.append(connection)
        }
        #expect(descriptorCount(signIn.run) - inherited < 300)
        let (page, outcome) = signIn.complete()
        #expect(page.contains("Signed in"), "\(page)")
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        open.removeAll()
    }

    @Test(
        "endless headers and bodies are cut off, in bounded memory",
        arguments: ["X: ", "X: a\r\n", "", "\r\n"])
    func endless(piece: String) throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let before = peakMemory(signIn.run)
        let connection = try #require(RawConnection(port: signIn.port))
        connection.send(
            piece.isEmpty
                ? "GET /callback?"
                : piece == "\r\n" ? "" : "GET /callback HTTP/1.1\r\nHost: 127.0.0.1:\(signIn.port)\r\n")
        let unit =
            piece.isEmpty || piece == "X: "
            ? piece + String(repeating: "a", count: 65_536) : String(repeating: piece, count: 10_000)
        var sent = 0
        while sent < 64 << 20, connection.send(unit) { sent += unit.utf8.count }
        #expect(sent < 64 << 20)
        #expect(peakMemory(signIn.run) - before < 16_384)
        let (_, outcome) = signIn.complete()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
    }

    @Test("the same callback ten times at once: one token request, the same page for all")
    func repeated() throws {
        let provider = try TrustWorld.server()
        provider.delayTokens(milliseconds: 60_000)
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let connections = (0..<10).compactMap { _ in RawConnection(port: signIn.port) }
        for connection in connections { connection.send(signIn.request) }
        usleep(100_000)
        let stranger = try #require(RawConnection(port: signIn.port))
        stranger.send(signIn.get("/callback?state=\(signIn.state)&code=evil"))
        provider.delayTokens(milliseconds: 0)
        let pages = Set(connections.map { $0.page() })
        #expect(pages.count == 1 && pages.first?.contains("Signed in") == true)
        #expect(!stranger.received(within: 5).contains("Signed in"))
        #expect(signIn.run.finish().status == 0)
        #expect(provider.requestCount(.token) == 1)
        #expect(RawConnection(port: signIn.port) == nil)
    }

    @Test("the listener is bound to loopback only")
    func bound() throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        #expect(RawConnection(port: signIn.port) != nil)
        // A listener on every address would answer here too.
        #expect(RawConnection(port: signIn.port, address: 0x7F00_0002) == nil)
        #expect(signIn.complete().outcome.status == 0)
    }

    @Test("the page escapes text from outside, and may not load, cache or sniff anything")
    func page() throws {
        let provider = try TrustWorld.server([.authorization(.descriptionMarkup)])
        let program = try Program(provider)
        defer { program.remove() }
        let (page, outcome) = try OpenSignIn(program, at: provider).complete()
        #expect(outcome.status == 4)
        #expect(!page.contains("<script>") && page.contains("&lt;script&gt;"))
        for header in [
            "Content-Security-Policy: default-src 'none'", "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer", "Connection: close",
        ] { #expect(page.contains(header)) }
    }

    @Test("the page says \"signed in\" only after the tokens were validated")
    func honest() throws {
        let provider = try TrustWorld.server([.idToken(.nonceInvalid)])
        let program = try Program(provider)
        defer { program.remove() }
        let (page, outcome) = try OpenSignIn(program, at: provider).complete()
        #expect(outcome.status == 7)
        #expect(RawConnection.status(page) == 400 && !page.contains("Signed in"))
    }
}
