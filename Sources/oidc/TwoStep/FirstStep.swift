import LoopbackHTTP
import OIDCCore
import OIDCCrypto
import OIDCSessions
import OIDCSignIn
import Posix

/// The first step of a sign-in in two: the requests before the user is asked, and the process that waits for
/// the answer.
struct FirstStep {
    let signIn: SignIn
    /// The name of the profile to create.
    let name: String?
    /// The words of the command line.
    let words: [String]
    /// Whether a process may wait for the answer after the command has ended.
    let mayWait: Bool

    private var provider: ProviderContext { signIn.provider }
    private var context: CommandContext { provider.context }
    private var settings: SignInSettings { signIn.settings }
    private var account: Account { signIn.account }

    /// Returns the sign-in, and whether a process waits for its answer.
    func run() throws(OIDCError) -> (signIn: WaitingSignIn, isHeld: Bool) {
        try signIn.refuseMachine("login")
        try provider.settings.checkSecurityProfile()
        guard let signIns = WaitingSignIns(context.environment), account.store.reach != .process else {
            if let error = account.store.unavailability { throw error }
            throw .usage(
                "store is none, and a sign-in in two steps needs a place for its session",
                hint: .options(["--set", "store=file"]))
        }
        let id = try WaitingSignIn.id(of: account.key)
        // Checked again when it is saved; here too, so no request is sent if too many wait.
        try signIns.checkCount(context) { $0.id == id }
        try signIn.probe()
        let environment = provider.environment(over: try provider.transport())
        try checkFiles()
        let metadata = try provider.metadata(environment, for: signIn.needed)
        provider.traceFlow(metadata, opensBrowser: false)
        var flow = try signIn.login(metadata, environment)
        flow.pin(to: try? account.store.load(account.key))
        if settings.flow != .device { try signIn.checkMixUp(metadata) }
        signIn.announce(metadata, flow.request.scope, isDevice: settings.flow == .device)
        signIn.noteUse(issuer: metadata.issuer, tokenEndpoint: metadata.tokenEndpoint)
        return try signIns.starting(id) { () throws(OIDCError) in try begin(id, flow, metadata, signIns) }
    }

    private func begin(
        _ id: String, _ flow: SignInFlow, _ metadata: ProviderMetadata, _ signIns: WaitingSignIns
    ) throws(OIDCError) -> (signIn: WaitingSignIn, isHeld: Bool) {
        let lock = try signIns.takeOver(id)
        let earlier = try signIns.load(id)
        let listener = try listener()
        defer { for descriptor in listener?.descriptors ?? [] { descriptor.close() } }
        var waiting = try begun(flow, metadata, listener)
        let sealed = try waiting.secrets.map { secrets throws(OIDCError) in
            try account.store.sealed(secrets, of: account.key)
        }
        waiting.secrets = sealed
        do throws(OIDCError) {
            // Requests and keychain prompts are outside, as they would hold up other first steps.
            try signIns.withCount { () throws(OIDCError) in
                try signIns.checkCount(context) { $0.id == id }
                try signIns.save(waiting)
            }
        } catch {
            if let sealed { account.store.forget(sealed) }
            throw error
        }
        if let earlier { signIns.forgetSecrets(of: earlier, context) }
        lock.release()
        guard mayWait, listener != nil || waiting.userCode != nil else { return (waiting, false) }
        do throws(Errno) {
            try WaitingProcess.start(for: waiting, listener, RecordedSettings.secrets(of: provider.settings))
        } catch {
            context.console.warn("no process can wait for the answer: \(error)")
            return (waiting, false)
        }
        return (waiting, signIns.becomesReady(id, within: 5_000))
    }

    /// Refuses files that only this process can read, as the shell's `<(…)` makes them.
    private func checkFiles() throws(OIDCError) {
        let own = ["/dev/fd/", "/dev/stdin", "/proc/self/fd/"]
        for entry in provider.settings.layers.entries {
            guard case .path = entry.setting.kind, let path = entry.value.string,
                own.contains(where: path.hasPrefix)
            else { continue }
            throw .usage(
                "\(entry.setting.name): \(DisplayText.clean(path)) ends with this command, and the second step "
                    + "reads it",
                hint: .text("name a file"))
        }
    }

