import OIDCCore
import OIDCSessions
import Posix

/// Sign-ins and sessions of a URL operand.
extension ResourceOperand {
    /// Starts a new sign-in. If the server no longer knows the registered client, registers another one.
    func signedIn(
        _ evidence: Evidence = Evidence(), _ change: (inout SignIn) -> Void = { _ in }
    ) throws(OIDCError) -> (Session, SessionAccess) {
        var evidence = evidence
        evidence.asksResource = evidence.response == nil && evidence.found == nil
        let search = forSignIn()
        for _ in 0..<2 {
            let provider = try search.resolved(evidence)
            do throws(OIDCError) { return try signedIn(provider, search.deadline, change) } catch {
                guard let next = evidence.next(after: error, of: provider) else {
                    throw provider.registeringAgain(error)
                }
                evidence = next
            }
        }
        return try signedIn(try search.resolved(evidence), search.deadline, change)
    }

    private func signedIn(
        _ provider: ProviderContext, _ deadline: MonotonicTime?, _ change: (inout SignIn) -> Void
    ) throws(OIDCError) -> (Session, SessionAccess) {
        let access = try SessionAccess(provider.forSignIn(until: deadline))
        var signIn = SignIn(provider: access.provider, access: access)
        change(&signIn)
        do throws(OIDCError) { return (try signIn.run(), access) } catch {
            throw provider.naming(error)
        }
    }

    /// Signs in for a command with `--login`, once for all waiting processes. `earlier` is the session whose
    /// token was refused, and `key` is its key.
    func signedInOnDemand(
        _ evidence: Evidence, replacing earlier: Session?, key: SessionKey?
    ) throws(OIDCError) -> SessionAccess {
        var evidence = evidence
        evidence.asksResource = evidence.response == nil
        evidence.mayKeepNothing = true
        for _ in 0..<5 {
            // Another process may have signed in meanwhile, for another scope.
            if let scope = evidence.scope, let session = try? existingAccess()?.load() {
                evidence.scope = scope.union(session.knownScope)
            }
            let provider = try forSignIn().resolved(evidence)
            let access = try SessionAccess(provider, mayKeepNothing: true)
            // At another server, or as another client, any session is a new one.
            var signIn = SignInOnDemand(
                provider: provider, access: access, earlier: access.key == key ? earlier : nil)
            signIn.takesAny = true
            signIn.needed = evidence.scope
            do throws(OIDCError) {
                let access = try signIn.run()
                SignInProfile.remember(access)
                return access
            } catch {
                guard let next = evidence.next(after: error, of: provider) else {
                    throw provider.registeringAgain(provider.naming(error))
                }
                evidence = next
            }
        }
        throw notSignedIn
    }

    /// Returns the access to the URL's session or to a token that needs no user; nil if there is no session.
    func existingAccess() throws(OIDCError) -> SessionAccess? {
        guard let provider = try linked() else { return nil }
        let access = try SessionAccess(provider)
        guard access.key.grant.needsUser else { return access }
        return try access.load() == nil ? nil : access
    }

    /// Runs `body` with the URL's session, and again after a sign-in if one is needed and `mayLogIn` allows
    /// it.
    func signingIn<Value>(
        _ mayLogIn: Bool, _ body: (SessionAccess) throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        var earlier: Session?
        var key: SessionKey?
        let known = try link()
        if known != nil || !mayLogIn || mayNeedNoUser {
            do throws(OIDCError) {
                let access = try access(mayLogIn: false)
                guard mayLogIn, access.key.grant.needsUser else { return try body(access) }
                (earlier, key) = (try? access.load(), access.key)
                return try body(access)
            } catch {
                guard mayLogIn, error.kind == .loginRequired else { throw error }
            }
        }
        return try body(try signedInOnDemand(Evidence(), replacing: earlier, key: key))
    }

    /// Returns the access to the URL's session, which may not exist yet. Searches for the server only if
    /// `mayLogIn` is true or the grant needs no user.
    func access(mayLogIn: Bool) throws(OIDCError) -> SessionAccess {
        if let provider = try linked() { return try SessionAccess(provider, mayKeepNothing: mayLogIn) }
        guard mayLogIn || mayNeedNoUser else { throw notSignedIn }
        return try SessionAccess(try resolved(mayLogIn: mayLogIn), mayKeepNothing: mayLogIn)
    }

