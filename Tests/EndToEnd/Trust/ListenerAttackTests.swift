import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

/// A request that is not the answer, and must do no harm.
struct Attack: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let bytes: @Sendable (OpenSignIn) -> [UInt8]

    init(_ name: String, _ text: @escaping @Sendable (OpenSignIn) -> String) {
        testDescription = name
        bytes = { Array(text($0).utf8) }
    }

    init(_ name: String, bytes: @escaping @Sendable (OpenSignIn) -> [UInt8]) {
        testDescription = name
        self.bytes = bytes
    }

    /// Attacks by the part of a request that they concern; one sign-in survives each group.
    static let groups = [
        ("targets", targets), ("framings", framings), ("methods and hosts", methods),
        ("parameters", parameters),
    ]

    private static let targets: [Attack] = [
        Attack("the root") { $0.get("/") },
        Attack("a favicon") { $0.get("/favicon.ico") },
        Attack("another path with the true query") { $0.get("/callback2?\($0.query)") },
        Attack("%2e%2e in the path") { $0.get("/x/%2e%2e/callback?\($0.query)") },
        Attack("dots in the path") { $0.get("/x/../callback?\($0.query)") },
        Attack("an encoded letter in the path") { $0.get("/%63allback?\($0.query)") },
        Attack("a slash at the end") { $0.get("/callback/?\($0.query)") },
        Attack("two slashes") { $0.get("//callback?\($0.query)") },
        Attack("another case") { $0.get("/Callback?\($0.query)") },
        Attack("absolute form") { $0.get("http://127.0.0.1:\($0.port)/callback?\($0.query)") },
        Attack("absolute form of another host") { $0.get("http://evil.example/callback?\($0.query)") },
        Attack("a fragment") { $0.get("/callback?\($0.query)#x") },
        Attack("NUL in the target") { $0.get("/callback?\($0.query)\0") },
        Attack(
            "not UTF-8 in the target",
            bytes: {
                Array("GET /callback?\($0.query)&x=".utf8) + [0xFF, 0xFE]
                    + Array(" HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\n\r\n".utf8)
            }),
        Attack("encoded bytes that are not UTF-8") { $0.get("/callback?\($0.query)&x=%FF%FE") },
        Attack("a broken escape") { $0.get("/callback?\($0.query)&x=%zz") },
        Attack("a target of 20 KB") {
            $0.get("/callback?x=\(String(repeating: "a", count: 20_000))&\($0.query)")
        },
    ]

    private static let framings: [Attack] = [
        Attack("CL and TE") {
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nContent-Length: 5\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /callback?\($0.query) HTTP/1.1\r\n\r\n"
        },
        Attack("chunked") {
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "\(String($0.query.utf8.count, radix: 16))\r\n\($0.query)\r\n0\r\n\r\n"
        },
        Attack("two lengths") {
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nContent-Length: 1\r\n"
                + "Content-Length: 2\r\n\r\nab"
        },
        Attack("a length with a sign") {
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nContent-Length: +1\r\n\r\na"
        },
        Attack("a length beyond Int") {
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nContent-Length: 99999999999999999999\r\n\r\n"
        },
        Attack("bare LF") { "GET /callback?\($0.query) HTTP/1.1\nHost: 127.0.0.1:\($0.port)\n\n" },
        Attack("a folded header") {
            "GET /callback?\($0.query) HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nX: a\r\n b\r\n\r\n"
        },
        Attack("a space before the colon") {
            "GET /callback?\($0.query) HTTP/1.1\r\nHost : 127.0.0.1:\($0.port)\r\n\r\n"
        },
        Attack("two hosts") {
            "GET /callback?\($0.query) HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nHost: evil.example\r\n\r\n"
        },
        Attack("no host") { "GET /callback?\($0.query) HTTP/1.1\r\n\r\n" },
        Attack("HTTP/2.0") { $0.get("/callback?\($0.query)", version: "2.0") },
        Attack("HTTP/0.9") { "GET /callback?\($0.query)\r\n" },
        Attack("the preface of HTTP/2", { _ in "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" }),
        Attack("a TLS hello", bytes: { _ in [0x16, 3, 1, 0, 5, 1, 0, 0, 1, 3] }),
        Attack("a header of 100 KB") {
            "GET /callback?\($0.query) HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nX: \(String(repeating: "a", count: 100_000))\r\n\r\n"
        },
        Attack("1,000 headers") {
            "GET /callback?\($0.query) HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\n\(String(repeating: "X: a\r\n", count: 1_000))\r\n"
        },
        Attack("a body of 10 MB that is announced") {
            "POST /callback HTTP/1.1\r\nHost: 127.0.0.1:\($0.port)\r\nContent-Length: 10000000\r\n\r\n"
        },
    ]

    private static let methods: [Attack] =
        ["HEAD", "PUT", "OPTIONS", "DELETE", "TRACE", "get", "POST", "PATCH"].map { method in
            Attack("the method \(method)") { $0.get("/callback?\($0.query)", method: method) }
        }
        + [
            Attack("CONNECT", { $0.get("127.0.0.1:\($0.port)", method: "CONNECT") }),
            Attack(
                "a name that leads here (DNS rebinding)",
                { $0.get("/callback?\($0.query)", host: "evil.example:\($0.port)") }),
            Attack("our host without the port", { $0.get("/callback?\($0.query)", host: "127.0.0.1") }),
            Attack("our host with another port", { $0.get("/callback?\($0.query)", host: "127.0.0.1:1") }),
            Attack(
                "a host that starts like ours",
                { $0.get("/callback?\($0.query)", host: "127.0.0.1.evil.example:\($0.port)") }),
            Attack(
                "a user before our host",
                { $0.get("/callback?\($0.query)", host: "evil@127.0.0.1:\($0.port)") }),
            Attack("an empty host", { $0.get("/callback?\($0.query)", host: "") }),
            Attack("a POST in query mode", { $0.post($0.query) }),
        ]

    private static let parameters: [Attack] = [
        Attack("state twice") { $0.get("/callback?\($0.query)&state=\($0.state)") },
        Attack("code twice") { $0.get("/callback?\($0.query)&code=evil") },
        Attack("iss twice") { $0.get("/callback?\($0.query)&iss=https%3A%2F%2Fevil.example") },
        Attack("error twice") { $0.get("/callback?state=\($0.state)&error=a&error=b") },
        Attack("an escaped second code") { $0.get("/callback?\($0.query)&c%6fde=evil") },
        Attack("no state") { $0.get("/callback?code=\($0.parameter("code"))") },
        Attack("an empty state") { $0.get("/callback?code=evil&state=") },
        Attack("another state") { $0.get("/callback?code=evil&state=\(String($0.state.reversed()))") },
        Attack("the start of the state") { $0.get("/callback?code=evil&state=\($0.state.dropLast())") },
        Attack("a longer state") { $0.get("/callback?code=evil&state=\($0.state)A") },
        Attack("state in another case") { $0.get("/callback?code=evil&STATE=\($0.state)") },
        Attack("an error with another state") { $0.get("/callback?error=access_denied&state=x") },
        Attack("an error of another issuer") {
            $0.get("/callback?error=access_denied&state=\($0.state)&iss=https%3A%2F%2Fevil.example")
        },
        Attack("semicolons for ampersands") { $0.get("/callback?code=evil;state=\($0.state)") },
    ]
}

