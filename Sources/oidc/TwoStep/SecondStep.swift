import CommandLineKit
import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import OIDCSessions
import OIDCSignIn
import OIDCAccount
import Posix

/// The second step of a sign-in in two: waits for the answer or takes a pasted one, redeems it, and stores
/// the session.
struct SecondStep {
    let waiting: WaitingSignIn
    let account: Account
    /// The context of the first step, with its output kept.
    private let context: CommandContext
    private let transcript = Transcript()
    private let plan: JSONValue
    /// The end of the sign-in.
    private let deadline: MonotonicTime
    /// The end of this process's wait for the answer. Once the answer is there, it is redeemed.
    private let waitLimit: MonotonicTime
    /// The work that remains after the sign-in, once its lock is released.
    private let rest: SignInRest

    /// Creates the second step. `secrets` are those that the first step was given as values; nil to look for
    /// them. `rest` gets the work that remains after `wait`.
    init(
        _ waiting: WaitingSignIn, _ own: CommandContext, secrets: [SettingLayers.Entry]? = nil,
        until limit: MonotonicTime? = nil, leaving rest: SignInRest = SignInRest()
    ) throws(OIDCError) {
        self.waiting = waiting
        self.rest = rest
        plan = waiting.plan
        guard let settings = plan["settings"].flatMap({ RecordedSettings($0) }) else {
            throw SecondStep.damaged(waiting)
        }
        let left = max(0, min(waiting.end.seconds(since: own.now), WaitingSignIn.longest))
        let end = MonotonicTime.now().adding(seconds: left)
        deadline = end
        waitLimit = limit.map { min($0, end) } ?? end
        context = SecondStep.context(plan, own, transcript)
        let found = if let secrets { secrets } else { try SecondStep.secrets(settings, context) }
        account = try SecondStep.account(settings, found, plan, context, deadline)
        guard account.key.text == waiting.key else { throw SecondStep.damaged(waiting) }
    }

    private static func damaged(_ waiting: WaitingSignIn) -> OIDCError {
        .store(
            "the file of the sign-in \(waiting.id) is damaged", hint: .run("login", "--cancel", waiting.id))
    }

    private static func account(
        _ recorded: RecordedSettings, _ secrets: [SettingLayers.Entry], _ plan: JSONValue,
        _ context: CommandContext, _ deadline: MonotonicTime
    ) throws(OIDCError) -> Account {
        let settings = recorded.settings(with: secrets, home: context.environment["HOME"])
        let target = plan["target"].flatMap { ResourceTarget(recorded: $0, context) }
        let referrer = plan["finder"].flatMap { ResourceOperand(recorded: $0, context) }
        return try Account(
            ProviderContext(settings, context, until: deadline, target: target, referrer: referrer))
    }

    /// Returns the context of the first step in this process.
    private static func context(
        _ plan: JSONValue, _ own: CommandContext, _ transcript: Transcript
    ) -> CommandContext {
        var common = CommonOptions()
        common.profile = plan["profile"]?.string
        common.config = plan["configuration"]?.string
        common.format = .json
        common.isVerbose = own.common.isVerbose
        let words = (plan["words"]?.array ?? []).compactMap(\.string)
        var line = InvokedLine(common)
        if case .run(let command, let path)? = try? Program.oidc.parse(words),
            let command = command as? any RunnableCommand
        {
            line = InvokedLine(command, path: path, words: words, environment: own.environment)
        }
        var console = Console(common, line: line)
        console.transcript = transcript
        var context = CommandContext(console: console, environment: own.environment, common: common)
        context.ownsTerminal = false
        context.keepsProfile = plan["keeps_profile"]?.bool ?? false
        context.makesConfiguration = plan["makes_configuration"]?.bool ?? false
        context.makesProfile = plan["makes_profile"]?.bool ?? false
        return context
    }

