import DemoProvider
import OIDCCore
import OIDCCrypto
import Synchronization
import TestSupport
import Testing

@Suite struct FaultTests {
    /// The same bytes in every run.
    private final class Counter: Sendable {
        private let value = Mutex<UInt8>(0)

        func bytes(_ count: Int) -> [UInt8] {
            (0..<count).map { _ in
                value.withLock {
                    $0 &+= 1
                    return $0
                }
            }
        }
    }

    /// Everything that a provider says in the course of a sign-in and after, with fixed keys and randomness.
    private struct Scenario {
        var world: DemoWorld
        var transcript: [String] = []

        init(_ faults: Set<Fault>) throws {
            world = try DemoWorld()
            var configuration = world.provider.configuration
            configuration.person = .approves("alice")
            configuration.requiresDPoPNonceAtToken = true
            let counter = Counter()
            configuration.signsUserInfo = faults.contains {
                if case .userInfo = $0 { true } else { false }
            }
            world.provider = try FaultyProvider(
                issuer: world.provider.issuer, configuration: configuration, faults: faults,
                random: { counter.bytes($0) })
        }

        @discardableResult mutating func note(_ response: HTTPResponse) -> JSONValue? {
            let headers = response.headers.fields.map { "\($0.name): \($0.value)" }.joined(separator: "\n")
            transcript.append("\(response.status)\n\(headers)\n\(response.text)")
            return try? response.json()
        }

        mutating func run() throws -> [String] {
            note(try world.get("/.well-known/openid-configuration"))
            note(try world.get("/jwks"))
            let redirect = world.send(HTTPRequest(.get, try world.authorizeURL()))
            note(redirect)
            note(world.send(HTTPRequest(.get, try world.authorizeURL(["response_mode": "form_post"]))))
            let query = redirect.headers["Location"].flatMap { WebURL($0) }?.query ?? ""
            let code = FormEncoding.decode(query)?.first { $0.name == "code" }?.value ?? "none"
            let tokens = note(try world.redeem(code))
            note(try world.userInfo(tokens?["access_token"]?.string ?? "none"))
            note(try world.refresh(tokens?["refresh_token"]?.string ?? "none"))
            note(try world.get("/api/hello", headers: [("Authorization", "DPoP x")]))
            let device = note(try world.post("/device_authorization", [("client_id", "demo")]))
            note(
                try world.post(
                    "/token",
                    [
                        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                        ("client_id", "demo"), ("device_code", device?["device_code"]?.string ?? "none"),
                    ]))
            note(
                try world.post(
                    "/logout",
                    [
                        ("id_token_hint", tokens?["id_token"]?.string ?? ""), ("state", "s"),
                        ("post_logout_redirect_uri", "http://127.0.0.1:1/"),
                    ]))
            return transcript
        }
    }

    /// Seen elsewhere: an elliptic signature, a bound token, and what refreshed tokens never have.
    private static let elsewhere: Set<Fault> = [
        .idToken(.signatureDER), .refreshedIDToken(.signatureDER), .refreshedIDToken(.nonceMissing),
        .tokenResponse(.typeBearer), .refreshResponse(.typeBearer),
    ]

    private static func good(signsUserInfo: Bool) -> Result<[String], any Error> {
        Result {
            var scenario = try Scenario([])
            scenario.world.provider.configuration.signsUserInfo = signsUserInfo
            return try scenario.run()
        }
    }

    private static let plain = good(signsUserInfo: false)
    private static let signed = good(signsUserInfo: true)

    @Test("the scenario says the same in every run")
    func deterministic() throws {
        var first = try Scenario([])
        var second = try Scenario([])
        #expect(try first.run() == second.run())
    }

    @Test(
        "every fault changes what the provider says", arguments: Fault.all(answering: [.discovery, .token]))
    func everyFaultShows(fault: Fault) throws {
        guard !FaultTests.elsewhere.contains(fault) else { return }
        var scenario = try Scenario([fault])
        let bad = try scenario.run()
        let isSigned = scenario.world.provider.configuration.signsUserInfo
        let good = try (isSigned ? FaultTests.signed : FaultTests.plain).get()
        #expect(good != bad, "\(fault)")
    }

    @Test("a fault that is injected for a number of answers ends by itself")
    func limited() throws {
        var world = try DemoWorld()
        world.provider.inject(.answer(.jwks, .unavailable), times: 2)
        #expect(try world.get("/jwks").status == 503)
        #expect(try world.get("/jwks").status == 503)
        #expect(try world.get("/jwks").status == 200)
        #expect(world.provider.faults.isEmpty)
    }

    @Test("a redirect within the origin leads to the real answer, once")
    func redirect() throws {
        var world = try DemoWorld(faults: [.answer(.jwks, .redirectSameOrigin)])
        let first = try world.get("/jwks")
        #expect(first.status == 302)
        let location = try #require(first.headers["Location"].flatMap(WebURL.init))
        let second = world.send(HTTPRequest(.get, location))
        #expect(second.status == 200)
        #expect(world.provider.requestCount(.jwks) == 2)
    }

    @Test("the compression bomb is gzip that grows beyond any bound on answers")
    func bomb() throws {
        var world = try DemoWorld(faults: [.answer(.discovery, .compressionBomb)])
        let response = try world.get("/.well-known/openid-configuration")
        #expect(response.headers["Content-Encoding"] == "gzip")
        #expect(response.body.count < 1 << 20)
        #expect(response.body.prefix(3) == [0x1F, 0x8B, 8])
    }

    @Test("a code may be refused by name")
    func refuses() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        world.provider.faults = [.refuses(.token, "invalid_grant")]
        #expect(try world.refresh(try tokens.text("refresh_token")).oauthError == "invalid_grant")
        world.provider.faults = []
        #expect(try world.refresh(try tokens.text("refresh_token")).status == 200)
    }
}
