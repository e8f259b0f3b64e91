import OIDCCore

/// A program `docker-credential-NAME`: keeps small secrets in the keychain of the system. One request a run:
/// the verb as its argument, the question on its input, the answer on its output.
struct CredentialHelper: Sendable {
    /// What a helper keeps under one address.
    struct Entry: Hashable, Sendable {
        var serverURL: String
        var username: String
        var secret: String
    }

    let name: String
    let environment: [String: String]
    let milliseconds: Int64
    var deadline: MonotonicTime?
    /// Called with one line if the helper takes long: its keychain may be locked.
    var onWaiting: @Sendable (String) -> Void = { _ in }

    private static let absence = "credentials not found in native keychain"
    private static let outputLimit = 65_536

    var program: String { "docker-credential-\(name)" }

    func store(_ entry: Entry) throws(OIDCError) {
        let outcome = try run("store", entry.json.bytes)
        guard outcome.status == .exited(0) else { throw failure("store", outcome, hiding: entry.secret) }
    }

    /// Nil when the keychain has no such entry.
    func get(_ serverURL: String) throws(OIDCError) -> Entry? {
        let outcome = try run("get", Array(serverURL.utf8))
        guard outcome.status == .exited(0) else {
            if isAbsence(outcome) { return nil }
            throw failure("get", outcome)
        }
        guard let entry = Entry(answer: outcome.output, to: serverURL) else {
            throw complaint("get: expected JSON with Username and Secret, found something else")
        }
        return entry
    }

    /// That there was none is not a failure.
    func erase(_ serverURL: String) throws(OIDCError) {
        let outcome = try run("erase", Array(serverURL.utf8))
        guard outcome.status == .exited(0) || isAbsence(outcome) else { throw failure("erase", outcome) }
    }

    private func run(_ verb: String, _ input: [UInt8]) throws(OIDCError) -> ChildProcess.Outcome {
        var child = ChildProcess([program, verb], environment: environment)
        child.input = input
        child.milliseconds = milliseconds
        child.deadline = deadline
        child.outputLimit = CredentialHelper.outputLimit
        child.errorOutput = .captured
        let words = "waiting for \(program): the keychain it uses may be locked"
        child.onWaiting = { [onWaiting] in onWaiting(words) }
        do {
            return try child.run()
        } catch {
            switch error {
            case .notStarted(.noSuchFile):
                throw OIDCError(
                    .usage, "store: the program \(program) is not on PATH",
                    hint: .advice(.installHelper), stage: .store)
            case .notStarted(let reason):
                throw OIDCError(
                    reason.isShortage ? .failed : .usage, "store: \(program) can't be run: \(reason)",
                    hint: reason.shortageHint ?? .set(.store, to: "file"), stage: .store)
            case .timedOut(let milliseconds):
                throw complaint(
                    "\(verb): no answer within \(milliseconds / 1_000) s",
                    hint: .advice(.unlockKeychain))
            case .deadline:
                throw OIDCError(
                    .timedOut, "\(program) \(verb): the time for the sign-in is over", stage: .store)
            case .tooMuchOutput(let limit):
                throw complaint("\(verb): an answer of more than \(limit) bytes")
            case .interrupted(let signal):
                throw Interruption.error(signal: signal)
            }
        }
    }

    private func isAbsence(_ outcome: ChildProcess.Outcome) -> Bool {
        ASCII.trimmed(text(outcome.output)).hasPrefix(CredentialHelper.absence)
    }

    /// Helpers give their reason on the output, some on the error output.
    private func failure(
        _ verb: String, _ outcome: ChildProcess.Outcome, hiding secret: String? = nil
    ) -> OIDCError {
        let words = [outcome.output, outcome.errorOutput].map { ASCII.trimmed(text($0)) }
            .first { !$0.isEmpty && !(secret.map($0.includes) ?? false) }
        let reason = words.map { ": \(DisplayText.clean($0))" } ?? ""
        return complaint("\(verb) \(outcome.status)\(reason)")
    }

    private func complaint(_ message: String, hint: Hint = .set(.store, to: "file")) -> OIDCError {
        .store("\(program) \(message)", hint: hint)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension CredentialHelper.Entry {
    /// What a helper says to `get`; nil for anything else.
    init?(answer: [UInt8], to serverURL: String) {
        guard let json = try? JSONValue(parsing: answer), let username = json["Username"]?.string,
            let secret = json["Secret"]?.string
        else { return nil }
        self.init(serverURL: serverURL, username: username, secret: secret)
    }

    /// As `store` gets it.
    var json: JSONValue {
        ["ServerURL": .string(serverURL), "Username": .string(username), "Secret": .string(secret)]
    }
}
