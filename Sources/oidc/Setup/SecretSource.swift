import OIDCCore
import OIDCSystem

/// Secrets that settings point to: read when needed, never from argv.
struct SecretSource {
    let settings: Settings
    let environment: [String: String]
    /// For the programs that secrets come from.
    var deadline: MonotonicTime?
    var warn: @Sendable (String) -> Void = { _ in }

    /// The client's secret: `client_secret`, else its file, else its command.
    func clientSecret() throws(OIDCError) -> Redacted<String>? {
        if let text = settings.text(.clientSecret) { return Redacted(text) }
        if settings[.clientSecretFile] != nil { return try file(.clientSecretFile) }
        let command = settings.texts(.clientSecretCommand)
        return command.isEmpty ? nil : try output(of: command, named: Setting.clientSecretCommand.name)
    }

    /// A file's text without the line end that editors add; an empty one is an error.
    func file(_ setting: Setting) throws(OIDCError) -> Redacted<String>? {
        guard let path = path(setting) else { return nil }
        let contents = try UserFile.require(path, limit: 1 << 20, named: setting.name)
        try check(contents, at: path, of: setting)
        return Redacted(try SecretSource.text(contents.bytes, named: "\(setting.name): \(path)"))
    }

    /// Of files with a secret, the user's own alone are private: those of a CI job or a pod are root's.
    func check(_ file: UserFile, at path: String, of setting: Setting) throws(OIDCError) {
        guard SecretSource.secretFiles.contains(setting) else { return }
        let place = "\(setting.name): \(DisplayText.clean(path))"
        guard !file.isUnderForeignControl else {
            throw OIDCError.usage(
                "\(place) belongs to another user or may be written by others",
                hint: "chown and chmod it so that only you can write it: chmod go-w \(ShellWord.quoted(path))"
            )
        }
        if file.isOwnAndOpen { warn("\(place) may be read by others (chmod 600 \(ShellWord.quoted(path)))") }
    }

    private static let secretFiles: Set<Setting> = [
        .clientSecretFile, .privateKeyFile, .privateKeyPassphraseFile, .tlsClientKey,
    ]

    /// A path of the settings, with `~/` for the home directory.
    func path(_ setting: Setting) -> String? {
        guard let path = settings.text(setting) else { return nil }
        guard path.hasPrefix("~/"), let home = environment["HOME"], !home.isEmpty else { return path }
        return home + path.dropFirst()
    }

    private func output(of command: [String], named name: String) throws(OIDCError) -> Redacted<String> {
        var process = ChildProcess(command, environment: settings.childEnvironment(environment))
        process.errorOutput = .inherited
        process.deadline = deadline
        let outcome: ChildProcess.Outcome
        do { outcome = try process.run() } catch { throw error.error(setting: name, command: command) }
        guard outcome.status.isSuccess else {
            throw OIDCError(
                .failed, "\(name): \(DisplayText.quoted(command[0])) \(outcome.status.description)",
                hint: "run it by hand to see why", stage: .settings)
        }
        return Redacted(try SecretSource.text(outcome.output, named: name))
    }

    private static func text(_ bytes: [UInt8], named name: String) throws(OIDCError) -> String {
        guard var text = String(validating: bytes, as: UTF8.self) else {
            throw OIDCError.usage("\(name): expected UTF-8 text")
        }
        while text.last?.isNewline == true { text.removeLast() }
        guard !text.isEmpty else { throw OIDCError.usage("\(name): is empty") }
        return text
    }
}

extension Settings {
    /// The environment of every program that is started: without the client's secret, the identity tokens of CI
    /// jobs, and the variables that `subject_token_env` names in any layer.
    func childEnvironment(_ environment: [String: String]) -> [String: String] {
        ProcessEnvironment.withoutSecrets(environment, and: secretVariables)
    }

    /// The variables that the settings name and that hold a secret, beside those that always do.
    var secretVariables: Set<String> {
        Set(given.filter { $0.setting == .subjectTokenEnv }.compactMap(\.value.string))
    }
}
