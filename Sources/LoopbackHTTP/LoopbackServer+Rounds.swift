import OIDCCore
package import Posix

extension LoopbackServer {
    package static func refuse(_ request: HTTPServerRequest) -> Disposition {
        .respond(HTTPResponse.stranger(status: 404))
    }

    /// Runs one round: waits for events until the deadline, and handles them.
    package func turn(
        until deadline: MonotonicTime?, also others: [Int32], handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        let start = MonotonicTime.now()
        expire(now: start)
        let served = connections.all.filter { !$0.interest.isEmpty }
        let pause = currentPause(now: start)
        var interests = served.map { Poll.Interest($0.descriptor.rawValue, $0.interest) }
        interests += others.map { Poll.Interest($0, .reading) }
        if let wakeUp = Interruption.wakeUpDescriptor { interests.append(Poll.Interest(wakeUp, .reading)) }
        let listening = pause == nil ? listener.descriptors : []
        interests += listening.map { Poll.Interest($0.rawValue, .reading) }
        let moments = [deadline, connections.nextExpiry, pause?.end]
        guard Poll.wait(&interests, until: moments.compactMap { $0 }.min()) else { return nil }

        let ready = Set(interests.filter { !$0.ready.isEmpty }.map(\.descriptor))
        for connection in served where ready.contains(connection.descriptor.rawValue) {
            if let event = advance(connection, handle: handle) { return event }
        }
        connections.removeEnded()
        for descriptor in listening where ready.contains(descriptor.rawValue) {
            if let event = admit(from: descriptor, handle: handle) { return event }
        }
        return others.first { ready.contains($0) }.map { .readable($0) }
    }

    /// Handles all requests that one connection has now.
    private func advance(
        _ connection: LoopbackConnection, handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        var turn = LoopbackConnection.Turn(now: .now())
        while true {
            switch connection.advance(&turn) {
            case .waiting, .ended: return nil
            case .rejected(let rejection):
                let page =
                    answerRejection?(rejection, connection.rejectedPath)
                    ?? HTTPResponse.stranger(status: rejection.status)
                connection.answer(page, closes: true, now: turn.now)
            case .request(let request):
                if let index = heldRequests.firstIndex(where: { $0.request.isRepeated(by: request) }) {
                    guard let answer = heldRequests[index].answer else { return nil }
                    connection.answer(answer, closes: true, now: turn.now)
                    heldRequests[index].answeredCount += 1
                    continue
                }
                switch handle(request) {
                case .respond(let response):
                    connection.answer(response, closes: isFinishing, now: turn.now)
                case .hold:
                    heldRequests.append(HeldRequest(connection: connection.id, request: request))
                    return .held(request, connection: connection.id)
                }
            }
        }
    }

    private func currentPause(now: MonotonicTime) -> AdmissionPause? {
        guard let pause = admissionPause else { return nil }
        if pause.end <= now || (pause.isForRoom && !connections.isFull) { admissionPause = nil }
        return admissionPause
    }

    /// Accepts waiting connections and handles their first requests, as most have already sent one. If there
    /// is no room, an idle connection is closed, or the new ones wait.
    private func admit(
        from descriptor: FileDescriptor, handle: (HTTPServerRequest) -> Disposition
    ) -> Event? {
        for _ in 0..<64 {
            let now = MonotonicTime.now()
            if connections.isFull, !connections.giveOneUp(now: now) {
                let end = connections.nextGraceEnd ?? now.adding(milliseconds: 20)
                admissionPause = AdmissionPause(end: end, isForRoom: true)
                return nil
            }
            do throws(Errno) {
                let accepted = try LoopbackSocket.accept(descriptor)
                let connection = connections.add(accepted, identify: identify, now: now)
                if let event = advance(connection, handle: handle) { return event }
                if connection.isEnded { connections.removeEnded() }
            } catch {
                guard error.isShortage else { return nil }
                guard connections.giveOneUp(now: now) else {
                    admissionPause = AdmissionPause(end: now.adding(milliseconds: 20), isForRoom: false)
                    return nil
                }
            }
        }
        return nil
    }

    /// Accepts all connections in the backlog, before the server stops.
    func admitAll() {
        for descriptor in listener.descriptors {
            while !connections.isFull || connections.giveOneUp(now: .now()) {
                guard let accepted = try? LoopbackSocket.accept(descriptor) else { break }
                let connection = connections.add(accepted, identify: identify, now: .now())
                _ = advance(connection, handle: LoopbackServer.refuse)
                if connection.isIdle { connection.end() }
                connections.removeEnded()
            }
        }
    }

    /// Closes connections that timed out, and removes those that have ended.
    func expire(now: MonotonicTime) {
        for connection in connections.all {
            guard let expiry = connections.expiry(connection), expiry <= now else { continue }
            if connection.isReading {
                connection.answer(HTTPResponse.stranger(status: 408), closes: true, now: now)
            } else {
                connection.end()
            }
        }
        connections.removeEnded()
    }
}
