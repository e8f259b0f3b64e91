import CLibcurl
package import OIDCCore
import Posix
import Synchronization

/// A libcurl handle and the connections it keeps for later requests.
///
/// `@unchecked Sendable`, as only one thread at a time uses a channel: it is taken from the pool under a
/// lock.
package final class CurlChannel: @unchecked Sendable {
    let library: UnsafePointer<oidc_curl_library>
    private let easy: OpaquePointer
    private let multi: OpaquePointer
    private let idle = IdleConnections()
    let usesClientCertificate: Bool
    /// Whether the channel was abandoned because its name resolution cannot be canceled.
    private(set) var isAbandoned = false

    init(usesClientCertificate: Bool) throws(OIDCError) {
        guard let library = oidc_curl() else { throw CurlChannel.missingLibrary }
        guard let easy = library.pointee.easy_init() else {
            throw OIDCError(.failed, "libcurl has no memory for a request")
        }
        guard let multi = library.pointee.multi_init() else {
            library.pointee.easy_cleanup(easy)
            throw OIDCError(.failed, "libcurl has no memory for a request")
        }
        self.library = library
        self.usesClientCertificate = usesClientCertificate
        self.easy = easy
        self.multi = multi
    }

    /// The error if libcurl cannot be loaded.
    package static var missingLibrary: OIDCError {
        if let reason = Platform.descriptorShortage {
            return OIDCError(.failed, "libcurl cannot be loaded: \(reason)", hint: reason.shortageHint)
        }
        let problem = String(cString: oidc_curl_problem())
        return OIDCError(
            .failed, problem,
            hint: .loading(
                problem,
                install:
                    "install libcurl: apt install libcurl4 (Debian, Ubuntu), dnf install libcurl (Fedora)"))
    }

    deinit {
        guard !isAbandoned else { return }
        withoutBrokenPipeSignal {
            library.pointee.easy_cleanup(easy)
            _ = library.pointee.multi_cleanup(multi)
        }
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
            CurlTransfer.Order(request, exchange), library, on: easy, limits.configuration, client: exchange)
        return withExtendedLifetime(exchange) {
            withoutBrokenPipeSignal { drive(transfer, exchange, limits) }
        }
    }

    private func drive(_ transfer: CurlTransfer, _ exchange: CurlExchange, _ limits: Limits) -> CurlResult {
        exchange.touch()
        idle.endReadable()
        guard idle.observe(transfer.easy), library.pointee.multi_add_handle(multi, transfer.easy) == 0 else {
            return result(.code(.failedInit), transfer)
        }
        var postponement = CurlPostponement(limits)
        defer { postponement.end() }
        var ending = limit(exchange, limits)
        while ending == nil {
            var running: Int32 = 0
            postponement.prepare()
            let isPerformed = library.pointee.multi_perform(multi, &running) == 0
            postponement.settle(isSent: transfer.isSent)
            guard isPerformed else {
                ending = .code(.failedInit)
                break
            }
            postponement.reportSignal()
            ending = finished() ?? limit(exchange, limits)
            if ending == nil {
                wait(transfer, exchange, limits)
                if !Interruption.isPostponed, limits.configuration.isCancelled() { ending = .cancelled }
            }
        }
        let result = result(ending ?? .code(.failedInit), transfer)
        // libcurl forgets the connection with the handle.
        if result.isSuccess, let socket = IdleConnections.socket(of: transfer.easy) { idle.add(socket) }
        close(transfer, ending)
        return result
    }

    private func finished() -> CurlResult.Ending? {
        var left: Int32 = 0
        while let message = library.pointee.multi_info_read(multi, &left) {
            guard message.pointee.kind == Int32(OIDC_CURL_MESSAGE_DONE) else { continue }
            return .code(CurlCode(message.pointee.data.result))
        }
        return nil
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

    /// Waits for activity or a signal, at most 100 milliseconds.
    private func wait(_ transfer: CurlTransfer, _ exchange: CurlExchange, _ limits: Limits) {
        let now = MonotonicTime.now()
        let ends = [limits.end, limits.configuration.deadline].compactMap { $0?.milliseconds(from: now) }
        let milliseconds = Int32(clamping: min(100, ends.min() ?? 100))
        var watched: [Int32] = []
        if Interruption.pending == nil, let wakeUp = Interruption.wakeUpDescriptor { watched.append(wakeUp) }
        let input = exchange.awaitedInput
        if let input { watched.append(input.rawValue) }
        var entries = watched.map {
            oidc_curl_wait(descriptor: $0, events: Int16(OIDC_CURL_WAIT_POLLIN), revents: 0)
        }
        _ = library.pointee.multi_poll(multi, &entries, UInt32(entries.count), milliseconds, nil)
        guard let input else { return }
        exchange.touch()
        guard input.isReadyToRead else { return }
        exchange.inputIsReady()
        transfer.resume(receiving: true, sending: true)
    }

    /// Ends the transfer. libcurl before 7.87 would then wait many seconds for an unfinished name resolution,
    /// so in that case the handles are leaked.
    private func close(_ transfer: CurlTransfer, _ ending: CurlResult.Ending?) {
        let quickExitVersion: UInt32 = 0x07_57_00
        if case .code = ending {
        } else if library.pointee.version_info(0).pointee.version_number < quickExitVersion,
            CurlInfo.offset(OIDC_CURLINFO_NAMELOOKUP_TIME_T, of: transfer.easy) == 0
        {
            isAbandoned = true
            _ = Unmanaged.passRetained(transfer)
            return
        }
        _ = library.pointee.multi_remove_handle(multi, transfer.easy)
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
