import CurlHTTP
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import Posix
import TestSupport
import Testing

@testable import oidc

@Suite("claims of other issuers over the network")
struct ClaimTransportTests {
    @Test("a source that never answers is given up when the time for all is over")
    func deadline() throws {
        let silent = try LoopbackServer()
        defer { silent.close() }
        let server = "http://127.0.0.1:\(silent.port)"
        let claims = try JSONValue(
            parsing: """
                {"sub":"alice","_claim_names":{"score":"s"},"_claim_sources":{"s":{"endpoint":"\(server)/claims"}}}
                """)
        let sources = ClaimSources(
            namedBy: WebURL("\(server)/userinfo"), clientID: "demo",
            context: OIDCContext(
                transport: CurlTransport().forClaims(seconds: 1), now: { Clock.now() }, random: Random.bytes))
        let start = MonotonicTime.now()
        let outcome = sources.resolve(try #require(claims.object))
        #expect(outcome.refusals.map(\.error.kind) == [.unreachable])
        #expect(MonotonicTime.now() < start.adding(seconds: 15))
    }

    @Test("the time for all is that of the sources, and no client certificate is presented")
    func configuration() {
        var configuration = CurlConfiguration()
        configuration.clientCertificate = .init(certificatePath: "/c.pem", keyPath: "/k.pem")
        configuration.certificateOrigins = ["https://bank.example"]
        configuration.userAgent = "x"
        let transport = CurlTransport(configuration)
        let own = transport.forClaims()
        #expect(own.configuration.clientCertificate == nil && own.configuration.certificateOrigins.isEmpty)
        #expect(own.configuration.userAgent == "x" && own.pool !== transport.pool)
        let end = MonotonicTime.now().adding(seconds: ClaimSources.limits.seconds)
        #expect(own.configuration.deadline.map { $0 <= end } == true)
    }
}
