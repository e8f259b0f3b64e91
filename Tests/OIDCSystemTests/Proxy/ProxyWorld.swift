@testable import CurlHTTP
import Foundation
import OIDCCore
import OIDCCrypto
@testable import OIDCProxy
@testable import OIDCAccount
@testable import Posix
import Synchronization
import TestSupport
import Testing

/// A proxy in this process, with tokens of the test's own: `token-1`, `token-2` and so on.
final class ProxyWorld: Sendable {
    /// What the token source does, counted.
    final class Tokens: Sendable {
        let count = Mutex(0)
        let failure = Mutex<OIDCError?>(nil)
        let ended = Mutex<[String]>([])
        /// The status of each answer that asked for a sign-in with more; nil if nobody may be asked.
        let stepUps = Mutex<[Int]?>(nil)
        let stepUpFailure = Mutex<OIDCError?>(nil)
        /// Whether only a sign-in replaces a refused token.
        let isIrreplaceable = Mutex(false)
        let key: Redacted<String>?
        /// The number of the last token that is bound to the client certificate.
        let bound = Mutex(0)
        let certificate = Mutex<CurlConfiguration.ClientCertificate?>(nil)
        /// The number of the token that another process obtained.
        let adopted: Int?

        init(key: Redacted<String>? = nil, adopted: Int? = nil) {
            self.key = key
            self.adopted = adopted
        }

        var requests: Int { count.withLock { $0 } }

        func delivery(_ number: Int) -> SessionTokens.Delivery {
            let now = Clock.now()
            let access = AccessToken(
                token: Redacted("token-\(number)"), type: key == nil ? .bearer : .dpop, obtainedAt: now,
                expiresAt: now.adding(3_600), scope: nil)
            var session = Session(
                key: SessionKey(provider: "https://op.example", clientID: "demo"),
                endpoints: Session.Endpoints(issuer: nil, token: WebURL("https://op.example/token")!),
                createdAt: now, requestedScope: nil, tokens: TokenSet(access: access))
            session.dpopKey = key
            session.bindsOpaqueTokens = number <= bound.withLock { $0 }
            var delivery = SessionTokens.Delivery(session: session, access: access)
            delivery.isAdopted = number == adopted
            return delivery
        }

        /// The same token until it is refused.
        func source() -> ProxyTokenSource {
            var source = ProxyTokenSource(
                environment: OIDCContext(
                    transport: CurlTransport(), cache: NoCache(), now: { Clock.now() },
                    random: { Random.bytes($0) }),
                token: { [self] refused throws(OIDCError) in
                    if let failure = failure.withLock({ $0 }) { throw failure }
                    if refused != nil, isIrreplaceable.withLock({ $0 }) {
                        throw OIDCError(.loginRequired, "no refresh token", code: .noRefreshToken)
                    }
                    return delivery(
                        count.withLock { count in
                            if count == 0 || refused != nil { count += 1 }
                            return count
                        })
                },
                onEnd: { [self] error in ended.withLock { $0.append(error.message) } })
            source.clientCertificate = certificate.withLock { $0 }
            guard stepUps.withLock({ $0 != nil }) else { return source }
            source.stepUp = { [self] (_, answer) throws(OIDCError) in
                stepUps.withLock { $0?.append(answer?.head.status ?? 0) }
                if let failure = stepUpFailure.withLock({ $0 }) { throw failure }
                return delivery(
                    count.withLock { count in
                        count += 1
                        return count
                    })
            }
            return source
        }
    }

    let tokens: Tokens
    let port: UInt16
    let prefixes: [String]
    let entries: @Sendable () -> [ProxyLogEntry]
    private let stop: FileDescriptor
    private let thread: Mutex<BackgroundThread?>
    private let event: @Sendable () -> ProxyServer.Event?
    /// The time that the processor has spent on the proxy, after its end.
    let processorTime: @Sendable () -> Duration

    private struct Handover: @unchecked Sendable { let server: ProxyServer }

    private final class Records: Sendable {
        let entries = Mutex<[ProxyLogEntry]>([])
        let event = Mutex<ProxyServer.Event?>(nil)
        let processorTime = Mutex(Duration.zero)
    }

    init(
        _ urls: [WebURL], endpoint: ProxyEndpoint = .port(nil), tokens: Tokens = Tokens(),
        paths: [String] = [], _ change: (inout ProxyServer.Configuration) -> Void = { _ in }
    ) throws {
        self.tokens = tokens
        let records = Records()
        var curl = CurlConfiguration()
        curl.isCancelled = { false }
        var configuration = ProxyServer.Configuration(curl)
        configuration.log = { entry in records.entries.withLock { $0.append(entry) } }
        configuration.identifiesPeers = false
        change(&configuration)
        let routes = try urls.enumerated().map { index, url in
            (route: try ProxyRoute(url, path: index < paths.count ? paths[index] : "/"), session: 0)
        }
        let server = try ProxyServer(endpoint, routes: routes, sources: [tokens.source()], configuration)
        port = server.port ?? 0
        prefixes = urls.indices.map { WebURL(server.url(of: $0))!.path }
        entries = { records.entries.withLock { $0 } }
        event = { records.event.withLock { $0 } }
        processorTime = { records.processorTime.withLock { $0 } }
        let (reading, writing) = try FileDescriptor.pipe()
        stop = writing
        let handover = Handover(server: server)
        thread = Mutex(
            try BackgroundThread {
                let event = handover.server.run(also: [reading.rawValue])
                var time = timespec()
                clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
                let spent = Duration.seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
                records.processorTime.withLock { $0 = spent }
                records.event.withLock { $0 = event }
                reading.close()
            })
    }

    convenience init(
        _ server: ScriptedServer, path: String = "/", tokens: Tokens = Tokens(),
        _ change: (inout ProxyServer.Configuration) -> Void = { _ in }
    ) throws {
        try self.init([server.url(path)], tokens: tokens, change)
    }

    deinit {
        stop.close()
        join()
    }

    var host: String { "127.0.0.1:\(port)" }

    func finish() -> ProxyServer.Event? {
        join()
        return event()
    }

    /// Waits for the proxy's thread; a thread may be joined only once.
    private func join() {
        thread.withLock { $0.take() }?.join()
    }

    func connect() throws -> RawConnection { try #require(RawConnection(port: port)) }

    /// A request's head; `rest` is the target below the route.
    func head(_ method: String, _ rest: String = "", _ fields: String..., route: Int = 0) -> String {
        (["\(method) \(prefixes[route])\(rest) HTTP/1.1", "Host: \(host)"] + fields).joined(separator: "\r\n")
            + "\r\n\r\n"
    }

    /// One request on a connection of its own, and everything that comes back.
    func exchange(
        _ method: String = "GET", _ rest: String = "", _ fields: [String] = [], body: String = "",
        route: Int = 0, within seconds: Double = 60
    ) throws -> String {
        let connection = try connect()
        let lines = ["\(method) \(prefixes[route])\(rest) HTTP/1.1", "Host: \(host)", "Connection: close"]
        connection.send((lines + fields).joined(separator: "\r\n") + "\r\n\r\n" + body)
        return connection.received(within: seconds)
    }
}

extension RawConnection {
    /// Reads until the text has come, or the time is over.
    func received(until text: String, within seconds: Double = 60) -> String {
        var all = ""
        let end = Date().addingTimeInterval(seconds)
        while !all.contains(text), Date() < end {
            let more = receivedOnce(within: 0.5)
            if more == nil { break }
            all += more ?? ""
        }
        return all
    }
}
