package import OIDCCore
package import Posix

/// A single-threaded HTTP/1 server on listening sockets. It works in rounds: each waits for events, and handles them for
/// a limited time. The peers take turns of one request, or one piece of it.
package final class HTTP1Server {
    /// The handling of a request.
    package enum Disposition {
        case respond(HTTPResponse, reason: String? = nil, closes: Bool = false)
        /// The connection stays open until it is answered. If the round ends, no other request is seen before that.
        case hold(endsRound: Bool)
        /// The stream answers, and reads the body.
        case stream(any HTTP1Stream)
    }

    package typealias Handler = (HTTPServerRequest, HTTP1Connection) -> Disposition

    /// How dispensable a connection is: the one with the lowest class, and in it the one with the earliest time, is
    /// closed first.
    package struct Rank {
        let level: Int
        let since: MonotonicTime

        package init(_ level: Int, since: MonotonicTime) {
            self.level = level
            self.since = since
        }

        fileprivate static func < (left: Rank, right: Rank) -> Bool {
            left.level == right.level ? left.since < right.since : left.level < right.level
        }
    }

    /// What servers do differently.
    package struct Policy {
        package var connections = 256
        /// The milliseconds of a round for open connections, and as many again for accepting new ones.
        package var roundMilliseconds: Int64 = 15
        /// A function that returns whether the headers of a request, of which the first are known, may be longer than
        /// `requests.shortHeaders`.
        package var mayBeLong: (HTTPServerRequest) -> Bool = { _ in true }
        /// The number of reads of 16 KiB for which a new connection has time as it is accepted.
        package var firstReads = 5
        /// The number of descriptors that a connection may need.
        package var descriptorsEach = 1
        package var requests = HTTP1.Limits()
        /// Whether bodies are left to the streams that handle their requests.
        package var leavesBody = false
        /// Whether the peers come through a Unix socket.
        package var isOnSocket = false
        /// The time without a byte.
        package var idleMilliseconds: Int64 = 20_000
        /// The time from the first byte of a request to the last, without a body that is left to a stream.
        package var requestMilliseconds: Int64 = 120_000
        /// The time in which the peer accepts no byte of an answer.
        package var blockedMilliseconds: Int64 = 20_000
        /// The time after an answer in which the peer may close.
        package var drainMilliseconds: Int64 = 1000
        /// The time before a connection may be closed for a new one, as its peer may be about to send.
        package var graceMilliseconds: Int64 = 100
        /// The time in which a new connection that has sent no request is not closed for another one, as its peer may be
        /// about to send; not if at least half of all connections are such ones.
        package var newcomerMilliseconds: Int64 = 0
        /// A function that returns how dispensable a connection is when there are too many; nil if it is in use.
        package var rank: (HTTP1Connection) -> Rank? = { connection in
            guard connection.openRequest == nil else { return nil }
            return Rank(connection.isDraining ? 0 : 1, since: connection.lastActivity)
        }
        /// A function that returns the owner of a connection's peer, for each request. It is called only for complete
        /// requests, so idle connections do not cause a search of the system's tables.
        package var identify: (FileDescriptor) -> PeerOwner = { _ in .unknown }
        /// The certificate with which connections are encrypted.
        package var identity: TLSIdentity?
        /// Whether requests include the address at which they arrived.
        package var namesAddress = false
        /// The answer to a request that did not arrive in time.
        package var slowAnswer = HTTPResponse.stranger(status: 408)

        package init() {}
    }

    /// A pause in accepting connections. It lasts until `end`; if it is for lack of room, it also ends with a
    /// connection.
    private struct AdmissionPause {
        let end: MonotonicTime
        let isForRoom: Bool
    }

    /// A function that returns the answer to invalid HTTP; the path is nil if none was read.
    package var answerRejection: (HTTP1.Rejection, _ path: String?) -> HTTPResponse = { rejection, _ in
        .stranger(status: rejection.status)
    }
    package private(set) var listeners: [FileDescriptor]
    package private(set) var connections: [HTTP1Connection] = []
    private var policy: Policy
    private var nextID = 1
    private var admissionPause: AdmissionPause?
    /// The number of the current cycle, in which each connection with an event has one turn.
    private var cycle = 1
    private var isFinishing = false
    /// The time of the next check of peers from which nothing more is read.
    private var unwatchedLook: MonotonicTime?

    /// Serves listening sockets, and closes them.
    package init(_ listeners: [FileDescriptor], _ policy: Policy) {
        self.listeners = listeners
        self.policy = policy
        let room = (Platform.descriptorLimit - 48) / policy.descriptorsEach
        self.policy.connections = max(4, min(policy.connections, room))
    }

    deinit { close() }

    /// Encrypts the connections to come.
    func secure(with identity: TLSIdentity) { policy.identity = identity }

    /// The largest number of connections at a time.
    package var connectionLimit: Int { policy.connections }
    private var isFull: Bool { connections.count >= policy.connections }

    // MARK: Rounds

    /// Runs one round: waits for events until the deadline, and handles those of connections and listeners; those
    /// of `others` are left to the caller. Returns the request that ended the round.
    package func round(
        until deadline: MonotonicTime?, also others: inout [Poll.Interest], handle: Handler
    ) -> HTTP1Connection? {
        let start = MonotonicTime.now()
        let served = connections.filter { !$0.interest.isEmpty }
        let pause = currentPause(now: start)
        let listening = pause == nil ? listeners : []
        var interests = others
        interests += served.map { Poll.Interest($0.descriptor.rawValue, $0.interest) }
        interests += listening.map { Poll.Interest($0.rawValue, .reading) }
        if let wakeUp = Interruption.wakeUpDescriptor { interests.append(Poll.Interest(wakeUp, .reading)) }
        let hasDue = connections.contains(where: \.isDue)
        let moments = connections.map(nextMoment) + [deadline, pause?.end, unwatchedLook]
        let isReady = Poll.wait(&interests, until: hasDue ? .now() : moments.compactMap { $0 }.min())
        others = Array(interests.prefix(others.count))
        guard isReady || hasDue else { return nil }

        let events = zip(served, interests.dropFirst(others.count)).map { ($0, $1.ready) }
        if let connection = takeTurns(events, handle: handle) { return connection }
        removeEnded()
        let end = MonotonicTime.now().adding(milliseconds: policy.roundMilliseconds)
        for (listener, interest) in zip(listening, interests.dropFirst(others.count + served.count))
        where !interest.ready.isEmpty {
            if let connection = admit(from: listener, until: end, handle: handle) { return connection }
        }
        return nil
    }

    /// Handles the events of connections for a limited time: first of those that have waited since an earlier cycle, and
    /// among these of those that a stream has served. So nobody has a second turn before all others have had one. Returns
    /// the connection whose request ends the round.
    private func takeTurns(
        _ events: [(connection: HTTP1Connection, ready: Poll.Direction)], handle: Handler
    ) -> HTTP1Connection? {
        let queue = events.filter { !$0.ready.isEmpty || $0.connection.isDue }.sorted { left, right in
            let (left, right) = (left.connection, right.connection)
            guard left.cycle == right.cycle else { return left.cycle < right.cycle }
            return left.isTrusted == right.isTrusted ? left.id < right.id : left.isTrusted
        }
        let end = MonotonicTime.now().adding(milliseconds: policy.roundMilliseconds)
        for (connection, ready) in queue {
            if connection.cycle == cycle { cycle += 1 }
            connection.cycle = cycle
            let now = MonotonicTime.now()
            if advance(connection, ready, now: now, handle: handle) { return connection }
            if MonotonicTime.now() >= end { return nil }
        }
        return nil
    }

    /// Sends collected output, and handles requests that arrived with earlier ones, one of each connection, until `end`.
    /// Returns whether there were any.
    package func settle(until end: MonotonicTime, handle: Handler) -> Bool {
        var now = MonotonicTime.now()
        for connection in connections where connection.hasOutput { connection.flush(now: now) }
        var hasServed = false
        for connection in connections where connection.isDue {
            now = .now()
            guard now < end else { break }
            _ = serve(connection, reads: 0, now: now) { request, connection in
                hasServed = true
                return handle(request, connection)
            }
        }
        return hasServed
    }

    /// Whether there is output for a peer that may accept it.
    package var hasOutput: Bool { connections.contains(where: \.hasOutput) }

    /// Handles an event of a connection. Returns whether the round ends.
    private func advance(
        _ connection: HTTP1Connection, _ ready: Poll.Direction, now: MonotonicTime, handle: Handler
    ) -> Bool {
        if ready.contains(.writing) { connection.flush(now: now) }
        if ready.contains(.reading) { connection.read(now: now) }
        return serve(connection, reads: ready.contains(.reading) ? 4 : 0, now: now, handle: handle)
    }

    /// Handles the next request of a connection, which is read if it has not arrived yet. Returns whether the round
    /// ends.
    private func serve(
        _ connection: HTTP1Connection, reads: Int, now: MonotonicTime, handle: Handler
    ) -> Bool {
        var reads = reads
        switch connection.nextRequest(&reads, now: now) {
        case .waiting: return false
        case .rejected(let rejection):
            let page = answerRejection(rejection, connection.rejectedPath)
            connection.answer(page, closes: true, now: now)
            return false
        case .request(var request):
            request.peer = policy.identify(connection.descriptor)
            if policy.namesAddress {
                request.ownAddress = LoopbackSocket.ownAddress(connection.descriptor)
            }
            connection.open(request)
            switch handle(request, connection) {
            case .respond(let response, let reason, let closes):
                connection.answer(response, reason: reason, closes: closes || isFinishing, now: now)
            case .hold(let endsRound): return endsRound
            case .stream(let stream): connection.begin(stream, now: now)
            }
            return false
        }
    }

    // MARK: Admission

    private func currentPause(now: MonotonicTime) -> AdmissionPause? {
        guard let pause = admissionPause else { return nil }
        if pause.end <= now || (pause.isForRoom && !isFull) { admissionPause = nil }
        return admissionPause
    }

    /// Accepts waiting connections and handles their first requests, as most have already sent one. If there is no
    /// room, another connection is closed, or the new ones wait. Returns the connection whose request ends the round.
    private func admit(
        from listener: FileDescriptor, until end: MonotonicTime, handle: Handler
    ) -> HTTP1Connection? {
        for place in 0..<64 {
            // Nobody gives up a place that no one waits for.
            guard place == 0 || Poll.isReady(listener.rawValue, .reading) else { return nil }
            let now = MonotonicTime.now()
            guard place == 0 || now < end else { return nil }
            if isFull, !giveOneUp(now: now) {
                let soon = now.adding(milliseconds: 5)
                admissionPause = AdmissionPause(
                    end: max(nextGraceEnd ?? now.adding(milliseconds: 20), soon), isForRoom: true)
                return nil
            }
            do throws(Errno) {
                let connection = add(try LoopbackSocket.accept(listener), now: now)
                // The rest of a long head is read in later turns, so it keeps nobody in the backlog.
                if serve(connection, reads: policy.firstReads, now: now, handle: handle) { return connection }
                if connection.isEnded { removeEnded() }
            } catch {
                guard error.isShortage else { return nil }
                guard giveOneUp(now: now) else {
                    admissionPause = AdmissionPause(end: now.adding(milliseconds: 20), isForRoom: false)
                    return nil
                }
            }
        }
        return nil
    }

    /// Accepts the connections in the backlog before the server stops, until `end` or a signal: others may come all the
    /// time.
    private func admitAll(until end: MonotonicTime, handle: Handler) {
        for listener in listeners {
            for _ in 0..<LoopbackListener.backlog {
                let now = MonotonicTime.now()
                guard now < end, Interruption.pending == nil, Poll.isReady(listener.rawValue, .reading),
                    !isFull || giveOneUp(now: now), let accepted = try? LoopbackSocket.accept(listener)
                else { break }
                let connection = add(accepted, now: now)
                _ = advance(connection, .reading, now: now, handle: handle)
                if connection.isIdle { connection.end() }
                removeEnded()
            }
        }
    }

    private func add(_ descriptor: FileDescriptor, now: MonotonicTime) -> HTTP1Connection {
        let connection = HTTP1Connection(descriptor, id: nextID, policy, now: now)
        connection.cycle = cycle
        nextID += 1
        connections.append(connection)
        return connection
    }

    /// Closes the most dispensable connection to make room for a new one. Returns false if every connection is too
    /// new or in use.
    private func giveOneUp(now: MonotonicTime) -> Bool {
        let youngest = now.adding(milliseconds: -policy.newcomerMilliseconds)
        let areFew = 2 * connections.count { !$0.hasAsked } < connections.count
        let ranked = connections.compactMap { connection in
            let isProtected = areFew && !connection.hasAsked && connection.began > youngest
            return isProtected ? nil : policy.rank(connection).map { (connection, $0) }
        }
        let victim = ranked.filter { graceEnd($0.0) <= now }.min { $0.1 < $1.1 }
        guard let victim else { return false }
        victim.0.end()
        removeEnded()
        return true
    }

    /// The earliest time at which a connection may be closed for a new one.
    private var nextGraceEnd: MonotonicTime? {
        connections.filter { policy.rank($0) != nil }.map(graceEnd).min()
    }

    private func graceEnd(_ connection: HTTP1Connection) -> MonotonicTime {
        let factor: Int64 = connection.isSending ? 10 : 1
        return connection.lastActivity.adding(milliseconds: policy.graceMilliseconds * factor)
    }

    // MARK: Ends

    /// Returns when a connection times out, or its stream is to act; nil while it waits for our answer.
    private func nextMoment(_ connection: HTTP1Connection) -> MonotonicTime? {
        if connection.isEnded { return nil }
        let last = connection.lastActivity
        if connection.isDraining { return last.adding(milliseconds: policy.drainMilliseconds) }
        if let stream = connection.stream { return stream.nextMoment }
        if connection.openRequest != nil { return nil }
        if connection.isBlocked { return last.adding(milliseconds: policy.blockedMilliseconds) }
        if connection.isInHandshake {
            return connection.began.adding(milliseconds: policy.idleMilliseconds)
        }
        let idle = last.adding(milliseconds: policy.idleMilliseconds)
        guard connection.isReading else { return idle }
        return min(idle, connection.requestBegan.adding(milliseconds: policy.requestMilliseconds))
    }

    /// Ends what has reached its time limit, and removes connections that have ended. Returns whether anything was
    /// due.
    @discardableResult
    package func expire(now: MonotonicTime) -> Bool {
        lookAtUnwatched(now: now)
        var wasDue = false
        for connection in connections {
            guard let moment = nextMoment(connection), moment <= now else { continue }
            wasDue = true
            if let stream = connection.stream {
                stream.act(now: now)
                connection.flush(now: now)
            } else if connection.isReading {
                connection.answer(policy.slowAnswer, closes: true, now: now)
            } else {
                connection.end()
            }
        }
        removeEnded()
        return wasDue
    }

    /// Ends the connections of peers that have left since nothing more is read from them.
    private func lookAtUnwatched(now: MonotonicTime) {
        guard connections.contains(where: \.isUnwatched) else { return unwatchedLook = nil }
        guard let moment = unwatchedLook else { return unwatchedLook = now.adding(milliseconds: 1_000) }
        guard moment <= now else { return }
        for connection in connections where connection.isUnwatched && !connection.isEnded {
            connection.endUnlessOpen()
        }
        unwatchedLook = now.adding(milliseconds: 1_000)
    }

    private func removeEnded() { connections.removeAll(where: \.isEnded) }

    /// Stops listening, answers all requests so far, and returns when all answers are delivered, or after the time
    /// limit or a signal. Without `admitting`, requests that wait are left to another process that has the listeners.
    package func finish(admitting: Bool, milliseconds: Int64, handle: Handler) {
        isFinishing = true
        policy.drainMilliseconds = 200
        let start = MonotonicTime.now()
        let end = start.adding(milliseconds: milliseconds)
        // The answers need some time, too.
        if admitting { admitAll(until: start.adding(milliseconds: milliseconds / 2), handle: handle) }
        closeListeners()
        var others: [Poll.Interest] = []
        expire(now: .now())
        _ = round(until: .now(), also: &others, handle: handle)
        while MonotonicTime.now() < end, Interruption.pending == nil {
            // A request that has arrived is answered, also if no byte of it was read yet.
            for connection in connections
            where connection.isIdle && !Poll.isReady(connection.descriptor.rawValue, .reading) {
                connection.end()
            }
            expire(now: .now())
            guard !connections.isEmpty else { break }
            _ = round(until: end, also: &others, handle: handle)
        }
        close()
    }

    /// Closes all connections.
    package func endAll() {
        for connection in connections { connection.end() }
        connections = []
    }

    /// Stops listening and closes all connections.
    package func close() {
        closeListeners()
        endAll()
    }

    private func closeListeners() {
        for listener in listeners { listener.close() }
        listeners = []
    }
}
