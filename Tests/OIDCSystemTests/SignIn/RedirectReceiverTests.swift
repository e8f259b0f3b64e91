@testable import LoopbackHTTP
import OIDCCore
@testable import OIDCSignIn
@testable import Posix
import TestSupport
import Testing

/// A sign-in that waits at a listener in this process. What is sent to it waits in the kernel until it runs.
private final class World {
    let server: LoopbackServer
    let pending: PendingAuthorization
    var turnedAway: [StrayRequest] = []

    init(responseMode: AuthorizationRequest.ResponseMode = .query, peer: PeerOwner = .unknown) throws {
        server = try LoopbackServer(identify: { _ in peer })
        let document = try JSONValue(
            parsing: """
                {"issuer":"https://op.example","authorization_endpoint":"https://op.example/authorize",
                "token_endpoint":"https://op.example/token",
                "authorization_response_iss_parameter_supported":true}
                """)
        let metadata = try ProviderMetadata(
            document: try #require(document.object), expectedIssuer: "https://op.example")
        var request = AuthorizationRequest(
            client: Client(id: "my-app"), redirectURI: "http://127.0.0.1:\(server.port)/callback",
            scope: Scope("read"))
        request.responseMode = responseMode
        var next: UInt8 = 0
        pending = try request.begin(metadata) { count in
            (0..<count).map { _ in
                next &+= 1
                return next
            }
        }
    }

    var state: String { pending.state.revealed }

    func request(
        _ query: String, method: String = "GET", path: String = "/callback", host: String? = nil
    ) -> String {
        "\(method) \(path)?\(query) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(server.port)")\r\n\r\n"
    }

    var answer: String { request("code=c0de&iss=https%3A%2F%2Fop.example&state=\(state)") }

    /// Sends each request on a connection of its own, and waits for the answer to the sign-in.
    func receive(
        _ requests: [String], until deadline: MonotonicTime = .now().adding(seconds: 20)
    ) throws -> (code: Result<AuthorizationCode, OIDCError>, pages: [String]) {
        let clients = try requests.map(visit)
        var receiver = receiver
        let arrival = try arrival(&receiver, until: deadline)
        return (arrival.code, clients.map { $0.received() ?? "" })
    }

    func visit(_ request: String) throws -> LoopbackClient {
        let client = try LoopbackClient(server)
        try client.send(request)
        return client
    }

    var receiver: RedirectReceiver {
        RedirectReceiver(
            pending: pending, path: "/callback", server: server, words: { $0.description },
            warn: { _ in },
            onStray: { [self] in turnedAway.append($0) })
    }

    func arrival(
        _ receiver: inout RedirectReceiver, until deadline: MonotonicTime = .now().adding(seconds: 20)
    ) throws -> RedirectReceiver.Arrival {
        var input: TerminalInput?
        return try #require(
            try receiver.wait(until: deadline, reading: &input, isTerminal: false) { _ in deadline })
    }
}

private struct Slip: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let status: Int
    let message: String
    let summary: String
    /// What the page says.
    let page: String
    let request: @Sendable (World) -> String
}

private let slips = [
    Slip(
        testDescription: "another state", status: 400,
        message: "a callback with another state arrived; is an old browser tab open?",
        summary: "wrong state", page: "belongs to another sign-in"
    ) { $0.request("code=0ther&state=evil") },
    Slip(
        testDescription: "no state", status: 400, message: "a callback without state arrived",
        summary: "no state", page: "belongs to another sign-in"
    ) { _ in "GET /callback?code=evil HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\n" },
    Slip(
        testDescription: "state twice", status: 400,
        message: "a callback with more than one state arrived", summary: "more than one state",
        page: "repeated or damaged"
    ) { $0.request("code=a&state=\($0.state)&state=\($0.state)") },
    Slip(
        testDescription: "another Host, as by ssh -L with another port", status: 400,
        message: "a callback with another Host arrived: expected 127.0.0.1:PORT, found localhost:9999; "
            + "with ssh -L, use the same port at both ends",
        summary: "wrong Host", page: "which is 127.0.0.1:PORT."
    ) { $0.request("code=a&state=\($0.state)", host: "localhost:9999") },
    Slip(
        testDescription: "another issuer", status: 400,
        message:
            "a callback with another iss arrived: expected https://op.example, found https://evil.example",
        summary: "wrong iss", page: "names another provider"
    ) { $0.request("error=access_denied&iss=https%3A%2F%2Fevil.example&state=\($0.state)") },
    Slip(
        testDescription: "another method", status: 405,
        message: "a callback with another method arrived: expected GET, found POST",
        summary: "wrong method", page: "use the response mode form_post"
    ) { $0.request("code=a&state=\($0.state)", method: "POST") },
    Slip(
        testDescription: "a request line of 16 KiB", status: 414,
        message: "a callback was not read: the request line is too long",
        summary: "the request line is too long", page: "too long"
    ) { $0.request("code=\(String(repeating: "a", count: 17_000))&state=\($0.state)") },
    Slip(
        testDescription: "a broken escape", status: 400,
        message: "a callback that is not percent-encoded UTF-8 arrived",
        summary: "not percent-encoded UTF-8", page: "repeated or damaged"
    ) { $0.request("code=a&x=%zz&state=\($0.state)") },
]

