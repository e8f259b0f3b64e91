import OIDCCore
import Posix

/// The loop that waits for events and handles them.
extension ProxyServer {
    /// Serves requests until a signal arrives, the idle timeout expires, or another descriptor is readable.
    package func run(also others: [Int32] = []) -> Event {
        lastUse = .now()
        let event = withoutBrokenPipeSignal {
            while true {
                if let signal = Interruption.pending { return Event.interrupted(signal: signal) }
                if let event = turn(also: others) { return event }
            }
        }
        for connection in connections {
            connection.exchange?.cancel()
            connection.end()
        }
        connections = []
        configuration.flushLog()
        configuration.interrupt()
        for session in sessions { session.finish() }
        return event
    }

    /// Runs one round: waits for events, and handles them.
    private func turn(also others: [Int32]) -> Event? {
        let clients = connections.filter { !$0.interest.isEmpty }
        var interests = clients.map { Poll.Interest($0.descriptor.rawValue, $0.interest) }
        let sockets = Array(requests?.sockets ?? [:])
        interests += sockets.map { Poll.Interest($0.key, $0.value) }
        interests += ([wake.reading.rawValue] + others).map { Poll.Interest($0, .reading) }
        if let wakeUp = Interruption.wakeUpDescriptor { interests.append(Poll.Interest(wakeUp, .reading)) }
        if acceptsAgain == nil { interests.append(Poll.Interest(listener.descriptor.rawValue, .reading)) }
        Poll.wait(&interests, until: nextMoment)
        let now = MonotonicTime.now()

        for (client, interest) in zip(clients, interests) where !interest.ready.isEmpty {
            advance(client, interest.ready, now: now)
        }
        for (socket, interest) in zip(sockets, interests.dropFirst(clients.count))
        where !interest.ready.isEmpty {
            requests?.act(on: socket.key, interest.ready)
        }
        let rest = interests.dropFirst(clients.count + sockets.count)
        if rest.first?.ready.isEmpty == false { _ = try? wake.reading.read(limit: 256) }
        for session in sessions { session.advance(now: now) }
        if acceptsAgain.map({ $0 <= now }) ?? (rest.last?.ready.isEmpty == false) { admit(now: now) }
        settle()
        expire(now: now)
        connections.removeAll { $0.isEnded }
        if hasLogged {
            hasLogged = false
            configuration.flushLog()
        }
        if requests?.isEmpty == false || connections.contains(where: { $0.exchange != nil })
            || sessions.contains(where: \.isAwaited)
        {
            lastUse = now
        }
        if let limit = configuration.idleTimeout, now >= lastUse.adding(milliseconds: limit) { return .idle }
        return zip(others, rest.dropFirst()).first { !$1.ready.isEmpty }.map { .readable($0.0) }
    }

    /// Handles the results of the events: ended transfers, collected output, and further requests.
    private func settle() {
        for _ in 0..<8 {
            requests?.actOnTimer(now: .now())
            var isBusy = false
            while let (transfer, code) = requests?.nextEnded() {
                isBusy = true
                transfer.owner?.transferEnded(transfer, code, now: .now())
            }
            let now = MonotonicTime.now()
            for connection in connections where connection.hasOutput && !connection.isBlocked {
                connection.flush(now: now)
            }
            for connection in connections where connection.mayServe {
                isBusy = true
                serve(connection, now: now)
            }
            isBusy = isBusy || hasUnsentOutput
            guard isBusy || requests?.timer.map({ $0 <= now }) ?? false else { return }
        }
    }

    var hasUnsentOutput: Bool { connections.contains { $0.hasOutput && !$0.isBlocked } }
}
