import TestSupport
import DemoProvider
import Foundation
import OIDCCore
import Synchronization
import Testing

@Suite("request", .serialized, .waiting)
struct RequestTests {
    @Test("the token is sent, and the body comes to stdout")
    func success() throws {
        let world = try ToolWorld()
        try world.signIn()
        let result = try world.run(["request", "\(world.issuer)/api/hello"], world.person)
        #expect(
            result.code == 0 && result.output == #"{"hello":"Alice"}"# && result.errors == "", "\(result)")
    }

    @Test(
        "a status is an exit code, with the body on stdout and the reason on stderr",
        arguments: [(200, 0), (204, 0), (301, 4), (404, 4), (418, 4), (429, 5), (500, 5), (503, 5)])
    func statuses(status: Int, code: Int32) throws {
        let (world, api) = try apiWorld { _ in
            HTTPResponse(
                status: status, headers: HTTPHeaders([("X-Mark", "here")]), body: Array("body".utf8))
        }
        let url = "\(api.origin)/x"
        let result = try world.run(["request", url, "--allow-origin", api.origin], world.machine)
        #expect(result.code == code && result.output == (status == 204 ? "" : "body"), "\(result)")
        #expect(result.errors.isEmpty == (code == 0) && (code == 0 || result.errors.contains("\(status)")))
        let head = try world.run(["request", "-i", url, "--allow-origin", api.origin], world.machine).output
        #expect(head.hasPrefix("HTTP/1.1 \(status)\n") && head.contains("\nX-Mark: here\n"))
    }

    @Test(
        "a token that a resource repeats in its challenge is not shown",
        arguments: ["text", "json"])
    func echo(format: String) throws {
        let (world, api) = try apiWorld { request in
            let token = (request.headers["Authorization"] ?? "").replacing("Bearer ", with: "")
            let challenge =
                #"Bearer error="insufficient_scope", error_description="no \#(token) \#(token.suffix(40))""#
            return HTTPResponse(
                status: 403, headers: HTTPHeaders([("WWW-Authenticate", challenge)]))
        }
        let result = try world.run(
            ["request", "\(api.origin)/x", "--allow-origin", api.origin, "-o", format], world.machine)
        let token = try #require(api.requests.first?.headers["Authorization"]).dropFirst(7)
        #expect(result.code == 4 && result.errors.contains("no (secret) (secret)"), "\(result)")
        #expect(!result.errors.contains(token.suffix(20)) && !result.errors.contains(token.prefix(20)))
    }

