import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("hostile transports, in the built program", .serialized, .waiting)
struct HostileTransportTests {
    @Test(
        "a code, verifier or refresh token is never sent again by a redirect",
        arguments: [301, 302, 303, 307, 308])
    func redirects(status: Int) throws {
        let foreign = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        let file = try #require(program.sessionFiles.first)
        let before = try Data(contentsOf: file)
        provider.intercept { request in
            guard request.url.path == "/token" else { return nil }
            return HTTPResponse(
                status: status, headers: HTTPHeaders([("Location", "\(foreign.origin)/token")]))
        }
        let refresh = try program.run("token", "--refresh")
        #expect(refresh.status == 4 && refresh.output == "" && refresh.isClean, "\(refresh.errorOutput)")
        let again = try program.signIn(at: provider)
        #expect(again.status == 4 && again.isClean, "\(again.errorOutput)")
        #expect(try Data(contentsOf: file) == before)
        #expect(foreign.requests == [])
    }

    @Test("a redirect from UserInfo to another origin does not get the token", arguments: [302, 307])
    func userInfoRedirect(status: Int) throws {
        let foreign = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 0)
        provider.intercept { request in
            guard request.url.path == "/userinfo" || request.url.path == "/api/x" else { return nil }
            return HTTPResponse(status: status, headers: HTTPHeaders([("Location", "\(foreign.origin)/x")]))
        }
        let outcome = try program.run("userinfo")
        #expect(outcome.status == 4 && outcome.output == "", "\(outcome.errorOutput)")
        #expect(try program.run("request", "\(provider.origin)/api/x").status == 4)
        #expect(foreign.requests == [])
    }

    @Test("endless and slow answers end in bounded time", arguments: ["endless", "slow", "silent", "header"])
    func bodies(kind: String) throws {
        let server = try ScriptedServer { peer in
            _ = peer.readRequest()
            switch kind {
            case "endless":
                peer.write("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n")
                while peer.write(String(repeating: " ", count: 65_536)) {}
            case "slow":
                peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
                while peer.write(" ") { usleep(50_000) }
            case "header":
                peer.write("HTTP/1.1 200 OK\r\n")
                while peer.write("X: \(String(repeating: "a", count: 60_000))\r\n") {}
            default: peer.waitForEnd()
            }
        }
        defer { withExtendedLifetime(server) {} }
        let program = try Program([
            "OIDC_ISSUER": server.origin, "OIDC_CLIENT_ID": "demo", "OIDC_HTTP_TIMEOUT": "1",
        ])
        defer { program.remove() }
        let start = Date()
        let outcome = try program.run("login", "--flow", "browser", "--no-browser")
        #expect(outcome.status == (["endless", "header"].contains(kind) ? 4 : 5), "\(outcome.errorOutput)")
        #expect(outcome.isClean && outcome.output == "")
        #expect(Date().timeIntervalSince(start) < 30)
    }

    @Test("the answer of one provider does not do for a sign-in at another")
    func mixUp() throws {
        let (honest, other) = (try TrustWorld.server(), try TrustWorld.server())
        let (first, second) = (try Program(honest), try Program(other))
        defer {
            first.remove()
            second.remove()
        }
        let mine = try OpenSignIn(first, at: honest)
        let theirs = try OpenSignIn(second, at: other)
        #expect(RawConnection.status(mine.exchange(mine.get("/callback?\(theirs.query)"))) == 400)
        let issuer = FormEncoding.encode([FormEncoding.Pair("iss", other.origin)])
        let mixed = "state=\(mine.state)&code=\(theirs.parameter("code"))&\(issuer)"
        let page = mine.exchange(mine.get("/callback?\(mixed)"), within: 20)
        #expect(RawConnection.status(page) == 400)
        let outcome = mine.run.finish()
        #expect(outcome.status == 7 && outcome.error?.contains("iss") == true, "\(outcome.errorOutput)")
        #expect(honest.requestCount(.token) == 0 && other.requestCount(.token) == 0)
        #expect(theirs.complete().outcome.status == 0)
    }

    @Test(
        "keys that a token brings or points to are not fetched",
        arguments: [IDTokenFault.embeddedKey, .keyAddress, .certificateChain, .certificateAddress])
    func offeredKeys(fault: IDTokenFault) throws {
        let foreign = try ScriptedServer.answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
        let provider = try TrustWorld.server([.idToken(fault)], foreign: foreign.origin)
        let program = try Program(provider)
        defer { program.remove() }
        #expect(try program.signIn(at: provider).status == 7)
        #expect(foreign.requests == [])
    }

    @Test(
        "a URL that is not safe to open is never passed to a browser",
        arguments: [
            MetadataFault.authorizationEndpointScript, .authorizationEndpointFile,
            .authorizationEndpointOption,
            .authorizationEndpointControls,
        ])
    func browser(fault: MetadataFault) throws {
        let provider = try TrustWorld.server([.metadata(fault)])
        let program = try Program(provider)
        defer { program.remove() }
        let mark = program.home.appendingPathComponent("opened")
        let outcome = try program.start(
            ["login", "--timeout", "2"], ["BROWSER": "touch \(mark.path) %s"]
        ).finish()
        #expect(outcome.status == 4, "\(outcome.errorOutput)")
        #expect(!FileManager.default.fileExists(atPath: mark.path))
    }
}
