import CommandLineKit
import OIDCCore
import OIDCSessions
import Posix

/// `oidc login` in two steps, for callers that cannot wait for a user: `--start`, `--finish` and `--cancel`.
extension LoginCommand {
    /// Checks the options of a command that does one of the steps.
    func validateSteps() throws(UsageError) {
        let steps = [
            ("--start", isFirstStep), ("--finish", isSecondStep), ("--cancel", isCanceling),
            ("--make-certificate", isMakingCertificate),
        ]
        let given = steps.filter(\.1).map(\.0)
        if given.count > 1 { throw UsageError("\(given[0]) and \(given[1]) cannot be used together") }
        if isMakingCertificate, operand != nil || !words.isEmpty {
            throw UsageError("--make-certificate takes no name and no URL")
        }
        if isWithoutWait, !isFirstStep { throw UsageError("--no-wait requires --start") }
        if isFirstStep, isWithoutBrowser {
            throw UsageError("--no-browser is not needed with --start, which opens none")
        }
        if isFirstStep, let timeout, timeout > WaitingSignIn.longest {
            throw UsageError("--start waits for at most \(WaitingSignIn.longest) seconds")
        }
        guard isSecondStep || isCanceling, let step = given.first else { return }
        if isCanceling, timeout != nil { throw UsageError("--timeout requires --start or --finish") }
        if isCanceling, !words.isEmpty { throw UsageError("--cancel takes one id") }
        if words.count > 1 { throw UsageError("--finish takes an id and a URL") }
        if isCanceling, let operand, !WaitingSignIns.isID(operand) {
            throw UsageError("--cancel takes the id of a sign-in")
        }
        let isOther =
            flow != nil || isWithoutBrowser || port != nil || prompt != nil || loginHint != nil
            || maxAge != nil
            || acrValues != nil || par != nil || bindsTokens || !parameters.isEmpty || isWithoutProfile
            || requestObjectOut != nil
            || (try? options.entries().isEmpty) != true || common.profile != nil || common.config != nil
        if isOther {
            throw UsageError("\(step) takes the settings of --start, so no others can be given")
        }
    }

    // MARK: --start

    /// Starts the sign-in, and prints what the user needs.
    func start(
        _ target: Target, _ evidence: ResourceOperand.Evidence, asked url: WebURL?, as name: String?
    ) throws(OIDCError) -> Int32 {
        let context = target.context
        let words = context.console.line.words
        // Checked before a client is registered, as the sign-in might not be able to wait.
        try WaitingSignIns(context.environment)?.checkCount(context) { url == nil || $0.askedURL == url }
        let (begun, _) = try target.signedIn(evidence, asked: url) { (signIn) throws(OIDCError) in
            try signIn.withOrWithoutResource { (signIn) throws(OIDCError) in
                try FirstStep(
                    signIn: signIn, name: name, words: words, mayWait: !isWithoutWait && flow != "paste"
                ).run()
            }
        }
        if context.console.isJSON {
            try context.console.output(begun.signIn.document(isWaiting: begun.isHeld))
        } else {
            try context.console.output(LoginCommand.text(begun.signIn, begun.isHeld, context))
        }
        return 0
    }

    private static func text(_ signIn: WaitingSignIn, _ isHeld: Bool, _ context: CommandContext) -> String {
        var blocks: [String] = []
        if let url = signIn.authorizationURL { blocks.append("Sign in at:\n\n  \(url.text)") }
        if let code = signIn.userCode, let page = signIn.verificationURI {
            let start = blocks.isEmpty ? "Open" : "Or open"
            blocks.append(
                "\(start) \(DisplayText.clean(page.text)) and enter the code "
                    + DeviceCodeText.shown(code))
        }
        let needsPaste = !isHeld && signIn.userCode == nil
        let line = ShellWord.line(["oidc", "login", "--finish", signIn.id])
        let time = TimeWords.relative(signIn.expiresAt, to: context.now)
        blocks.append(
            "Then run: \(line)\(needsPaste ? " 'URL THAT THE BROWSER WAS REDIRECTED TO'" : "")\nThis ends \(time)."
        )
        return blocks.joined(separator: "\n\n")
    }

    // MARK: --finish

