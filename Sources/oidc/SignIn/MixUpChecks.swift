import OIDCCore
import OIDCSessions
import OIDCSignIn

/// The checks that protect the codes of other providers from a server that only a URL led to (RFC 9700 §4.4).
extension SignIn {
    /// The URL that led to the server: a resource's, or one whose own metadata names the server, now or at
    /// the sign-in that wrote the profile. Nil if the user named the server.
    var referrer: ResourceOperand? {
        guard let target = provider.target else { return provider.referrer ?? provider.earlierReferrer }
        var operand = target.operand
        operand.trustedServers = target.link.namedBeside
        return operand
    }

    /// The URL that led to the server, now or before the user named it.
    var suspect: ResourceOperand? { referrer ?? provider.namedReferrer() }

    /// Whether the user has named the issuer, too, now or before.
    var isIssuerNamed: Bool { provider.target?.isIssuerNamed ?? false }

    /// Whether an option names the issuer, so the user allows it to show the page of any other server for a device code.
    var isIssuerOption: Bool { provider.target?.isIssuerOption ?? false }

    /// Checks that the answer to a sign-in cannot come from another provider. A registered client has a
    /// redirect URL of its own for each issuer; with another client, the server's answers must be
    /// distinguishable from others', unless the settings name the authorization endpoint. Once the user has signed in
    /// (`isAnswered`), an option allows no more than at the start.
    func checkMixUp(_ metadata: ProviderMetadata, isAnswered: Bool = false) throws(OIDCError) {
        let suspect = suspect ?? (isAnswered ? provider.namedReferrer(byOption: true) : nil)
        guard let referrer = suspect, let issuer = metadata.issuer else { return }
        let isRegistered = try MixUpDefense.isOwn(settings.redirect().text, of: issuer)
        if !metadata.authorizationResponseIssParameterSupported {
            let wayOn = try wayOn(metadata)
            var fault =
                referrer.fault(ofTokenEndpointOf: metadata, wayOn)
                ?? referrer.fault(
                    ofClient: account.key.clientID, isRegistered: isRegistered, at: metadata, wayOn)
            // The server may have registered the client, with its redirect URL, at the provider whose page it names.
            if isRegistered, let page = metadata.authorizationEndpoint {
                fault =
                    fault ?? referrer.fault(of: page, named: "authorization_endpoint", by: metadata, wayOn)
            }
            if let fault {
                // The user has a client there, whose codes another server must not get.
                if !isIssuerNamed { referrer.recordNamedServer(to: metadata) }
                throw fault
            }
        }
        guard !isRegistered, provider.settings.provider.endpoint(.authorization) == nil else { return }
        do throws(OIDCError) { try metadata.checkAnswersAreItsOwn() } catch {
            var error = error
            error.hint = metadata.authorizationEndpoint.map {
                endpointHint("authorization_endpoint", $0, metadata)
            }
            throw error
        }
    }

    /// Returns the reason why no device code may be used; nil if one may. The code is redeemed where it is
    /// polled: a server that only a URL led to could show the page of another provider, and poll for its
    /// tokens.
    func deviceMixUp(_ metadata: ProviderMetadata) -> OIDCError? {
        guard let referrer = suspect else { return nil }
        if let wayOn = try? wayOn(metadata),
            let fault = referrer.fault(ofTokenEndpointOf: metadata, wayOn)
        {
            return fault
        }
        guard provider.settings.provider.endpoint(.deviceAuthorization) == nil,
            let device = metadata.deviceAuthorizationEndpoint, let token = metadata.tokenEndpoint,
            device.origin != token.origin
        else { return nil }
        return .untrusted(
            .discovery, "device_authorization_endpoint",
            expected: "a URL of \(DisplayText.clean(token.origin)), where the code is redeemed",
            found: DisplayText.clean(device.withoutQuery),
            hint: endpointHint("device_authorization_endpoint", device, metadata))
    }

    /// Returns the hint if the sign-in page is on one server and the code is redeemed at another.
    private func endpointHint(_ setting: String, _ page: WebURL, _ metadata: ProviderMetadata) -> Hint {
        // A server whose token endpoint is the other one's, too, gets what that one grants in other ways.
        let token = metadata.tokenEndpoint.flatMap { $0.origin == page.origin ? nil : $0 }
        let server = token ?? metadata.issuer.flatMap { WebURL.ofIssuer($0) }
        let redeemer = server.map { DisplayText.clean($0.hostAndPort) } ?? "the server"
        return .words(
            "only if \(DisplayText.clean(page.hostAndPort)) is the sign-in page of \(redeemer), ",
            "and \(redeemer) may have every token that you approve there: ",
            loginLine.adding("--set", "\(setting)=\(page.text)"))
    }

