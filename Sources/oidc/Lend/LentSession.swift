import OIDCCore
import OIDCSessions
import OIDCShared
import OIDCAccount
import Posix

/// The socket of a session that another program lends.
enum LentSocket {
    static let variable = "OIDC_LENT"
    private static let start = "lent:"

    /// Returns the path in a value of the setting `store`; nil for any other store.
    static func path(inSetting setting: String) -> String? {
        guard setting.hasPrefix(start), setting.utf8.count > start.utf8.count else { return nil }
        return String(setting.dropFirst(start.count))
    }

    static func setting(_ path: String) -> String { start + path }
}

/// A session that another program lends, on the side that uses it: it gives access tokens, and signs proofs.
struct LentSession: Sendable {
    let path: String
    /// The lender's name for the profile; nil for the first one that is lent.
    let profile: String?
    let claim: LendRequest.Claim
    /// The provider's URLs in this side's settings.
    let named: [WebURL]

    init(
        path: String, profile: String?, naming given: [SettingLayers.Entry], environment: Variables,
        command: String?
    ) {
        self.path = SettingFile.path(path, home: environment["HOME"])
        self.profile = profile
        named = given.compactMap { entry in
            [.issuer, .tokenEndpoint].contains(entry.setting)
                ? entry.value.string.flatMap { WebURL($0) } : nil
        }
        claim = LendRequest.Claim(
            user: environment["USER"] ?? environment["LOGNAME"] ?? "user \(FileStatus.currentUser)",
            host: Platform.hostName ?? "?", command: command ?? "?")
    }

    /// Requests the terms. Several requests may have one deadline.
    func terms(until deadline: MonotonicTime? = nil) throws(OIDCError) -> LentTerms {
        try LentTerms(try answer(.terms, seconds: 30, until: deadline), named: named)
    }

    /// Requests an access token other than a refused one, or a new one if `isRenewed`, and returns it with
    /// the terms.
    func accessToken(
        scope: Scope?, minimumValidity: Int64, isRenewed: Bool = false, refused: Redacted<String>? = nil
    ) throws(OIDCError) -> (access: AccessToken, terms: LentTerms) {
        let reader = try answer(
            .accessToken(
                scope: scope, minimumValidity: minimumValidity, isRenewed: isRenewed, refused: refused),
            seconds: LentSession.tokenSeconds)
        guard let access = try reader.object("access") else { throw LentTerms.fault("access is missing") }
        return (
            try AccessToken(lent: access, at: Clock.now()), try LentTerms(reader, named: named)
        )
    }

    func idToken(minimumValidity: Int64, isRenewed: Bool) throws(OIDCError) -> IDToken {
        let reader = try answer(
            .idToken(minimumValidity: minimumValidity, isRenewed: isRenewed),
            seconds: LentSession.tokenSeconds)
        guard let token = try reader.string("id_token").flatMap({ IDToken.stored($0) }) else {
            throw LentTerms.fault("id_token is not an ID token")
        }
        return token
    }

    /// Requests a proof for a request with a token that was handed out.
    func proof(
        _ method: HTTPMethod, _ url: WebURL, nonce: String?, for token: Redacted<String>
    ) throws(OIDCError) -> String {
        let reader = try answer(.proof(method: method, url: url, nonce: nonce, token: token), seconds: 30)
        guard let proof = try reader.string("proof"), !proof.isEmpty,
            proof.utf8.allSatisfy({ ASCII.isVisible($0) })
        else { throw LentTerms.fault("proof is not printable ASCII") }
        return proof
    }

    /// The seconds that a lender may take for a token: it may have to refresh it, or to ask its user.
    private static let tokenSeconds: Int64 = 120

    // MARK: The exchange

    private func answer(
        _ matter: LendRequest.Matter, seconds: Int64, until deadline: MonotonicTime? = nil
    ) throws(OIDCError) -> JSONReader<OIDCError> {
        let request = LendRequest(profile: profile, claim: claim, matter: matter)
        let body: [UInt8]
        do throws(WireFault) {
            body = try exchange(
                Array(request.json.compact.utf8), until: deadline ?? .now().adding(seconds: seconds))
        } catch {
            throw unreachable(error, seconds)
        }
        guard let members = (try? JSONValue(parsing: body))?.object else {
            throw LentTerms.fault("it is not a JSON object")
        }
        if let error = members["error"]?.object { throw completed(OIDCError(lent: error)) }
        return JSONReader(members) { name, expected, _ in LentTerms.fault("\(name) is not \(expected)") }
    }