    /// Finishes a sign-in: waits for its answer, or takes a pasted one.
    func finishStarted(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let signIns = try LoginCommand.signIns(context)
        let (id, pasted) = try named(signIns, context)
        guard let pasted else { return try awaitEnd(of: id, signIns, context) }
        let text =
            pasted == "-"
            ? String(decoding: try UserFile.readStandardInput(limit: 65_536), as: UTF8.self) : pasted
        let waiting = try found(id, signIns, context)
        guard waiting.phase == .waiting else { return try awaitEnd(of: id, signIns, context) }
        let step = try SecondStep(waiting, context)
        let answer = try step.checked(text)
        let lock: FileLock
        do throws(OIDCError) {
            lock = try signIns.takeOver(id, within: .seconds(min(60, timeout ?? 60)))
        } catch {
            guard error.kind != .interrupted, let last = try signIns.load(id), last.phase != .waiting else {
                throw error
            }
            guard last.phase == .redeeming else { return try awaitEnd(of: id, signIns, context) }
            throw LoginCommand.unfinished(last, context)
        }
        let current = try found(id, signIns, context)
        guard current.phase == .waiting else {
            lock.release()
            return try awaitEnd(of: id, signIns, context)
        }
        guard current.secrets == waiting.secrets else {
            throw .usage(
                "the sign-in \(id) was started again meanwhile, with another URL",
                hint: .run("login", "--finish", id))
        }
        let result = try step.use(answer, signIns)
        lock.release()
        return try conclude(result, context)
    }

    /// Waits until a sign-in has ended. If no other process waits for the answer, this one does.
    private func awaitEnd(
        of id: String, _ signIns: WaitingSignIns, _ context: CommandContext
    ) throws(OIDCError) -> Int32 {
        let limit = timeout.map { MonotonicTime.now().adding(seconds: Int64($0)) }
        var wasThere = false
        while true {
            let waiting: WaitingSignIn
            do throws(OIDCError) { waiting = try found(id, signIns, context) } catch {
                guard wasThere, error.kind == .usage else { throw error }
                throw OIDCError(
                    .failed, "the sign-in \(id) was canceled", hint: .signIn, stage: .authorization)
            }
            wasThere = true
            if let result = waiting.result { return try conclude(result, context) }
            if !signIns.isStarting(id), let lock = signIns.holdIfFree(id) {
                let rest = SignInRest()
                defer {
                    lock.release()
                    rest.finish(id, signIns)
                }
                let current = try found(id, signIns, context)
                if let result = try hold(current, signIns, context, until: limit, leaving: rest) {
                    return try conclude(result, context)
                }
            }
            try Interruption.throwIfPending()
            if let limit, MonotonicTime.now() >= limit {
                // The answer may have come since the last look.
                if let last = try signIns.load(id), last.result == nil, last.phase != .signedOut {
                    throw LoginCommand.unfinished(last, context)
                }
            } else {
                Poll.sleep(until: MonotonicTime.now().adding(milliseconds: 100))
            }
        }
    }

    /// Returns the error of a second step whose time limit has passed before the sign-in has its result.
    static func unfinished(_ waiting: WaitingSignIn, _ context: CommandContext) -> OIDCError {
        let message: String
        if waiting.phase == .redeeming {
            message = "the user has answered, and another process is finishing the sign-in \(waiting.id)"
        } else {
            let time = TimeWords.clock(waiting.end, now: context.now).map { " until \($0)" } ?? ""
            message = "nobody has answered yet, and the sign-in \(waiting.id) is open\(time)"
        }
        return OIDCError(
            .timedOut, message, hint: .run("login", "--finish", waiting.id), stage: .authorization)
    }

    /// Waits for the answer in this process, which holds the lock. Returns nil if another one is to do so.
    private func hold(
        _ waiting: WaitingSignIn, _ signIns: WaitingSignIns, _ context: CommandContext,
        until limit: MonotonicTime?, leaving rest: SignInRest
    ) throws(OIDCError) -> JSONValue? {
        switch waiting.phase {
        case .finished, .signedOut, .expired: return waiting.result
        case .redeeming:
            if let result = try SecondStep(waiting, context, secrets: []).stored(signIns) { return result }
            throw OIDCError(
                .failed, "the process that redeemed the answer of the sign-in \(waiting.id) was ended",
                hint: waiting.askedURL.map { .run("login", $0.text) } ?? .signIn, stage: .token)
        case .waiting: break
        }
        let step = try SecondStep(waiting, context, until: limit, leaving: rest)
        guard step.canWait else {
            throw .usage(
                "no process can receive the answer of the sign-in \(waiting.id): paste the URL that the browser was "
                    + "redirected to",
                hint: .run("login", "--finish", waiting.id, "-"))
        }
        do throws(OIDCError) {
            return try step.wait([], signIns)
        } catch {
            // Stopped for another process, or the time limit of this command, which the caller reports.
            if error.kind == .interrupted, Interruption.pending == nil { return nil }
            if error.kind == .timedOut { return nil }
            throw error
        }
    }

