import LoopbackHTTP
import OIDCCore
import Posix

/// A receiver of the redirect, from the browser at the listener or as a URL that the user pastes. The first
/// good answer is used; both are checked in the same way.
struct RedirectReceiver {
    private(set) var pending: PendingAuthorization
    let path: String
    /// The location of the result page.
    var result: ResultLocation
    /// The certificate of the server, for the process that shows the result.
    var files: TLSFiles?
    let server: LoopbackServer?
    /// A function that reports a pasted URL that cannot be used.
    let warn: (Warning) -> Void
    /// A function that renders a hint for the browser's page.
    let words: (Hint) -> String
    /// The name of the program that signs in, for the browser's pages.
    let program: String?
    /// Called for a key that is pressed alone at a terminal.
    var onKey: (Key) -> Void = { _ in }
    /// Whether another process shows the result to a browser that comes late.
    var lingers = false
    /// The agreement by which the next sign-in asks that process for its port.
    var handover: PortHandover?
    private let strayRequests: StrayRequestLog
    private var unusable: OIDCError?

    init(
        pending: PendingAuthorization, path: String, server: LoopbackServer?, program: String? = nil,
        words: @escaping (Hint) -> String, warn: @escaping (Warning) -> Void,
        onStray: @escaping (StrayRequest) -> Void
    ) {
        self.pending = pending
        self.path = path
        result = ResultLocation(below: path)
        self.server = server
        self.warn = warn
        self.words = words
        self.program = program
        let log = StrayRequestLog(report: onStray)
        self.strayRequests = log
        server?.answerRejections { rejection, found in
            let request = StrayRequest(
                reason: .notServed(reason: rejection.reason), status: rejection.status, method: "",
                path: found, isCallback: found == path)
            log.note(request)
            return request.page(program: program, words)
        }
    }

    /// A key that does something when it is pressed alone.
    enum Key: Hashable {
        case enter
        /// The letter u.
        case showURL
    }

    /// The answer to the authorization request.
    struct Arrival {
        let code: Result<AuthorizationCode, OIDCError>
        /// The browser's connection, which waits for a page; nil for a pasted URL.
        let connection: Int?
    }

    /// Waits for the first good answer; returns nil if `tick` stopped the wait. Throws after the time limit
    /// or a signal.
    ///
    /// `tick` is called at least every second, and after input, with the length of the unfinished line, or
    /// nil if nothing can be pasted. It returns the time of its next call, or nil to stop.
    mutating func wait(
        until deadline: MonotonicTime, reading input: inout TerminalInput?, isTerminal: Bool,
        tick: (_ pastedCount: Int?) throws(OIDCError) -> MonotonicTime?
    ) throws(OIDCError) -> Arrival? {
        while true {
            guard let pause = try tick(input?.pendingCount) else { return nil }
            let now = MonotonicTime.now()
            guard now < deadline else {
                throw unfinished(
                    OIDCError(.timedOut, "timed out waiting for the sign-in", stage: .authorization))
            }
            let next = min(deadline, pause, now.adding(milliseconds: 1_000))
            switch event(until: next, also: input?.descriptor().map { [$0] } ?? []) {
            case .arrival(let arrival): return arrival
            case .interrupted(let signal):
                var error = Interruption.error(signal: signal)
                error.stage = .authorization
                throw unfinished(error)
            case .quiet: continue
            case .input:
                if let arrival = try pasted(&input, isTerminal: isTerminal) { return arrival }
            }
        }
    }

    /// Waits for the answer to another request instead, to which the browser of a callback is redirected.
    mutating func restart(_ pending: PendingAuthorization, at url: WebURL, in connection: Int?) {
        self.pending = pending
        if let connection { server?.redirect(connection, to: url) }
    }

    /// Redirects the browser of an accepted callback to the page for the result.
    func sendToResult(_ connection: Int) {
        server?.sendToResult(connection, at: result)
    }

    /// Shows the result to the browser that was sent to it, and closes the listener.
    func finish(showing page: HTTPResponse) {
        guard lingers else {
            server?.finish(showing: page, at: result, program: program)
            return
        }
        server?.finishLingering(showing: page, at: result, program: program, files: files, handover: handover)
    }

    /// Shows the result to a browser whose callback arrived after the sign-in was finished in another way,
    /// and closes the listener. The callback's code is not redeemed.
    func finishUnawaited(showing page: HTTPResponse) {
        guard let server else { return }
        let event = server.run(until: .now()) { request in
            if case .answer = judge(request, at: server) { return .hold }
            return LoopbackServer.refuse(request)
        }
        guard case .held(_, let connection) = event else { return server.finish() }
        sendToResult(connection)
        finish(showing: page)
    }

    /// Adds a summary of the rejected callbacks, and a hint. If callbacks arrived, the provider knows the
    /// redirect URL, so the hint does not suggest checking it. Ctrl-C needs no hint.
    private func unfinished(_ error: OIDCError) -> OIDCError {
        var error = error
        if let summary = strayRequests.summary { error.message += "; \(summary)" }
        guard error.kind != .interrupted else { return error }
        error.hint =
            strayRequests.summary == nil
            ? .checkRegistration(redirectURL: pending.redirectURI, clientID: pending.clientID) : .signIn
        return error
    }

    private enum Event {
        case arrival(Arrival)
        case input
        case interrupted(Int32)
        case quiet
    }