    /// Posts a request and returns the body of the answer.
    private func exchange(_ body: [UInt8], until deadline: MonotonicTime) throws(WireFault) -> [UInt8] {
        let wire = try SocketWire.connect(socket: path, until: deadline)
        try checkPeer(wire.peerUser)
        let head =
            "POST \(LendRequest.path) HTTP/1.1\r\nHost: \(LendRequest.host)\r\n"
            + "Content-Type: \(LendRequest.mediaType)\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n"
        try wire.send(Array(head.utf8) + body, until: deadline)
        var received: [UInt8] = []
        var end: Int?
        while true {
            received += try wire.receive(until: deadline)
            if end == nil { end = try LentSession.end(ofAnswer: received) }
            if let end, received.count >= end { return LentSession.body(received, end) }
            guard received.count <= LendRequest.answerLimit else { throw .broken("sent too much") }
        }
    }

    /// Refuses the socket of another user: its tokens and endpoints would be that user's.
    private func checkPeer(_ user: UInt32?) throws(WireFault) {
        let own = FileStatus.currentUser
        guard own != 0, user != own, user != 0 else { return }
        let name = user.map { "user \($0)" } ?? "an unknown user"
        throw .other(
            OIDCError(
                .refused,
                "the socket \(DisplayText.clean(path)) is that of \(name), who does not lend to this one",
                hint: "use a socket of your own, or of root", stage: .token))
    }

    /// Returns the length of an answer by its head; nil until that is complete.
    private static func end(ofAnswer bytes: [UInt8]) throws(WireFault) -> Int? {
        guard let head = head(bytes) else {
            guard bytes.count < headLimit else { throw .broken("sent something other than HTTP") }
            return nil
        }
        let text = String(decoding: bytes[..<head], as: UTF8.self)
        guard text.hasPrefix("HTTP/1.") else { throw .broken("sent something other than HTTP") }
        for line in text.pieces(between: "\r\n").dropFirst() {
            guard let (name, value) = line.parts(around: ":"),
                ASCII.isSameIgnoringCase(String(name), "content-length")
            else { continue }
            guard let length = Int(ASCII.trimmed(value)), (0...LendRequest.answerLimit).contains(length)
            else { break }
            return head + 4 + length
        }
        throw .broken("sent an answer without a length")
    }

    private static func body(_ bytes: [UInt8], _ end: Int) -> [UInt8] {
        Array(bytes[((head(bytes) ?? 0) + 4)..<end])
    }

    private static let headLimit = 8_192

    /// Returns the index of the empty line after the head.
    private static func head(_ bytes: [UInt8]) -> Int? {
        bytes.indices.prefix(headLimit).first { bytes[$0...].starts(with: [13, 10, 13, 10]) }
    }

    private func unreachable(_ fault: WireFault, _ seconds: Int64) -> OIDCError {
        let reason: String
        switch fault {
        case .broken(let text): reason = text
        case .slow: reason = "no answer within \(seconds) s"
        case .interrupted:
            return Interruption.pending.map(Interruption.error) ?? OIDCError(.interrupted, "interrupted")
        case .other(let error): return error
        }
        return OIDCError(
            .unreachable,
            "the session is lent, and its lender cannot be reached on \(DisplayText.clean(path)): \(reason)",
            hint: .text(
                "where the session is, run it again: oidc lend (for a session of your own here: unset "
                    + "\(LentSocket.variable))"),
            stage: .token, code: .noLender)
    }

    /// Returns a lender's error, with a hint for this side.
    private func completed(_ error: OIDCError) -> OIDCError {
        var error = error
        switch error.kind {
        case .loginRequired: error.hint = "sign in where the session is lent"
        case .unreachable: error.hint = .tryAgain(seconds: error.retryAfter)
        default: break
        }
        return error
    }
}

extension LentTerms {
    /// The session's location, for `status`.
    var location: String { "lent by \(lender)" }

