import DemoProvider
import Dispatch
import OIDCCore
@testable import OIDCSignIn
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// A sign-in without a display: URL, pasted URL and device code at once, at a provider in memory.
final class SignInRace {
    let provider: InMemoryProvider
    let redirect: String?
    /// The notices, by name, without those of each second.
    var steps: [String] = []
    var refusals: [OIDCError] = []
    var url: WebURL?
    var kept: [Session] = []
    var page: Page?
    /// Takes a poll that has no answer; nil if the sign-in waits for it.
    var leave: ((UnansweredPoll) -> Void)?
    /// Whether a session is stored with which refused tokens would end.
    var keepsRefusedTokens = false
    /// Runs when a session was kept.
    var onKept: () -> Void = {}
    /// Runs when the sign-in waits.
    var onWaiting: (SignInRace) -> Void = { _ in }
    var milliseconds: Int64 = 20_000
    var silence: Int64 = 20_000
    var offersDeviceCode = true
    var readsInput = false
    var unanswered: [(String, String)] = []
    var warnings: [String] = []
    /// What connecting to the authorization endpoint fails with; nil if the server can be reached.
    var connectionFailure: OIDCError?
    /// The URLs that were connected to.
    let connections = Connections()
    var unreachable: [OIDCError] = []
    /// What binding the listener fails with.
    var bindingFailure: OIDCError?

    init(
        redirect: String? = nil, _ change: (inout DemoConfiguration) -> Void = { _ in }
    ) throws {
        self.redirect = redirect
        provider = try InMemoryProvider(
            {
                $0.deviceInterval = 1
                change(&$0)
            }, clock: { Clock.now() })
    }

    final class Connections: Sendable {
        private let list = Mutex<[String]>([])
        var urls: [String] { list.withLock { $0 } }
        func add(_ url: String) { list.withLock { $0.append(url) } }
    }

    /// A browser that asks for a URL on a thread of its own.
    final class Page: Sendable {
        final class Answer: Sendable {
            let result = Mutex<Result<HTTPResponse, OIDCError>?>(nil)
            let arrived = DispatchSemaphore(value: 0)
        }

        private let answer = Answer()

        init(_ url: String) throws {
            let request = HTTPRequest(.get, try #require(WebURL(url)))
            try BackgroundThread { [answer] in
                let result = Result { () throws(OIDCError) in
                    try Visit.send(request)
                }
                answer.result.withLock { $0 = result }
                answer.arrived.signal()
            }.detach()
        }

        func response() throws -> HTTPResponse {
            answer.arrived.wait()
            return try #require(answer.result.withLock { $0 }).get()
        }
    }

    /// Sends the user's browser back to the listener.
    func answerInBrowser(_ choice: BrowserStandIn.Choice = .approve) throws {
        guard page == nil, let url else { return }
        page = try Page(try provider.callback(of: url, choice))
    }

    private func note(_ notice: SignInNotice) {
        switch notice {
        case .url(let url):
            self.url = url
            steps.append("url")
        case .device: steps.append("device")
        case .noDeviceCode(let error):
            refusals.append(error)
            steps.append("no device code")
        case .unanswered(let url, let client): unanswered.append((url, client))
        case .answered: steps.append("answered")
        case .waiting: onWaiting(self)
        case .unreachable(let error): unreachable.append(error)
        case .opened, .notOpened, .listening, .portsInUse, .pasteOffered, .strayRequest, .urlExpires,
            .urlRequested:
            break
        case .warning(let warning): warnings.append(warning.message)
        }
    }

    func run() -> Result<Session, OIDCError> {
        Result { () throws(OIDCError) in
            let client = Client(id: "demo")
            let metadata = try ProviderDocuments(context: provider.environment).metadata(
                issuer: InMemoryProvider.issuer)
            var login = SignInFlow(
                context: provider.environment, metadata: metadata,
                tokenEndpoint: TokenEndpoint(url: try metadata.require(.token), client: client),
                request: AuthorizationRequest(
                    client: client, redirectURI: RedirectAddress.standard, scope: Scope("openid")),
                key: SessionKey(provider: InMemoryProvider.issuer, clientID: client.id))
            login.keepsRefusedTokens = { [keepsRefusedTokens] in keepsRefusedTokens }
            var signIn = BrowserSignIn(
                flow: login, redirect: try RedirectAddress(redirect), readsInput: readsInput, browser: nil,
                environment: [:], deadline: .now().adding(milliseconds: milliseconds),
                notice: { [self] in note($0) })
            signIn.offersDeviceCode = offersDeviceCode
            signIn.silence = silence
            signIn.leave = leave
            let (failure, connections) = (connectionFailure, connections)
            signIn.connect = { (url) throws(OIDCError) in
                connections.add(url.text)
                if let failure { throw failure }
            }
            signIn.deviceCodePatience = 200
            if let bindingFailure { signIn.listen = { _ throws(OIDCError) in throw bindingFailure } }
            return try signIn.run {
                kept.append($0.session)
                onKept()
            }.session
        }
    }

    func requests(_ grant: String) -> Int { provider.with { $0.requestCount(grant: grant) } }
    var deviceRequests: Int { requests("urn:ietf:params:oauth:grant-type:device_code") }
    var codeRequests: Int { requests("authorization_code") }
}
