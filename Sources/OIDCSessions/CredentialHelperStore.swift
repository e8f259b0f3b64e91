package import OIDCCore
import OIDCCrypto
package import Posix
import Synchronization

/// A store of encrypted files, `<name>.sealed`, with their keys in a credential helper (`store=helper:NAME`)
/// or the system's keychain (`store=keychain`). Sessions are saved and removed under their lock, so file and
/// key stay consistent.
package final class CredentialHelperStore: SessionStoring {
    let directory: SessionDirectory
    let helper: any SecretKeeping
    /// The secrets by entry, kept in memory so each command calls the helper once.
    let secrets = Mutex<[String: [UInt8]]>([:])

    static let username = "oidc"

    /// Makes a store. The helper gets `environment` without the client's secret. Each run may take
    /// `milliseconds`, by default a minute, as it may prompt for a passphrase and a thousand processes may
    /// wait for one gpg-agent. The runs are not serialized, or a hanging helper would cost each process the
    /// whole limit, one after another. `onWaiting` gets one line if a run takes more than a few seconds.
    package init(
        name: String, directory path: String, environment: Variables, milliseconds: Int64 = 60_000,
        deadline: MonotonicTime? = nil, onWaiting: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        directory = SessionDirectory(path: path, ending: ".sealed")
        var environment = environment
        environment["OIDC_CLIENT_SECRET"] = nil
        helper = CredentialHelper(
            name: name, environment: environment, milliseconds: milliseconds, deadline: deadline,
            onWaiting: onWaiting)
    }

    /// Creates a store whose keys are in the system's keychain. `mayPrompt` lets the system ask the user to
    /// unlock it.
    package init(
        keychainOf environment: Variables, directory path: String, mayPrompt: Bool,
        deadline: MonotonicTime?
    ) {
        directory = SessionDirectory(path: path, ending: ".sealed")
        helper = SystemKeychain(environment: environment, mayPrompt: mayPrompt, deadline: deadline)
    }

    /// Returns whether this machine's keychain can be used, locked or not.
    package static func hasKeychain(_ environment: Variables) -> Bool {
        SystemKeychain(environment: environment, mayPrompt: false, deadline: nil).isAvailable
    }

    /// Returns the setting `store` that a sealed session was saved with; nil if there is no such session.
    package static func keeper(of key: SessionKey, in directory: String) -> String? {
        let sealed = SessionDirectory(path: directory, ending: ".sealed")
        guard let bytes = try? sealed.read(key.fileStem), let stored = try? EncryptedSession(stored: bytes),
            stored.key == key.text
        else { return nil }
        return stored.helper == SystemKeychain.keeperName ? "keychain" : "helper:\(stored.helper)"
    }

    /// Checks that the helper or the keychain is available, without starting it.
    package func checkKeeper() throws(OIDCError) { try helper.check() }

    package var description: String { "\(helper.program) and \(directory.path)" }

    package func location(of key: SessionKey) -> String {
        "\(directory.location(key.fileStem)), its key in \(helper.program)"
    }

    package func load(_ key: SessionKey) throws(OIDCError) -> Session? {
        try key.readIfWhole { () throws(OIDCError) in
            try directory.read(key.fileStem).map { bytes throws(OIDCError) in try read(bytes, key) }
        }
    }

    private func read(_ bytes: [UInt8], _ key: SessionKey) throws(OIDCError) -> Session {
        let stored = try header(bytes, key.fileStem)
        guard stored.key == key.text else { throw storeError(.otherKey, key.fileStem) }
        return try open(stored, key.fileStem)
    }

    package func save(_ session: Session, replacingDamaged: Bool) throws(OIDCError) {
        try directory.replace(session.key.fileStem) { existing throws(OIDCError) in
            let bytes = try sealed(session, replacing: existing, orDamaged: replacingDamaged)
            if let existing, isDamaged(existing) { directory.setAside(session.key.fileStem) }
            return bytes
        }
    }

    package func replace(_ current: Session?, with session: Session) throws(OIDCError) -> Bool {
        try directory.replace(session.key.fileStem) { existing throws(OIDCError) in
            let found = try session.key.readIfWhole { () throws(OIDCError) in
                try existing.map { bytes throws(OIDCError) in try read(bytes, session.key) }
            }
            guard found == current else { return nil }
            return try sealed(session, replacing: existing, orDamaged: !session.key.grant.needsUser)
        }
    }

    private func sealed(
        _ session: Session, replacing existing: [UInt8]?, orDamaged: Bool
    ) throws(OIDCError) -> [UInt8] {
        let name = session.key.fileStem
        var stored = EncryptedSession(key: session.key, helper: helper.name, entry: newEntry(name))
        var secret: [UInt8]?
        if let existing, let kept = try replaceable(existing, session.key, orDamaged: orDamaged) {
            stored.entry = kept.entry
            secret = try self.secret(of: kept.entry)
        }
        let used = if let secret { secret } else { try newSecret(for: stored.entry) }
        do throws(CryptoError) {
            try stored.seal(session, with: used)
        } catch {
            throw OIDCError(error, stage: .store)
        }
        return stored.json.bytes
    }

    package func remove(_ key: SessionKey) throws(OIDCError) {
        var isDamaged = false
        do throws(OIDCError) { _ = try load(key) } catch { isDamaged = error.code == .damagedSession }
        try remove(key.fileStem, isDamaged: isDamaged) { stored throws(OIDCError) in
            guard stored.key == key.text else { throw storeError(.otherKey, key.fileStem) }
        }
    }

    package func remove(_ stored: StoredSession) throws(OIDCError) {
        try remove(stored.name, isDamaged: stored.isDamaged) { _ in }
    }

    package func all() throws(OIDCError) -> [StoredSession] {
        var failure: OIDCError?
        return try directory.entries { name, bytes throws(OIDCError) in
            let stored = try header(bytes, name)
            if let failure { throw failure.about(directory.location(name)) }
            do throws(OIDCError) {
                _ = try secret(of: stored.entry)
            } catch {
                failure = error
                throw error.about(directory.location(name))
            }
            return try open(stored, name)
        }
    }

    package func withLock<Value>(
        _ key: SessionKey, for purpose: LockPurpose, _ wait: LockWait, _ body: () throws(OIDCError) -> Value
    ) throws(OIDCError) -> Value {
        try directory.withLock(
            key.fileStem, for: purpose, wait,
            adoptingIf: { stored, leftover in
                guard let stored = try? self.read(stored, key),
                    let leftover = try? self.read(leftover, key)
                else { return false }
                return leftover.isRefreshed(from: stored)
            }, body)
    }

    /// Removes the unfinished files of killed sign-ins, with their keys, and returns the sessions that can be
    /// read.
    package func takeLeftovers(
        of key: SessionKey?, where isMeant: (Session?) -> Bool
    ) throws(OIDCError) -> [Session] {
        let opened = { (content: [UInt8]) -> Session? in
            (try? EncryptedSession(stored: content)).flatMap { try? self.open($0, "") }
        }
        let taken = try directory.takeLeftovers(of: key?.fileStem) { isMeant(opened($1)) }
        return taken.compactMap { leftover in
            let session = opened(leftover.content)
            if let stored = try? EncryptedSession(stored: leftover.content), stored.helper == helper.name {
                secrets.withLock { $0[stored.entry] = nil }
                try? helper.erase(stored.entry)
            }
            return session
        }
    }

    package func failure(of key: SessionKey) -> SharedFailure? { directory.failure(key.fileStem) }

    package func leave(_ failure: SharedFailure?, for key: SessionKey, replacing id: String?) {
        directory.leave(failure, key.fileStem, replacing: id)
    }

    /// Checks that a session could be saved, including its key in the helper.
    package func probe(_ key: SessionKey) throws(OIDCError) {
        try directory.reserve(key.fileStem) { bytes throws(OIDCError) in
            _ = try replaceable(bytes, key, orDamaged: true)
        }
        try helper.probe(newEntry("probe"), username: CredentialHelperStore.username, in: directory.path)
    }

    /// Checks that the file could be replaced, and returns an object that holds space for it until released.
    /// The helper is not called, as a refresh does not change the key.
    package func reserveSpace(for key: SessionKey) throws(OIDCError) -> AnyObject? {
        try directory.reserve(key.fileStem, survivesPowerFailure: false) { bytes throws(OIDCError) in
            _ = try replaceable(bytes, key, orDamaged: !key.grant.needsUser)
        }
    }
}

