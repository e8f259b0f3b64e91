import LoopbackHTTP
package import OIDCCore
package import Posix

/// A sign-in with a browser. It binds the listener, opens the URL, waits for the redirect, a pasted URL or
/// the approval of a device code, redeems the first that arrives, and shows the result in the browser.
///
/// One thread takes all answers, so only the first is ever used. The device code is polled on another, as a provider may
/// keep that request waiting; tokens that it brings after another answer are revoked, unless a stored session would end
/// with them.
package struct BrowserSignIn {
    package let flow: SignInFlow
    package let redirect: RedirectAddress
    /// Whether stdin is read for a pasted URL.
    package var readsInput: Bool
    /// Whether to offer a device code as well.
    package var offersDeviceCode = false
    /// The browser to open; nil leaves that to the user.
    package var browser: BrowserChoice?
    package var environment: Variables
    package var notice: (SignInNotice) -> Void
    package var deadline: MonotonicTime
    /// The time in milliseconds after which `SignInNotice.unanswered` is reported.
    package var silence: Int64 = 20_000
    /// The time in milliseconds after which pasting is offered, and the provider is asked for its objection
    /// to the request.
    package var firstSilence: Int64 = 5_000
    /// The time in milliseconds to wait for a device code, so it can be shown above the URL.
    package var deviceCodePatience: Int64 = 2_000
    /// A function that connects to a server and sends nothing; nil to skip that check.
    package var connect: (@Sendable (WebURL) throws(OIDCError) -> Void)?
    /// Whether another process of this program shows the result to a browser that comes late.
    package var lingers = false
    /// The agreement on fixed ports with the processes that show earlier results.
    package var handover: PortHandover?
    /// Called before a code is redeemed; an error ends the sign-in, and nothing is sent.
    package var claim: () throws(OIDCError) -> Void = {}
    /// The requests that another process has made for this sign-in; nil to make them.
    package var begun: BegunSignIn?
    /// Called every `pause` milliseconds; true ends the wait with an error of kind `interrupted`.
    package var isCancelled: () -> Bool = { false }
    package var pause: Int64 = 1_000
    /// Takes over the device code poll that was unanswered when the sign-in was canceled or finished in
    /// another way. If it is nil, `run` waits for that answer before it returns, and a canceled sign-in
    /// stores its tokens.
    package var leave: ((UnansweredPoll) -> Void)?
    /// The name of the program that signs in, for the browser's page.
    package var program: String?
    /// A function that renders a hint for the browser's page.
    package var words: (Hint) -> String = { $0.description }
    /// A function that binds the listener.
    var listen: (LoopbackAddress) throws(OIDCError) -> LoopbackServer = { address throws(OIDCError) in
        try LoopbackServer(address, identify: PeerOwner.identified)
    }

    package init(
        flow: SignInFlow, redirect: RedirectAddress, readsInput: Bool, browser: BrowserChoice?,
        environment: Variables, deadline: MonotonicTime,
        notice: @escaping (SignInNotice) -> Void
    ) {
        self.flow = flow
        self.redirect = redirect
        self.readsInput = readsInput
        self.browser = browser
        self.environment = environment
        self.deadline = deadline
        self.notice = notice
    }

    /// Runs the sign-in. `keep` stores the session before the page says that the user is signed in.
    package func run(
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome {
        let identity = try redirect.identity(at: flow.context.now())
        var device = DeviceRace()
        defer { if let poll = device.code?.unanswered { leave.map { $0(poll) } ?? poll.settle() } }
        let server = try listener()
        defer { server?.close() }
        if let server {
            if let identity { server.secure(with: identity) }
            server.names = redirect.names(port: server.port)
            if begun?.listener == nil, let warning = redirect.exposure(port: server.port) {
                notice(.warning(warning))
            }
        }
        let port = server?.port ?? redirect.loopback?.ports.candidates.first
        // Without a listener, any port will do (RFC 8252 §7.3).
        let redirectURL =
            port.map { redirect.text(port: $0 == 0 ? .random(in: 49_152...65_535) : $0) } ?? redirect.text
        var (pending, pushed) =
            if let pending = begun?.pending { (pending, PushedAuthorization?.none) } else {
                try flow.start(redirectURI: redirectURL)
            }
        if let code = begun?.device {
            device.code = DeviceCodeWait(code, flow, deadline: deadline, notice: notice)
        } else if offersDeviceCode {
            try startDeviceCode(&device, isOnlyWay: server == nil && !readsInput)
        }
        let browser = announce(pending, pushed, server)
        var receiver = RedirectReceiver(
            pending: pending, path: redirect.path, server: server, program: program, words: words,
            warn: { notice(.warning($0)) },
            onStray: { notice(.strayRequest($0)) })
        receiver.lingers = lingers
        if redirect.loopback?.ports != .any { receiver.handover = handover }
        receiver.result = redirect.resultLocation
        receiver.files = redirect.files
        while true {
            let arrival: RedirectReceiver.Arrival
            switch try receive(&receiver, browser, &device, pushed, keep: keep) {
            case .signedIn(let outcome): return outcome
            case .redirected(let redirected): arrival = redirected
            }
            if case .failure(let error) = arrival.code, pushed == nil, flow.isRefusedUnpushed(error) {
                (pending, pushed) = try flow.start(redirectURI: redirectURL, isPushed: true)
                receiver.restart(pending, at: pushed?.url ?? pending.url, in: arrival.connection)
                if arrival.connection == nil { notice(.url(pushed?.url ?? pending.url)) }
                continue
            }
            return try finish(arrival, receiver, keep: keep)
        }
    }

    private func finish(
        _ arrival: RedirectReceiver.Arrival, _ receiver: RedirectReceiver,
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome {
        if let connection = arrival.connection { receiver.sendToResult(connection) }
        notice(.answered)
        let result = Result { () throws(OIDCError) in
            let code = try arrival.code.get()
            try claim()
            return try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                let outcome = try flow.finish(code)
                try flow.store(outcome, with: keep)
                return outcome
            }
        }
        if arrival.connection != nil { receiver.finish(showing: page(result)) }
        return try result.get()
    }

    /// Binds the listener if the redirect comes back to this machine. If no browser is opened here and the
    /// sign-in can finish in another way, a failure is only a warning; else it waits for one of several
    /// ports.
    private func listener() throws(OIDCError) -> LoopbackServer? {
        if let listener = begun?.listener {
            return LoopbackServer(listener, identify: PeerOwner.identified)
        }
        guard let address = redirect.loopback else { return nil }
        do throws(OIDCError) { return try PortHandover.bind(address, handover, listen) } catch {
            guard browser == nil, readsInput || offersDeviceCode || begun?.device != nil else {
                guard case .firstFree(let ports) = address.ports, error.code == .portsInUse else {
                    throw error
                }
                return try listenerOnceFree(address, ports)
            }
            notice(.warning(Warning("\(error.message); the sign-in goes on without a listener")))
            return nil
        }
    }

    /// Waits until another sign-in ends and leaves one of the ports.
    private func listenerOnceFree(
        _ address: LoopbackAddress, _ ports: [UInt16]
    ) throws(OIDCError) -> LoopbackServer {
        notice(.portsInUse(ports))
        while true {
            try Interruption.throwIfPending()
            guard !isCancelled() else { throw .canceled(.authorization) }
            let now = MonotonicTime.now()
            guard now < deadline else {
                let list = ports.map(String.init).joined(separator: ", ")
                throw OIDCError(
                    .timedOut, "ports \(list) on \(address.host.text) stayed in use by other sign-ins",
                    hint: .advice(.choosePort), stage: .authorization)
            }
            Poll.sleep(until: min(deadline, now.adding(milliseconds: 200)))
            do throws(OIDCError) { return try listen(address) } catch {
                guard error.code == .portsInUse else { throw error }
            }
        }
    }

    /// Opens the browser and shows the URL, which comes last, as a user without a browser needs it.
    private func announce(
        _ pending: PendingAuthorization, _ pushed: PushedAuthorization?, _ server: LoopbackServer?
    ) -> Browser? {
        // Without a listener or a prompt nothing receives the code, and another program may own the port.
        guard server != nil || readsInput else { return nil }
        let url = pushed?.url ?? pending.url
        var opened: Browser?
        if let browser {
            do throws(OIDCError) {
                opened = try Browser.open(url, with: browser, environment: environment)
                notice(.opened)
            } catch {
                notice(.notOpened(reason: error.message))
            }
        }
        if let server { notice(.listening(port: server.port)) }
        if readsInput, server == nil, !offersDeviceCode { notice(.pasteOffered(isOnlyWay: true)) }
        show(url, pushed, isOpened: opened != nil)
        return opened
    }

    /// Shows the URL. If the user has to copy it, also shows how long the reference to a pushed request
    /// lives: a minute at Keycloak (RFC 9126 §2.2).
    private func show(_ url: WebURL, _ pushed: PushedAuthorization?, isOpened: Bool) {
        if !isOpened, let end = pushed?.expiresAt {
            notice(.urlExpires(at: end, isRenewable: readsInput && Terminal.isTerminal(.standardInput)))
        }
        notice(.url(url))
    }

    private enum Answer {
        case redirected(RedirectReceiver.Arrival)
        /// The device code was approved.
        case signedIn(SignInFlow.Outcome)
    }

    private func receive(
        _ receiver: inout RedirectReceiver, _ browser: Browser?, _ device: inout DeviceRace,
        _ pushed: PushedAuthorization?, keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Answer {
        let (pending, server) = (receiver.pending, receiver.server)
        var input = readsInput ? TerminalInput() : nil
        let isTerminal = Terminal.isTerminal(.standardInput)
        defer {
            input?.release()
            server?.answerRejections(with: nil)
        }
        var browser = browser
        var page = OpenPage(url: pushed?.url ?? pending.url, pushed: pushed)
        var pressed: RedirectReceiver.Key?
        receiver.onKey = { pressed = $0 }
        var outcome: SignInFlow.Outcome?
        var silence = Silence(first: firstSilence, second: self.silence)
        let arrival: RedirectReceiver.Arrival?
        do throws(OIDCError) {
            arrival = try receiver.wait(until: deadline, reading: &input, isTerminal: isTerminal) {
                (pastedCount) throws(OIDCError) in
                guard !isCancelled() else { throw .canceled(.authorization) }
                if let failure = browser?.check() {
                    browser = nil
                    notice(.notOpened(reason: failure.message))
                    show(page.url, page.pushed, isOpened: false)
                }
                let canRedirect = server != nil || pastedCount != nil
                try takeDeviceCode(&device, isOnlyWay: !canRedirect)
                outcome = try request(&device.code, isOnlyWay: !canRedirect, keep: keep)
                guard outcome == nil else { return nil }
                guard canRedirect || device.isActive else { throw RedirectReceiver.nothingPasted }
                let now = MonotonicTime.now()
                switch pressed {
                case .showURL: notice(.urlRequested(page.url))
                case .enter where page.pushed?.expiresAt != nil: renew(&page, pending)
                case .enter, nil: break
                }
                pressed = nil
                // At a terminal, the user presses Enter for a new URL to copy.
                if browser == nil, !(isTerminal && pastedCount != nil), page.isExpired(flow.context.now()) {
                    renew(&page, pending)
                }
                try silence.check(
                    now, self, pending, canPaste: pastedCount != nil, isDeviceActive: device.isActive)
                notice(
                    .waiting(
                        secondsLeft: (deadline.milliseconds(from: now) + 999) / 1_000,
                        pastedCount: pastedCount))
                let next = device.requested == nil ? device.code?.nextMoment : now.adding(milliseconds: 50)
                return min(next ?? deadline, now.adding(milliseconds: pause))
            }
        } catch {
            guard leave == nil || !error.isCancellation else { throw error }
            outcome = try device.code?.lastAnswer(keep: keep)
            guard outcome != nil else { throw error }
            arrival = nil
        }
        if let outcome {
            receiver.finishUnawaited(showing: self.page(.success(outcome)))
            return .signedIn(outcome)
        }
        guard let arrival else { throw RedirectReceiver.nothingPasted }
        return .redirected(arrival)
    }

    /// The page to sign in at.
    private struct OpenPage {
        var url: WebURL
        var pushed: PushedAuthorization?

        func isExpired(_ now: Instant) -> Bool { pushed?.expiresAt.map { $0 <= now } ?? false }
    }

    /// Pushes the same request again, as the reference to it has expired or soon will.
    private func renew(_ page: inout OpenPage, _ pending: PendingAuthorization) {
        do throws(OIDCError) {
            let pushed = try flow.push(pending)
            page = OpenPage(url: pushed.url, pushed: pushed)
            show(pushed.url, pushed, isOpened: false)
        } catch {
            // Another attempt would bring the same error.
            page.pushed = nil
            notice(.warning(Warning(error.message, hint: error.hint)))
        }
    }

    /// The steps after some time without an answer.
    private struct Silence {
        var firstEnd: MonotonicTime?
        var secondEnd: MonotonicTime?
        var objection: BackgroundResult<RequestObjection?>?
        var connection: BackgroundResult<OIDCError?>?

        init(first: Int64, second: Int64) {
            firstEnd = .now().adding(milliseconds: first)
            secondEnd = .now().adding(milliseconds: second)
        }

        mutating func check(
            _ now: MonotonicTime, _ signIn: BrowserSignIn, _ pending: PendingAuthorization, canPaste: Bool,
            isDeviceActive: Bool
        ) throws(OIDCError) {
            if let end = firstEnd, now >= end {
                firstEnd = nil
                let isOnlyWay = pending.redirectURI == signIn.redirect.text && signIn.redirect.loopback == nil
                if canPaste, !isOnlyWay { signIn.notice(.pasteOffered(isOnlyWay: false)) }
                let flow = signIn.flow
                objection = try? BackgroundResult { flow.objection(redirectURI: pending.redirectURI) }
            }
            if let end = secondEnd, now >= end, !isDeviceActive {
                secondEnd = nil
                signIn.notice(
                    .unanswered(redirectURL: pending.redirectURI, clientID: pending.clientID))
                let (connect, url) = (signIn.connect, pending.endpoint)
                if let connect {
                    connection = try? BackgroundResult {
                        do throws(OIDCError) {
                            try connect(url)
                            return nil
                        } catch {
                            return error
                        }
                    }
                }
            }
            if let found = connection?.value {
                connection = nil
                if let error = found, [.unreachable, .untrusted, .timedOut].contains(error.kind) {
                    signIn.notice(.unreachable(error))
                }
            }
            guard let found = objection?.value else { return }
            objection = nil
            switch found {
            case .final(let error): throw error
            case .noted(let error): signIn.notice(.warning(Warning(error.message, hint: error.hint)))
            case nil: break
            }
        }
    }

    /// A device code that is offered beside the URL, or the request for it.
    private struct DeviceRace {
        var code: DeviceCodeWait?
        var requested: DeviceCodeRequest?

        var isActive: Bool { code != nil || requested != nil }
    }

    /// Requests a device code. If no browser is opened, waits for it a little, as it is shown first.
    private func startDeviceCode(_ device: inout DeviceRace, isOnlyWay: Bool) throws(OIDCError) {
        device.requested = try withoutDeviceCode(isOnlyWay) { () throws(OIDCError) in try requestDeviceCode()
        }
        let end = min(deadline, MonotonicTime.now().adding(milliseconds: deviceCodePatience))
        while browser == nil, device.requested != nil, MonotonicTime.now() < end, Interruption.pending == nil
        {
            try takeDeviceCode(&device, isOnlyWay: isOnlyWay)
            if device.requested != nil { Poll.sleep(until: .now().adding(milliseconds: 5)) }
        }
    }

    /// A request for a device code on a thread of its own, so a slow provider does not delay the rest of the
    /// sign-in. An abandoned request has no effect: the code is never shown, and obtains no tokens.
    private typealias DeviceCodeRequest = BackgroundResult<Result<DeviceAuthorization, OIDCError>>

    private func requestDeviceCode() throws(OIDCError) -> DeviceCodeRequest {
        do throws(Errno) {
            return try DeviceCodeRequest { [flow] in
                Result { () throws(OIDCError) in try flow.requestDeviceCode() }
            }
        } catch {
            throw OIDCError(
                .failed, "no thread for the request: \(error)", hint: error.startHint,
                stage: .deviceAuthorization)
        }
    }

    /// Shows the device code once it is issued.
    private func takeDeviceCode(_ device: inout DeviceRace, isOnlyWay: Bool) throws(OIDCError) {
        guard let result = device.requested?.value else { return }
        // The signal that ended the request also ends the wait.
        if case .failure(let error) = result, error.kind == .interrupted, Interruption.pending != nil {
            return
        }
        device.requested = nil
        let code = try withoutDeviceCode(isOnlyWay) { () throws(OIDCError) in
            let code = DeviceCodeWait(try result.get(), flow, deadline: deadline, notice: notice)
            notice(.device(code.authorization))
            return code
        }
        if let code { device.code = code }
    }

    /// Runs `body` and reports its failure, which ends the sign-in only if there is no other way to finish
    /// it.
    private func withoutDeviceCode<Value>(
        _ isOnlyWay: Bool, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value? {
        do throws(OIDCError) { return try body() } catch {
            guard error.kind != .interrupted, !isOnlyWay else { throw error }
            notice(.noDeviceCode(error))
            return nil
        }
    }

    /// Polls the device code when that is due. A refusal by the user ends the sign-in; if the code expired or
    /// the provider refuses it, the sign-in continues without it.
    private func request(
        _ device: inout DeviceCodeWait?, isOnlyWay: Bool, keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> SignInFlow.Outcome? {
        switch try device?.request(keep: keep) {
        case .signedIn(let outcome): return outcome
        case .ended(let error):
            guard !DevicePolling.isDeclined(error), !isOnlyWay else { throw error }
            notice(.noDeviceCode(error))
            device = nil
        case .pending, nil: break
        }
        return nil
    }

    private func page(_ result: Result<SignInFlow.Outcome, OIDCError>) -> HTTPResponse {
        switch result {
        case .success(let outcome):
            ResultPage.success(outcome.session, program: program)
        case .failure(let error):
            ResultPage.failure(error, issuer: flow.key.provider, program: program, words)
        }
    }
}