    @Test(
        "the body of an answer that is not shown is not waited for, however slowly it comes",
        arguments: [301, 401])
    func slowBody(status: Int) throws {
        let requests = Mutex(0)
        let server = try ScriptedServer { peer in
            _ = peer.readRequest()
            let isFirst = requests.withLock { count in
                count += 1
                return count == 1
            }
            guard isFirst else {
                _ = peer.write("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
                return
            }
            let field = status == 401 ? "WWW-Authenticate: Bearer error=invalid_token" : "Location: /y"
            _ = peer.write("HTTP/1.1 \(status) X\r\nContent-Length: 100000\r\n\(field)\r\n\r\n")
            while peer.write(" ") { usleep(50_000) }
        }
        defer { withExtendedLifetime(server) {} }
        let world = try ToolWorld()
        try world.signIn()
        let words = [
            "request", "\(server.origin)/x", "--allow-origin", server.origin, "--set", "http_timeout=1",
        ]
        let result = try world.run(words, world.person)
        #expect(result.code == 0 && result.output == "done", "\(result)")
    }

    @Test("no token is sent to, or fetched for, another origin")
    func otherOrigin() throws {
        let (world, api) = try apiWorld { _ in HTTPResponse(status: 200) }
        let result = try world.run(["request", "\(api.origin)/x"], world.machine)
        #expect(result.code == 2 && result.errors.contains("--allow-origin \(api.origin)"), "\(result)")
        #expect(api.requests.isEmpty && world.requests.isEmpty)
        var variables = world.machine
        variables["OIDC_RESOURCES"] = #"[{"title":"API","url":"\#(api.origin)/other"}]"#
        #expect(try world.run(["request", "\(api.origin)/x"], variables).code == 0)
    }

    @Test(
        "plain http to another host is always refused",
        arguments: [["--allow-origin", "http://api.example.com"], []])
    func plainHTTP(more: [String]) throws {
        let world = try ToolWorld()
        let result = try world.run(["request", "http://api.example.com/"] + more, world.machine)
        #expect(result.code == 2 && world.requests.isEmpty, "\(result)")
    }

    @Test(
        "a command line that would leak or break the token is refused",
        arguments: [
            ["-H", "Authorization: Basic x"], ["-H", "dpop: x"], ["-H", "X: a\r\nY: b"], ["-H", "X: a\nY"],
            ["-H", "no colon"], ["-H", "b ad: x"], ["-H", "Host: x"], ["--allow-origin", "example.com"],
            ["--allow-origin", "https://example.com/path"],
        ])
    func badOptions(more: [String]) throws {
        let world = try ToolWorld()
        let result = try world.run(["request", "\(world.issuer)/api/hello"] + more, world.machine)
        #expect(result.code == 2 && world.requests.isEmpty, "\(result)")
    }

    @Test(
        "TRACE, CONNECT and a URL with user information are refused",
        arguments: ["TRACE", "connect", "GET x"])
    func badMethods(method: String) throws {
        let world = try ToolWorld()
        #expect(try world.run(["request", method, "\(world.issuer)/api/hello"], world.machine).code == 2)
        #expect(try world.run(["request", "http://a:b@127.0.0.1/"], world.machine).code == 2)
    }

    @Test(
        "a body is a string, a file or stdin, and decides the method",
        arguments: [
            (["-d", #"{"a":1}"#], #"{"a":1}"#, "POST", "application/json"),
            (["-d", "a=b"], "a=b", "POST", "application/x-www-form-urlencoded"),
            (["PUT", "-d", "@FILE"], "from a file", "PUT", "application/octet-stream"),
            (["-d", "-"], "from stdin", "POST", "application/octet-stream"),
            (["patch", "-d", "x", "-H", "content-type: text/x"], "x", "PATCH", "text/x"),
            (["DELETE"], "", "DELETE", nil), ([], "", "GET", nil),
        ] as [([String], String, String, String?)])
    func bodies(arguments: [String], body: String, method: String, type: String?) throws {
        let (world, api) = try apiWorld { _ in HTTPResponse(status: 200) }
        let file = world.home + "/body"
        try Data("from a file".utf8).write(to: URL(fileURLWithPath: file))
        let words = arguments.map { $0 == "@FILE" ? "@" + file : $0 }
        let url = "\(api.origin)/x"
        let isMethod = words.first.map { !$0.hasPrefix("-") } ?? false
        let operands = isMethod ? [words[0], url] + words.dropFirst() : [url] + words
        let result = try world.run(
            ["request", "--allow-origin", api.origin] + operands, world.machine, input: "from stdin")
        let sent = try #require(api.requests.first, "\(result)")
        #expect(sent.method.name == method && String(decoding: sent.body, as: UTF8.self) == body)
        #expect(sent.headers["Content-Type"] == type)
    }

    @Test(
        "a token that is refused is refreshed once, and the request is sent again",
        arguments: ["text", "stdin"])
    func renewal(kind: String) throws {
        let refusals = Mutex(1)
        let (world, api) = try apiWorld { _ in
            refusals.withLock { left in
                defer { left -= 1 }
                return left > 0
                    ? HTTPResponse(status: 401, body: Array("no".utf8))
                    : HTTPResponse(status: 200, body: [0x79])
            }
        }
        let data = kind == "text" ? "text" : "-"
        let arguments = ["request", "\(api.origin)/x", "-d", data, "--allow-origin", api.origin]
        let result = try world.run(arguments, world.machine, input: "stdin")
        #expect(result.code == 0 && result.output == "y", "\(result)")
        let tokens = api.requests.map { $0.headers["Authorization"] }
        #expect(tokens.count == 2 && tokens[0] != tokens[1])
        #expect(api.requests.allSatisfy { String(decoding: $0.body, as: UTF8.self) == kind })
        refusals.withLock { $0 = 9 }
        let refused = try world.run(arguments, world.machine, input: "stdin")
        #expect(refused.code == 4 && refused.output == "no" && api.requests.count == 4, "\(refused)")
    }

    @Test("without a session, the hint is for the server that the URL names, else for the profile's")
    func hintOfResource() throws {
        let world = try ToolWorld()
        for (path, line) in [
            ("/mcp", "oidc login \(world.issuer)/mcp"), ("/userinfo", "oidc login\n"),
        ] {
            let result = try world.run(["request", world.issuer + path], world.person)
            #expect(result.code == 3 && result.errors.contains("try: \(line)"), "\(result)")
        }
    }

    @Test("a redirect is followed within the origin, and never to another one")
    func redirects() throws {
        let elsewhere = Mutex("")
        let (world, api) = try apiWorld { request in
            func moved(_ place: String) -> HTTPResponse {
                HTTPResponse(
                    status: 302, headers: HTTPHeaders([("Location", place)]), body: Array("moved".utf8))
            }
            return switch request.url.path {
            case "/near": moved("/there")
            case "/kept":
                HTTPResponse(status: 304, headers: HTTPHeaders([("Location", "/there")]), body: [])
            case "/far": moved(elsewhere.withLock { $0 } + "/x")
            case "/loop": moved("/loop")
            default: HTTPResponse(status: 200, body: Array("there".utf8))
            }
        }
        let other = try world.serve { _ in HTTPResponse(status: 200, body: Array("stolen".utf8)) }
        elsewhere.withLock { $0 = other.origin }
        func get(_ path: String, _ more: [String] = []) throws -> ToolResult {
            try world.run(["request", api.origin + path, "--allow-origin", api.origin] + more, world.machine)
        }
        #expect(try get("/near").output == "there")
        let far = try get("/far")
        #expect(far.code == 4 && far.output == "moved" && far.errors.contains(other.origin), "\(far)")
        #expect(try get("/far", ["--allow-origin", other.origin]).code == 4 && other.requests.isEmpty)
        #expect(try get("/loop").code == 4)
        let kept = try get("/kept")
        #expect(kept.code == 4 && !kept.errors.contains("redirect"), "\(kept)")
        #expect(try get("/near", ["-d", "x"]).code == 4)
    }

    @Test("a bound token is sent with a proof, and once more with the nonce that is demanded")
    func proof() throws {
        let world = try ToolWorld {
            $0.requiresDPoPNonceAtResource = true
        }
        let result = try world.run(
            ["request", "\(world.issuer)/api/hello", "--set", "dpop=true"], world.machine)
        #expect(result.code == 0 && result.output.contains("hello"), "\(result)")
        let tries = world.requests.filter { $0.url.path == "/api/hello" }
        #expect(
            tries.count == 2 && tries.allSatisfy { $0.headers["Authorization"]?.hasPrefix("DPoP ") == true })
    }

    @Test("a resource that wants a stronger sign-in, or more scope, is answered with the line for it")
    func stepUp() throws {
        let world = try ToolWorld()
        try world.signIn(scope: "openid api:admin")
        let admin = try world.run(["request", "\(world.issuer)/api/admin"], world.person)
        #expect(
            admin.code == 3 && admin.errors.contains("oidc login")
                && admin.errors.contains("acr_values=urn:demo:acr:strong")
                && admin.errors.contains("max_age=300"),
            "\(admin)")
        #expect(world.provider.with { $0.requestCount(grant: "refresh_token") } == 0)
        let items = try world.run(["request", "\(world.issuer)/api/items"], world.person)
        #expect(items.code == 3 && items.errors.contains("--scope 'openid api:admin api:read'"), "\(items)")
    }

    @Test("an answer whose reader has exited is an error")
    func closedOutput() throws {
        let world = try ToolWorld()
        try world.signIn()
        let script = "\"$1\" request \"$2\" > /dev/full"
        let result = try world.run(
            ["sh", "-c", script, "sh", ToolWorld.program, "\(world.issuer)/api/hello"], world.person,
            as: "/usr/bin/env")
        #expect(result.code == 1 && result.errors.contains("standard output"), "\(result)")
    }

    @Test("a signal ends it, even if its output is not read")
    func signal() throws {
        let (world, api) = try apiWorld { _ in
            HTTPResponse(status: 200, body: [UInt8](repeating: 0x61, count: 400_000))
        }
        let script = """
            mkfifo "$HOME/pipe"; sleep 20 < "$HOME/pipe" & reader=$!
            "$1" request "$2/x" --allow-origin "$2" > "$HOME/pipe" & pid=$!
            sleep 0.4; kill -TERM $pid; wait $pid; echo $?; kill $reader
            """
        let result = try world.run(
            ["sh", "-c", script, "sh", ToolWorld.program, api.origin], world.machine, as: "/usr/bin/env")
        #expect(result.output == "143\n", "\(result)")
    }

    /// A provider, and an API of another origin.
    private func apiWorld(
        _ handle: @escaping @Sendable (HTTPRequest) -> HTTPResponse
    ) throws -> (ToolWorld, ToolServer) {
        let world = try ToolWorld()
        return (world, try world.serve(handle))
    }

    @Test(
        "-X names the method as for curl, before and after the URL",
        arguments: [
            ["-X", "PUT", "URL"], ["URL", "-X", "PUT"], ["--method", "put", "URL"], ["PUT", "URL"],
        ])
    func namedMethod(words: [String]) throws {
        let (world, api) = try apiWorld { _ in HTTPResponse(status: 204) }
        let words = words.map { $0 == "URL" ? "\(api.origin)/x" : $0 }
        let result = try world.run(["request", "--allow-origin", api.origin] + words, world.machine)
        let methods = api.requests.filter { $0.url.path == "/x" }.map(\.method.name)
        #expect(result.code == 0 && methods == ["PUT"], "\(result) \(methods)")
    }
}
