import CurlHTTP
import DemoProvider
import LoopbackHTTP
import OIDCCore
import Posix
import Synchronization

/// The tour's provider behind a real socket, and a simulated browser.
final class DemoStage: Sendable {
    let origin: String
    private let provider: Provider
    private let server: BackgroundServer

    /// The provider, shared by the server's thread and the simulated browser.
    private final class Provider: Sendable {
        let state: Mutex<DemoProvider?>
        init() { state = Mutex(nil) }

        func handle(_ request: HTTPRequest) -> HTTPResponse {
            state.withLock { $0?.handle(request, at: Clock.now()) } ?? HTTPResponse(status: 503)
        }
    }

    init() throws(OIDCError) {
        let provider = Provider()
        self.provider = provider
        server = try BackgroundServer { request in
            guard let host = request.headers["Host"], request.url.origin == "http://\(host)" else {
                return HTTPResponse.misdirected
            }
            return provider.handle(request)
        }
        origin = server.origin
        let demo = try DemoProvider.local(at: origin)
        provider.state.withLock { $0 = demo }
    }

    func end() {
        server.end()
    }

    /// Simulates alice at a browser: gets the provider's pages, and follows the last redirect to the listener
    /// of `oidc`.
    func playBrowser(_ url: WebURL, _ transport: CurlTransport) throws(OIDCError) -> BackgroundThread {
        let provider = provider
        let origin = origin
        do throws(Errno) {
            return try BackgroundThread {
                var browser = BrowserStandIn()
                var request: HTTPRequest? = browser.open(url)
                while let current = request {
                    guard current.url.origin == origin else {
                        _ = try? transport.send(current, stage: .authorization)
                        return
                    }
                    request = browser.next(after: provider.handle(current), to: current)
                }
            }
        } catch {
            throw OIDCError(.failed, "the browser could not be simulated: \(error)")
        }
    }
}

extension DemoProvider {
    /// Returns the demo provider at the origin of its server.
    static func local(
        at origin: String, _ configuration: DemoConfiguration = DemoConfiguration()
    ) throws(OIDCError) -> DemoProvider {
        guard let issuer = WebURL(origin) else { throw OIDCError(.failed, "the demo has no URL") }
        do { return try DemoProvider(issuer: issuer, configuration: configuration) } catch {
            throw OIDCError(error)
        }
    }
}

extension HTTPResponse {
    /// The answer to a request for another host (RFC 9110 §15.5.20). A page of another site whose name
    /// resolves to this machine (DNS rebinding) gets nothing.
    static let misdirected = HTTPResponse(
        status: 421, headers: HTTPHeaders([("Content-Type", "text/plain")]),
        body: Array("421 wrong Host\n".utf8))
}