    private func event(until deadline: MonotonicTime, also others: [Int32]) -> Event {
        guard let server else {
            var interests = others.map { Poll.Interest($0, .reading) }
            if let wakeUp = Interruption.wakeUpDescriptor {
                interests.append(Poll.Interest(wakeUp, .reading))
            }
            let isReady = Poll.wait(&interests, until: deadline)
            if let signal = Interruption.pending { return .interrupted(signal) }
            return isReady ? .input : .quiet
        }
        var accepted: Result<AuthorizationCode, OIDCError>?
        let event = server.run(until: deadline, also: others) { request in
            switch judge(request, at: server) {
            case .stray(let reason, let status):
                let stray = StrayRequest(
                    reason: reason, status: status, method: request.method.name, path: request.path,
                    isCallback: reason != .otherPath,
                    wantsPage: request.wantsPage)
                strayRequests.note(stray)
                return .respond(stray.page(program: program, words))
            case .answer(let answer):
                accepted = answer
                return .hold
            }
        }
        switch event {
        case .held(_, let connection):
            return accepted.map { .arrival(Arrival(code: $0, connection: connection)) } ?? .quiet
        case .readable: return .input
        case .interrupted(let signal): return .interrupted(signal)
        case .deadline: return .quiet
        }
    }

    private enum Judgement {
        case stray(StrayRequest.Reason, status: Int)
        case answer(Result<AuthorizationCode, OIDCError>)
    }

    /// Checks path, user, method and Host, and then the answer itself; `Origin`, `Referer` and the like are
    /// ignored. GET is also accepted with `response_mode=form_post`, as a provider may ignore that and
    /// redirect.
    private func judge(_ request: HTTPServerRequest, at server: LoopbackServer) -> Judgement {
        guard request.path == path else {
            let isRedirect = !request.peer.isStranger && isPassedOnWrongly(request, to: server)
            return .stray(isRedirect ? .path(expected: path, found: request.path) : .otherPath, status: 404)
        }
        // `state` is in the browser's arguments, which every user of the machine can read.
        guard !request.peer.isStranger else {
            return .stray(request.peer == .gone ? .goneSender : .anotherUser, status: 404)
        }
        let isPost = request.method == .post && pending.responseMode.isPosted
        guard request.method == .get || isPost else {
            let expected = pending.responseMode.isPosted ? "POST" : "GET"
            return .stray(.method(found: request.method.name, expected: expected), status: 405)
        }
        guard server.isOurHost(request) else {
            let expected = server.names.first ?? "\(server.host.text):\(server.port)"
            return .stray(
                .host(expected: expected, found: request.host, isPassedOn: !server.names.isEmpty), status: 400
            )
        }
        if isPost, request.mediaType != RedirectReceiver.formType {
            return .stray(.bodyType(found: request.mediaType), status: 400)
        }
        guard let text = form(of: request) else { return .stray(.mismatch(.unreadable), status: 400) }
        switch pending.judge(form: text) {
        case .code(let code): return .answer(.success(code))
        case .end(let error): return .answer(.failure(error))
        case .stray(let mismatch): return .stray(.mismatch(mismatch), status: 400)
        }
    }

    private static let formType = "application/x-www-form-urlencoded"

    /// Returns the parameters of a request; nil if they are not UTF-8.
    private func form(of request: HTTPServerRequest) -> String? {
        request.method == .post ? String(validating: request.body, as: UTF8.self) : request.query ?? ""
    }

    /// Returns whether a request is the answer to this sign-in but has another path than `callback_path`, as
    /// a reverse proxy passed it on. Only the answer has the right state.
    private func isPassedOnWrongly(_ request: HTTPServerRequest, to server: LoopbackServer) -> Bool {
        guard !server.names.isEmpty, server.isOurHost(request), let text = form(of: request) else {
            return false
        }
        if case .stray = pending.judge(form: text) { return false }
        return true
    }

    /// Reads pasted lines. On a terminal, a line that cannot be used is reported, and the wait continues.
    ///
    /// From a file or a pipe, such a line ends the sign-in; but one that is not a URL may be followed by
    /// another line.
    private mutating func pasted(
        _ input: inout TerminalInput?, isTerminal: Bool
    ) throws(OIDCError) -> Arrival? {
        defer { if isTerminal, input?.take("u") == true { onKey(.showURL) } }
        while let event = input?.next() {
            switch event {
            case .endOfInput:
                input = nil
                if let unusable { throw unusable }
            case .tooLong: warn("that line is too long for a redirected URL")
            case .line(let line):
                let word = ASCII.trimmed(line)
                guard !word.isEmpty else {
                    onKey(.enter)
                    continue
                }
                guard !isTerminal || word != "u" else {
                    onKey(.showURL)
                    continue
                }
                do throws(OIDCError) {
                    return Arrival(code: .success(try pending.acceptPasted(line)), connection: nil)
                } catch {
                    // A line that is not a URL may be followed by one, until the end of a pipe.
                    guard error.kind == .usage || (isTerminal && error.kind == .untrusted) else {
                        return Arrival(code: .failure(error), connection: nil)
                    }
                    unusable = isTerminal ? nil : error
                    warn(Warning(error.message, hint: error.hint))
                }
            }
        }
        return nil
    }

    static let nothingPasted = OIDCError(
        .usage, "stdin ended before a URL was pasted, and no listener can receive the redirect",
        hint: .advice(.pasteAddress),
        stage: .authorization)
}
