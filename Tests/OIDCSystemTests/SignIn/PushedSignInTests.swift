@testable import CurlHTTP
import DemoProvider
import Foundation
import OIDCCore
@testable import OIDCSignIn
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("a sign-in whose request is pushed, and one that nobody answers", .waiting)
struct PushedSignInTests {
    private final class Notices: Sendable {
        let all = Mutex<[SignInNotice]>([])
        var urls: [WebURL] {
            all.withLock { $0.compactMap { if case .url(let url) = $0 { url } else { nil } } }
        }

        func contains(_ test: (SignInNotice) -> Bool) -> Bool { all.withLock { $0.contains(where: test) } }
    }

    private func signIn(
        _ provider: InMemoryProvider, _ notices: Notices, milliseconds: Int64 = 60_000,
        _ onNotice: @escaping (SignInNotice) -> Void = { _ in }
    ) throws -> BrowserSignIn {
        BrowserSignIn(
            flow: try provider.login(), redirect: try RedirectAddress(RedirectAddress.standard),
            readsInput: false, browser: nil, environment: [:],
            deadline: .now().adding(milliseconds: milliseconds),
            notice: { notice in
                notices.all.withLock { $0.append(notice) }
                onNotice(notice)
            })
    }

    @Test("an answer that the request must be pushed sends the same browser tab to the pushed request")
    func mustBePushed() throws {
        let provider = try InMemoryProvider { _ in }
        let notices = Notices()
        let failure = Mutex<(any Error)?>(nil)
        let locations = Mutex<[String]>([])
        let signIn = try signIn(provider, notices) { notice in
            guard case .url(let url) = notice else { return }
            let thread = try? BackgroundThread {
                do {
                    let pairs = FormEncoding.decode(url.query ?? "") ?? []
                    func value(_ name: String) -> String { pairs.first { $0.name == name }?.value ?? "" }
                    let refusal = try #require(WebURL(value("redirect_uri"))).appendingQuery([
                        .init("error", "invalid_request"),
                        .init("error_description", "Pushed Authorization Request must be used"),
                        .init("state", value("state")), .init("iss", InMemoryProvider.issuer),
                    ])
                    let port = try #require(refusal.port.flatMap { UInt16(exactly: $0) })
                    let browser = try #require(RawConnection(port: port))
                    browser.send(
                        "GET /callback?\(refusal.query ?? "") HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\r\n")
                    let lines = browser.received(within: 30).split(separator: "\r\n")
                    let location = try #require(
                        lines.first { $0.hasPrefix("Location: ") }.map { String($0.dropFirst(10)) })
                    locations.withLock { $0.append(location) }
                    let callback = try provider.callback(of: try #require(WebURL(location)))
                    try Visit.send(HTTPRequest(.get, try #require(WebURL(callback))))
                } catch {
                    failure.withLock { $0 = error }
                }
            }
            thread?.detach()
        }
        let outcome = try signIn.run { _ in }
        #expect(outcome.session.subject == "alice")
        #expect(failure.withLock { $0.map { "\($0)" } } == nil)
        #expect(locations.withLock { $0 }.first?.contains("request_uri=") == true && notices.urls.count == 1)
    }

    @Test("the same request can be pushed again; the answer to the second reference is good")
    func pushedAgain() throws {
        let provider = try InMemoryProvider { _ in }
        let flow = try provider.login()
        let (pending, first) = try flow.start(redirectURI: "http://127.0.0.1:8765/callback", isPushed: true)
        let second = try flow.push(pending)
        #expect(second.requestURI != first?.requestURI && second.expiresAt != nil)
        let code = try pending.acceptPasted(provider.callback(of: second.url))
        #expect(try flow.finish(code).session.subject == "alice")
    }

    @Test("what the provider has against the request ends the wait after the first silence")
    func objection() throws {
        let provider = try InMemoryProvider { _ in }
        provider.intercept { (request) throws(OIDCError) in
            guard request.url.path.hasSuffix("/par") else { return nil }
            return HTTPResponse(
                status: 400, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(
                    #"{"error":"invalid_request","error_description":"Invalid parameter: redirect_uri"}"#.utf8
                ))
        }
        let notices = Notices()
        var signIn = try signIn(provider, notices)
        signIn.firstSilence = 1
        let error = #expect(throws: OIDCError.self) { try signIn.run { _ in } }
        #expect(error?.kind == .refused && error?.stage == .pushedAuthorization)
        guard case .checkRegistration(_, "demo")? = error?.hint else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "a page that this machine cannot connect to is reported after the second silence, and the wait goes on"
    )
    func unreachable() throws {
        let provider = try InMemoryProvider { _ in }
        let notices = Notices()
        var signIn = try signIn(provider, notices, milliseconds: 4_000)
        signIn.silence = 1
        signIn.connect = { (_) throws(OIDCError) in throw OIDCError(.unreachable, "refused") }
        let error = #expect(throws: OIDCError.self) { try signIn.run { _ in } }
        #expect(error?.kind == .timedOut)
        #expect(notices.contains { if case .unreachable = $0 { true } else { false } })
        #expect(notices.contains { if case .unanswered = $0 { true } else { false } })
    }

    @Test("a connection is opened without a request")
    func connects() throws {
        let received = Mutex<[String]>([])
        let server = try ScriptedServer { peer in
            if let request = peer.readRequest() { received.withLock { $0.append(request) } }
        }
        try CurlTransport().connect(to: server.url("/authorize"), stage: .authorization)
        #expect(received.withLock { $0 } == [])
        let closed = try #require(WebURL("http://127.0.0.1:1/authorize"))
        let error = #expect(throws: OIDCError.self) {
            try CurlTransport().connect(to: closed, stage: .authorization)
        }
        #expect(error?.kind == .unreachable)
    }

    @Test("a key alone is taken from the line, and leaves one that begins with it")
    func key() {
        var lines = LineBuffer(limit: 100, edits: true)
        lines.feed(Array("u".utf8))
        #expect(lines.take(UInt8(ascii: "u")) && lines.count == 0)
        lines.feed(Array("ux".utf8))
        #expect(!lines.take(UInt8(ascii: "u")) && lines.count == 2)
    }
}
