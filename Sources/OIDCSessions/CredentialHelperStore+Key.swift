import OIDCCore
import OIDCCrypto
import Posix
import Synchronization

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
    func replaceable(
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

    func newSecret(for entry: String) throws(OIDCError) -> [UInt8] {
        let secret = Random.bytes(EncryptedSession.keyByteCount)
        try helper.store(
            CredentialHelper.Entry(
                serverURL: entry, username: CredentialHelperStore.username, secret: Base64URL.encode(secret)))
        secrets.withLock { $0[entry] = secret }
        return secret
    }

    /// Returns the name of a new entry. It contains a hash of the directory's path, as several state
    /// directories may share one keychain.
    func newEntry(_ name: String) -> String {
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