    /// Returns the error for a command that only the session's owner can run.
    func refusal(of command: String) -> OIDCError {
        .usage(
            "this session is lent by \(lender) (profile \(DisplayText.clean(profile))): \(command) is for its owner",
            hint: .text("run it there, or, for a session of your own here: unset \(LentSocket.variable)"))
    }

    /// Returns the session without its tokens.
    func session(_ key: SessionKey, at now: Instant) -> Session {
        Session(
            key: key,
            endpoints: Session.Endpoints(
                issuer: issuer, token: tokenEndpoint, userInfo: userInfoEndpoint, keys: keysEndpoint),
            createdAt: now, requestedScope: scope,
            tokens: TokenSet(
                access: AccessToken(
                    token: Redacted(""), type: tokenType, obtainedAt: now,
                    expiresAt: tokenSeconds.map { now.adding($0) }, scope: scope)),
            subject: subject, displayName: displayName)
    }
}

/// The store of a session that is lent: there is nothing to read here, and nothing can be written.
struct LentRecords: RecordStore {
    let path: String

    var description: String { LentSocket.setting(path) }

    private var refusal: OIDCError {
        .usage(
            "the session is lent, and cannot be changed here", hint: .text("sign in where it is lent"))
    }

    func read(_ name: RecordName) throws(OIDCError) -> Record? { nil }

    func write(
        _ bytes: [UInt8], to name: RecordName, replacing current: Record?, lifetime: Duration?
    ) throws(OIDCError) -> Bool { throw refusal }

    func remove(_ name: RecordName, ifStill current: Record?) throws(OIDCError) -> Bool { throw refusal }
    func names(_ kind: RecordName.Kind) throws(OIDCError) -> [RecordName] { [] }

    func withLock<Value>(
        _ name: RecordName, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value { throw refusal }
}

/// The settings of a session that is lent: the lender's, and those of a local profile only if they are about
/// this machine.
extension SettingsLoader {
    /// Returns the socket that options or variables name.
    func lentSocket(_ options: [SettingLayers.Entry]) -> String? {
        if let option = options.first(where: { $0.setting == .store }) {
            return option.value.string.flatMap(LentSocket.path(inSetting:))
        }
        if let path = environment[LentSocket.variable], !path.isEmpty { return path }
        return environment[Setting.store.variable].flatMap(LentSocket.path(inSetting:))
    }

    /// Returns the lender's settings, which those that are given here override. `own` are those of a local
    /// profile that names the socket: those about a session must be the lender's, and those about this
    /// machine are used.
    func lentSettings(
        at path: String, _ given: [SettingLayers.Entry], profile name: String?,
        own: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> Settings {
        let session = LentSession(
            path: path, profile: name, naming: given + own, environment: environment, command: command)
        return try lentSettings(session.terms(), at: path, given, own: own)
    }

    func lentSettings(
        _ terms: LentTerms, at path: String, _ given: [SettingLayers.Entry], own: [SettingLayers.Entry] = []
    ) throws(OIDCError) -> Settings {
        let lent = LentTerms.settings.compactMap { setting in
            terms.settings[setting.name].map {
                SettingLayers.Entry(setting: setting, value: $0, origin: .profile(terms.profile))
            }
        }
        try LentTerms.refuseOthers(given + own, than: lent)
        let store = SettingLayers.Entry(
            setting: .store, value: .string(LentSocket.setting(path)), origin: .variable(LentSocket.variable))
        let others = given.filter { $0.setting != .store }
        let machine = own.filter { $0.setting.reach == .machine && $0.setting != .store }
        return Settings(
            SettingLayers(
                profile: terms.profile, isProfileNamed: profileName != nil, home: environment["HOME"],
                entries: [store] + others + lent + machine))
    }
}

extension LentTerms {
    /// The settings that tell one session from another.
    private static let identity: [Setting] = [
        .issuer, .tokenEndpoint, .clientID, .account, .audience, .resource,
    ]

    /// Refuses the token of another session than that of `settings`: another lender may serve on the socket by now, with a
    /// profile of the same name.
    fileprivate func check(isSessionOf settings: Settings) throws(OIDCError) {
        let isSame = LentTerms.identity.allSatisfy {
            settings.layers.entry($0)?.value == self.settings[$0.name]
        }
        guard !isSame else { return }
        throw OIDCError(
            .loginRequired,
            "another session is lent now, of \(DisplayText.clean(issuer ?? tokenEndpoint.text))",
            hint: "if that is the one you mean, run the command again", stage: .token)
    }