    /// Returns the secrets that the first step did not write down, from variables and the profile.
    private static func secrets(
        _ settings: RecordedSettings, _ context: CommandContext
    ) throws(OIDCError) -> [SettingLayers.Entry] {
        guard !settings.secrets.isEmpty else { return [] }
        var loader = context.settingsLoader
        loader.profileName = settings.profile
        let found = try loader.load().layers.given
        let destination = Destination(chosen: settings.entries)
        var secrets: [SettingLayers.Entry] = []
        for name in settings.secrets {
            // What is set now may belong to another provider or client.
            let own = found.first { $0.setting.name == name && $0.mayReach(destination) }
            guard let secret = own else {
                let variable = Setting.named(name)?.variable ?? name
                throw .usage(
                    "\(name) was given as a value, which is not written down, and is needed again",
                    hint: .text("set \(variable)"))
            }
            secrets.append(secret)
        }
        return secrets
    }

    // MARK: The answer

    /// The meaning of a pasted URL.
    enum PastedAnswer {
        /// A code, and the sign-in that redeems it.
        case code(AuthorizationCode, Continued)
        case refusal(OIDCError)
    }

    /// Checks a pasted URL, and prepares its redemption. An error does not end the sign-in: another URL, or
    /// another attempt, may succeed.
    func checked(_ text: String) throws(OIDCError) -> PastedAnswer {
        guard let pending = try opened().begun.pending else {
            throw .usage(
                "the sign-in \(waiting.id) has a code for another device, and no URL to paste",
                hint: .run("login", "--finish", waiting.id))
        }
        // The signature of an answer is checked with the provider's keys.
        let signed = pending.responseMode.isSigned ? try continued() : nil
        let code: AuthorizationCode
        do throws(OIDCError) { code = try (signed?.begun.pending ?? pending).acceptPasted(text) } catch {
            guard error.kind == .refused else { throw error }
            return .refusal(error)
        }
        if let signed { return .code(code, signed) }
        return .code(code, try continued())
    }

    /// Uses a pasted URL, and returns the result once it is kept. Signals are postponed meanwhile, as the
    /// code is single-use. The caller holds the lock.
    func use(_ answer: PastedAnswer, _ signIns: WaitingSignIns) throws(OIDCError) -> JSONValue {
        try Interruption.postponed { () throws(OIDCError) in
            switch answer {
            case .refusal(let error):
                return try kept(result { () throws(OIDCError) in throw error }, signIns)
            case .code(let code, let continued):
                do throws(OIDCError) { try continued.signIn.checkMixUp(continued.metadata) } catch {
                    guard error.kind == .untrusted else { throw error }
                    return try use(.refusal(error), signIns)
                }
                // Written before the request, so a second process never sends the same code.
                try markRedeeming(signIns)
                return try kept(
                    result { () throws(OIDCError) in
                        try finished(continued) { (engine, flow) throws(OIDCError) in
                            try engine.signIn(by: RedirectedURL(flow: flow, code: code))
                        }
                    }, signIns)
            }
        }
    }

    /// Whether this process can receive the answer without a pasted URL.
    var canWait: Bool { waiting.userCode != nil || loopback != nil }

    private var loopback: LoopbackAddress? {
        waiting.redirectURI.flatMap { try? account.provider.settings.signIn.redirect(bound: $0) }?.loopback
    }

    /// Waits for the answer, at the listener or the device endpoint, and returns the result once it is kept.
    /// Throws if the wait ended and the sign-in did not. Signals are postponed once the answer has arrived:
    /// `--finish` returns the sign-in's own result. The caller holds the lock.
    func wait(_ descriptors: [FileDescriptor], _ signIns: WaitingSignIns) throws(OIDCError) -> JSONValue {
        let continued = try continued()
        var ready = waiting
        ready.isReady = true
        try signIns.save(ready)
        var hasAnswer = false
        let answered = { () in
            if !hasAnswer { Interruption.postpone() }
            hasAnswer = true
            try? markRedeeming(signIns)
        }
        defer { if hasAnswer { Interruption.endPostponement() } }
        var (unfinished, isExpired) = (OIDCError?.none, false)
        let result = result { () throws(OIDCError) in
            do throws(OIDCError) { return try waited(continued, descriptors, signIns, answered) } catch {
                // Without an answer, the failure is this process's: another one may receive the answer.
                let isEarly = error.kind == .timedOut && waiting.end > context.now
                let isOwn = [.interrupted, .failed, .usage].contains(error.kind) || isEarly
                if !hasAnswer, isOwn { unfinished = error }
                isExpired = !hasAnswer && error.kind == .timedOut && !isEarly
                throw error
            }
        }
        if let unfinished { throw unfinished }
        return try kept(result, signIns, as: isExpired ? .expired : .finished)
    }

