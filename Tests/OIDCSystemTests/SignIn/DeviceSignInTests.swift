import OIDCCore
@testable import OIDCSignIn
@testable import Posix
import Synchronization
import TestSupport
import Testing

@Suite("Waiting for a sign-in by a code", .serialized, .waiting)
struct DeviceSignInTests {
    /// A provider on which the code is never entered.
    private final class Provider: HTTPTransport {
        let lifetime: Int
        let requests = Mutex(0)

        init(lifetime: Int) {
            self.lifetime = lifetime
        }

        func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
            let isCode = request.url.path == "/device"
            if !isCode { requests.withLock { $0 += 1 } }
            let body =
                isCode
                ? #"{"device_code":"d","user_code":"u","verification_uri":"https://op.example/","#
                    + #""interval":300,"expires_in":\#(lifetime)}"#
                : #"{"error":"authorization_pending"}"#
            return HTTPResponse(
                status: isCode ? 200 : 400, headers: HTTPHeaders([("Content-Type", "application/json")]),
                body: Array(body.utf8))
        }
    }

    /// The error that ends it, and the seconds that were shown.
    private func wait(
        on provider: Provider, milliseconds: Int64
    ) throws -> (error: OIDCError?, shown: [Int64]) {
        let document = try JSONValue(
            parsing: """
                {"issuer":"https://op.example","token_endpoint":"https://op.example/token",
                "authorization_endpoint":"https://op.example/authorize",
                "device_authorization_endpoint":"https://op.example/device"}
                """)
        let client = Client(id: "app")
        let login = SignInFlow(
            context: OIDCContext(
                transport: provider, cache: NoCache(), now: { Clock.now() },
                random: { [UInt8](repeating: 1, count: $0) }),
            metadata: try ProviderMetadata(
                document: try #require(document.object), expectedIssuer: "https://op.example"),
            tokenEndpoint: TokenEndpoint(
                url: try #require(WebURL("https://op.example/token")), client: client),
            request: AuthorizationRequest(
                client: client, redirectURI: RedirectAddress.standard, scope: Scope("read")),
            key: SessionKey(provider: "https://op.example", clientID: client.id))
        var shown: [Int64] = []
        let signIn = DeviceSignIn(flow: login, deadline: .now().adding(milliseconds: milliseconds)) {
            if case .waiting(let seconds, _) = $0 { shown.append(seconds) }
        }
        let error = #expect(throws: OIDCError.self) { try signIn.run { _ in } }
        return (error, shown)
    }

    @Test("a code that expires before the first poll ends the wait, and sets its countdown")
    func expiry() throws {
        let provider = Provider(lifetime: 1)
        let (error, shown) = try wait(on: provider, milliseconds: 60_000)
        #expect(error?.oauthError == "expired_token" && error?.hint == .signIn)
        #expect(shown.first == 1 && shown.allSatisfy { $0 <= 1 })
        #expect(provider.requests.withLock { $0 } == 1)
    }

    @Test("a time-out before the code expires ends it")
    func timeout() throws {
        let provider = Provider(lifetime: 600)
        let (error, shown) = try wait(on: provider, milliseconds: 100)
        #expect(error?.message == "timed out waiting for the sign-in" && error?.kind == .timedOut)
        #expect(shown == [1] && provider.requests.withLock { $0 } == 0)
    }
}
