import CLibcurl
import OIDCCore
import Posix
import Synchronization

/// A libcurl handle and the connections it keeps for later requests.
///
/// `@unchecked Sendable`, as only one thread at a time uses a channel: it is taken from the pool under a
/// lock.
package final class CurlChannel: @unchecked Sendable {
    /// The number of idle connections that are kept.
    private static let idleConnections = 4

    private let library: UnsafePointer<oidc_curl_library>
    private let easy: OpaquePointer
    private let multi: CurlMulti
    let usesClientCertificate: Bool
    /// Whether the channel was abandoned because its name resolution cannot be canceled.
    private(set) var isAbandoned = false

    init(usesClientCertificate: Bool) throws(OIDCError) {
        library = try CurlLibrary.load()
        multi = try CurlMulti(idleConnections: Self.idleConnections)
        guard let easy = library.pointee.easy_init() else { throw CurlLibrary.outOfMemory }
        self.easy = easy
        self.usesClientCertificate = usesClientCertificate
    }

    deinit {
        guard !isAbandoned else { return }
        withoutBrokenPipeSignal { library.pointee.easy_cleanup(easy) }
    }

    /// The time limits of a transfer.
    struct Limits {
        var configuration: CurlConfiguration
        /// The deadline of the whole request; nil for a streamed one.
        var end: MonotonicTime?
        /// The longest time without any bytes; nil if `end` bounds the request.
        var silence: Duration?
        /// Whether signals and cancellations no longer end the transfer once the request is sent.
        var isAwaitedOnceSent = false
    }

    /// Sends one request and feeds the exchange with the answer.
    func perform(_ request: HTTPRequest, _ exchange: CurlExchange, _ limits: Limits) throws(OIDCError)
        -> CurlResult
    {
        let transfer = try CurlTransfer(
            CurlTransfer.Order(request, exchange), on: easy, limits.configuration, client: exchange)
        return withExtendedLifetime(exchange) {
            withoutBrokenPipeSignal { drive(transfer, exchange, limits) }
        }
    }

    private func drive(_ transfer: CurlTransfer, _ exchange: CurlExchange, _ limits: Limits) -> CurlResult {
        exchange.touch()
        if let ending = limit(exchange, limits) { return result(ending, transfer) }
        var postponement = CurlPostponement(limits)
        defer { postponement.end() }
        /// Lets libcurl act. Returns how the transfer ended; nil if it has not.
        func step(_ act: () -> Bool) -> CurlResult.Ending? {
            postponement.prepare()
            let hasActed = act()
            postponement.settle(isSent: transfer.isSent)
            postponement.reportSignal()
            if let (_, code) = multi.nextEnded() { return .code(code) }
            return hasActed ? limit(exchange, limits) : .code(.failedInit)
        }
        var ending = step { multi.add(transfer) }
        while ending == nil {
            let ready = wait(transfer, exchange, limits)
            if !Interruption.isPostponed, limits.configuration.isCancelled() {
                ending = .cancelled
            } else {
                ending = step {
                    multi.act(on: ready)
                    multi.actOnTimer(now: .now())
                    return !multi.hasFailed
                }
            }
        }
        let result = result(ending ?? .code(.failedInit), transfer)
        close(transfer, result.ending)
        return result
    }

    private func limit(_ exchange: CurlExchange, _ limits: Limits) -> CurlResult.Ending? {
        if let ending = limits.configuration.interruption { return ending }
        let now = MonotonicTime.now()
        if let end = limits.end, now >= end { return .timeOut }
        if let silence = limits.silence,
            now >= exchange.lastActivity.adding(milliseconds: silence.milliseconds)
        {
            return .silence
        }
        return nil
    }

    /// Waits until libcurl can act or a signal comes, at most 100 milliseconds. Returns the sockets of libcurl.
    private func wait(_ transfer: CurlTransfer, _ exchange: CurlExchange, _ limits: Limits)
        -> ArraySlice<Poll.Interest>
    {
        let now = MonotonicTime.now()
        var interests = multi.interests(now: now)
        let sockets = interests.indices
        if Interruption.pending == nil, let wakeUp = Interruption.wakeUpDescriptor {
            interests.append(Poll.Interest(wakeUp, .reading))
        }
        let input = exchange.awaitedInput
        if let input { interests.append(Poll.Interest(input.rawValue, .reading)) }
        let ends = [limits.end, limits.configuration.deadline, multi.nextMoment].compactMap { $0 }
        Poll.wait(&interests, until: ends.reduce(now.adding(milliseconds: 100), min))
        if let input {
            exchange.touch()
            if input.isReadyToRead {
                exchange.inputIsReady()
                transfer.resume(receiving: true, sending: true)
            }
        }
        return interests[sockets]
    }

    /// Ends the transfer. libcurl before 7.87 would then wait many seconds for an unfinished name resolution,
    /// so in that case the handles are leaked.
    private func close(_ transfer: CurlTransfer, _ ending: CurlResult.Ending) {
        let quickExitVersion: UInt32 = 0x07_57_00
        if case .code = ending {
        } else if library.pointee.version_info(0).pointee.version_number < quickExitVersion,
            CurlInfo.offset(OIDC_CURLINFO_NAMELOOKUP_TIME_T, of: transfer.easy) == 0
        {
            isAbandoned = true
            // It has the transfer.
            _ = Unmanaged.passRetained(multi)
            return
        }
        multi.remove(transfer)
    }

    private func result(_ ending: CurlResult.Ending, _ transfer: CurlTransfer) -> CurlResult {
        var result = transfer.result(ending)
        // libcurl does not report why it got no socket.
        if !result.isSuccess, !result.isSent, result.systemError == 0,
            let reason = Platform.descriptorShortage
        {
            result.systemError = reason.code
        }
        return result
    }
}

extension CurlTransfer.Order {
    fileprivate init(_ request: HTTPRequest, _ exchange: CurlExchange) {
        let body: CurlTransfer.Body =
            if case .bytes(let bytes) = exchange.body {
                .bytes(bytes)
            } else {
                .provided(length: exchange.body.length)
            }
        self.init(
            method: request.method, url: request.url, fields: request.headers.fields, body: body,
            usesClientCertificate: request.usesClientCertificate,
            purpose: request.onlyConnects ? .connecting : .call(decodesContent: exchange.decodesContent),
            stage: exchange.stage)
    }
}

/// The idle channels. Requests with and without the client certificate never share a connection.
package final class CurlChannelPool: Sendable {
    /// The largest number of channels that are kept.
    private static let limit = 8

    private let idle = Mutex<[CurlChannel]>([])

    func take(usesClientCertificate: Bool) throws(OIDCError) -> CurlChannel {
        let channel = idle.withLock { idle in
            idle.lastIndex { $0.usesClientCertificate == usesClientCertificate }.map { idle.remove(at: $0) }
        }
        if let channel { return channel }
        return try CurlChannel(usesClientCertificate: usesClientCertificate)
    }

    func giveBack(_ channel: CurlChannel) {
        guard !channel.isAbandoned else { return }
        idle.withLock { if $0.count < Self.limit { $0.append(channel) } }
    }
}
