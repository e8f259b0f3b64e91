package import OIDCCore

/// A sign-in with a browser. It binds the listener, opens the URL, waits for the redirect, a pasted URL or
/// the approval of a device code, redeems the first that arrives, and shows the result in the browser.
///
/// One thread does all of it, so only one answer is ever redeemed: callbacks wait in the kernel while the
/// device code is polled, and the device code is not polled after another answer.
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
    /// Called every second; true ends the wait with an error of kind `interrupted`.
    package var isCancelled: () -> Bool = { false }
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
        let server = try listener()
        defer { server?.close() }
        let port = server?.port ?? redirect.loopback?.ports.candidates.first
        // Without a listener, any port will do (RFC 8252 §7.3).
        let redirectURL =
            port.map { redirect.text(port: $0 == 0 ? .random(in: 49_152...65_535) : $0) } ?? redirect.text
        let (pending, url) = try flow.begin(redirectURI: redirectURL)
        let browser = announce(url, server)
        var receiver = RedirectReceiver(
            pending: pending, path: redirect.path, server: server, program: program, words: words,
            warn: { notice(.warning($0)) },
            onStray: { notice(.strayRequest($0)) })
        let arrival: RedirectReceiver.Arrival
        switch try receive(&receiver, browser, keep: keep) {
        case .signedIn(let outcome): return outcome
        case .redirected(let redirected): arrival = redirected
        }
        if let connection = arrival.connection { receiver.sendToResult(connection) }
        notice(.answered)
        let result = Result { () throws(OIDCError) in
            let code = try arrival.code.get()
            return try Interruption.postponedOnceRedeeming { () throws(OIDCError) in
                let outcome = try flow.finish(code)
                try keep(outcome)
                return outcome
            }
        }
        if arrival.connection != nil { receiver.finish(showing: page(result)) }
        return try result.get()
    }

    /// Binds the listener if the redirect comes back to this machine. If no browser is opened here and the
    /// sign-in can finish in another way, a failure is only a warning; else it waits for one of several ports.
    private func listener() throws(OIDCError) -> LoopbackServer? {
        guard let address = redirect.loopback else { return nil }
        do throws(OIDCError) { return try listen(address) } catch {
            guard browser == nil, readsInput || offersDeviceCode else {
                guard case .firstFree(let ports) = address.ports, ports.count > 1, address.isInUse else {
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
            guard !isCancelled() else { throw OIDCError(.interrupted, "canceled", stage: .authorization) }
            let now = MonotonicTime.now()
            guard now < deadline else {
                let list = ports.map(String.init).joined(separator: ", ")
                throw OIDCError(
                    .timedOut, "ports \(list) on \(address.host.text) stayed in use by other sign-ins",
                    hint: .advice(.choosePort), stage: .authorization)
            }
            var interests = Interruption.wakeUpDescriptor.map { [Poll.Interest($0, .reading)] } ?? []
            Poll.wait(&interests, until: min(deadline, now.adding(milliseconds: 200)))
            do throws(OIDCError) { return try listen(address) } catch {
                guard address.isInUse else { throw error }
            }
        }
    }

    private func announce(_ url: WebURL, _ server: LoopbackServer?) -> Browser? {
        // Without a listener or a prompt nothing receives the code, and another program may own the port.
        guard server != nil || readsInput else { return nil }
        notice(.url(url))
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
        if readsInput { notice(.pasteOffered(isOnlyWay: server == nil && !offersDeviceCode)) }
        return opened
    }

    private enum Answer {
        case redirected(RedirectReceiver.Arrival)
        /// The device code was approved.
        case signedIn(SignInFlow.Outcome)
    }

    private func receive(
        _ receiver: inout RedirectReceiver, _ browser: Browser?,
        keep: (SignInFlow.Outcome) throws(OIDCError) -> Void
    ) throws(OIDCError) -> Answer {
        let (pending, server) = (receiver.pending, receiver.server)
        var input = readsInput ? TerminalInput() : nil
        defer {
            input?.release()
            server?.answerRejection = nil
        }
        var browser = browser
        let isOnlyWay = server == nil && input == nil
        var (device, requested): (DeviceCodeWait?, DeviceCodeRequest?)
        if offersDeviceCode {
            requested = try withoutDeviceCode(isOnlyWay) { () throws(OIDCError) in try requestDeviceCode() }
        }
        var outcome: SignInFlow.Outcome?
        var silenceEnd: MonotonicTime? = .now().adding(milliseconds: silence)
        let arrival = try receiver.wait(
            until: deadline, reading: &input, isTerminal: Terminal.isTerminal(.standardInput)
        ) { (pastedCount) throws(OIDCError) in
            guard !isCancelled() else { throw OIDCError(.interrupted, "canceled", stage: .authorization) }
            if let failure = browser?.check() { notice(.notOpened(reason: failure.message)) }
            let canRedirect = server != nil || pastedCount != nil
            if let code = try deviceCode(&requested, isOnlyWay: !canRedirect) { device = code }
            outcome = try request(&device, isOnlyWay: !canRedirect, keep: keep)
            guard outcome == nil else { return nil }
            guard canRedirect || device != nil || requested != nil else {
                throw RedirectReceiver.nothingPasted
            }
            let now = MonotonicTime.now()
            if let end = silenceEnd, now >= end, device == nil, requested == nil {
                silenceEnd = nil
                notice(.unanswered(redirectURL: pending.redirectURI, clientID: pending.clientID))
            }
            let left = deadline.milliseconds(from: now)
            notice(.waiting(secondsLeft: (left + 999) / 1_000, pastedCount: pastedCount))
            return requested == nil ? device?.nextRequest ?? deadline : now.adding(milliseconds: 50)
        }
        if let outcome {
            receiver.finishUnawaited(showing: page(.success(outcome)))
            return .signedIn(outcome)
        }
        guard let arrival else { throw RedirectReceiver.nothingPasted }
        return .redirected(arrival)
    }

    /// A request for a device code on a thread of its own, so a slow provider does not delay the rest of the sign-in.
    /// An abandoned request has no effect: the code is never shown, and obtains no tokens.
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
    private func deviceCode(
        _ requested: inout DeviceCodeRequest?, isOnlyWay: Bool
    ) throws(OIDCError) -> DeviceCodeWait? {
        guard let result = requested?.value else { return nil }
        // The signal that ended the request also ends the wait.
        if case .failure(let error) = result, error.kind == .interrupted, Interruption.pending != nil {
            return nil
        }
        requested = nil
        return try withoutDeviceCode(isOnlyWay) { () throws(OIDCError) in
            let code = DeviceCodeWait(try result.get(), flow, deadline: deadline, notice: notice)
            notice(.device(code.authorization))
            return code
        }
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
        guard let next = device?.nextRequest, next <= .now() else { return nil }
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
