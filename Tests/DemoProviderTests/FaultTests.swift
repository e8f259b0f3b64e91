import DemoProvider
import OIDCCore
import OIDCCrypto
import Synchronization
import TestSupport
import Testing

@Suite("faults of the provider")
struct FaultTests {
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

    /// A sign-in and what follows it, with fixed keys and randomness: the same answers in every run.
    private struct Scenario {
        var world: DemoWorld
        private var code = "none"
        private var tokens: JSONValue?
        private var deviceCode = "none"

        init(_ faults: Set<Fault>) throws {
            world = try DemoWorld()
            var configuration = world.provider.configuration
            configuration.user = .approves("alice")
            configuration.requiresDPoPNonceAtToken = true
            let counter = Counter()
            configuration.signsUserInfo = faults.contains {
                if case .userInfo = $0 { true } else { false }
            }
            world.provider = try FaultyProvider(
                issuer: world.provider.issuer, configuration: configuration, faults: faults,
                random: { counter.bytes($0) })
        }

        /// The requests, in their order.
        static let steps: [@Sendable (inout Scenario) throws -> HTTPResponse] = [
            { try $0.world.get("/.well-known/openid-configuration") },
            { try $0.world.get("/jwks") },
            { me in
                let redirect = me.world.send(HTTPRequest(.get, try me.world.authorizeURL()))
                let query = redirect.headers["Location"].flatMap { WebURL($0) }?.query ?? ""
                me.code = FormEncoding.decode(query)?.first { $0.name == "code" }?.value ?? "none"
                return redirect
            },
            { $0.world.send(HTTPRequest(.get, try $0.world.authorizeURL(["response_mode": "form_post"]))) },
            { me in
                let answer = try me.world.redeem(me.code)
                me.tokens = try? answer.json()
                return answer
            },
            { try $0.world.userInfo($0.tokens?["access_token"]?.string ?? "none") },
            { try $0.world.refresh($0.tokens?["refresh_token"]?.string ?? "none") },
            { try $0.world.get("/api/hello", headers: [("Authorization", "DPoP x")]) },
            { me in
                let answer = try me.world.post("/device_authorization", [("client_id", "demo")])
                me.deviceCode = (try? answer.json())?["device_code"]?.string ?? "none"
                return answer
            },
            {
                try $0.world.post(
                    "/token",
                    [
                        ("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                        ("client_id", "demo"), ("device_code", $0.deviceCode),
                    ])
            },
            {
                try $0.world.post(
                    "/logout",
                    [
                        ("id_token_hint", $0.tokens?["id_token"]?.string ?? ""), ("state", "s"),
                        ("post_logout_redirect_uri", "http://127.0.0.1:1/"),
                    ])
            },
        ]

        mutating func run() throws -> [HTTPResponse] { try Scenario.steps.map { try $0(&self) } }

        /// Runs until an answer differs from the good one; returns false if none does.
        mutating func differs(from good: [HTTPResponse]) throws -> Bool {
            for (step, answer) in zip(Scenario.steps, good) {
                if try step(&self) != answer { return true }
            }
            return false
        }
    }

    /// Shown by other tests: an elliptic-curve signature, a bound token, and what refreshed tokens never have.
    private static let elsewhere: Set<Fault> = [
        .idToken(.signatureDER), .refreshedIDToken(.signatureDER), .refreshedIDToken(.nonceMissing),
        .tokenResponse(.typeBearer), .refreshResponse(.typeBearer),
    ]

    private static func good(signsUserInfo: Bool) -> Result<[HTTPResponse], any Error> {
        Result {
            var scenario = try Scenario([])
            scenario.world.provider.configuration.signsUserInfo = signsUserInfo
            return try scenario.run()
        }
    }

    private static let plain = good(signsUserInfo: false)
    private static let signed = good(signsUserInfo: true)

    @Test("the scenario gets the same answers in every run")
    func deterministic() throws {
        var first = try Scenario([])
        var second = try Scenario([])
        #expect(try first.run() == second.run())
    }

    @Test(
        "every fault changes an answer of the provider",
        arguments: Fault.all(answering: [.discovery, .token]))
    func everyFaultShows(fault: Fault) throws {
        guard !FaultTests.elsewhere.contains(fault) else { return }
        var scenario = try Scenario([fault])
        let isSigned = scenario.world.provider.configuration.signsUserInfo
        let good = try (isSigned ? FaultTests.signed : FaultTests.plain).get()
        #expect(try scenario.differs(from: good), "\(fault)")
    }

    @Test("a fault that is injected for a number of answers ends after them")
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

    @Test("a token request is refused with the error code that the fault names")
    func refuses() throws {
        var world = try DemoWorld()
        let tokens = try world.signIn()
        world.provider.faults = [.refuses(.token, "invalid_grant")]
        #expect(try world.refresh(try tokens.text("refresh_token")).oauthError == "invalid_grant")
        world.provider.faults = []
        #expect(try world.refresh(try tokens.text("refresh_token")).status == 200)
    }
}