    /// Binds the listener, unless the answer can only be pasted. The browser may connect before the waiting
    /// process runs.
    private func listener() throws(OIDCError) -> LoopbackListener? {
        guard mayWait, settings.flow != .device else { return nil }
        let redirect = try settings.redirect()
        guard let address = redirect.loopback else { return nil }
        _ = try redirect.identity(at: context.now)
        do throws(OIDCError) {
            let listener = try PortHandover.bind(address, context.portHandover) {
                (address) throws(OIDCError) in try LoopbackListener(address)
            }
            if let warning = redirect.exposure(port: listener.port) { context.console.warn(warning) }
            if redirect.route == nil, !context.console.isJSON,
                let advice = SignInReporter.advice(listener.port, redirect.text, context.environment)
            {
                context.console.note(advice + "\n")
            }
            return listener
        } catch {
            context.console.warn(
                "\(error.message); the URL that the browser is redirected to has to be pasted")
            return nil
        }
    }

    /// Makes the requests. The secrets are not sealed yet.
    private func begun(
        _ flow: SignInFlow, _ metadata: ProviderMetadata, _ listener: LoopbackListener?
    ) throws(OIDCError) -> WaitingSignIn {
        var pending: PendingAuthorization?
        var pushed: PushedAuthorization?
        if settings.flow != .device {
            let redirect = try settings.redirect()
            let port = listener?.port ?? redirect.loopback?.ports.candidates.first
            (pending, pushed) = try flow.start(
                redirectURI: port.map { redirect.text(port: $0 == 0 ? .random(in: 49_152...65_535) : $0) }
                    ?? redirect.text)
        }
        let device = try deviceCode(flow, metadata)
        if let device {
            let origin = DeviceCodeText.Origin(
                clientID: flow.request.client.id, machine: Platform.hostName,
                provider: WebURL.ofIssuer(metadata.issuer ?? flow.tokenEndpoint.url.text))
            StandardError.write(WrappedText(.standardError).text(origin.warning(device)))
        }
        let now = context.now
        let asked = settings.layers[.timeout] == nil ? WaitingSignIn.longest : settings.timeout
        var end = now.adding(min(asked, WaitingSignIn.longest))
        if pending == nil, let device { end = min(end, device.expiresAt) }
        var waiting = try WaitingSignIn(
            of: account.key, askedURL: signIn.askedURL, until: end, plan: plan(flow.tokenEndpoint.url))
        waiting.expiresAt = min(end, pushed?.expiresAt ?? end)
        waiting.authorizationURL = pending.map { pushed?.url ?? $0.url }
        waiting.redirectURI = pending?.redirectURI
        waiting.verificationURI = device?.verificationURI
        waiting.verificationURIComplete = device?.verificationURIComplete
        waiting.userCode = device?.userCode
        var secrets = JSONObject()
        secrets["pending"] = pending?.json
        secrets["device"] = device?.json
        secrets["dpop_key"] = flow.tokenEndpoint.dpop.map { .string($0.pem.revealed) }
        secrets["settings"] = .array(RecordedSettings.kept(of: provider.settings).map(\.recorded))
        // If the secrets are sealed, someone who can write the file cannot change where the code is sent.
        secrets["plan"] = .string(waiting.planDigest)
        waiting.secrets = JSONValue.object(secrets).bytes
        return waiting
    }

    /// Requests a device code if that is the flow, or if the flow offers one as well.
    private func deviceCode(
        _ flow: SignInFlow, _ metadata: ProviderMetadata
    ) throws(OIDCError) -> DeviceAuthorization? {
        switch settings.flow {
        case .device:
            if let error = signIn.deviceMixUp(metadata) { throw error }
            return try flow.requestDeviceCode()
        case .browser, .paste: return nil
        case .auto:
            guard metadata.deviceAuthorizationEndpoint != nil, signIn.deviceMixUp(metadata) == nil else {
                return nil
            }
            do throws(OIDCError) { return try flow.requestDeviceCode() } catch {
                guard error.kind != .interrupted else { throw error }
                context.console.note(SignInReporter.withoutDeviceCode(error))
                return nil
            }
        }
    }

    private func plan(_ tokenEndpoint: WebURL) -> JSONValue {
        var object = JSONObject()
        object["settings"] = RecordedSettings(provider.settings).json
        object["target"] = provider.target?.recorded
        object["finder"] = provider.referrer.map { .object($0.recorded) }
        object["profile"] = JSONValue(context.common.profile)
        object["configuration"] = JSONValue(context.common.config.map { UserFile.absolute(context.path($0)) })
        object["keeps_profile"] = .bool(context.keepsProfile)
        object["makes_configuration"] = .bool(context.makesConfiguration)
        object["makes_profile"] = .bool(context.makesProfile)
        object["name"] = JSONValue(name)
        object["words"] = .array(RecordedSettings.words(words).map { .string($0) })
        object["began_at"] = JSONValue(context.now.secondsSinceEpoch)
        object["token_endpoint"] = .string(tokenEndpoint.text)
        return .object(object)
    }
}
