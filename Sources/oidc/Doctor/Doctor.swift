import OIDCCore
import OIDCSystem

/// Looks at everything that a sign-in depends on, one thing after the other; nothing stops it.
struct Doctor {
    let context: CommandContext
    let options: ProviderOptions

    private var variables: [String: String] { context.environment }

    func findings() -> [Finding] {
        var findings: [Finding] = []
        let settings: Settings
        do throws(OIDCError) {
            settings = try context.settings(options)
            findings.append(configuration(settings))
        } catch {
            return [Finding("configuration", error)] + machine(nil)
        }
        findings += strayVariables() + shadowed(settings)
        let setup = ProviderSetup(settings, context)
        findings += provider(setup)
        findings.append(proxy())
        findings += machine(setup)
        findings += sessions(setup)
        return findings
    }

    private func configuration(_ settings: Settings) -> Finding {
        let path = context.settingsLoader.path ?? "no file"
        guard let profile = settings.profile else {
            return Finding("configuration", .ok, "no profile (\(path)); options and variables alone")
        }
        return Finding("configuration", .ok, "profile \(profile) of \(path)")
    }

    /// Variables that look like ours and are not.
    private func strayVariables() -> [Finding] {
        let others: Set = [
            "OIDC_PROFILE", "OIDC_CONFIG", "OIDC_STATE_DIR", "OIDC_CACHE_DIR", "OIDC_ACCESS_TOKEN",
            "OIDC_ID_TOKEN",
        ]
        let known = Set(Setting.all.map(\.variable)).union(others)
        let stray = variables.keys.filter { $0.hasPrefix("OIDC_") && !known.contains($0) }.sorted()
        guard !stray.isEmpty else { return [] }
        return [
            Finding(
                "variables", .warning, "unknown, and ignored: \(stray.joined(separator: ", "))",
                remedy: "oidc man lists the settings and their variables")
        ]
    }

    /// Settings of the profile that a variable overrules.
    private func shadowed(_ settings: Settings) -> [Finding] {
        guard let profile = settings.profile, let file = try? context.settingsLoader.file(),
            let values = try? file.profile(named: profile)?.values
        else { return [] }
        let names = settings.entries.filter { entry in
            guard case .variable = entry.origin else { return false }
            return values[entry.setting.name] != nil
        }.map(\.setting.variable)
        guard !names.isEmpty else { return [] }
        return [
            Finding(
                "precedence", .warning, "overrule the profile: \(names.joined(separator: ", "))",
                remedy: "unset them, or see oidc config show")
        ]
    }

    private func proxy() -> Finding {
        let names = [
            "https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY",
        ]
        let set = names.filter { variables[$0]?.isEmpty == false }
        return Finding(
            "proxy", .ok, set.isEmpty ? "none" : "\(set.joined(separator: ", ")) set; never used for loopback"
        )
    }

    private func provider(_ setup: ProviderSetup) -> [Finding] {
        guard setup.settings.text(.issuer) != nil else {
            let isExplicit = setup.settings.text(.tokenEndpoint) != nil
            return [
                isExplicit
                    ? Finding(
                        "provider", .ok, "endpoints are named; without issuer ID tokens are not believed")
                    : Finding(
                        "provider", .problem, "issuer is not set",
                        remedy: "oidc config init --issuer URL --client-id ID")
            ]
        }
        var findings: [Finding] = []
        if setup.settings.text(.clientID) == nil {
            findings.append(
                Finding("client", .problem, "client_id is not set", remedy: "give --client-id ID"))
        }
        do throws(OIDCError) {
            let probe = DateProbe(transport: try setup.transport())
            let environment = LoginEnvironment(
                transport: probe, cache: NoCache(), now: { Clock.now() },
                random: { [UInt8](repeating: 0, count: $0) })
            let metadata = try setup.metadata(environment, for: [.authorization, .token, .keys])
            findings.append(Finding("discovery", .ok, metadata.issuer ?? "explicit endpoints"))
            findings += metadata.remarks.map { Finding("metadata", .warning, $0) }
            findings += probe.clock(now: context.now)
            if let keys = metadata.jwksURI {
                let documents = ProviderDocuments(
                    environment: environment, allowsInsecureHTTP: setup.allowsInsecureHTTP)
                let set = try documents.keys(keys).keys(refetching: true)
                findings.append(Finding("keys", .ok, "\(set.keys.count) at \(keys.withoutQuery)"))
            }
            _ = try setup.client(metadata, environment)
        } catch {
            findings.append(Finding(error.kind == .usage ? "client" : "discovery", error))
        }
        findings.append(authorities(setup))
        return findings
    }

