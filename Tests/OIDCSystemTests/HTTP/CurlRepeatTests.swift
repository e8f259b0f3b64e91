@testable import CurlHTTP
import OIDCCore
import Synchronization
import TestSupport
import Testing

@Suite("redirects and repeats on the wire")
struct CurlRepeatTests {
    /// A clock that does not wait, and keeps the pauses that were asked for.
    final class Pauses: Sendable {
        private let all = Mutex<[Duration]>([])
        var list: [Duration] { all.withLock { $0 } }

        var configuration: CurlConfiguration {
            var configuration = CurlConfiguration()
            configuration.pause = { pause in self.all.withLock { $0.append(pause) } }
            return configuration
        }
    }

    @Test("a GET follows three redirects within its origin", arguments: [301, 302, 303, 307, 308])
    func follows(status: Int) throws {
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                let step = Int(request.dropFirst("GET /".count).prefix { $0.isNumber }) ?? 0
                peer.write(
                    step == 3
                        ? answer("200 OK", body: "end") : answer("\(status) X", "Location: \(step + 1)?q"))
            }
        }
        let response = try CurlTransport().send(.json(server.url("/0")), stage: .discovery)
        #expect(response.body == Array("end".utf8))
        #expect(server.requests.count == 4)
    }

    @Test("a fourth redirect is refused")
    func tooMany() throws {
        let server = try ScriptedServer.answering(answer("302 Found", "Location: /again?secret"))
        #expect(
            throws: OIDCError(
                .refused, "discovery: 127.0.0.1:\(server.port) redirects more than 3 times", stage: .discovery
            )
        ) { try CurlTransport().send(.json(server.url()), stage: .discovery) }
        #expect(server.requests.count == 4)
    }

    @Test("a redirect to another origin is refused, and named")
    func otherOrigin() throws {
        let other = try ScriptedServer.answering(answer("200 OK"))
        let server = try ScriptedServer.answering(answer("302 Found", "Location: \(other.url("/x?secret"))"))
        let origin = "http://127.0.0.1:\(other.port)"
        #expect(
            throws: OIDCError(
                .refused,
                "discovery: http://127.0.0.1:\(server.port) redirects to another origin, \(origin), which is not followed",
                hint: "if \(origin) is the right server, name it in the settings", stage: .discovery)
        ) { try CurlTransport().send(.json(server.url()), stage: .discovery) }
        #expect(other.connectionCount == 0)
    }

    @Test(
        "a redirect to something other than an http(s) URL is refused",
        arguments: ["ftp://x/", "file:///etc/passwd", "http://a b/"])
    func noAddress(location: String) throws {
        let server = try ScriptedServer.answering(answer("302 Found", "Location: \(location)"))
        #expect(
            throws: OIDCError(
                .refused,
                "discovery: 127.0.0.1:\(server.port) redirects to an invalid URL",
                stage: .discovery)
        ) { try CurlTransport().send(.json(server.url()), stage: .discovery) }
    }

    @Test("a redirected POST is refused, also within its origin", arguments: [302, 307, 308])
    func post(status: Int) throws {
        let server = try ScriptedServer.answering(answer("\(status) X", "Location: /elsewhere"))
        let origin = "http://127.0.0.1:\(server.port)"
        #expect(
            throws: OIDCError(
                .refused,
                "token: 127.0.0.1:\(server.port) answers the POST with a redirect to \(origin), which is not followed",
                hint: "if \(origin) is the right server, name it in the settings", stage: .token)
        ) { try CurlTransport().send(.form(server.url(), [.init("code", "x")]), stage: .token) }
        #expect(server.requests.count == 1)
    }

    @Test("a 3xx without Location is an answer", arguments: [300, 302, 304])
    func withoutLocation(status: Int) throws {
        let server = try ScriptedServer.answering("HTTP/1.1 \(status) X\r\nContent-Length: 0\r\n\r\n")
        #expect(try CurlTransport().send(.json(server.url()), stage: .discovery).status == status)
    }

    @Test(
        "a GET is repeated after 502, 503, 504, and the third answer is returned", arguments: [502, 503, 504])
    func getRepeated(status: Int) throws {
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                peer.write(answer("\(status) X", "Connection: close", "Retry-After: 1", body: "no"))
                return
            }
        }
        let pauses = Pauses()
        let response = try CurlTransport(pauses.configuration).send(.json(server.url()), stage: .keys)
        #expect(response.status == status)
        #expect(server.requests.count == 3)
        #expect(pauses.list == [.seconds(1), .seconds(1)])
    }

    @Test("a GET that succeeds at the second try has succeeded")
    func getRecovers() throws {
        let server = try ScriptedServer { peer in
            while peer.readRequest() != nil {
                peer.write(peer.number == 1 ? answer("503 X", "Connection: close") : answer("200 OK"))
                if peer.number == 1 { return }
            }
        }
        let pauses = Pauses()
        #expect(try CurlTransport(pauses.configuration).send(.json(server.url()), stage: .keys).status == 200)
        #expect(pauses.list == [.milliseconds(200)])
    }

    @Test("a GET that is reset before any byte of the answer is sent once more", arguments: [true, false])
    func getReset(recovers: Bool) throws {
        let server = try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            if recovers, peer.number == 2 { peer.write(answer("200 OK")) } else { peer.resetOnClose() }
        }
        let pauses = Pauses()
        let transport = CurlTransport(pauses.configuration)
        if recovers {
            #expect(try transport.send(.json(server.url()), stage: .keys).status == 200)
        } else {
            let error = #expect(throws: OIDCError.self) {
                try transport.send(.json(server.url()), stage: .keys)
            }
            #expect(error?.kind == .unreachable)
        }
        #expect(server.requests.count == 2)
        #expect(pauses.list == [.milliseconds(200)])
    }

    @Test(
        "a failed connection is tried three times for a GET, twice for a POST; one that this machine refuses, once",
        arguments: [
            ("GET", .unresolvedProxy, false, 2), ("GET", .unresolvedHost, false, 2),
            ("GET", .noConnection, false, 2), ("POST", .noConnection, false, 1),
            ("GET", .noConnection, true, 0), ("POST", .noConnection, true, 0),
            ("GET", .unresolvedHost, true, 2),
        ] as [(String, CurlCode, Bool, Int)])
    func connectPolicy(method: String, code: CurlCode, isLoopback: Bool, count: Int) {
        let policy = RepeatPolicy(method: HTTPMethod(method), isLoopback: isLoopback)
        let result = CurlResult(ending: .code(code))
        #expect((1...3).prefix { policy.pause(after: result, tries: $0) != nil }.count == count)
    }

    @Test("a connection that this machine refuses fails at once")
    func connectFailure() throws {
        let url = try #require(WebURL("http://127.0.0.1:\(closedPort())/x?secret"))
        let expected = OIDCError(
            .unreachable, "keys: cannot connect to \(url.hostAndPort): Connection refused",
            hint: "check that it is running on this port", stage: Stage(rawValue: "keys"))
        for request in [HTTPRequest.json(url), .form(url, [.init("code", "x")])] {
            let pauses = Pauses()
            #expect(throws: expected) {
                try CurlTransport(pauses.configuration).send(request, stage: Stage(rawValue: "keys"))
            }
            #expect(pauses.list.isEmpty)
        }
    }

    @Test("no pause is started that would end after the request's deadline")
    func pauseWithinTime() throws {
        let server = try ScriptedServer.answering(answer("503 X", "Retry-After: 3"))
        let pauses = Pauses()
        var configuration = pauses.configuration
        configuration.httpTimeout = .seconds(2)
        #expect(try CurlTransport(configuration).send(.json(server.url()), stage: .keys).status == 503)
        #expect(pauses.list == [])
    }

    /// Each ends the connection after the request has arrived, in a way that tempts a client to repeat it.
    enum Ending: String, CaseIterable {
        case closed, reset, interim, partial
    }

    @Test("a POST whose bytes may have arrived is never sent again", arguments: Ending.allCases)
    func postOnce(ending: Ending) throws {
        let server = try ScriptedServer { peer in
            // The first request of a connection is answered, to keep the connection for the next.
            guard let first = peer.readRequest() else { return }
            if first.hasPrefix("GET") { peer.write(answer("200 OK")) }
            if first.hasPrefix("GET"), peer.readRequest() == nil { return }
            switch ending {
            case .closed: break
            case .reset: peer.resetOnClose()
            case .interim: peer.write("HTTP/1.1 102 Processing\r\n\r\n")
            case .partial: peer.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
            }
        }
        let transport = CurlTransport(Pauses().configuration)
        _ = try transport.send(.json(server.url()), stage: .discovery)
        let error = #expect(throws: OIDCError.self) {
            try transport.send(.form(server.url("/token"), [.init("code", "x")]), stage: .token)
        }
        #expect(server.requests.count { $0.hasPrefix("POST") } == 1)
        let host = "127.0.0.1:\(server.port)"
        let what =
            switch ending {
            case .closed: "\(host) closed the connection without answering"
            case .reset: "the connection to \(host) broke: Connection reset by peer"
            case .interim: "\(host) closed the connection without answering"
            case .partial: "the answer from \(host) is incomplete"
            }
        #expect(
            error
                == OIDCError(
                    .unreachable,
                    "token: \(what) after the request was sent; the provider may have acted on it",
                    hint: .tryAgain(seconds: nil), stage: .token))
    }
}
