import DemoProvider
import Foundation
import OIDCCore
import TestSupport
import Testing

@Suite("callbacks that are turned away, in the built program", .serialized, .waiting)
struct TurnedAwayTests {
    @Test(
        "another local user can neither finish nor deny a sign-in, and the true callback signs in",
        .enabled(if: OtherUser.isAvailable), arguments: ["127.0.0.1", "localhost"])
    func otherUser(redirectHost: String) throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let redirect = ["--set", "redirect_uri=http://\(redirectHost)/callback"]
        let signIn = try OpenSignIn(program, at: provider, redirect)
        for query in [signIn.query, "error=access_denied&state=\(signIn.state)"] {
            let page = try OtherUser.start(port: signIn.port, signIn.get("/callback?\(query)")).text()
            #expect(RawConnection.status(page) == 404 && !page.contains("Signed in"), "\(page)")
        }
        #expect(provider.requestCount(.token) == 0)
        let (page, outcome) = signIn.complete()
        #expect(outcome.status == 0 && page.contains("Signed in"), "\(outcome.errorOutput)")
        let warning = "warning: a callback from another user of this machine arrived"
        #expect(outcome.errorOutput.components(separatedBy: warning).count == 2, "\(outcome.errorOutput)")
    }

    @Test("the first one of a kind is reported once, each is logged with -v, and the error counts them")
    func reported() throws {
        let provider = try TrustWorld.server()
        let program = try Program(provider)
        defer { program.remove() }
        let signIn = try OpenSignIn(program, at: provider, ["-v"])
        #expect(
            RawConnection.status(signIn.exchange(signIn.get("/callback?code=c0de", method: "HEAD"))) == 405)
        for target in ["/callback?code=c0de&state=old", "/favicon.ico", "/callback?code=c0de&state=older"] {
            #expect((400..<405).contains(RawConnection.status(signIn.exchange(signIn.get(target))) ?? 0))
        }
        signIn.run.signal(SIGINT)
        let outcome = signIn.run.finish()
        let lines = outcome.errorOutput.split(separator: "\n").map(String.init)
        #expect(outcome.status == 130 && outcome.isClean)
        #expect(
            lines.filter { $0.hasPrefix("warning: ") } == [
                "warning: a callback with another method arrived: expected GET, found HEAD",
                "warning: a callback with another state arrived; is an old browser tab open?",
            ])
        let logged = lines.filter { $0.hasPrefix("debug: turned away: ") }.map { String($0.dropFirst(20)) }
        let callback = "GET /callback: wrong state (400)"
        let head = "HEAD /callback: wrong method (405)"
        #expect(logged == [head, callback, "GET /favicon.ico: not the callback's path (404)", callback])
        #expect(
            lines.suffix(1) == [
                "error: interrupted by SIGINT; 3 callbacks were turned away: wrong method (1), wrong state (2)"
            ], "\(outcome.errorOutput)")
        #expect(!outcome.errorOutput.contains("c0de"))
    }
}
