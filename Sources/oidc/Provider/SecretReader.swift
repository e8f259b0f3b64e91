import OIDCCore
import Posix
import Synchronization

/// Access to the secrets that settings name. Each is read when it is needed.
struct SecretReader {
    /// The environment of the programs that print a secret.
    let environment: @Sendable () -> Variables
    let deadline: MonotonicTime?
    let warn: @Sendable (String) -> Void

    func value(_ secret: ClientSettings.Secret?) throws(OIDCError) -> Redacted<String>? {
        switch secret {
        case nil: nil
        case .text(let text): text
        case .file(let file): try text(file)
        case .command(let command): try output(of: command, named: Setting.clientSecretCommand.name)
        }
    }

    /// Returns a file's text without the line ends that editors add. An empty file is an error.
    func text(_ setting: SettingFile?) throws(OIDCError) -> Redacted<String>? {
        guard let setting else { return nil }
        guard let contents = try UserFile.read(setting.path, limit: 1 << 20, named: setting.name) else {
            throw UserFile.missing(
                setting.path, named: setting.name,
                hint: setting.setting == .clientSecretFile
                    ? .text(
                        "if the path is right, type or pipe the secret to: "
                            + ProfileSecret.writingLine(setting.path))
                    : nil)
        }
        try check(contents, setting)
        return Redacted(try SecretReader.text(contents.bytes, named: "\(setting.name): \(setting.path)"))
    }

    /// Refuses a secret file that others can change, and warns if others can read the user's own. In a CI job
    /// or a pod, such files are root's.
    func check(_ file: UserFile, _ setting: SettingFile) throws(OIDCError) {
        guard SecretReader.secretFiles.contains(setting.setting) else { return }
        let path = setting.path
        let subject = "\(setting.name): \(DisplayText.clean(path))"
        guard !file.isUnderForeignControl else {
            throw OIDCError.usage(
                "\(subject) belongs to another user or may be written by others",
                hint: file.ownershipHint(path))
        }
        if file.isOwnAndOpen {
            warn("\(subject) may be read by others (chmod 600 \(ShellWord.quoted(path)))")
        }
    }

    private static let secretFiles: [Setting] = [
        .clientSecretFile, .privateKeyFile, .privateKeyPassphraseFile, .decryptionKeyFile, .tlsClientKey,
        .storeKeyFile,
    ]

    /// The outputs of commands that this process keeps while `ProgramRule` says so.
    private static let kept = Mutex<[[String]: Redacted<[UInt8]>]>([:])

    /// Runs a program and returns its output without the line end. The output changes from run to run if it is `fresh`.
    func output(
        of command: [String], named name: String, fresh: Bool = false
    ) throws(OIDCError) -> Redacted<String> {
        let bytes = fresh ? try run(command, named: name) : try bytes(of: command, named: name)
        return Redacted(try SecretReader.text(bytes.revealed, named: name))
    }

    /// One program runs at a time, as each may prompt on the terminal.
    private static let turn = Mutex(())

    /// Runs a program and returns its output, unchanged.
    func bytes(of command: [String], named name: String) throws(OIDCError) -> Redacted<[UInt8]> {
        if let output = SecretReader.kept.withLock({ $0[command] }) { return output }
        guard !ProgramRule.hasOnlyKeptAnswers else {
            throw OIDCError(
                .failed,
                "\(name): \(DisplayText.quoted(command[0])) is not run beside an isolated command, which could change what it calls",
                hint: "start the isolated command again", stage: .settings)
        }
        let output = try run(command, named: name)
        if ProgramRule.keepsAnswers { SecretReader.kept.withLock { $0[command] = output } }
        return output
    }

    private func run(_ command: [String], named name: String) throws(OIDCError) -> Redacted<[UInt8]> {
        var process = ChildProcess(command, environment: environment())
        process.errorOutput = .inherited
        process.deadline = deadline
        let program = process
        let result = SecretReader.turn.withLock { _ in
            Result { () throws(ChildProcess.Failure) in try program.run() }
        }
        let outcome: ChildProcess.Outcome
        do { outcome = try result.get() } catch { throw error.error(setting: name, command: command) }
        guard outcome.status.isSuccess else {
            throw OIDCError(
                .failed, "\(name): \(DisplayText.quoted(command[0])) \(outcome.status.description)",
                hint: "run it by hand to see why", stage: .settings)
        }
        return Redacted(outcome.output)
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

extension UserFile {
    /// Returns the hint for a file that other users can change.
    func ownershipHint(_ path: String) -> Hint {
        guard isRegular else { return "name a file of your own; this is a device or a pipe" }
        let change: Hint = "chmod go-w \(ShellWord.quoted(path))"
        return isOwn
            ? change
            : "make a copy of your own and use that, or: sudo chown \"$USER\" \(ShellWord.quoted(path))"
    }
}

extension Settings {
    /// Returns the environment for a program: without the client's secret, the identity tokens of CI jobs,
    /// the variables that `subject_token_env` names in any layer, and the URL of a shared store if it holds a
    /// password.
    func childEnvironment(_ environment: Variables) -> Variables {
        ProcessEnvironment.withoutSecrets(environment, and: secretVariables)
    }

    /// The names in the commands that print a secret which may be those of variables, such as `STORE_KEY` in
    /// `["printenv", "STORE_KEY"]` and `["sh", "-c", "echo \"$STORE_KEY\""]`. Without those that programs need to run.
    ///
    /// The commands need these variables, so only a program that must not see the secrets goes without them.
    var variablesOfSecretCommands: [String] {
        let commands = layers.given.filter {
            [.clientSecretCommand, .storeKeyCommand].contains($0.setting)
        }
        let words = commands.flatMap { $0.value.array?.compactMap(\.string) ?? [] }
        let names = words.flatMap { word in
            word.utf8.split { !ASCII.isAlphanumeric($0) && $0 != .underscore }
                .map { String(decoding: $0, as: UTF8.self) }
        }
        return names.filter { !Settings.usualVariables.contains($0) && !$0.hasPrefix("XDG_") }
    }

    private static let usualVariables: Set<String> = [
        "HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "TMPDIR", "USER",
    ]
}