    private func waited(
        _ continued: Continued, _ descriptors: [FileDescriptor], _ signIns: WaitingSignIns,
        _ answered: @escaping () -> Void
    ) throws(OIDCError) -> (Session, Account) {
        let reporter = continued.signIn.reporter(continued.flow, continued.metadata)
        let id = waiting.id
        let notice = { (notice: SignInNotice) in
            switch notice {
            case .answered: answered()
            case .warning, .strayRequest: reporter.report(notice)
            default: break
            }
        }
        return try finished(continued) { (engine, flow) throws(OIDCError) in
            guard let text = waiting.redirectURI else {
                var way = DeviceSignIn(flow: flow, deadline: waitLimit, notice: notice)
                way.begun = continued.begun.device
                way.leave = rest.add
                (way.isCancelled, way.pause) = ({ signIns.isStopped(id) }, SecondStep.pause)
                return try engine.signIn(by: way)
            }
            var way = BrowserSignIn(
                flow: flow, redirect: try continued.signIn.settings.redirect(bound: text), readsInput: false,
                browser: nil, environment: continued.signIn.provider.childEnvironment, deadline: waitLimit,
                notice: notice)
            way.claim = { () throws(OIDCError) in
                // The user may have signed in elsewhere meanwhile.
                try continued.signIn.checkMixUp(continued.metadata)
                try markRedeeming(signIns)
            }
            way.begun = continued.begun
            if let loopback, let port = loopback.ports.candidates.first, !descriptors.isEmpty {
                way.begun?.listener = LoopbackListener(descriptors, loopback.host, port: port)
            }
            (way.isCancelled, way.pause) = ({ signIns.isStopped(id) }, SecondStep.pause)
            (way.lingers, way.program, way.words) = (true, "oidc", \.commandLine)
            way.leave = rest.add
            way.handover = context.portHandover
            return try engine.signIn(by: way)
        }
    }

    /// The milliseconds between two checks whether the sign-in was canceled.
    private static let pause: Int64 = 250

    // MARK: The sign-in of the first step

    /// A sign-in whose first requests were made, with what its answer is checked against.
    typealias Continued = (
        signIn: SignIn, account: Account, flow: SignInFlow, metadata: ProviderMetadata, begun: BegunSignIn
    )

    private func opened() throws(OIDCError) -> (begun: BegunSignIn, secrets: JSONValue) {
        guard let sealed = waiting.secrets else { throw SecondStep.damaged(waiting) }
        let plain = try account.store.opened(sealed, of: account.key)
        guard let secrets = try? JSONValue(parsing: plain), secrets["plan"]?.string == waiting.planDigest
        else {
            throw SecondStep.damaged(waiting)
        }
        var begun = BegunSignIn(
            pending: nil, device: secrets["device"].flatMap { DeviceAuthorization(json: $0) })
        if let pending = secrets["pending"] {
            var pending = try PendingAuthorization(json: pending)
            pending.rejectsErrorsWithoutIssuer = account.provider.settings.resource != nil
            begun.pending = pending
        }
        return (begun, secrets)
    }

    private func continued() throws(OIDCError) -> Continued {
        var (begun, secrets) = try opened()
        var account = account
        let kept = (secrets["settings"]?.array ?? []).compactMap { SettingLayers.Entry(recorded: $0) }
        if !kept.isEmpty, let settings = plan["settings"].flatMap({ RecordedSettings($0) }) {
            let given = RecordedSettings.secrets(of: account.provider.settings)
            account = try SecondStep.account(settings, given + kept, plan, context, deadline)
        }
        let signIn = SignIn(account)
        let provider = account.provider
        let environment = provider.environment(over: try provider.transport())
        let metadata = try provider.metadata(environment, for: signIn.needed)
        var dpop: DPoPKey?
        if let pem = secrets["dpop_key"]?.string { dpop = try DPoPKey(pem: Redacted(pem)) }
        var flow = try signIn.login(metadata, environment, dpop: dpop)
        flow.pin(to: try? account.store.load(account.key))
        let expected = plan["token_endpoint"]?.string ?? ""
        guard ExactText.isSame(flow.tokenEndpoint.url.text, expected) else {
            throw .untrusted(
                .discovery, "token_endpoint", expected: "\(expected), as when the sign-in was started",
                found: flow.tokenEndpoint.url.text, hint: .signIn)
        }
        if var pending = begun.pending {
            try flow.addResponseRules(to: &pending)
            begun.pending = pending
        }
        return (signIn, account, flow, metadata, begun)
    }