@Suite("the listener under attack, in the built program", .serialized, .waiting)
struct ListenerAttackTests {
    @Test(
        "a request that is not the answer gets a 4xx or a closed connection, and the true callback signs in",
        arguments: Attack.groups)
    func survive(name: String, attacks: [Attack]) throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        for attack in attacks {
            let connection = try #require(RawConnection(port: signIn.port))
            connection.send(attack.bytes(signIn))
            connection.finishSending()
            let answer = connection.received(within: 20)
            let status = RawConnection.status(answer) ?? 0
            #expect(
                answer.isEmpty || (400..<500).contains(status),
                "\(attack.testDescription): \(answer)")
            #expect(!answer.contains("evil"), "\(attack.testDescription)")
            #expect(provider.requestCount(.token) == 0, "\(attack.testDescription)")
        }
        let (page, outcome) = signIn.complete()
        #expect(outcome.status == 0, "\(outcome.errorOutput)")
        #expect(RawConnection.status(page) == 200 && page.contains("Signed in"))
        #expect(provider.requestCount(.token) == 1)
    }

    @Test(
        "form_post refuses bodies that are not forms, and accepts the true one",
        arguments: [
            ("application/json", "{}"), ("text/plain", "state"), ("multipart/form-data; boundary=a", "--a--"),
            ("application/x-www-form-urlencoded", "%zz"), ("application/x-www-form-urlencoded", "\u{0}"),
        ])
    func formPost(type: String, body: String) throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider, ["--set", "response_mode=form_post"])
        let trueBody = String(decoding: signIn.callback.body, as: UTF8.self)
        let junk = body == "state" ? trueBody : body
        #expect(RawConnection.status(signIn.exchange(signIn.post(junk, type: type))) == 400)
        let page = signIn.exchange(signIn.post(trueBody), within: 20)
        #expect(RawConnection.status(page) == 200)
        #expect(signIn.run.finish().status == 0)
    }

    @Test("the true callback in pieces of one byte")
    func pieces() throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let connection = try #require(RawConnection(port: signIn.port))
        for byte in signIn.request.utf8 { connection.send([byte]) }
        #expect(connection.page().contains("Signed in"))
        #expect(signIn.run.finish().status == 0)
    }

    @Test(
        "the right state without a usable code ends the sign-in at once",
        arguments: ["", "&code=", "&code=a%00b", "&code=x&access_token=y"])
    func useless(rest: String) throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider)
        let issuer = FormEncoding.encode([FormEncoding.Pair("iss", provider.origin)])
        let page = signIn.exchange(signIn.get("/callback?state=\(signIn.state)&\(issuer)\(rest)"), within: 20)
        #expect(RawConnection.status(page) == 400)
        let outcome = signIn.run.finish()
        #expect(outcome.status == 4 && outcome.isClean, "\(outcome.errorOutput)")
        #expect(provider.requestCount(.token) == 0 && program.sessionFiles.isEmpty)
    }
}