extension OIDCError {
    /// Returns the error with the path of the session that cannot be read.
    fileprivate func about(_ path: String) -> OIDCError {
        OIDCError(kind, "\(DisplayText.clean(path)): \(message)", hint: hint, stage: stage)
    }
}

/// Access to the encrypted files, and to their keys in the helper.
extension CredentialHelperStore {
    func header(_ bytes: [UInt8], _ name: String) throws(OIDCError) -> EncryptedSession {
        do {
            return try EncryptedSession(stored: bytes)
        } catch {
            throw storeError(SessionFault(error), name)
        }
    }

    func open(_ stored: EncryptedSession, _ name: String) throws(OIDCError) -> Session {
        guard stored.helper == helper.name else {
            throw storeError(
                .damaged("its key is in \(keeper(of: stored)), but store is \(helper.program)"),
                name)
        }
        let plain = try opened(stored, name)
        let session: Session
        do { session = try Session(stored: plain) } catch { throw storeError(SessionFault(error), name) }
        guard session.key.text == stored.key else { throw storeError(.otherKey, name) }
        return session
    }

    /// Decrypts a session. If a secret from memory fails, it is fetched again, as a sign-in may have replaced
    /// it.
    private func opened(_ stored: EncryptedSession, _ name: String) throws(OIDCError) -> [UInt8] {
        let wasKnown = secrets.withLock { $0[stored.entry] != nil }
        guard let secret = try secret(of: stored.entry) else {
            throw storeError(.damaged("\(helper.program) does not have its key"), name)
        }
        do {
            return try stored.open(with: secret)
        } catch {
            guard case .failed = error else { throw OIDCError(error, stage: .store) }
        }
        secrets.withLock { $0[stored.entry] = nil }
        guard !wasKnown else { return try opened(stored, name) }
        throw storeError(.damaged("the key in \(helper.program) does not decrypt it"), name)
    }