    /// Refuses an option or variable that names another session than the one that is lent.
    fileprivate static func refuseOthers(
        _ given: [SettingLayers.Entry], than lent: [SettingLayers.Entry]
    ) throws(OIDCError) {
        for entry in given where entry.setting == .grant || identity.contains(entry.setting) {
            guard lent.first(where: { $0.setting == entry.setting })?.value != entry.value else { continue }
            throw .usage(
                "\(entry.setting.name) (\(entry.origin.text)) is not that of the session that is lent here",
                hint: entry.origin.layer == .profile
                    ? "lend that session, or take store out of the profile, for a session of your own here"
                    : .text("leave it out, or, for a session of your own here: unset \(LentSocket.variable)"))
        }
    }
}

/// The commands that use a session that is lent.
extension Account {
    func lentToken(
        _ lent: LentSession, _ demand: TokenDemand, isRenewed: Bool = false,
        refused: SessionTokens.Delivery? = nil
    ) throws(OIDCError) -> SessionTokens.Delivery {
        let (access, terms) = try lent.accessToken(
            scope: demand.scope, minimumValidity: demand.minimumValidity, isRenewed: isRenewed,
            refused: refused?.access.token)
        try terms.check(isSessionOf: provider.settings)
        var session = terms.session(key, at: Clock.now())
        session.tokens.access = access
        var delivery = SessionTokens.Delivery(session: session, access: access)
        delivery.signing = { (method, url, nonce) throws(OIDCError) in
            try lent.proof(method, url, nonce: nonce, for: access.token)
        }
        return delivery
    }
}

extension ProviderContext {
    /// The session that another program lends; nil if the session is of this machine.
    var lent: LentSession? {
        guard let path = LentSocket.path(inSetting: settings.store) else { return nil }
        let command = context.console.command
        // With a proxy it stays, and asks for tokens while its command runs.
        let stays = command == LendRequest.executing && !context.executesAnother
        return LentSession(
            path: path, profile: settings.profile, naming: settings.layers.given,
            environment: context.environment, command: stays ? LendRequest.staying : command)
    }

    /// Refuses a command that only the session's owner can run.
    func refuseIfLent(_ command: String) throws(OIDCError) {
        if let lent { throw try lent.terms().refusal(of: command) }
    }

    /// Refuses a URL that the lent token is not for. If `isResource`, it must be that of a resource that the
    /// session was signed in to. `isUsedHere` is whether a session or a profile of this machine is for it.
    func checkLent(_ url: WebURL, isResource: Bool = false, isUsedHere: Bool = false) throws(OIDCError) {
        let resources = settings.token.resources
        guard !settings.hasResource(at: url), isResource || isUsedHere || !resources.isEmpty else { return }
        let meant = resources.isEmpty ? "its provider" : resources.joined(separator: ", ")
        let unset = Hint.text("to use the one here, unset \(LentSocket.variable)")
        let named = settings.profile.map { profile in
            Hint.words(unset, "; to use the lent one, add ", .options(["-p", profile]))
        }
        throw .usage(
            "the session that is lent is for \(DisplayText.clean(meant)), "
                + "not for \(DisplayText.clean(url.withoutQuery))"
                + (isUsedHere ? ", which has a session or profile here" : ""),
            hint: isUsedHere ? named ?? unset : "ask its owner to lend the session of that URL")
    }
}

extension CommandContext {
    /// Refuses a command that only the session's owner can run, before it looks for profiles here.
    func refuseIfLent(_ command: String, _ options: ProviderOptions) throws(OIDCError) {
        let loader = settingsLoader
        let given = try options.entries()
        if let path = loader.lentSocket(given) {
            let lent = LentSession(
                path: path, profile: loader.profileName, naming: try loader.givenHere(given),
                environment: environment, command: console.command)
            throw try lent.terms().refusal(of: command)
        }
        guard let file = try? loader.file(), let profile = try? file.profile(named: loader.profileName),
            let store = profile.values[Setting.store.name]?.string, LentSocket.path(inSetting: store) != nil
        else { return }
        try provider(options).refuseIfLent(command)
    }
}
