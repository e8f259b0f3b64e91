import OIDCCore
import OIDCCrypto
import TestSupport
import Testing

@testable import DemoProvider

@Suite("the state of the demo provider")
struct StateLimitTests {
    private static let now = Instant(secondsSinceEpoch: 1_700_000_000)

    @Test("the oldest entries beyond a limit are dropped")
    func oldest() {
        var state = State()
        let count = State.limits.tokens + 10
        for index in 0..<count {
            let grant = state.add(Grant(client: "c", subject: "s", scope: Scope("")))
            state.access["\(index)"] = AccessRecord(
                grant: grant, scope: Scope(""), audience: [], issuedAt: Self.now,
                expiresAt: Self.now.adding(Int64(index)))
            state.nonces["\(index)"] = Self.now.adding(Int64(index))
        }
        for index in 0..<(State.limits.others + 10) {
            state.browsers["\(index)"] = BrowserSession(
                id: "\(index)", lastSeen: Self.now.adding(Int64(index)))
        }
        state.sweep(at: Self.now)
        #expect(state.access.count == State.limits.tokens && state.access["9"] == nil)
        #expect(state.access["10"] != nil && state.access["\(count - 1)"] != nil)
        #expect(state.grants.count == State.limits.tokens && state.nonces.count == State.limits.tokens)
        #expect(state.browsers.count == State.limits.others && state.browsers["9"] == nil)
    }

    @Test("the oldest registered clients are dropped, configured ones never")
    func registrations() throws {
        var configuration = DemoConfiguration()
        configuration.signingAlgorithms = [.es256]
        var provider = try DemoProvider(
            issuer: try #require(WebURL("http://127.0.0.1:1")), configuration: configuration)
        for index in 0..<(State.limits.others + 5) { provider.state.register(DemoClient(id: "r\(index)")) }
        #expect(provider.state.clients.count == State.limits.others + 3)
        #expect(provider.state.clients["r4"] == nil && provider.state.clients["r5"] != nil)
        #expect(provider.state.clients["demo"] != nil && provider.state.clients["demo-confidential"] != nil)
    }

    @Test("the oldest consents are dropped; a widened consent stays one entry")
    func consents() {
        var state = State()
        for index in 0..<(State.limits.others + 5) {
            state.consent("\(index)", to: Scope("a"))
            state.consent("\(index)", to: Scope("a b"))
        }
        #expect(state.consents.count == State.limits.others)
        #expect(state.consents["4"] == nil && state.consents["5"] == Scope("a b"))
    }

    @Test("requests cannot make the state grow without bound")
    func requests() throws {
        var configuration = DemoConfiguration()
        configuration.signingAlgorithms = [.es256]
        var provider = try DemoProvider(
            issuer: try #require(WebURL("http://127.0.0.1:1")), configuration: configuration)
        let url = try #require(WebURL("http://127.0.0.1:1/device_authorization"))
        for _ in 0..<1_600 {
            _ = provider.handle(
                .form(url, [FormEncoding.Pair("client_id", "demo"), FormEncoding.Pair("scope", "openid")]),
                at: Self.now)
        }
        #expect((1...1_500).contains(provider.state.devices.count), "\(provider.state.devices.count)")
    }
}