    private func finished(
        _ continued: Continued,
        _ body: (AccountEngine, SignInFlow) throws(OIDCError) -> SignInFlow.Outcome
    ) throws(OIDCError) -> (Session, Account) {
        let (signIn, account, flow, metadata, _) = continued
        do throws(OIDCError) {
            let outcome: SignInFlow.Outcome
            do throws(OIDCError) { outcome = try body(signIn.engine, flow) } catch {
                guard let text = waiting.redirectURI,
                    let redirect = try? signIn.settings.redirect(bound: text)
                else {
                    throw error
                }
                throw signIn.explained(error, flow.request.scope, redirect)
            }
            return (try signIn.completed(outcome, metadata), account)
        } catch {
            let provider = account.provider
            let url = provider.target == nil ? waiting.askedURL?.text : nil
            let line = url.map { Hint.run("login", $0) } ?? provider.settings.sameLoginLine
            throw provider.registeringAgain(provider.naming(error.signingInAgain(by: line)))
        }
    }

    /// Takes the secrets out of the file, before the answer is redeemed.
    private func markRedeeming(_ signIns: WaitingSignIns) throws(OIDCError) {
        try signIns.save(waiting.without(secretsIn: .redeeming))
        if let secrets = waiting.secrets { account.store.forget(secrets) }
    }

    // MARK: The result

    /// Returns the result of a process that was killed after it stored the session; nil if it did not get
    /// that far.
    func stored(_ signIns: WaitingSignIns) throws(OIDCError) -> JSONValue? {
        guard let began = plan["began_at"]?.integer, let session = try account.load(),
            session.createdAt.secondsSinceEpoch >= began
        else { return nil }
        return try kept(result { () throws(OIDCError) in (session, account) }, signIns)
    }

    /// Returns what `oidc login` would have printed after `body`.
    private func result(_ body: () throws(OIDCError) -> (Session, Account)) -> JSONValue {
        do throws(OIDCError) {
            try LoginCommand.report(try body(), as: plan["name"]?.string)
            return [
                "document": transcript.document ?? .null, "messages": .string(transcript.messages),
            ]
        } catch {
            var error = error
            // The options of the first step are known here only.
            error.hint = error.hint.map { .text(context.console.line.text($0)) }
            let failure = SharedFailure(
                error: error, time: context.now, id: waiting.id, refreshTokenHash: nil)
            return ["error": failure.json, "messages": .string(transcript.messages)]
        }
    }

    /// Stores a result, and returns it.
    private func kept(
        _ result: JSONValue, _ signIns: WaitingSignIns, as phase: WaitingSignIn.Phase = .finished
    ) throws(OIDCError) -> JSONValue {
        var finished = waiting.without(secretsIn: phase)
        if phase == .finished { finished.result = result }
        try signIns.save(finished)
        if let secrets = waiting.secrets { account.store.forget(secrets) }
        return result
    }
}

/// The poll for a device code that had no answer when the sign-in was canceled or answered in another way. It is settled
/// last, once the sign-in's lock is released for whoever waits for it.
final class SignInRest {
    private var poll: UnansweredPoll?

    func add(_ poll: UnansweredPoll) { self.poll = poll }

    /// Waits for the answer. Before its tokens are revoked, waits until another process that took over the
    /// sign-in has stored its session: then they must not be revoked.
    func finish(_ id: String, _ signIns: WaitingSignIns) {
        poll?.settle { _ = try? signIns.hold(id, within: .seconds(35)) }
        poll = nil
    }
}
