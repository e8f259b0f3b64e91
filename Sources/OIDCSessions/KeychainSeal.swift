package import OIDCCore
import OIDCCrypto
package import Posix
import Synchronization

/// The form of sessions that are encrypted in `<name>.sealed`, with their keys in a credential helper
/// (`store=helper:NAME`) or the system's keychain (`store=keychain`). Sessions are saved and removed under their lock,
/// so file and key stay consistent.
package final class KeychainSeal: SessionSeal {
    /// The directory of the files.
    private let directory: String
    private let keeper: any SecretKeeping
    /// The secrets by entry, kept in memory so each command calls the keeper once.
    private let secrets = Mutex<[String: [UInt8]]>([:])

    static let username = "oidc"

    init(directory path: String, keeper: any SecretKeeping) {
        directory = FilePath.trimmed(path)
        self.keeper = keeper
    }

    /// Returns whether this machine's keychain can be used, locked or not.
    package static func hasKeychain(_ environment: Variables) -> Bool {
        SystemKeychain(environment: environment, mayPrompt: false, deadline: nil).isAvailable
    }

    /// Returns the setting `store` that a sealed session was saved with; nil if there is no such session.
    package static func keeper(of key: SessionKey, in directory: String) -> String? {
        guard let stored = stored(key.recordName, in: directory), stored.key == key.text else { return nil }
        return setting(of: stored)
    }

    /// Returns the settings `store` that the sealed sessions of a directory were saved with.
    package static func keepers(in directory: String) -> Set<String> {
        Set(sealed(in: directory).map(setting))
    }

    /// Returns the keys of the sealed sessions of a directory, without asking a helper or keychain.
    package static func keys(in directory: String) -> [SessionKey] {
        sealed(in: directory).compactMap { SessionKey(text: $0.key) }
    }

    private static func sealed(in directory: String) -> [EncryptedSession] {
        let files = FileRecords(directory: directory, ending: SessionStore.sealedEnding)
        return ((try? files.names(.session)) ?? []).compactMap { stored($0, in: directory) }
    }

    private static func stored(_ name: RecordName, in directory: String) -> EncryptedSession? {
        let files = FileRecords(directory: directory, ending: SessionStore.sealedEnding)
        return ((try? files.read(name)) ?? nil).flatMap { try? EncryptedSession(stored: $0.bytes) }
    }

    private static func setting(of stored: EncryptedSession) -> String {
        stored.helper == SystemKeychain.keeperName ? "keychain" : "helper:\(stored.helper)"
    }

    package func description(of records: String) -> String { "\(keeper.program) and \(records)" }
    package func location(_ location: String) -> String { "\(location), its key in \(keeper.program)" }
    package func checkAvailable() throws(OIDCError) { try keeper.check() }

    package func probe() throws(OIDCError) {
        try keeper.probe(newEntry("probe"), username: KeychainSeal.username, in: directory)
    }

    package func check(_ record: Record, of key: SessionKey?) throws(StoreFault) {
        _ = try header(record, key)
    }

    private func header(_ record: Record, _ key: SessionKey?) throws(StoreFault) -> EncryptedSession {
        let stored: EncryptedSession
        do { stored = try EncryptedSession(stored: record.bytes) } catch {
            throw StoreFault(error, version: EncryptedSession.formatVersion)
        }
        guard key.map({ $0.text == stored.key }) ?? true else { throw .otherKey }
        return stored
    }

    package func open(_ record: Record, of key: SessionKey?) throws(StoreFault) -> Session? {
        let stored = try header(record, key)
        guard stored.helper == keeper.name else {
            throw .damaged("its key is in \(KeychainSeal.keeper(of: stored)), but store is \(keeper.program)")
        }
        let session: Session
        let plain = try opened(stored)
        do { session = try Session(stored: plain) } catch { throw StoreFault(error) }
        guard session.key.text == stored.key else { throw .otherKey }
        return session
    }

    /// Decrypts a session. If a secret from memory fails, it is fetched again, as a sign-in may have replaced
    /// it.
    private func opened(_ stored: EncryptedSession) throws(StoreFault) -> [UInt8] {
        let wasKnown = secrets.withLock { $0[stored.entry] != nil }
        let secret: [UInt8]?
        do throws(OIDCError) { secret = try self.secret(of: stored.entry) } catch { throw .notOpened(error) }
        guard let secret else { throw .damaged("\(keeper.program) does not have its key") }
        do throws(CryptoError) {
            return try stored.open(with: secret)
        } catch {
            guard case .failed = error else { throw .notOpened(OIDCError(error, stage: .store)) }
        }
        secrets.withLock { $0[stored.entry] = nil }
        // A kept answer is outdated then; the next try says why no new one is asked for.
        let wasKept = ProgramRule.hasOnlyKeptAnswers && HelperAnswers.forget(stored.entry, of: keeper.program)
        guard !wasKnown, !wasKept else { return try opened(stored) }
        throw .damaged("the key in \(keeper.program) does not decrypt it")
    }

    private static func keeper(of stored: EncryptedSession) -> String {
        stored.helper == SystemKeychain.keeperName ? "the keychain" : "docker-credential-\(stored.helper)"
    }

    /// Keeps the key of the session that it replaces, so a refresh stores nothing in the keychain.
    package func seal(_ session: Session, over current: Record?) throws(OIDCError) -> [UInt8] {
        var stored = EncryptedSession(
            key: session.key, helper: keeper.name, entry: newEntry(session.key.fileStem))
        var secret: [UInt8]?
        if let current, let kept = try? EncryptedSession(stored: current.bytes), kept.helper == keeper.name {
            stored.entry = kept.entry
            forgetReplaced(kept)
            secret = try self.secret(of: kept.entry)
        }
        let used = if let secret { secret } else { try newSecret(for: stored.entry) }
        do throws(CryptoError) {
            try stored.seal(session.json.bytes, with: used)
        } catch {
            throw OIDCError(error, stage: .store)
        }
        return stored.json.bytes
    }

    package func seal(document: [UInt8], of key: SessionKey) throws(OIDCError) -> [UInt8] {
        // Each document has an entry of its own, as several documents may have the same key or file name.
        let name = "sign-in-\(key.fileStem)-\(Base64URL.encode(Random.bytes(9)))"
        var stored = EncryptedSession(key: key, helper: keeper.name, entry: newEntry(name))
        let secret = try newSecret(for: stored.entry)
        do throws(CryptoError) { try stored.seal(document, with: secret) } catch {
            throw OIDCError(error, stage: .store)
        }
        return stored.json.bytes
    }

    package func open(document: [UInt8], of key: SessionKey) throws(StoreFault) -> [UInt8] {
        try opened(try header(Record(bytes: document), key))
    }

    package func forget(document: [UInt8]) { forget(leftover: Record(bytes: document)) }

    /// Forgets a secret from memory that does not open the record: another process has replaced it.
    private func forgetReplaced(_ stored: EncryptedSession) {
        guard let known = secrets.withLock({ $0[stored.entry] }), (try? stored.open(with: known)) == nil
        else {
            return
        }
        secrets.withLock { $0[stored.entry] = nil }
    }

    package func forget(_ record: Record?, of stem: String) throws(OIDCError) {
        var entry = newEntry(stem)
        if let stored = record.flatMap({ try? EncryptedSession(stored: $0.bytes) }) {
            guard stored.helper == keeper.name else { return }
            entry = stored.entry
        }
        secrets.withLock { $0[entry] = nil }
        do {
            try keeper.erase(entry)
        } catch {
            throw .store(
                "the session is forgotten, but its key is still in the keychain: \(error.message)",
                hint: error.hint)
        }
    }

    package func forget(leftover: Record) {
        guard let stored = try? EncryptedSession(stored: leftover.bytes), stored.helper == keeper.name else {
            return
        }
        secrets.withLock { $0[stored.entry] = nil }
        try? keeper.erase(stored.entry)
    }

    /// Returns the secret of an entry; nil if the keeper has none, or a value that is not one of our keys.
    private func secret(of entry: String) throws(OIDCError) -> [UInt8]? {
        if let known = secrets.withLock({ $0[entry] }) { return known }
        guard let found = try keeper.get(entry), found.username == KeychainSeal.username,
            let secret = Base64URL.decode(found.secret), secret.count == EncryptedSession.keyByteCount
        else { return nil }
        secrets.withLock { $0[entry] = secret }
        return secret
    }

    private func newSecret(for entry: String) throws(OIDCError) -> [UInt8] {
        let secret = Random.bytes(EncryptedSession.keyByteCount)
        try keeper.store(
            CredentialHelper.Entry(
                serverURL: entry, username: KeychainSeal.username, secret: Base64URL.encode(secret)))
        secrets.withLock { $0[entry] = secret }
        return secret
    }

    /// Returns the name of a new entry. It contains a hash of the directory's path, as several state
    /// directories may share one keychain.
    private func newEntry(_ name: String) -> String {
        "https://oidc.invalid/\(name)/\(FNV1a.digits(directory))"
    }
}

