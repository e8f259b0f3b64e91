import OIDCCore

extension SessionKey {
    /// The arguments that name this session of a URL.
    func arguments(_ url: String) -> [String] { [url] + (account.map { ["--account", $0] } ?? []) }

    /// The options that name a session.
    var options: [String] {
        var words = ["--issuer", provider, "--client-id", clientID]
        func add(_ option: String, _ value: String?) {
            if let value { words += [option, value] }
        }
        add("--account", account)
        add("--audience", audience)
        if !grant.needsUser {
            add("--grant", grant.rawValue)
            add("--scope", scope?.text)
            for resource in resources { add("--resource", resource) }
        }
        return words
    }
}

extension Settings {
    /// The command line that signs in with these settings. An option's limit for what a resource may ask for is repeated.
    var loginLine: Hint {
        let scope = layers.given.first { $0.setting == .scope && $0.origin.layer == .options }?.value.string
        guard resource != nil, let scope else { return line("login") }
        return line("login").adding("--scope", scope)
    }

    /// The same command line, with the scope and resources of options. An option's scope is added to the
    /// profile's, because a sign-in for only one of them would not be enough.
    var scopedLoginLine: Hint { scoped("login") }

    /// Returns the command line of another command that can sign in, with the same scope and resources.
    func scoped(_ command: String, _ options: String...) -> Hint {
        let isOption = resource == nil && layers.entry(.resource)?.origin.layer == .options
        let resources = isOption ? token.resources : []
        let line = line(command, options).adding(resources.flatMap { ["--resource", $0] })
        guard let wanted = given(.scope).map({ Scope($0) }) else { return line }
        let own = layers.given.first {
            $0.setting == .scope && $0.origin.layer.rawValue < SettingLayers.Layer.options.rawValue
        }
        let isOwn = !layers.withheld.contains { $0.setting == .scope }
        let ownScope = isOwn ? own?.value.string.map { Scope($0) } : nil
        if let ownScope, wanted.isSubset(of: ownScope) { return line }
        return line.adding("--scope", (ownScope ?? Scope("")).union(wanted).text)
    }

    /// The command line that starts the same sign-in again.
    var sameLoginLine: Hint {
        let options: [(String, Setting)] = [
            ("--scope", .scope), ("--flow", .flow), ("--login-hint", .loginHint), ("--max-age", .maxAge),
            ("--acr-values", .acrValues), ("--par", .par),
        ]
        return options.reduce(loginLine) { line, option in
            given(option.1).map { line.adding(option.0, $0) } ?? line
        }
    }

    /// Returns the command line of a sign-in that returns an ID token, which needs the scope `openid`.
    /// `requested` is the session's scope, which the next sign-in at a resource requests again.
    func loginLine(forIDTokenAfter requested: Scope?) -> Hint {
        let next = resource == nil || isScopeAnOption ? token.scope : requested ?? Scope("")
        guard let next, !next.contains("openid") else { return scopedLoginLine }
        return loginLine.adding("--scope", Scope("openid").union(next).text)
    }

    /// Returns the command line of a command for the same session, with the options that were given.
    func line(_ command: String, _ options: [String] = [], and more: [(String, Setting)] = []) -> Hint {
        let profile = profileOption(profile, isNeeded: layers.isProfileNamed)
        if command == "login", resource == nil, let issuer = layers.entry(.issuer),
            [.session, .found].contains(issuer.origin), let url = issuer.value.string
        {
            // An option would name a server that only a URL may have led to, and the client that was registered there.
            var known: Set<Setting> = [.issuer]
            if case .resource = layers.entry(.redirectURI)?.origin { known.insert(.clientID) }
            return .run(command, options + [url] + profile + givenOptions(and: more, without: known))
        }
        let operand = resource.map { [$0.url] } ?? []
        return .run(command, options + operand + profile + givenOptions(and: more))
    }

    /// Returns those of the given options that name a session.
    func givenOptions(
        and more: [(String, Setting)] = [], without known: Set<Setting> = []
    ) -> [String] {
        var words: [String] = []
        for (option, setting) in [
            ("--issuer", Setting.issuer), ("--client-id", .clientID), ("--audience", .audience),
            ("--account", .account),
        ] + more where !known.contains(setting) {
            if let text = given(setting) { words += [option, text] }
        }
        let others: [Setting] =
            [
                .metadataURL, .refreshEndpoint, .tokenType, .resourceParameter, .nonce, .clientMetadataURL,
                .clientAuth, .clientSecretFile, .privateKeyFile,
            ] + Setting.redirects
        for setting in others {
            if let text = given(setting) { words += ["--set", "\(setting.name)=\(text)"] }
        }
        return words
    }

    /// Returns the value of a setting as an option gave it.
    private func given(_ setting: Setting) -> String? {
        let entry = layers.entry(setting)
        let option = layers.given.first { $0.setting == setting && $0.origin.layer == .options }
        // The layer of a resource repeats what the option said.
        let isOption = entry?.origin.layer == .options || entry?.origin.layer == .resource
        guard isOption, entry?.value == option?.value else { return nil }
        return option.map { $0.value.string ?? $0.value.compact }
    }

    /// Returns the command line of a command with a profile of a file.
    func line(_ command: String, profile: String?, of file: ProfilesFile) -> Hint {
        .run(command, profileOption(profile, isNeeded: file.hasOtherDefault))
    }

    /// Returns the option that names a profile. `isNeeded` is true if another profile than `default` may be
    /// used without it.
    private func profileOption(_ name: String?, isNeeded: Bool) -> [String] {
        guard let name, name != "default" || isNeeded else { return [] }
        return ["-p", name]
    }

    /// Returns the command line of a stronger or more recent sign-in that a resource requires (RFC 9470 §3).
    func loginLine(for stepUp: StepUp) -> Hint {
        var options: [String] = []
        if let values = stepUp.acrValues { options += ["--set", "acr_values=\(values)"] }
        let age = stepUp.maxAge.flatMap { Setting.maxAge.kind.normalized(JSONValue($0)) }
        if let age { options += ["--set", "max_age=\(age.compact)"] }
        return loginLine.adding(options.isEmpty ? ["--prompt", "login"] : options)
    }

    /// Returns the settings of options and variables as options, for a program that does not get our
    /// variables. Refuses an issuer with a password, which must not be printed.
    func repeatedOptions() throws(OIDCError) -> [String] {
        var words: [String] = []
        for (option, setting) in [
            ("--issuer", Setting.issuer), ("--client-id", .clientID), ("--scope", .scope),
            ("--account", .account), ("--audience", .audience), ("--grant", .grant),
        ] {
            guard let entry = layers.entry(setting),
                let text = entry.value.string
            else { continue }
            switch entry.origin {
            case .option(option): words += [option, text]
            case .variable:
                if setting == .issuer { try provider.checkIssuer() }
                words += [option, text]
            default: break
            }
        }
        return words
    }
}
