import CKeychain
import OIDCCore
import Posix

/// A keeper of small secrets: a credential helper or the system's keychain.
protocol SecretKeeping: Sendable {
    /// The name in the headers of sealed sessions.
    var name: String { get }
    /// The name in messages.
    var program: String { get }

    /// Checks that the keeper is available, without starting it.
    func check() throws(OIDCError)
    func store(_ entry: CredentialHelper.Entry) throws(OIDCError)
    /// Returns an entry; nil if there is none.
    func get(_ serverURL: String) throws(OIDCError) -> CredentialHelper.Entry?
    /// Erases an entry; a missing one is not an error.
    func erase(_ serverURL: String) throws(OIDCError)
    /// Checks that a secret could be stored; called before the user signs in.
    func probe(_ serverURL: String, username: String, in path: String) throws(OIDCError)
}

extension CredentialHelper: SecretKeeping {}

/// The system's keychain: the Secret Service through libsecret on Linux, Keychain Services on macOS. The key
/// of each session is one item, with a label that users recognize.
struct SystemKeychain: SecretKeeping {
    /// The keychain's name in sealed sessions. It contains a space, so no helper has the same name.
    static let keeperName = "system keychain"

    let environment: Variables
    /// Whether the system may ask the user to unlock the keychain; only a sign-in does.
    let mayPrompt: Bool
    let deadline: MonotonicTime?

    var name: String { SystemKeychain.keeperName }
    var program: String { "the keychain" }

    func store(_ entry: CredentialHelper.Entry) throws(OIDCError) {
        let session = SystemKeychain.session(of: entry.serverURL)
        try check(
            call { canceller, problem, size in
                oidc_keychain_store(
                    entry.serverURL, session, "oidc: \(SystemKeychain.title(of: session))", entry.secret,
                    prompts,
                    canceller, problem, size)
            })
    }

    func get(_ serverURL: String) throws(OIDCError) -> CredentialHelper.Entry? {
        var secret = [CChar](repeating: 0, count: 256)
        let outcome = try call { canceller, problem, size in
            oidc_keychain_get(serverURL, prompts, canceller, &secret, secret.count, problem, size)
        }
        guard outcome.result != OIDC_KEYCHAIN_ABSENT else { return nil }
        try check(outcome)
        let text = String(terminated: secret)
        return CredentialHelper.Entry(serverURL: serverURL, username: "oidc", secret: text)
    }

    func erase(_ serverURL: String) throws(OIDCError) {
        let outcome = try call { canceller, problem, size in
            oidc_keychain_erase(serverURL, prompts, canceller, problem, size)
        }
        if outcome.result != OIDC_KEYCHAIN_ABSENT { try check(outcome) }
    }

    func probe(_ serverURL: String, username: String, in path: String) throws(OIDCError) {
        try check(
            call { canceller, problem, size in oidc_keychain_check(prompts, canceller, problem, size) })
    }

    private var prompts: Int32 { mayPrompt ? 1 : 0 }

    private struct Outcome {
        var result: Int
        var problem: String
    }

    /// Calls the keychain; a signal or the deadline cancels the call.
    private func call(
        _ body: (_ canceller: UnsafeMutableRawPointer?, _ problem: UnsafeMutablePointer<CChar>, _ size: Int)
            -> Int32
    ) throws(OIDCError) -> Outcome {
        try check()
        let canceller = oidc_keychain_make_canceller()
        let watch = canceller.map(Watch.init)
        // Without a prompt, the keychain answers in milliseconds unless it hangs.
        let end = deadline ?? .now().adding(seconds: mayPrompt ? 60 : 10)
        let stop = RenewalThread.start(200) { watch?.check(until: end) }
        var problem = [CChar](repeating: 0, count: 512)
        let result = problem.withUnsafeMutableBufferPointer { buffer -> Int32 in
            guard let address = buffer.baseAddress else { return Int32(OIDC_KEYCHAIN_FAILED) }
            return body(canceller, address, buffer.count)
        }
        stop()
        if let canceller { oidc_keychain_free_canceller(canceller) }
        try Interruption.throwIfPending()
        let text = String(terminated: problem)
        return Outcome(result: Int(result), problem: DisplayText.clean(text))
    }

    /// Whether there is a keychain, locked or not.
    var isAvailable: Bool {
        let outcome = try? call { canceller, problem, size in oidc_keychain_check(0, canceller, problem, size)
        }
        return outcome.map { $0.result == OIDC_KEYCHAIN_OK || $0.result == OIDC_KEYCHAIN_LOCKED } ?? false
    }

    /// A watch that cancels a call that takes too long.
    ///
    /// Unchecked, as GLib's cancellables may be used from any thread.
    private final class Watch: @unchecked Sendable {
        private let canceller: UnsafeMutableRawPointer

        init(_ canceller: UnsafeMutableRawPointer) { self.canceller = canceller }

        func check(until end: MonotonicTime) {
            if Interruption.recorded != nil || MonotonicTime.now() >= end { oidc_keychain_cancel(canceller) }
        }
    }

    /// Checks that a D-Bus session bus exists; without one, libsecret would start its own, with an empty
    /// keychain.
    func check() throws(OIDCError) {
        guard !Platform.isDarwin, environment["DBUS_SESSION_BUS_ADDRESS", default: ""].isEmpty else { return }
        let path = environment["XDG_RUNTIME_DIR"].map { "\($0)/bus" }
        if let path, (try? FilePath.status(path)) != nil { return }
        throw .store(
            "no keychain can be reached: there is no D-Bus session bus, as in SSH sessions, cron jobs and containers",
            hint: .set(.store, to: "file"))
    }

    private func check(_ outcome: Outcome) throws(OIDCError) {
        switch outcome.result {
        case OIDC_KEYCHAIN_OK: return
        case OIDC_KEYCHAIN_NO_LIBRARY:
            throw OIDCError(
                .usage, "store: the keychain needs libsecret: \(outcome.problem)",
                hint:
                    "install it: apt install libsecret-1-0 (Debian, Ubuntu), dnf install libsecret (Fedora)",
                stage: .store)
        case OIDC_KEYCHAIN_LOCKED:
            throw .store(
                "the keychain is locked", hint: .orSignIn("unlock it, as by signing in to the desktop"))
        case OIDC_KEYCHAIN_DISMISSED:
            throw .store("the keychain was not unlocked", hint: .set(.store, to: "file"))
        default:
            throw .store(
                "the keychain cannot be used: \(outcome.problem)", hint: .set(.store, to: "file"))
        }
    }

    /// Returns the session's name in an entry's URL: its second part.
    private static func session(of entry: String) -> String {
        let parts = entry.split(separator: "/")
        return parts.count > 2 ? String(parts[2]) : entry
    }

    /// Returns the readable part of a session's name.
    private static func title(of session: String) -> String {
        guard let end = session.lastIndex(of: "-") else { return session }
        return String(session[..<end])
    }
}