extension SessionStore {
    static let sealedEnding = ".sealed"

    /// Creates a store of sealed files whose keys are in a credential helper. The helper gets `environment` without
    /// the client's secret. Each run may take `milliseconds`, by default a minute, as it may prompt for a passphrase
    /// and a thousand processes may wait for one gpg-agent. The runs are not serialized: one helper that hangs would
    /// cost each process the whole limit, one after another. `onWaiting` gets one line if a run takes more than a few
    /// seconds.
    package init(
        helper name: String, directory path: String, environment: Variables, milliseconds: Int64 = 60_000,
        deadline: MonotonicTime? = nil, onWaiting: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        var environment = environment
        environment["OIDC_CLIENT_SECRET"] = nil
        self.init(
            directory: path,
            keeper: CredentialHelper(
                name: name, environment: environment, milliseconds: milliseconds, deadline: deadline,
                onWaiting: onWaiting))
    }

    /// Creates a store of sealed files whose keys are in the system's keychain. `mayPrompt` lets the system ask the
    /// user to unlock it.
    package init(
        keychainOf environment: Variables, directory path: String, mayPrompt: Bool, deadline: MonotonicTime?
    ) {
        self.init(
            directory: path,
            keeper: SystemKeychain(environment: environment, mayPrompt: mayPrompt, deadline: deadline))
    }

    private init(directory path: String, keeper: any SecretKeeping) {
        self.init(
            FileRecords(directory: path, ending: SessionStore.sealedEnding),
            KeychainSeal(directory: path, keeper: keeper))
    }
}
