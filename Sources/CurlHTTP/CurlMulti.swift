import CLibcurl
import CPlatform
package import OIDCCore
package import Posix

/// The transfers that run at the same time, all on one thread, and their connections. Its user waits for events,
/// and lets libcurl act on them.
package final class CurlMulti {
    private let library: UnsafePointer<oidc_curl_library>
    private let multi: OpaquePointer
    private var sockets: [Int32: SocketWait] = [:]
    /// The time at which libcurl must be called even without an event.
    package private(set) var timer: MonotonicTime?
    /// Whether libcurl could not act, as without memory.
    private(set) var hasFailed = false
    private var transfers: [OpaquePointer: CurlTransfer] = [:]
    private var ended: [(CurlTransfer, CurlCode)] = []
    private let idle = IdleConnections()
    /// The time at which a transfer that still gives parts of its answer waits for the next round.
    private var turnEnd = MonotonicTime.now()
    /// The transfers that wait for the next round.
    private var waiting: [CurlTransfer] = []
    /// The transfers of which a read was put off to the next round. What is unread may be in a buffer of the TLS library,
    /// where no event tells of it.
    private var unread: Set<OpaquePointer> = []

    /// The transfers of which libcurl is to read what it has.
    private var looks: [CurlTransfer] = []

    /// libcurl reads on within one call for as long as bytes come, which in small chunks is forever.
    private static let millisecondsOfTurn: Int64 = 20
    /// The milliseconds of one round for the sockets that are ready, without those of greedy transfers.
    private static let millisecondsOfRound: Int64 = 10
    /// The milliseconds after that for all transfers together that used up their last turn: servers that always have more.
    private static let millisecondsOfGreedy: Int64 = 10
    /// The milliseconds of one round for all looks together.
    private static let millisecondsOfLooks: Int64 = 10
    /// The number of turns so far, and for each group of transfers that of its last turn.
    private var (turns, lastTurns): (Int, [Int: Int]) = (0, [:])

    /// The thread's CPU time when libcurl came to the transfer that it works on.
    private var workStart: Int64 = 0
    /// The CPU time in milliseconds that libcurl may take for an answer without giving a part of it.
    let millisecondsInVain: Int64

    /// libcurl's `CURLPIPE_NOTHING`.
    private static let withoutMultiplexing = 0

    /// Keeps at most `limit` connections for later transfers.
    package init(idleConnections limit: Int, millisecondsInVain: Int64 = 20) throws(OIDCError) {
        self.millisecondsInVain = millisecondsInVain
        library = try CurlLibrary.load()
        guard let multi = library.pointee.multi_init() else { throw CurlLibrary.outOfMemory }
        self.multi = multi
        let context = Unmanaged.passUnretained(self).toOpaque()
        // No multiplexing: libcurl reads ahead for all streams of a connection, up to 32 MiB for a user that
        // does not read.
        let isSet =
            Self.isOK(oidc_curl_multi_set_functions(multi, Self.onSocket, Self.onTimer, context))
            && Self.isOK(oidc_curl_multi_set_long(multi, Int32(OIDC_CURLMOPT_MAXCONNECTS), limit))
            && Self.isOK(
                oidc_curl_multi_set_long(multi, Int32(OIDC_CURLMOPT_PIPELINING), Self.withoutMultiplexing))
        guard isSet else {
            throw OIDCError(
                .failed, "libcurl does not support an option that is needed",
                hint: "use libcurl 7.66 or later, built with TLS")
        }
    }

    deinit {
        withoutBrokenPipeSignal {
            for transfer in transfers.values { _ = library.pointee.multi_remove_handle(multi, transfer.easy) }
            transfers = [:]
            _ = library.pointee.multi_cleanup(multi)
        }
    }

    private static func isOK(_ code: Int32) -> Bool { code == Int32(OIDC_CURLM_OK) }

    package var isEmpty: Bool { transfers.isEmpty }

    /// Adds a transfer and lets it choose its connection at once. Later, it could take one that has ended a
    /// transfer since, on which nobody has looked for bytes that no request asked for.
    package func add(_ transfer: CurlTransfer) -> Bool {
        hasFailed = false
        idle.endReadable(unless: isUsed)
        guard idle.observe(transfer.easy), Self.isOK(library.pointee.multi_add_handle(multi, transfer.easy))
        else { return false }
        transfers[transfer.easy] = transfer
        transfer.loop = self
        turns += 1
        transfer.lastTurn = turns
        // The answers of others wait for the round, or each new request would wait for them.
        actIfDue(now: .now(), turn: 0)
        return true
    }

    /// Returns whether a transfer uses a connection. libcurl does not report the socket of one whose answer it pauses as
    /// soon as it has sent the request.
    private func isUsed(_ socket: Int32) -> Bool {
        let port = Int(oidc_own_port(socket))
        return port != 0 && transfers.values.contains { $0.isReceivingPaused && $0.ownPort == port }
    }

    /// Removes a transfer, which ends it if it is still running.
    package func remove(_ transfer: CurlTransfer) {
        guard transfers.removeValue(forKey: transfer.easy) != nil else { return }
        unread.remove(transfer.easy)
        looks.removeAll { $0 === transfer }
        _ = library.pointee.multi_remove_handle(multi, transfer.easy)
    }

    /// The sockets, with the events that are awaited now.
    package func interests(now: MonotonicTime) -> [Poll.Interest] {
        sockets.map { Poll.Interest($0.key, $0.value.direction(now: now)) }
    }

    /// The time of the next call without an event; nil if there is none.
    package var nextMoment: MonotonicTime? {
        guard waiting.isEmpty, unread.isEmpty, looks.isEmpty else { return .now() }
        return (sockets.values.compactMap(\.restEnd) + [timer].compactMap { $0 }).min()
    }

    /// Lets libcurl handle the sockets that are ready, and go on with the transfers that wait for this round; if there are
    /// many, with some of them in the next one.
    package func act(on interests: some Sequence<Poll.Interest>) {
        let waited = waiting
        waiting = []
        // If libcurl does not wait to read, it reads the rest when it does again.
        unread.formIntersection(sockets.values.filter { $0.libcurls.contains(.reading) }.map(\.easy))
        let ready = interests.filter { !$0.ready.isEmpty || isUnread($0.descriptor) }
        // A small answer would wait for the turns of servers that always have more.
        let greedy = ready.filter { isGreedy($0.descriptor) }
        let modest = ready.filter { !isGreedy($0.descriptor) }
        act(on: modest, milliseconds: Self.millisecondsOfRound)
        act(on: greedy, milliseconds: Self.millisecondsOfGreedy)
        goOn(with: waited)
    }

    /// Lets libcurl go on with transfers that waited, for a limited time.
    private func goOn(with waited: [CurlTransfer]) {
        let end = MonotonicTime.now().adding(milliseconds: Self.millisecondsOfGreedy)
        for (place, (transfer, share)) in queue(waited, transfer: { $0 }).enumerated() {
            guard place == 0 || MonotonicTime.now() < end else {
                waiting.append(transfer)
                continue
            }
            guard transfers[transfer.easy] === transfer else { continue }
            noteTurn(of: transfer)
            let turn = max(1, Self.millisecondsOfGreedy / Int64(share))
            transfer.endWait(milliseconds: turn)
            act(on: Int32(OIDC_CURL_SOCKET_TIMEOUT), events: 0, turn: turn)
        }
    }

    private func isUnread(_ socket: Int32) -> Bool {
        sockets[socket].map { unread.contains($0.easy) } ?? false
    }

    private func transfer(of socket: Int32) -> CurlTransfer? {
        sockets[socket].flatMap { transfers[$0.easy] }
    }

    private func isGreedy(_ socket: Int32) -> Bool { transfer(of: socket)?.isGreedy ?? false }

    /// Lets libcurl handle sockets for a limited time, each for its share of it.
    private func act(on ready: [Poll.Interest], milliseconds: Int64) {
        let end = MonotonicTime.now().adding(milliseconds: milliseconds)
        for (place, (interest, share)) in queue(ready, transfer: { transfer(of: $0.descriptor) }).enumerated()
        {
            guard place == 0 || MonotonicTime.now() < end else { return }
            let turn = min(Self.millisecondsOfTurn, max(1, milliseconds / Int64(share)))
            act(on: interest, turn: turn)
        }
    }

    /// Returns the elements in the order of their turns, each with the number of turns that share the round's time. Groups
    /// take turns, the one that has waited longest first; so do the elements of a group.
    private func queue<Element>(_ waiting: [Element], transfer: (Element) -> CurlTransfer?)
        -> [(element: Element, share: Int)]
    {
        let elements = waiting.map { (element: $0, transfer: transfer($0)) }
        let groups = Dictionary(grouping: elements) { $0.transfer?.group ?? 0 }
            .sorted { lastTurns[$0.key, default: 0] < lastTurns[$1.key, default: 0] }
            .map { $0.value.sorted { $0.transfer?.lastTurn ?? 0 < $1.transfer?.lastTurn ?? 0 } }
        return (0..<(groups.map(\.count).max() ?? 0)).flatMap { place in
            groups.filter { $0.count > place }.map { ($0[place].element, groups.count * $0.count) }
        }
    }

    private func noteTurn(of transfer: CurlTransfer?) {
        turns += 1
        transfer?.lastTurn = turns
        lastTurns[transfer?.group ?? 0] = turns
    }

    private func act(on interest: Poll.Interest, turn: Int64) {
        let (socket, ready) = (interest.descriptor, interest.ready)
        // In a call for a socket, libcurl goes on first with what is due, which would take the turn of another transfer. One
        // that is alone must read its answer now: its process may have been stopped until its time was over.
        if transfers.count > 1 { act(on: Int32(OIDC_CURL_SOCKET_TIMEOUT), events: 0, turn: 0) }
        guard let wait = sockets[socket] else { return }
        let transfer = transfers[wait.easy]
        noteTurn(of: transfer)
        let (calls, isConnected) = (transfer?.calls, transfer?.isConnected ?? false)
        var events: Int32 = 0
        if ready.contains(.reading) || isUnread(socket) { events |= Int32(OIDC_CURL_CSELECT_IN) }
        if ready.contains(.writing) { events |= Int32(OIDC_CURL_CSELECT_OUT) }
        act(on: socket, events: events, turn: turn)
        let now = MonotonicTime.now()
        // Until the request, the time went into the connection, which says nothing about the answer.
        transfer?.isGreedy = isConnected && now >= turnEnd
        let isVain = ready == .writing && calls != nil && transfers[wait.easy]?.calls == calls
        sockets[socket]?.note(isVain: isVain, now: now)
    }

    /// Lets libcurl read what it has of an answer when `lookAtAnswers` comes to it.
    package func look(at transfer: CurlTransfer) {
        guard transfers[transfer.easy] === transfer, !looks.contains(where: { $0 === transfer }) else {
            return
        }
        looks.append(transfer)
    }

    /// Lets libcurl read what it has of the answers to look at; if there are many, of some of them in the next round.
    /// Returns whether there were any.
    package func lookAtAnswers() -> Bool {
        guard !looks.isEmpty else { return false }
        let end = MonotonicTime.now().adding(milliseconds: Self.millisecondsOfLooks)
        var rest = queue(looks) { $0 }[...]
        repeat {
            let (transfer, share) = rest.removeFirst()
            let turn = max(1, Self.millisecondsOfLooks / Int64(2 * share))
            noteTurn(of: transfer)
            // libcurl takes an end without a body for an empty part of one when it first looks.
            for _ in 0..<2 {
                guard let socket = sockets.first(where: { $0.value.easy == transfer.easy })?.key else {
                    break
                }
                act(on: socket, events: Int32(OIDC_CURL_CSELECT_IN), turn: turn)
            }
        } while !rest.isEmpty && MonotonicTime.now() < end
        looks = rest.map(\.element).filter { transfers[$0.easy] === $0 }
        return true
    }

    /// Calls libcurl if its timer has expired.
    package func actOnTimer(now: MonotonicTime) {
        // For its timer, libcurl goes on with what it did not read to its end.
        actIfDue(now: now, turn: Self.millisecondsOfGreedy)
    }

    private func actIfDue(now: MonotonicTime, turn: Int64) {
        guard let moment = timer, moment <= now else { return }
        timer = nil
        act(on: Int32(OIDC_CURL_SOCKET_TIMEOUT), events: 0, turn: turn)
    }

    private func act(on socket: Int32, events: Int32, turn: Int64) {
        var (running, left): (Int32, Int32) = (0, 0)
        if let easy = sockets[socket]?.easy { unread.remove(easy) }
        startTurn(milliseconds: turn)
        let code = library.pointee.multi_socket_action(multi, socket, events, &running)
        if !Self.isOK(code) { hasFailed = true }
        while let message = library.pointee.multi_info_read(multi, &left) {
            guard message.pointee.kind == Int32(OIDC_CURL_MESSAGE_DONE) else { continue }
            guard let transfer = transfers[message.pointee.easy] else { continue }
            // libcurl's own code for other versions.
            let code = transfer.hasFalseVersion ? .unsupportedProtocol : CurlCode(message.pointee.data.result)
            transfer.noteEnd(.code(code))
            // Another transfer may have taken the connection within the same call.
            if let socket = transfer.idleSocket, sockets[socket] == nil { idle.add(socket) }
            remove(transfer)
            ended.append((transfer, code))
        }
    }

    /// Starts a call of libcurl.
    func startTurn(milliseconds: Int64 = CurlMulti.millisecondsOfTurn) {
        turnEnd = MonotonicTime.now().adding(milliseconds: milliseconds)
        oidc_curl_begin_reads(turnEnd.nanoseconds)
        workStart = oidc_curl_cpu_time()
        idle.lastClose = 0
    }

    /// Returns the CPU time in nanoseconds since libcurl was called, last reported a transfer, or closed a connection.
    func endWork() -> Int64 {
        let start = max(workStart, idle.lastClose)
        workStart = oidc_curl_cpu_time()
        return workStart - start
    }

    /// Returns whether the transfer has had its turn, and waits for the next round.
    func endsTurn(_ transfer: CurlTransfer) -> Bool {
        guard MonotonicTime.now() >= turnEnd else { return false }
        waiting.append(transfer)
        return true
    }

    /// Ends the connection of a transfer of which libcurl is to read no more.
    func endSocket(of transfer: CurlTransfer) {
        guard let socket = sockets.first(where: { $0.value.easy == transfer.easy })?.key else { return }
        oidc_end_socket(socket)
    }

    /// Notes that a read of the transfer's was put off.
    func noteUnread(_ transfer: CurlTransfer) { unread.insert(transfer.easy) }

    /// Returns the next transfer that has ended, with libcurl's code.
    package func nextEnded() -> (CurlTransfer, CurlCode)? { ended.isEmpty ? nil : ended.removeFirst() }

    private static let onSocket: oidc_curl_socket_function = { easy, descriptor, what, context, _ in
        guard let context else { return 0 }
        let multi = Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
        multi.transfers[easy]?.isReadToEnd = what & Int32(OIDC_CURL_POLL_IN) == 0
        guard what != Int32(OIDC_CURL_POLL_REMOVE) else {
            multi.sockets[descriptor] = nil
            return 0
        }
        var direction: Poll.Direction = []
        if what & Int32(OIDC_CURL_POLL_IN) != 0 { direction.insert(.reading) }
        if what & Int32(OIDC_CURL_POLL_OUT) != 0 { direction.insert(.writing) }
        multi.sockets[descriptor] = SocketWait(easy: easy, libcurls: direction)
        multi.idle.remove(descriptor)
        return 0
    }

    private static let onTimer: oidc_curl_timer_function = { _, milliseconds, context in
        guard let context else { return 0 }
        let multi = Unmanaged<CurlMulti>.fromOpaque(context).takeUnretainedValue()
        multi.timer = milliseconds < 0 ? nil : MonotonicTime.now().adding(milliseconds: Int64(milliseconds))
        return 0
    }
}
