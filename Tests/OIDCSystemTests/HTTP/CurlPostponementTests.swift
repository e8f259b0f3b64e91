@testable import CurlHTTP
import Foundation
import OIDCCore
@testable import OIDCAccount
@testable import OIDCSystem
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("requests that redeem a single-use secret")
struct CurlPostponementTests {
    private static func redeeming(_ url: WebURL) -> HTTPRequest {
        var request = HTTPRequest.form(url, [.init("refresh_token", "x")])
        request.redeemsSingleUseSecret = true
        return request
    }

    /// Answers once the flag is up; `whenAsked` runs as soon as the request is there.
    private func slow(_ isAnswering: CancellationFlag, whenAsked: @escaping @Sendable () -> Void) throws
        -> ScriptedServer
    {
        try ScriptedServer { peer in
            guard peer.readRequest() != nil else { return }
            whenAsked()
            while !isAnswering.isRaised { usleep(1_000) }
            peer.write(answer("200 OK", body: "rotated"))
        }
    }

    @Test(
        "an answer that is truncated or too long is returned as far as it arrived, for its refresh token only"
    )
    func partial() throws {
        let start = #"{"refresh_token":"next","x":""#
        let long = answer("200 OK", body: start + String(repeating: "a", count: 2 << 20) + #""}"#)
        for whole in ["HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n\(start)", long] {
            let server = try ScriptedServer { peer in if peer.readRequest() != nil { peer.write(whole) } }
            let response = try CurlTransport().send(Self.redeeming(server.url()), stage: .token)
            #expect(response.failure != nil)
            #expect(String(decoding: response.body, as: UTF8.self).hasPrefix(start))
            #expect(throws: OIDCError.self) {
                try CurlTransport().send(.form(server.url(), []), stage: .revocation)
            }
        }
    }

    @Test("signals are postponed before the secret can be sent, and no longer if it was not")
    func beforeSending() {
        var limits = CurlChannel.Limits(configuration: CurlConfiguration(), isAwaitedOnceSent: true)
        var postponement = CurlPostponement(limits)
        for isSent in [false, true] {
            postponement.prepare()
            #expect(Interruption.isPostponed)
            postponement.settle(isSent: isSent)
            #expect(Interruption.isPostponed == isSent)
        }
        postponement.end()
        #expect(!Interruption.isPostponed)
        limits.isAwaitedOnceSent = false
        postponement = CurlPostponement(limits)
        postponement.prepare()
        #expect(!Interruption.isPostponed)
    }

    @Test("a cancellation waits for the answer, and is honored right after")
    func awaited() throws {
        let (isCancelled, isAnswering) = (CancellationFlag(), CancellationFlag())
        let server = try slow(isAnswering) {
            isCancelled.raise()
            usleep(300_000)
            isAnswering.raise()
        }
        var configuration = CurlConfiguration()
        configuration.isCancelled = { isCancelled.isRaised }
        let transport = CurlTransport(configuration)
        #expect(try transport.send(Self.redeeming(server.url()), stage: .token).body == Array("rotated".utf8))
        let error = #expect(throws: OIDCError.self) {
            try transport.send(.json(server.url()), stage: .keys)
        }
        #expect(error?.kind == .interrupted)
        #expect(server.requests.count == 1)
    }

    @Test("any other request is ended by it")
    func others() throws {
        let (isCancelled, isAnswering) = (CancellationFlag(), CancellationFlag())
        defer { isAnswering.raise() }
        let server = try slow(isAnswering) { isCancelled.raise() }
        var configuration = CurlConfiguration()
        configuration.isCancelled = { isCancelled.isRaised }
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport(configuration).send(.form(server.url(), []), stage: .token)
        }
        #expect(error?.kind == .interrupted)
    }

    @Test("http_timeout still ends it")
    func timeOut() throws {
        let isAnswering = CancellationFlag()
        defer { isAnswering.raise() }
        let server = try slow(isAnswering) {}
        var configuration = CurlConfiguration()
        configuration.httpTimeout = .milliseconds(300)
        configuration.isCancelled = { !server.requests.isEmpty }
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport(configuration).send(Self.redeeming(server.url()), stage: .token)
        }
        #expect(error?.kind == .unreachable)
    }

    @Test("nothing is sent once it is canceled, nor is the wait for a connection prolonged")
    func unsent() throws {
        let isCancelled = CancellationFlag()
        let server = try ScriptedServer { peer in
            isCancelled.raise()
            peer.waitForEnd()
        }
        var configuration = CurlConfiguration()
        configuration.isCancelled = { isCancelled.isRaised }
        let transport = CurlTransport(configuration)
        // The TLS handshake is not answered, so nothing is sent.
        let url = try #require(WebURL("https://127.0.0.1:\(server.port)/token"))
        for _ in 0..<2 {
            let error = #expect(throws: OIDCError.self) {
                try transport.send(Self.redeeming(url), stage: .token)
            }
            #expect(error?.kind == .interrupted)
        }
        #expect(server.connectionCount == 1)
    }

    @Test("in a scope, what follows the answer is not canceled either; before the request, everything is")
    func scope() throws {
        let server = try ScriptedServer.answering(answer("200 OK"))
        var configuration = CurlConfiguration()
        configuration.isCancelled = { server.requests.count >= 1 }
        let transport = CurlTransport(configuration)
        try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
            _ = try transport.send(Self.redeeming(server.url()), stage: .token)
            #expect(try transport.send(.json(server.url()), stage: .keys).status == 200)
        }
        #expect(throws: OIDCError.self) {
            try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                _ = try transport.send(Self.redeeming(server.url()), stage: .token)
            }
        }
        #expect(server.requests.count == 2)
        #expect(!Interruption.isPostponed)
    }

    @Test("a signal that has to wait is reported once", .waiting)
    func reported() async {
        await #expect(processExitsWith: .exitCode(9)) {
            try Interruption.install()
            let count = Mutex(0)
            let server = try ScriptedServer { peer in
                guard peer.readRequest() != nil else { return }
                kill(getpid(), SIGINT)
                while count.withLock({ $0 }) == 0 { usleep(1_000) }
                usleep(250_000)
                peer.write(answer("200 OK"))
            }
            var configuration = CurlConfiguration()
            configuration.onPostponedSignal = { count.withLock { $0 += 1 } }
            let response = try CurlTransport(configuration).send(
                Self.redeeming(server.url()), stage: .token)
            let isRight = response.status == 200 && count.withLock { $0 } == 1 && Interruption.wasPostponed
            exit(isRight && Interruption.pending == SIGINT ? 9 : 1)
        }
    }
}
