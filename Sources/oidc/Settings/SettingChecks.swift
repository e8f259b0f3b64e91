import OIDCCore

extension SettingLayers {
    /// Checks a setting's value. An error names the variable or profile of the value and how to correct it
    /// there.
    func checking<Value>(
        _ setting: Setting, _ check: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        do throws(OIDCError) { return try check() } catch { throw placed(error, setting) }
    }

    private func placed(_ error: OIDCError, _ setting: Setting) -> OIDCError {
        guard error.kind == .usage, let origin = entry(setting)?.origin
        else {
            return error
        }
        var error = error
        switch origin {
        case .option, .resource: break
        case .variable(let name):
            error.message += " (from \(name))"
            let hint = error.hint?.usingIssuer { "export \(name)=\(ShellWord.quoted($0))" }
            error.hint = hint ?? "correct \(name), or: unset \(name)"
        case .profile(let name):
            error.message += " (profile \(DisplayText.clean(name)))"
            let hint = error.hint?.usingIssuer { .run("config set", "-p", name, "issuer=\($0)") }
            error.hint = hint ?? .words("correct it, then: ", .run("config check"))
        }
        return error
    }
}

extension Settings {
    /// Checks the settings without reading files or sending requests.
    func check() throws(OIDCError) {
        try checkSecurityProfile()
        try provider.checkIssuer()
        try layers.checking(.preset) { () throws(OIDCError) in try Preset.check(provider.preset) }
        if let issuer = provider.issuer, provider.metadataURL == nil, provider.endpoint(.token) == nil {
            _ = try layers.checking(.issuer) { () throws(OIDCError) in
                try ProviderMetadata.wellKnownURLs(
                    issuer: issuer, allowsInsecureHTTP: provider.allowsInsecureHTTP)
            }
        }
        _ = try provider.checkedEndpoints()
        try token.check()
        try signIn.check()
        let choice = try storeChoice()
        try layers.checking(.store) { () throws(OIDCError) in try sharedStore.check(choice) }
        try client.check()
        try tools.check(allowsInsecureHTTP: provider.allowsInsecureHTTP)
    }

    func storeChoice() throws(OIDCError) -> SessionStoreChoice {
        try layers.checking(.store) { () throws(OIDCError) in try SessionStoreChoice(setting: store) }
    }
}
