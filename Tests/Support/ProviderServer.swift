package import DemoProvider
import LoopbackHTTP
package import OIDCCore
import Posix
import Synchronization

/// The demo provider behind a real socket on loopback, with its state at hand: counts, faults, clock.
package final class ProviderServer: Sendable {
    package let origin: String
    /// Where it listens itself.
    package let backend: String
    private let box: Box
    private let server: BackgroundServer

    private final class Box: Sendable {
        let provider = Mutex<FaultyProvider?>(nil)
        /// Milliseconds that each token request takes.
        let delay = Mutex<Int64>(0)
        let interceptor = Mutex<(@Sendable (HTTPRequest) -> HTTPResponse?)?>(nil)

        /// Waits in short steps, so a waiting request notices when a test ends the delay.
        func waitForDelay() {
            let start = MonotonicTime.now()
            while start.adding(milliseconds: delay.withLock { $0 }) > MonotonicTime.now() {
                Poll.sleep(until: MonotonicTime.now().adding(milliseconds: 10))
            }
        }
    }

    /// `issuer` where the provider is reached through another server.
    package init(
        _ configuration: DemoConfiguration = DemoConfiguration(), faults: Set<Fault> = [],
        issuer: String? = nil
    ) throws {
        let box = Box()
        self.box = box
        server = try BackgroundServer { request in
            if let answer = box.interceptor.withLock({ $0 })?(request) { return answer }
            if request.url.path == "/token" {
                box.waitForDelay()
            }
            return box.provider.withLock { $0?.handle(request, at: Clock.now()) } ?? HTTPResponse(status: 503)
        }
        origin = issuer ?? server.origin
        backend = server.origin
        var configuration = configuration
        if configuration.signingKeys.isEmpty { configuration.signingKeys = try SampleKeys.signing }
        guard let issuer = WebURL(origin) else { throw OIDCError(.failed, "no origin") }
        let provider = try FaultyProvider(issuer: issuer, configuration: configuration, faults: faults)
        box.provider.withLock { $0 = provider }
    }

    deinit {
        delayTokens(milliseconds: 0)
        server.end()
    }

    /// Reads or changes the provider between requests.
    @discardableResult
    package func with<Value: Sendable>(_ body: (inout FaultyProvider) throws -> sending Value) rethrows
        -> Value
    {
        try box.provider.withLock { provider in
            try body(&provider!)
        }
    }

    package func requestCount(_ endpoint: Endpoint) -> Int { with { $0.requestCount(endpoint) } }
    package func requestCount(grant: String) -> Int { with { $0.requestCount(grant: grant) } }

    /// Delays each answer of the token endpoint; zero also releases requests that wait already.
    package func delayTokens(milliseconds: Int64) { box.delay.withLock { $0 = milliseconds } }

    /// Answers instead of the provider if it returns a response.
    package func intercept(_ body: (@Sendable (HTTPRequest) -> HTTPResponse?)?) {
        box.interceptor.withLock { $0 = body }
    }

    /// Plays the user on the provider's pages, and returns the request that leaves the provider.
    package func redirect(
        of url: WebURL, _ choice: BrowserStandIn.Choice = .approve
    ) -> HTTPRequest? {
        var browser = BrowserStandIn(choice)
        var request: HTTPRequest? = browser.open(url)
        while let current = request, current.url.origin == origin {
            let response = with { $0.handle(current, at: Clock.now()) }
            request = browser.next(after: response, to: current)
        }
        return request
    }
}