    /// The command that signs in again, by the URL that led to the server.
    var loginLine: Hint {
        let line = provider.referrer?.loginLine ?? provider.settings.loginLine
        guard let target = provider.target, let agreed = target.link.agreedScope else { return line }
        return line.adding(target.operand.scopeOption(agreed))
    }

    /// Returns the error with other hints if only a URL led to the server: they neither name the server for
    /// the user, nor change a profile, which may be for another server.
    func naming(_ failure: OIDCError) -> OIDCError {
        guard let referrer = provider.referrer else {
            return failure.signingInAgain(by: provider.settings.sameLoginLine)
        }
        var error = failure.signingInAgain(by: referrer.loginLine)
        error.hint = error.hint.map { Settings.hint($0, byOptionsOf: referrer.loginLine) }
        return error
    }

    /// Returns the command with which the user names the issuer.
    func wayOn(_ metadata: ProviderMetadata) throws(OIDCError) -> Hint {
        let issuer = DisplayText.clean(metadata.issuer ?? "")
        guard provider.target == nil, provider.referrer != nil else {
            return loginLine.adding("--issuer", issuer)
        }
        guard try MixUpDefense.isOwn(settings.redirect().text, of: issuer) else {
            return .run("login", "--issuer", issuer, "--client-id", account.key.clientID)
        }
        let names = (try? provider.context.settingsLoader.file())??.profiles.map(\.name) ?? []
        guard !names.isEmpty, let host = WebURL.ofIssuer(issuer)?.host else {
            return .run("register", "--issuer", issuer)
        }
        let name = SignInProfile.free(DisplayText.clean(host, limit: 200), beside: names)
        return .run("register", "-p", name, "--issuer", issuer)
    }
}

extension ResourceOperand {
    /// Returns the error for a server that does not promise `iss` and shares its redirect URL or its client
    /// with another one, of the user or of a resource: its authorization endpoint can forward the browser to
    /// the other one's, and so get the code and the verifier of an answer there (RFC 9700 §4.4.1). This is
    /// allowed only if an option has named the issuer while the other one was known: a profile may name it because this URL
    /// did.
    func fault(
        ofClient id: String, isRegistered: Bool, at server: ProviderMetadata, _ wayOn: Hint
    ) -> OIDCError? {
        guard !server.authorizationResponseIssParameterSupported else { return nil }
        let others = KnownClients(self).others(than: server, sharing: id, isRegistered: isRegistered)
        guard let shown = others.first.map({ DisplayText.clean($0) }) else { return nil }
        let shared =
            isRegistered
            ? "has the same client"
            : WebURL(id) == nil ? "has the same redirect URL" : "may know the same client"
        return .untrusted(
            .discovery, "authorization_response_iss_parameter_supported",
            expected: "true, as a sign-in at \(shown) \(shared)", found: "none",
            hint: .trusting(server, asMuchAs: others, wayOn))
    }

    /// Records that the URL named a server at which the user may have a client, or register one. Another server that it names
    /// later then counts as one that may forward the browser there.
    func recordNamedServer(to server: ProviderMetadata, client id: String = "") {
        guard let endpoint = server.tokenEndpoint, !isOfOwnProfile(server.issuer ?? "") else { return }
        let use = ClientUse(
            issuer: server.issuer, tokenEndpoint: endpoint.text, origin: url.origin, isOnlyNamed: true)
        do throws(OIDCError) {
            try ResourceRecords(context)?.uses.note(use, of: id)
        } catch {
            context.console.warn(error, "the server was not recorded")
        }
    }

    /// Returns whether a profile that no sign-in to a URL wrote names an issuer: that is the user's word, and is read anyway.
    private func isOfOwnProfile(_ issuer: String) -> Bool {
        guard let file = try? context.settingsLoader.file() else { return false }
        return file.profiles.contains { profile in
            guard let settings = try? file.settings(of: profile.name, home: nil),
                let name = settings.provider.issuer, ExactText.isSame(name, issuer)
            else { return false }
            return context.isWordOfUser(settings)
        }
    }