    /// Prints what `oidc login` would have printed.
    private func conclude(_ result: JSONValue, _ context: CommandContext) throws(OIDCError) -> Int32 {
        context.console.repeating(result["messages"]?.string ?? "")
        if let failure = result["error"].flatMap({ SharedFailure(stored: $0.bytes) }) { throw failure.error }
        if context.console.isJSON { try context.console.output(result["document"] ?? .null) }
        return 0
    }

    // MARK: --cancel

    /// Ends a sign-in.
    func cancel(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let signIns = try LoginCommand.signIns(context)
        let (id, _) = try named(signIns, context)
        guard let isEarly = try signIns.cancel(id, context) else { throw LoginCommand.unknown(id) }
        context.console.note(
            isEarly ? "Canceled the sign-in \(id)." : "The sign-in \(id) has ended already; it is forgotten.")
        if context.console.isJSON {
            try context.console.output(["id": .string(id), "canceled": .bool(isEarly)])
        }
        return 0
    }

    // MARK: Which sign-in

    private static func signIns(_ context: CommandContext) throws(OIDCError) -> WaitingSignIns {
        if let signIns = WaitingSignIns(context.environment) { return signIns }
        throw SessionStore.unavailable(context.environment).unavailability ?? unknown("")
    }

    private static func unknown(_ id: String) -> OIDCError {
        .usage("there is no sign-in \(DisplayText.quoted(id, limit: 80))", hint: .run("login", "--start"))
    }

    /// Returns the sign-in with an id. Throws if there is none, if it has expired, or if its session was signed out.
    private func found(
        _ id: String, _ signIns: WaitingSignIns, _ context: CommandContext
    ) throws(OIDCError) -> WaitingSignIn {
        guard let waiting = try signIns.load(id) else { throw LoginCommand.unknown(id) }
        guard waiting.result == nil else { return waiting }
        guard waiting.phase != .signedOut else {
            let words = ["--start"] + (waiting.askedURL.map { [$0.text] } ?? [])
            throw OIDCError(
                .loginRequired, "the sign-in \(id) is finished, and its session was signed out",
                hint: .run("login", words), stage: .authorization)
        }
        guard !waiting.hasEnded(at: context.now) || signIns.isHeld(id) else {
            throw OIDCError(
                .timedOut, "the sign-in \(id) has expired", hint: .run("login", "--start"),
                stage: .authorization)
        }
        return waiting
    }

    /// Returns the id and the pasted URL of the operands; without an id, that of the only sign-in that waits.
    private func named(
        _ signIns: WaitingSignIns, _ context: CommandContext
    ) throws(OIDCError) -> (id: String, pasted: String?) {
        if let operand, operand != "-", !operand.includes("://"), !operand.includes("=") {
            return (operand, words.first)
        }
        guard words.isEmpty else {
            throw .usage(
                "the id of the sign-in comes before the URL", hint: .run("help login"))
        }
        let all = signIns.all()
        let open = all.filter { $0.isOpen(at: context.now) || $0.phase == .redeeming }
        let candidates =
            open.isEmpty ? all.filter { $0.result != nil || $0.phase == .signedOut } : open
        if candidates.count == 1 { return (candidates[0].id, operand) }
        guard !candidates.isEmpty else {
            throw .usage("no sign-in is waiting", hint: .run("login", "--start"))
        }
        let step = isCanceling ? "--cancel" : "--finish"
        throw .usage(
            "several sign-ins are waiting: \(candidates.map(\.id).joined(separator: ", "))",
            hint: .alternatives(candidates.prefix(3).map { .run("login", step, $0.id) }))
    }
}