    private func keeper(of stored: EncryptedSession) -> String {
        stored.helper == SystemKeychain.keeperName ? "the keychain" : "docker-credential-\(stored.helper)"
    }

    /// Returns the parsed file, whose entry is kept; nil if it is damaged or its key is in another helper.
    /// Throws if the file must not be replaced.
    private func replaceable(
        _ bytes: [UInt8], _ key: SessionKey, orDamaged: Bool
    ) throws(OIDCError) -> EncryptedSession? {
        let stored: EncryptedSession
        do {
            stored = try EncryptedSession(stored: bytes)
        } catch {
            let fault = SessionFault(error)
            guard case .damaged = fault, orDamaged else { throw storeError(fault, key.fileStem) }
            return nil
        }
        guard stored.key == key.text else { throw storeError(.otherKey, key.fileStem) }
        return stored.helper == helper.name ? stored : nil
    }

    /// Whether a file is not even the form of a session.
    func isDamaged(_ bytes: [UInt8]) -> Bool { (try? EncryptedSession(stored: bytes)) == nil }

    /// Returns the secret of an entry; nil if the helper has none, or a value that is not one of our keys.
    func secret(of entry: String) throws(OIDCError) -> [UInt8]? {
        if let known = secrets.withLock({ $0[entry] }) { return known }
        guard let found = try helper.get(entry), found.username == CredentialHelperStore.username,
            let secret = Base64URL.decode(found.secret), secret.count == EncryptedSession.keyByteCount
        else { return nil }
        secrets.withLock { $0[entry] = secret }
        return secret
    }

    private func newSecret(for entry: String) throws(OIDCError) -> [UInt8] {
        let secret = Random.bytes(EncryptedSession.keyByteCount)
        try helper.store(
            CredentialHelper.Entry(
                serverURL: entry, username: CredentialHelperStore.username, secret: Base64URL.encode(secret)))
        secrets.withLock { $0[entry] = secret }
        return secret
    }

    /// Returns the name of a new entry. It contains a hash of the directory's path, as several state
    /// directories may share one keychain.
    private func newEntry(_ name: String) -> String {
        "https://oidc.invalid/\(name)/\(FNV1a.digits(directory.path))"
    }

    /// Removes the file and then the key, so the session is gone even if the helper fails.
    func remove(
        _ name: String, isDamaged: Bool = false,
        checking check: (EncryptedSession) throws(OIDCError) -> Void
    ) throws(OIDCError) {
        var entry: String? = newEntry(name)
        let wasThere = try directory.remove(name) { bytes throws(OIDCError) in
            guard let stored = try? EncryptedSession(stored: bytes) else { return true }
            try check(stored)
            entry = stored.helper == helper.name ? stored.entry : nil
            return isDamaged
        }
        guard wasThere, let entry else { return }
        secrets.withLock { $0[entry] = nil }
        do {
            try helper.erase(entry)
        } catch {
            throw .store(
                "the session is forgotten, but its key is still in the keychain: \(error.message)",
                hint: error.hint)
        }
    }

    func storeError(_ fault: SessionFault, _ name: String) -> OIDCError {
        fault.storeError(directory.location(name))
    }
}