    /// Returns the error for a page of another server at which the user signs in: the server that only this
    /// URL led to would redeem the code that the user gets or approves there (RFC 8628 §5.4).
    func fault(
        of page: WebURL, named member: String, by metadata: ProviderMetadata, _ wayOn: Hint
    ) -> OIDCError? {
        guard let other = owner(of: page, besides: metadata, own: metadata.ownOrigins) else { return nil }
        let shown = DisplayText.clean(other)
        return .untrusted(
            .discovery, member, expected: "a page of \(DisplayText.clean(metadata.issuer ?? ""))",
            found: "\(DisplayText.clean(page.withoutQuery)), of \(shown)",
            hint: .trusting(metadata, asMuchAs: [shown], wayOn))
    }

    /// Returns the error for a token endpoint of another server at which the user signs in: its tokens would
    /// count as those of the server that only this URL led to, and be sent to that server's other endpoints.
    func fault(ofTokenEndpointOf server: ProviderMetadata, _ wayOn: Hint) -> OIDCError? {
        guard let issuer = server.issuer.flatMap({ WebURL.ofIssuer($0) }), let token = server.tokenEndpoint,
            let other = owner(of: token, besides: server, own: [issuer.origin])
        else { return nil }
        let shown = DisplayText.clean(other)
        return .untrusted(
            .discovery, "token_endpoint", expected: "a URL of \(DisplayText.clean(server.issuer ?? ""))",
            found: "\(DisplayText.clean(token.withoutQuery)), of \(shown)",
            hint: .trusting(server, asMuchAs: [shown], wayOn))
    }

    /// Returns the servers whose codes and tokens a server could get: those that the user trusts it as much as, once an option
    /// names it.
    func stakes(of server: ProviderMetadata, client id: String, isRegistered: Bool) -> [String] {
        let others = KnownClients(self).others(than: server, sharing: id, isRegistered: isRegistered)
        let token = server.tokenEndpoint.flatMap {
            owner(
                of: $0, besides: server,
                own: server.issuer.flatMap { WebURL.ofIssuer($0)?.origin }.map { [$0] } ?? [])
        }
        let page = server.authorizationEndpoint.flatMap {
            owner(of: $0, besides: server, own: server.ownOrigins)
        }
        return others + [token, page].compactMap { $0 }
    }

    /// Returns the known server to which a URL in the metadata of another one belongs; nil if there is none.
    private func owner(of url: WebURL, besides server: ProviderMetadata, own: [String]) -> String? {
        // What is below the issuer is the server's own, whatever else is known.
        guard server.issuer.flatMap({ ResourceIdentifier($0) })?.covers(url) != true else { return nil }
        return KnownClients(self).server(of: url, besides: server.issuer, own: own)
    }

    /// Returns the hint with a command that names a server which only a URL led to. If the server could then get the codes of
    /// another one, it says so: it may stop promising `iss` once it is named.
    func naming(
        _ server: ProviderMetadata, sharing id: String, isRegistered: Bool = false,
        if condition: Hint? = nil, _ line: Hint
    ) -> Hint {
        let others = KnownClients(self).others(than: server, sharing: id, isRegistered: isRegistered)
        guard others.isEmpty else { return .trusting(server, asMuchAs: others, line) }
        return condition.map { .words($0, line) } ?? line
    }

    /// Returns whether an option of this command names an issuer.
    func isNamedByOption(_ issuer: String) -> Bool {
        let others: [SettingLayers.Origin] = [.session, .found, .pending, .challenge]
        return settings.layers.given.contains { entry in
            entry.setting == .issuer && entry.origin.layer == .options && !others.contains(entry.origin)
                && entry.value.string.map { ExactText.isSame($0, issuer) } == true
        }
    }

    /// Returns whether the user names an issuer in these settings. A profile that a sign-in to a URL wrote
    /// only repeats what the URL led to; the link records whether the user named it then.
    func names(issuer: String, _ entries: [SettingLayers.Entry]) -> Bool {
        let file = try? context.settingsLoader.file()
        let named = entries.filter { entry in
            guard entry.setting == .issuer, case .profile(let name) = entry.origin else { return true }
            guard let settings = try? file?.settings(of: name, home: nil) else { return true }
            return context.isWordOfUser(settings)
        }
        return ResourceOwnership(entries: named).names(issuer: issuer)
    }
}

