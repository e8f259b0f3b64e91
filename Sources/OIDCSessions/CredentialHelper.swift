import OIDCCore
import Posix

/// A program `docker-credential-NAME`, which keeps small secrets in the system's keychain. Each run handles
/// one request: the verb is the argument, the request is the input, and the answer is the output.
struct CredentialHelper: Sendable {
    /// A helper's entry for one URL.
    struct Entry: Hashable, Sendable {
        var serverURL: String
        var username: String
        var secret: String
    }

    let name: String
    let environment: Variables
    let milliseconds: Int64
    var deadline: MonotonicTime?
    /// Called with one line if a run takes long, as the keychain may be locked.
    var onWaiting: @Sendable (String) -> Void = { _ in }

    private static let absence = "credentials not found in native keychain"
    private static let outputLimit = 65_536

    var program: String { "docker-credential-\(name)" }

    func check() throws(OIDCError) {
        guard !ProgramRule.hasOnlyKeptAnswers else { return }
        if (try? Executable.find(program, in: environment)) == nil { throw absent }
    }

    private var absent: OIDCError {
        OIDCError(
            .usage, "store: the program \(program) is not on PATH", hint: .advice(.installHelper),
            stage: .store)
    }

    func store(_ entry: Entry) throws(OIDCError) {
        let outcome = try run("store", entry.json.bytes)
        guard outcome.status == .exited(0) else { throw failure("store", outcome, hiding: entry.secret) }
        HelperAnswers.note(entry, of: program)
    }

    /// Returns an entry; nil if the keychain has none.
    func get(_ serverURL: String) throws(OIDCError) -> Entry? {
        if let kept = HelperAnswers.entry(serverURL, of: program) { return kept }
        let outcome = try run("get", Array(serverURL.utf8))
        guard outcome.status == .exited(0) else {
            if isAbsence(outcome) { return nil }
            throw failure("get", outcome)
        }
        guard let entry = Entry(answer: outcome.output, to: serverURL) else {
            throw storeError("get: expected JSON with Username and Secret, found something else")
        }
        HelperAnswers.note(entry, of: program)
        return entry
    }

    /// Erases an entry; a missing one is not an error.
    func erase(_ serverURL: String) throws(OIDCError) {
        let outcome = try run("erase", Array(serverURL.utf8))
        guard outcome.status == .exited(0) || isAbsence(outcome) else { throw failure("erase", outcome) }
        HelperAnswers.forget(serverURL, of: program)
    }

    private func run(_ verb: String, _ input: [UInt8]) throws(OIDCError) -> ChildProcess.Outcome {
        guard !ProgramRule.hasOnlyKeptAnswers else {
            throw storeError(
                "\(verb): is not run beside an isolated command, which could change what it reads",
                hint: "start the isolated command again")
        }
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
                throw absent
            case .notStarted(let reason):
                throw OIDCError(
                    reason.startHint == nil ? .usage : .failed, "store: \(program) cannot be run: \(reason)",
                    hint: reason.startHint ?? .set(.store, to: "file"), stage: .store)
            case .timedOut(let milliseconds):
                throw storeError(
                    "\(verb): no answer within \(milliseconds / 1_000) s",
                    hint: .advice(.unlockKeychain))
            case .deadline:
                throw OIDCError(
                    .timedOut, "\(program) \(verb): timed out", stage: .store)
            case .tooMuchOutput(let limit):
                throw storeError("\(verb): an answer of more than \(limit) bytes")
            case .interrupted(let signal):
                throw Interruption.error(signal: signal)
            }
        }
    }

    private func isAbsence(_ outcome: ChildProcess.Outcome) -> Bool {
        ASCII.trimmed(text(outcome.output)).hasPrefix(CredentialHelper.absence)
    }

    /// Returns the error of a failed helper, with the reason that it printed.
    private func failure(
        _ verb: String, _ outcome: ChildProcess.Outcome, hiding secret: String? = nil
    ) -> OIDCError {
        let words = [outcome.output, outcome.errorOutput].map { ASCII.trimmed(text($0)) }
            .first { !$0.isEmpty && !(secret.map($0.includes) ?? false) }
            .map(CredentialHelper.withoutSecrets)
        let reason = words.map { ": \(DisplayText.clean($0))" } ?? ""
        return storeError("\(verb) \(outcome.status)\(reason)")
    }

    /// Returns the text without long words of base64url: the helper may have printed an entry, in any form, before it failed.
    private static func withoutSecrets(_ text: String) -> String {
        var kept: [UInt8] = []
        var word: [UInt8] = []
        func isOfWord(_ byte: UInt8) -> Bool {
            ASCII.isAlphanumeric(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
        }
        for byte in Array(text.utf8) + [0] {
            if isOfWord(byte) {
                word.append(byte)
                continue
            }
            kept += word.count < 32 ? word : Array("…".utf8)
            word = []
            if byte != 0 { kept.append(byte) }
        }
        return String(decoding: kept, as: UTF8.self)
    }

    private func storeError(_ message: String, hint: Hint = .set(.store, to: "file")) -> OIDCError {
        .store("\(program) \(message)", hint: hint)
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}

extension CredentialHelper.Entry {
    /// Parses a helper's answer to `get`; nil for any other content.
    init?(answer: [UInt8], to serverURL: String) {
        guard let json = try? JSONValue(parsing: answer), let username = json["Username"]?.string,
            let secret = json["Secret"]?.string
        else { return nil }
        self.init(serverURL: serverURL, username: username, secret: secret)
    }

    /// The entry as input for `store`.
    var json: JSONValue {
        ["ServerURL": .string(serverURL), "Username": .string(username), "Secret": .string(secret)]
    }
}
