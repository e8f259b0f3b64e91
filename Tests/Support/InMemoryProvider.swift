package import DemoProvider
package import OIDCCore
import OIDCCrypto
import Synchronization

/// The demo provider as a transport, with a clock that only tests move, or one that is given: flows run whole without a
/// socket.
package final class InMemoryProvider: HTTPTransport {
    package static let issuer = "http://127.0.0.1:9480"

    /// Sees a request before the provider does, and may answer it instead.
    package typealias Interceptor = @Sendable (HTTPRequest) throws(OIDCError) -> HTTPResponse?

    private let provider: Mutex<FaultyProvider?>
    private let time: Mutex<Instant>
    private let clock: (@Sendable () -> Instant)?
    private let interceptor = Mutex<Interceptor?>(nil)

    package init(
        startingAt start: Instant = Instant(secondsSinceEpoch: 1_800_000_000),
        _ change: (inout DemoConfiguration) -> Void = { _ in }, clock: (@Sendable () -> Instant)? = nil
    ) throws {
        var configuration = DemoConfiguration()
        configuration.signingKeys = try SampleKeys.signing
        change(&configuration)
        guard let issuer = WebURL(InMemoryProvider.issuer) else { throw OIDCError(.failed, "no issuer") }
        let demo = try FaultyProvider(issuer: issuer, configuration: configuration)
        provider = Mutex(demo)
        time = Mutex(start)
        self.clock = clock
    }

    private static let afterSignIn = Result {
        let provider = try InMemoryProvider()
        let session = try provider.signIn()
        return (state: provider.with { $0 }, session: session)
    }

    /// Returns a provider and the session of a sign-in, which ran once for all callers.
    package static func signedIn() throws -> (provider: InMemoryProvider, session: Session) {
        let (state, session) = try afterSignIn.get()
        let provider = try InMemoryProvider()
        provider.with { $0 = state }
        return (provider, session)
    }

    package var now: Instant { clock?() ?? time.withLock { $0 } }

    package func pass(_ seconds: Int64) { time.withLock { $0 = $0.adding(seconds) } }

    package func intercept(_ body: Interceptor?) { interceptor.withLock { $0 = body } }

    /// Reads or changes the provider between requests.
    @discardableResult
    package func with<Value: Sendable>(_ body: (inout FaultyProvider) throws -> sending Value) rethrows
        -> Value
    {
        try provider.withLock { try body(&$0!) }
    }

    package var faults: Set<Fault> {
        get { with { $0.faults } }
        set { with { $0.faults = newValue } }
    }

    package func send(_ request: HTTPRequest, stage: Stage) throws(OIDCError) -> HTTPResponse {
        let interceptor = interceptor.withLock { $0 }
        guard request.url.origin == InMemoryProvider.issuer else {
            throw OIDCError(.unreachable, "\(request.url.origin) is not reachable from memory", stage: stage)
        }
        if let interceptor, let answer = try interceptor(request) { return answer }
        return with { [now] in $0.handle(request, at: now) }
    }

    /// What the flows get: this provider, its clock, no cache.
    package var environment: OIDCContext {
        OIDCContext(
            transport: self, cache: NoCache(), now: { [self] in now }, random: { Random.bytes($0) })
    }

    /// A whole sign-in of the public demo client, as the flows do it.
    package func signIn(
        _ scope: String = "openid profile email offline_access", client: Client = Client(id: "demo"),
        dpop: DPoPKey? = nil, _ change: (inout SignInFlow) throws -> Void = { _ in }
    ) throws -> Session {
        try outcome(scope, client: client, dpop: dpop, change).session
    }

    /// The same, with the warnings.
    package func outcome(
        _ scope: String = "openid profile email offline_access", client: Client = Client(id: "demo"),
        dpop: DPoPKey? = nil, _ change: (inout SignInFlow) throws -> Void = { _ in }
    ) throws -> SignInFlow.Outcome {
        var login = try login(scope, client: client, dpop: dpop)
        try change(&login)
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        return try login.finish(try pending.acceptPasted(callback(of: url)))
    }

    /// A sign-in of the public demo client that has not started.
    package func login(
        _ scope: String = "openid profile email offline_access", client: Client = Client(id: "demo"),
        dpop: DPoPKey? = nil, explicit: ProviderEndpoints = [:],
        endpoint change: (inout TokenEndpoint) -> Void = { _ in }
    ) throws -> SignInFlow {
        let metadata = try ProviderDocuments(context: environment).metadata(
            issuer: InMemoryProvider.issuer
        ).merging(explicit: explicit)
        var endpoint = TokenEndpoint(url: try metadata.require(.token), client: client, dpop: dpop)
        change(&endpoint)
        return SignInFlow(
            context: environment, metadata: metadata, tokenEndpoint: endpoint,
            request: AuthorizationRequest(
                client: client, redirectURI: "http://127.0.0.1/callback", scope: Scope(scope)),
            key: SessionKey(provider: InMemoryProvider.issuer, clientID: client.id))
    }

    /// Runs a sign-in that was prepared.
    package func finish(_ login: SignInFlow) throws -> SignInFlow.Outcome {
        let (pending, url) = try login.begin(redirectURI: "http://127.0.0.1:8765/callback")
        return try login.finish(try pending.acceptPasted(callback(of: url)))
    }

    /// Returns the callback URL after the user agrees.
    package func callback(of url: WebURL, _ choice: BrowserStandIn.Choice = .approve) throws -> String {
        // A user who agrees needs no pages, whose forms take longer to read than the rest of a sign-in.
        let user = with { $0.configuration.user }
        if case .atBrowser = user, case .approve = choice {
            with { $0.configuration.user = .approves("alice") }
        }
        defer { with { $0.configuration.user = user } }
        var browser = BrowserStandIn(choice)
        var request: HTTPRequest? = browser.open(url)
        while let current = request {
            if current.url.origin != InMemoryProvider.issuer { return current.url.text }
            let response = with { [now] in $0.handle(current, at: now) }
            request = browser.next(after: response, to: current)
        }
        throw OIDCError(.failed, "the sign-in ended on a page of the provider")
    }
}