extension Hint {
    /// Returns the hint with the command for a user who trusts a server as much as the others, whose codes it could get.
    /// The command is the user's word for all of them.
    static func trusting(_ server: ProviderMetadata, asMuchAs others: [String], _ wayOn: Hint) -> Hint {
        let url = server.issuer.flatMap { WebURL.ofIssuer($0) }
        // Beside another issuer of its host, the host alone says nothing.
        let isNeighbor = others.contains { WebURL.ofIssuer($0)?.hostAndPort == url?.hostAndPort }
        let name = url.map { DisplayText.clean(isNeighbor ? server.issuer ?? "" : $0.hostAndPort) }
        let limit = 20
        var shown = others.prefix(limit).map { DisplayText.clean($0, limit: 100) }
        if others.count > limit { shown.append("\(others.count - limit) more") }
        let last = shown.popLast() ?? ""
        // Each is a part of its own, as a part that is too long is cut.
        let list = shown.enumerated().map { index, name in Hint.text("\(index == 0 ? "" : ", ")\(name)") }
        return .joined(
            [.text("if you trust \(name ?? "it") as much as ")] + list
                + [.text("\(shown.isEmpty ? "" : " and ")\(last): "), wayOn])
    }
}

extension CommandContext {
    /// Returns whether the settings of a profile are the user's word: no sign-in to a URL wrote or led to them.
    func isWordOfUser(_ settings: Settings) -> Bool { ownResource(settings) == nil && !isFound(settings) }

    /// Returns whether only a URL led to the server of a profile, and the user has never named it.
    func isFound(_ settings: Settings) -> Bool {
        guard let issuer = settings.provider.issuer, let id = settings.client.id else { return false }
        return isFound(issuer, id)
    }

    /// Returns whether the user chose the client of a profile for a server to which a URL led.
    func isChosen(_ settings: Settings) -> Bool {
        guard let issuer = settings.provider.issuer, let id = settings.client.id else { return false }
        return ResourceRecords(self)?.uses.isChosen(issuer: issuer, clientID: id) ?? false
    }

    /// Returns whether only a URL led to the server of a session.
    func isFound(_ key: SessionKey) -> Bool { isFound(key.provider, key.clientID) }

    private func isFound(_ issuer: String, _ clientID: String) -> Bool {
        ResourceRecords(self)?.uses.isFound(issuer: issuer, clientID: clientID) ?? false
    }
}

extension ProviderContext {
    /// Records that the user has named the server, which only a URL may have led to so far.
    func noteNamed(_ issuer: String) {
        guard let operand = operand(of: issuer) else { return }
        try? ResourceRecords(context)?.uses.noteNamed(issuer: issuer) {
            operand.stakes(
                of: ProviderMetadata(issuer: issuer, endpoints: [:]), client: settings.client.id ?? "",
                isRegistered: false)
        }
    }

    /// The URL that led to the server of a profile, a session or a pending sign-in before; nil if the user has named it.
    var earlierReferrer: ResourceOperand? {
        ownIssuer.flatMap { context.isFound(settings) ? operand(of: $0) : nil }
    }

    /// Returns the URL that led to such a server before the user named it, beside the servers whose codes were at stake then.
    /// With `byOption`, also if an option names it.
    func namedReferrer(byOption: Bool = false) -> ResourceOperand? {
        guard let issuer = byOption && target == nil ? settings.provider.issuer : ownIssuer,
            var operand = operand(of: issuer),
            let others = ResourceRecords(context)?.uses.namedBeside(issuer: issuer)
        else { return nil }
        operand.trustedServers = others
        return operand
    }

    /// The issuer of a profile, a session or a pending sign-in.
    private var ownIssuer: String? {
        guard target == nil, let origin = settings.layers.entry(.issuer)?.origin,
            origin.layer == .profile || [.session, .pending].contains(origin)
        else { return nil }
        return settings.provider.issuer
    }

    private func operand(of issuer: String) -> ResourceOperand? {
        guard let url = WebURL.ofIssuer(issuer) else { return nil }
        var operand = ResourceOperand(url, settings, context)
        operand.deadline = deadline
        return operand
    }
}

extension Settings {
    /// Returns the hint with options of `line` in place of commands that change a profile, which may be for
    /// another server.
    static func hint(_ hint: Hint, byOptionsOf line: Hint) -> Hint {
        let named = hint.parts.map { part in
            guard case .command(let words) = part, words.count == 3, words.starts(with: ["config", "set"]),
                let setting = Setting.named(String(words[2].prefix { $0 != "=" })), setting.reach != .machine
            else { return part }
            return line.adding("--set", words[2])
        }
        return named == hint.parts ? hint : .joined(named)
    }
}