    private func authorities(_ setup: ProviderSetup) -> Finding {
        if let path = setup.secrets.path(.caFile) { return Finding("TLS", .ok, "trusts ca_file \(path)") }
        if let path = variables["SSL_CERT_FILE"], !path.isEmpty {
            return Finding("TLS", .ok, "trusts SSL_CERT_FILE \(path)")
        }
        return Finding("TLS", .ok, "trusts this machine's authorities")
    }

    /// What a sign-in needs of this machine.
    private func machine(_ setup: ProviderSetup?) -> [Finding] {
        var findings = [callback(setup)]
        let browser = BrowserChoice.resolve(
            setting: setup?.settings.texts(.browser) ?? [], .current(environment: variables))
        switch browser {
        case .commands(let commands):
            findings.append(Finding("browser", .ok, commands.first?.first ?? ""))
        case .none(let reason):
            findings.append(
                Finding(
                    "browser", .warning, "none: \(reason)",
                    remedy: "oidc login uses a device code or a pasted address; or set BROWSER"))
        }
        if let identity = CIIdentity.detected(variables) {
            findings.append(Finding("CI identity", .ok, identity.name, remedy: identity.remedy))
        }
        return findings
    }

    private func callback(_ setup: ProviderSetup?) -> Finding {
        do throws(OIDCError) {
            let settings = setup?.settings
            let redirect = try RedirectAddress(
                settings?.text(.redirectURI),
                port: settings?.integer(.port).flatMap { UInt16(exactly: $0) },
                ports: settings?[.redirectPorts]?.array?.compactMap {
                    $0.integer.flatMap { UInt16(exactly: $0) }
                } ?? [])
            guard let address = redirect.loopback else {
                return Finding("callback", .ok, "\(redirect.text) is pasted, nothing listens")
            }
            let server = try LoopbackServer(address)
            defer { server.close() }
            return Finding("callback", .ok, "\(redirect.text(port: server.port)) can be listened on")
        } catch {
            return Finding("callback", error)
        }
    }

    private func sessions(_ setup: ProviderSetup) -> [Finding] {
        var findings: [Finding] = []
        do throws(OIDCError) {
            let store = try setup.store()
            guard setup.settings.text(.clientID) != nil else { return [] }
            let key = try setup.sessionKey()
            try store.probe(key)
            findings.append(Finding("store", .ok, store.description))
            guard let session = try store.load(key) else {
                return findings + [Finding("session", .ok, "none", remedy: setup.loginLine)]
            }
            let report = SessionReport(
                session: session, profile: nil, location: "", now: context.now)
            findings.append(clockOrSession(session, report, setup))
        } catch {
            findings.append(Finding("store", error))
        }
        return findings
    }

    private func clockOrSession(
        _ session: Session, _ report: SessionReport, _ setup: ProviderSetup
    ) -> Finding {
        if session.tokens.access.obtainedAt > context.now.adding(60) {
            return Finding(
                "clock", .problem, "the token is from the future: this machine's clock was set back",
                remedy: "set the clock, then: oidc token --refresh")
        }
        return report.isUsable
            ? Finding("session", .ok, "token \(report.validity)")
            : Finding("session", .warning, "expired, and cannot be renewed", remedy: setup.loginLine)
    }
}
