import Foundation
import OIDCCore
@testable import OIDCProxy
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("the sign-ins to which a server leads the proxy's user", .serialized, .waiting)
struct ProxySignInLimitTests {
    @Test(
        "a request that ends before it has a connection keeps its place while its name may still be looked up"
    )
    func abandoned() {
        let state = ProxyServer.RouteState()
        let start = MonotonicTime.now()
        state.inProgress = 1
        state.noteAbandoned(at: start)
        state.noteAbandoned(at: start.adding(seconds: 1))
        #expect(state.places(at: start.adding(seconds: 2)) == 3)
        #expect(state.places(at: start.adding(milliseconds: 20_500)) == 2)
        #expect(state.places(at: start.adding(seconds: 30)) == 1)
    }

    @Test("are five in ten minutes, and the user is told once that the server asked for more")
    func period() {
        let signIns = ProxyServer.SignIns()
        var warnings = 0
        func moment(_ seconds: Int64) -> MonotonicTime {
            MonotonicTime(nanoseconds: 0).adding(seconds: seconds)
        }
        func may(at seconds: Int64) -> Bool { signIns.mayAdd(now: moment(seconds)) { warnings += 1 } }
        for number in 0..<5 {
            let seconds = Int64(number * 60)
            #expect(may(at: seconds))
            // Requests that wait for the same sign-in.
            for _ in 0..<3 {
                signIns.note(insteadOf: Redacted("token-\(number)"), now: moment(seconds))
            }
        }
        #expect(warnings == 0)
        for seconds in Int64(240)..<600 { #expect(!may(at: seconds)) }
        #expect(warnings == 1)
        #expect(may(at: 600))
        signIns.note(insteadOf: Redacted("token-5"), now: moment(600))
        for _ in 0..<3 { #expect(!may(at: 659)) }
        #expect(warnings == 2 && may(at: 660))
    }

    @Test(
        "pause for a minute if the provider goes away meanwhile, and end for a token if one fails otherwise")
    func failed() {
        let token = Redacted("token")
        for (kind, isEnd) in [(OIDCError.Kind.unreachable, false), (.refused, true)] {
            let state = ProxyServer.RouteState()
            #expect(state.allowsStepUp(insteadOf: token))
            state.noteReplacement(of: token, .failure(OIDCError(kind, "no")), 1, steppedUp: true)
            #expect(!state.allowsStepUp(insteadOf: token))
            #expect(state.allowsStepUp(insteadOf: Redacted("other")) == isEnd)
        }
    }

    @Test(
        "end also if the server takes each new token before it asks again: callers get its answers",
        arguments: [
            (403, #"Bearer error="insufficient_scope", scope="more""#),
            (401, #"Bearer error="insufficient_user_authentication", max_age="5""#),
            (401, #"Bearer error="invalid_token""#),
        ])
    func alternating(status: Int, challenge: String) throws {
        let last = Mutex("")
        let refusal = answer("\(status) No", "WWW-Authenticate: \(challenge)", body: "no")
        let server = try ScriptedServer { peer in
            while let request = peer.readRequest() {
                let line =
                    request.components(separatedBy: "\r\n").first { $0.hasPrefix("Authorization: ") } ?? ""
                let isNew = last.withLock { last in
                    defer { last = line }
                    return last != line
                }
                peer.write(isNew ? answer("200 OK", body: "hello") : refusal)
            }
        }
        let tokens = ProxyWorld.Tokens()
        tokens.stepUps.withLock { $0 = [] }
        let warnings = Mutex<[String]>([])
        // Two routes to the same server.
        let world = try ProxyWorld([server.url("/"), server.url("/")], tokens: tokens) {
            $0.warn = { text in warnings.withLock { $0.append(text) } }
        }
        #expect(try world.exchange().contains("hello"))
        // No token is replaced without a sign-in.
        tokens.isIrreplaceable.withLock { $0 = true }
        let statuses = try (0..<20).map {
            RawConnection.status(try world.exchange("GET", "x\($0)", route: $0 % 2))
        }
        #expect(statuses == Array(repeating: 200, count: 5) + Array(repeating: status, count: 15))
        #expect(tokens.stepUps.withLock { $0?.count } == 5)
        let texts = warnings.withLock { $0 }
        #expect(texts.count == 1 && texts[0].hasPrefix(server.url().text), "\(texts)")
    }
}