@Suite("Waiting for the redirect", .serialized, .waiting)
struct RedirectReceiverTests {
    @Test(
        "a callback that is not the answer is reported, on its page too, and the wait goes on",
        arguments: slips)
    private func turnedAway(slip: Slip) throws {
        let world = try World()
        let port = "\(world.server.port)"
        func text(_ pattern: String) -> String {
            pattern.split(separator: "PORT", omittingEmptySubsequences: false).joined(separator: port)
        }
        let (code, pages) = try world.receive([text(slip.request(world)), world.answer])
        _ = try code.get()
        let turned = try #require(world.turnedAway.first)
        #expect(world.turnedAway.count == 1 && turned.isCallback)
        #expect(turned.message == text(slip.message))
        #expect(turned.summary == slip.summary && turned.status == slip.status)
        #expect(pages[0].hasPrefix("HTTP/1.1 \(slip.status) ") && pages[0].contains(text(slip.page)))
        #expect(pages[0].contains("Content-Security-Policy: default-src 'none'"))
        for shown in [turned.message, turned.logLine, pages[0]] {
            #expect(!shown.contains(world.state) && !shown.contains("code="))
        }
        #expect(!pages[0].contains("evil"))
    }

    @Test("a value from outside is shown without control characters")
    func cleaned() throws {
        let world = try World()
        let issuer = "x%1B%5B2J%E2%80%AEy"
        _ = try world.receive([
            world.request("error=e&iss=\(issuer)&state=\(world.state)"),
            world.request("", host: "\u{7}"), world.answer,
        ])
        #expect(
            world.turnedAway.map(\.message) == [
                "a callback with another iss arrived: expected https://op.example, found x[2Jy",
                "a callback was not read: a header contains a control character",
            ])
    }

    @Test("a callback of another user or a closed connection is a stranger's; root and unknown pass")
    func anotherUser() throws {
        let strangers: [(PeerOwner, StrayRequest.Reason)] = [
            (.anotherUser, .anotherUser), (.gone, .goneSender),
        ]
        for (peer, reason) in strangers {
            let world = try World(peer: peer)
            let past = MonotonicTime.now().adding(milliseconds: 300)
            #expect(throws: OIDCError.self) { try world.receive([world.answer], until: past) }
            #expect(world.turnedAway.map(\.reason) == [reason] && world.turnedAway[0].status == 404)
        }
        for peer in [PeerOwner.unknown, .thisUser] {
            let world = try World(peer: peer)
            _ = try world.receive([world.answer]).code.get()
        }
    }

    @Test("a request for another path is logged, and gets a page that does not mention the sign-in")
    func unrelated() throws {
        let world = try World()
        let (_, pages) = try world.receive([
            world.request("code=c0de", path: "/favicon.ico"), "\u{16}\u{3}\u{1}hello", world.answer,
        ])
        #expect(world.turnedAway.map(\.isCallback) == [false, false])
        #expect(
            world.turnedAway.map(\.logLine) == [
                "turned away: GET /favicon.ico: not the callback's path (404)",
                "turned away: no path: TLS on a plain HTTP port (400)",
            ])
        #expect(pages.prefix(2).allSatisfy { $0.hasSuffix("This URL does not exist.\n") })
        let navigation = "GET / HTTP/1.1\r\nHost: x\r\nAccept: text/html,*/*\r\n\r\n"
        let other = try World()
        let page = try other.receive([navigation, other.answer]).pages[0]
        #expect(page.hasPrefix("HTTP/1.1 404 ") && page.contains("open the URL that your terminal shows"))
    }

    @Test("the time-out names what was turned away, the redirect URL and the client")
    func timeout() throws {
        let world = try World()
        let hint = Hint.checkRegistration(
            redirectURL: "http://127.0.0.1:\(world.server.port)/callback", clientID: "my-app")
        func error(_ requests: [String]) -> OIDCError? {
            #expect(throws: OIDCError.self) {
                try world.receive(requests, until: .now().adding(milliseconds: 500))
            }
        }
        let base = "timed out waiting for the sign-in"
        #expect(error([]) == OIDCError(.timedOut, base, hint: hint, stage: .authorization))
        let stale = world.request("code=a&state=b")
        #expect(error([stale])?.message == "\(base); 1 callback was turned away: wrong state")
        #expect(
            error([stale, stale, world.request("code=a"), world.request("", path: "/")])?.message
                == "\(base); 3 callbacks were turned away: wrong state (2), no state (1)")
    }

    @Test(
        "an accepted callback is sent by 303 to a URL without code and state, which shows the result and can be reloaded",
        arguments: [AuthorizationRequest.ResponseMode.query, .formPost])
    func cleanURL(mode: AuthorizationRequest.ResponseMode) throws {
        let world = try World(responseMode: mode)
        let form = "code=c0de&iss=https%3A%2F%2Fop.example&state=\(world.state)"
        let post =
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\(world.server.port)\r\nContent-Type: "
            + "application/x-www-form-urlencoded\r\nContent-Length: \(form.utf8.count)\r\n\r\n\(form)"
        let callback = mode == .formPost ? post : world.answer
        let browser = try world.visit(callback)
        var receiver = world.receiver
        let connection = try #require(try world.arrival(&receiver).connection)
        receiver.sendToResult(connection)
        let redirect = try #require(browser.received())
        #expect(redirect.hasPrefix("HTTP/1.1 303 ") && redirect.contains("\r\nLocation: /callback/done\r\n"))
        #expect(redirect.contains("Cache-Control: no-store") && !redirect.contains(world.state))
        let page = "GET /callback/done HTTP/1.1\r\nHost: 127.0.0.1:\(world.server.port)\r\n\r\n"
        let others = try [
            world.request("", path: "/callback/done", host: "evil.example"),
            world.request("", path: "/other"),
            world.request("a=b", path: "/callback/done"),
        ].map(world.visit)
        let oldTab = try world.visit(
            "GET /callback?state=old HTTP/1.1\r\nHost: 127.0.0.1:\(world.server.port)\r\nAccept: text/html\r\n\r\n"
        )
        let tabs = try [page, page].map(world.visit)
        let repeated = try world.visit(callback)
        receiver.finish(showing: ResultPage.success(who: "alice", provider: "op.example", program: "oidc"))
        #expect(others.map { $0.status() } == [404, 404, 404] && repeated.status() == 303)
        #expect(oldTab.received()?.contains("Another tab has answered in the meantime.") == true)
        for tab in tabs {
            let text = try #require(tab.received())
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("oidc is signed in"))
        }
    }

    @Test(
        "the redirect to the result of a passed-on callback is relative, and leads there below any path",
        arguments: [
            ("/cb", "/proxy/8484/cb", "./cb/"), ("/cb", "/a:b", "./a:b/"), ("/cb", "/x/", "./"),
            ("/", "/", "./"),
            ("/cb/", "/cb", "./cb/"),
        ])
    func relative(path: String, outer: String, start: String) {
        let location = ResultLocation(below: path, seenAs: outer)
        #expect(location.reference == start + location.name && location.name.utf8.count == 27)
        #expect(location.path == (path.hasSuffix("/") ? path : path + "/") + location.name)
        #expect(location.name != ResultLocation(below: path, seenAs: outer).name)
    }

    @Test("the process that serves a late page gets its location and the values of Host")
    func late() throws {
        let location = ResultLocation(below: "/callback", seenAs: "/x/callback")
        let page = ResultPage.signedOut()
        let late = LateResult(
            page: page, location: location, program: "oidc", host: .localhost, port: 8484,
            names: ["code.example", "code.example:443"], files: nil,
            handover: PortHandover(directory: "/x/ports"))
        let read = try #require(LateResult(late.json))
        #expect(
            read.names == late.names && read.location.path == location.path
                && read.location.callback == "/callback")
        #expect(read.handover == late.handover)
        #expect(read.host == .localhost && read.port == 8484 && read.page.body == page.body)
    }

    @Test("a browser that does not come for the result, or another user's, delays the end by the limit only")
    func noVisitor() throws {
        for peer in [PeerOwner.unknown, .anotherUser] {
            let world = try World(peer: peer)
            let visitor =
                peer == .anotherUser ? try world.visit(world.request("", path: "/callback/done")) : nil
            world.server.finish(
                showing: ResultPage.signedOut(), at: ResultLocation(below: "/callback"), milliseconds: 20)
            #expect(visitor?.status() ?? 404 == 404)
            #expect(RawConnection.isRefused(port: world.server.port))
        }
    }

    @Test("a browser has longer to come for the result than a program, which may never come")
    func patience() {
        var browser = HTTPServerRequest(.get, "/callback?code=a")
        let program = browser
        browser.headers["Accept"] = "text/html,application/xhtml+xml;q=0.9"
        #expect(LoopbackServer.patience(for: [program]) == 2_000)
        #expect(LoopbackServer.patience(for: [program, browser]) == 10_000)
    }

    @Test("form_post accepts a GET too, and reports other requests")
    func formPost() throws {
        let world = try World(responseMode: .formPost)
        let host = "Host: 127.0.0.1:\(world.server.port)\r\n"
        _ = try world.receive([
            "POST /callback HTTP/1.1\r\n\(host)Content-Type: text/plain\r\nContent-Length: 1\r\n\r\na",
            world.request("", method: "PUT"), world.answer,
        ]).code.get()
        #expect(
            world.turnedAway.map(\.message) == [
                "a callback with another Content-Type arrived: expected application/x-www-form-urlencoded, "
                    + "found text/plain",
                "a callback with another method arrived: expected POST, found PUT",
            ])
    }
}
