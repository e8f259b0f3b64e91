import OIDCCore
import Posix

/// The end of transfers and requests.
extension ProxyExchange {
    /// Handles the end of the transfer.
    func transferEnded(_ ended: ProxyTransfer, _ code: Int32, now: MonotonicTime) {
        guard ended === transfer else { return }
        transfer = nil
        guard !connection.isEnded else { return cancel() }
        switch phase {
        case .discarding(let next, _): again(next, now: now)
        case .answering(let framing): finish(framing, isComplete: code == 0)
        case .sending where mayRepeat && problem == nil && body.canRepeat && ended.isRepeatable(after: code):
            mayRepeat = false
            send()
        case .sending, .waitingForToken:
            var problem = problem ?? server.problem(ended.failure(server.configuration.curl))
            if code == 0, self.problem == nil {
                problem = ProxyProblem(
                    502, "refused", "\(host) closed the connection within the header of its answer")
            }
            if code == 28, problem.status == 502 { problem.status = 504 }
            fail(problem)
        case .done: break
        }
    }

    private func again(_ next: Next, now: MonotonicTime) {
        switch next {
        case .anotherToken:
            mayRefresh = false
            mayProveAgain = true
            obtain(insteadOf: grant?.token, now: now)
        case .stepUp:
            mayStepUp = false
            mayRefresh = false
            mayProveAgain = true
            obtain(insteadOf: grant?.token, after: head.response, now: now)
        case .proof:
            mayProveAgain = false
            send()
        }
    }

    /// Ends the request although its body was not sent whole, as the server has answered it and takes no more.
    func endAnsweredEarly() {
        guard case .answering(let framing) = phase else { return }
        abandonTransfer()
        finish(framing, isComplete: true)
    }

    private func finish(_ framing: Framing, isComplete: Bool) {
        var isComplete = isComplete
        if case .length(let missing) = framing, missing > 0 { isComplete = false }
        guard isComplete else { return truncate() }
        if case .chunked = framing { connection.write(Array("0\r\n\r\n".utf8)) }
        settle()
        connection.finishExchange(closes: closes || !body.isWhole)
    }

    /// Ends an incomplete answer in a way that the caller notices.
    private func truncate() {
        let endsAtClose = if case .answering(.untilClose) = phase { true } else { false }
        settle()
        connection.flush(now: .now())
        // A normal close would look like the proper end of this answer.
        if endsAtClose { connection.resetOnClose() }
        connection.end()
    }

    /// Answers with a problem, unless the server's answer has started.
    func fail(_ problem: ProxyProblem) {
        abandonTransfer()
        switch phase {
        case .done: return
        case .answering: return truncate()
        default: break
        }
        entry.status = problem.status
        settle()
        connection.answer(problem, toHead: isHead, closes: closes || !body.isWhole)
    }

    /// Ends the request because the caller left.
    func cancel() {
        abandonTransfer()
        settle()
    }

    private func abandonTransfer() {
        guard let transfer else { return }
        server.end(transfer)
        self.transfer = nil
    }

    /// Logs the request at its end.
    func settle() {
        if case .done = phase { return }
        phase = .done
        entry.milliseconds = (MonotonicTime.now().nanoseconds - began.nanoseconds) / 1_000_000
        server.log(entry)
    }
}