    /// The error for a URL without a session.
    var notSignedIn: OIDCError {
        do throws(OIDCError) {
            try RequestOptions.checkScheme(
                url, allowsInsecureHTTP: settings.provider.allowsInsecureHTTP)
        } catch {
            return error
        }
        let damaged = ResourceRecords(context)?.links.damagedFile(of: url).map {
            ": the record that leads to its session is damaged or of a later version, \(DisplayText.clean($0))"
        }
        return OIDCError(
            .loginRequired,
            "not signed in to \(DisplayText.clean(url.withoutQuery))" + (damaged ?? ""), hint: loginLine,
            stage: .token)
    }

    /// The command line that signs in to the URL with the options that were given.
    var loginLine: String {
        let profile = namedProfile.map { " -p \(ShellWord.quoted($0))" } ?? ""
        let options = settings.givenOptions(and: [("--scope", .scope)]).map { " \($0)" }.joined()
        return "oidc login \(ShellWord.quoted(url.text))\(profile)\(options)"
    }
}

extension Settings {
    /// Whether an option names the scope.
    var isScopeAnOption: Bool {
        layers.entry(.scope)?.origin.layer == .options
    }
}

extension ProviderContext {
    /// Returns the provider with settings that override those given.
    func adding(_ entries: [SettingLayers.Entry]) -> ProviderContext {
        guard !entries.isEmpty else { return self }
        return ProviderContext(settings.overridden(by: entries), context, until: deadline, target: target)
    }

    /// Returns the provider with a wider scope for the sign-in.
    func requesting(_ scope: Scope) -> ProviderContext {
        let origin: SettingLayers.Origin =
            target.map { .resource($0.operand.url.text) } ?? .option("the resource's challenge")
        let entry = SettingLayers.Entry(setting: .scope, value: .string(scope.text), origin: origin)
        var target = target
        target?.link.scope = scope
        return ProviderContext(settings.overridden(by: [entry]), context, until: deadline, target: target)
    }

    /// Returns an error about the parameter `resource` with the hint to leave it out.
    func withoutResource(_ error: OIDCError) -> OIDCError {
        guard target != nil, settings.token.sendsResources,
            error.oauthError == "invalid_target" || error.code == .resourceRefused
        else { return error }
        var error = error
        let line =
            settings.token.grant.needsUser
            ? settings.loginLine : settings.line("oidc token", and: [("--grant", .grant)])
        error.hint = .text("\(line) --set resource_parameter=off")
        return error
    }

    /// Returns the error with the resource in its hint to sign in.
    func naming(_ failure: OIDCError) -> OIDCError {
        var error = withoutResource(failure)
        if let target, target.link.bindsTokens, error.code == .tokenNotBound {
            error.hint = ResourceSearch.faultHint
            return error
        }
        return namingResource(error)
    }

    /// Returns the error with the resource in each command of its hint.
    func namingResource(_ failure: OIDCError) -> OIDCError {
        guard let resource = settings.resource, let hint = failure.hint?.commandLine else { return failure }
        let url = ShellWord.quoted(resource.url)
        let named = ["oidc login", "oidc logout"].reduce(hint) { text, command in
            let pieces = text.pieces(between: command)
            return pieces.dropFirst().reduce(String(pieces.first ?? "")) { text, rest in
                let isNamed = rest.hasPrefix(" \(url)") || rest.hasPrefix(" -p ")
                return "\(text)\(isNamed ? command : settings.line(command))\(rest)"
            }
        }
        guard named != hint else { return failure }
        var error = failure
        error.hint = .text(named)
        return error
    }

    /// Returns the error of a sign-in that timed out, after which the next one registers another client.
    fileprivate func registeringAgain(_ failure: OIDCError) -> OIDCError {
        guard failure.kind == .timedOut, failure.stage == .authorization,
            (try? target?.registered(context))??.isRetired == true
        else { return failure }
        var error = failure
        error.message += "; the server may no longer know the registered client"
        error.hint = .text("\(settings.loginLine), which registers another client")
        return error
    }

    /// Returns whether an error means that the server no longer knows the registered client, and another one
    /// can be registered. Marks the client for the next registration.
    ///
    /// A sign-in that times out or is interrupted only marks the client: a server that does not know it shows an error
    /// page and never redirects, and users then press Ctrl-C.
    func hasLostClient(_ error: OIDCError) -> Bool {
        guard let target else { return false }
        if [.timedOut, .interrupted].contains(error.kind), error.stage == .authorization {
            _ = target.retireClient(context)
        }
        if error.code == .unknownClient { return target.retireClient(context) }
        switch error.oauthError {
        case "invalid_client", "unauthorized_client": break
        // The authorization server in MCP's Python SDK grants only scopes that a client registered for
        // (2026-11).
        case "invalid_scope":
            guard let scope = settings.token.scope, let client = try? target.registered(context),
                !client.allows(scope)
            else { return false }
        default: return false
        }
        return target.retireClient(context)
    }
}
