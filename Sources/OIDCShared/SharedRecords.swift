import OIDCCore
import OIDCCrypto
import OIDCSessions
import Posix
import Synchronization

/// Access to the records of a shared store, which are sealed and opened here. The versions that this machine
/// has seen are remembered.
final class SharedRecords: Sendable {
    let engine: any SharedEngine
    let now: @Sendable () -> Instant
    private let load: @Sendable () throws(OIDCError) -> SealingKeys
    private let loaded = Mutex<SealingKeys?>(nil)
    private let versions: SharedVersions
    /// Nil if this machine has no directory for them.
    private let files: VersionFiles?

    init(
        _ engine: any SharedEngine, versions: SharedVersions, files: VersionFiles?,
        now: @escaping @Sendable () -> Instant,
        keys load: @escaping @Sendable () throws(OIDCError) -> SealingKeys
    ) {
        self.engine = engine
        self.versions = versions
        self.files = files
        self.now = now
        self.load = load
    }

    /// A session as it is stored.
    struct Stored {
        /// The stored value; nil if the record cannot be read, as it is too large or not a string.
        var value: SharedValue?
        var version: Int64
        /// The session; nil if the record is damaged and may be replaced.
        var session: Session?
    }

    func keys() throws(OIDCError) -> SealingKeys {
        if let keys = loaded.withLock({ $0 }) { return keys }
        let keys = try load()
        loaded.withLock { $0 = keys }
        return keys
    }

    static func name(_ content: SealedRecord.Content, _ stem: String) -> String {
        "\(content.rawValue)/\(stem)"
    }

    func location(_ stem: String) -> String {
        "\(engine.description), record \(SharedRecords.name(.session, stem))"
    }

    /// Reads a session; returns nil if there is none. If `orDamaged` is true, a damaged record is returned
    /// without its session.
    func session(_ key: SessionKey, orDamaged: Bool = false) throws(OIDCError) -> Stored? {
        // Noted before the read: afterwards, another process may have written a newer record.
        let newest = newest(key)
        let value: SharedValue?
        do throws(OIDCError) {
            value = try engine.read(SharedRecords.name(.session, key.fileStem))
        } catch {
            guard orDamaged, error.code == .damagedSession else { throw error }
            return Stored(value: nil, version: 0, session: nil)
        }
        return try session(in: value, key, after: newest, orDamaged: orDamaged)
    }

    /// The version of the newest record that this machine has seen.
    func newest(_ key: SessionKey) -> Int64 { newest(key.fileStem) }

    /// Opens a value that was read when `newest` was the version of the newest known record.
    func session(
        in value: SharedValue?, _ key: SessionKey, after newest: Int64, orDamaged: Bool
    ) throws(OIDCError) -> Stored? {
        guard let value else { return nil }
        do throws(OIDCError) {
            let (record, plain) = try opened(value.bytes, .session, key.fileStem)
            guard ExactText.isSame(record.key, key.text) else { throw fault(.otherKey, key.fileStem) }
            let session = try parsed(plain, record, key.fileStem)
            try check(record.version, after: newest, key.fileStem)
            return Stored(value: value, version: record.version, session: session)
        } catch {
            guard orDamaged, error.kind == .untrusted || error.code == .oldRecord else { throw error }
            return Stored(value: value, version: 0, session: nil)
        }
    }

    /// Reads a listed session by the stem of its name; returns nil if it no longer exists.
    func listed(_ stem: String) throws(OIDCError) -> Session? {
        let newest = newest(stem)
        guard let value = try engine.read(SharedRecords.name(.session, stem)) else { return nil }
        let (record, plain) = try opened(value.bytes, .session, stem)
        let session = try parsed(plain, record, stem)
        guard session.key.fileStem == stem else { throw fault(.otherKey, stem) }
        try check(record.version, after: newest, stem)
        return session
    }

    /// Writes a session if `current` is still the stored one. Returns it as it is stored, or nil if another one is.
    func write(
        _ session: Session, replacing current: Stored?, lifetime: Duration?
    ) throws(OIDCError) -> Stored? {
        let stem = session.key.fileStem
        let before = max(current?.version ?? 0, newest(stem))
        // The version is at least the current time, so it also grows across a sign-out.
        let version = max(before + 1, now().secondsSinceEpoch)
        let record = try SealedRecord(
            sealing: session.json.bytes, .session, of: session.key, version: version, with: try keys().sealing
        )
        let name = SharedRecords.name(.session, stem)
        if let current, current.value == nil { try engine.remove(name) }
        guard
            let value = try engine.write(
                name, record.bytes, replacing: current?.value, lifetime: lifetime)
        else { return nil }
        note(version, stem)
        return Stored(value: value, version: version, session: session)
    }

    /// Returns the shared failure in a value; nil if there is none or it cannot be read.
    func failure(in value: SharedValue?, _ key: SessionKey) -> SharedFailure? {
        guard let value, let (record, plain) = try? opened(value.bytes, .failure, key.fileStem),
            ExactText.isSame(record.key, key.text), let failure = SharedFailure(stored: plain)
        else { return nil }
        return failure
    }

    func write(_ failure: SharedFailure, of key: SessionKey, replacing current: SharedValue?)
        throws(OIDCError)
    {
        let record = try SealedRecord(
            sealing: failure.json.bytes, .failure, of: key, version: max(1, now().secondsSinceEpoch),
            with: try keys().sealing)
        _ = try engine.write(
            SharedRecords.name(.failure, key.fileStem), record.bytes, replacing: current,
            lifetime: .seconds(300))
    }

    func opened(
        _ bytes: [UInt8], _ content: SealedRecord.Content, _ stem: String
    ) throws(OIDCError) -> (SealedRecord, [UInt8]) {
        let record: SealedRecord
        do { record = try SealedRecord(stored: bytes) } catch {
            throw fault(StoreFault(error, version: SealedRecord.formatVersion), stem)
        }
        let keys = try keys()
        guard let key = keys.key(record.keyID) else {
            throw OIDCError(
                .usage,
                "the session in \(location(stem)) was sealed with the key \(DisplayText.clean(record.keyID)), found "
                    + keys.ids.joined(separator: " and "),
                hint: .advice(.giveStoreKey), stage: .store)
        }
        let plain: [UInt8]
        do throws(CryptoError) {
            plain = try record.open(with: key)
        } catch {
            guard case .failed = error else { throw OIDCError(error, stage: .store) }
            throw OIDCError(
                .untrusted, "the session in \(location(stem)) was changed by somebody without the key",
                hint: .signIn, stage: .store)
        }
        guard record.content == content else { throw fault(.otherKey, stem) }
        return (record, plain)
    }

    func parsed(_ plain: [UInt8], _ record: SealedRecord, _ stem: String) throws(OIDCError) -> Session {
        let session: Session
        do { session = try Session(stored: plain) } catch { throw fault(StoreFault(error), stem) }
        guard ExactText.isSame(session.key.text, record.key) else { throw fault(.otherKey, stem) }
        return session
    }

    /// Throws if a record is older than one that this machine had seen before: the server lost data, an outdated
    /// replica took over, or somebody restored an old record. A sign-in replaces it.
    private func check(_ version: Int64, after newest: Int64, _ stem: String) throws(OIDCError) {
        guard version >= newest else {
            var error = OIDCError.sharedStore(
                engine.description,
                "returned version \(version) of the session, after version \(newest): it lost data or was set back"
            )
            error.hint = .signIn
            error.code = .oldRecord
            throw error
        }
        note(version, stem)
    }

    private func newest(_ stem: String) -> Int64 {
        let known = versions[location(stem)]
        guard known == 0, let seen = files?[fileName(stem)], seen > 0 else { return known }
        versions.note(seen, of: location(stem))
        return seen
    }

    private func note(_ version: Int64, _ stem: String) {
        guard version > newest(stem) else { return }
        versions.note(version, of: location(stem))
        files?.note(version, of: fileName(stem))
    }

    /// Notes that a session was removed, as the next version after the last one, so the server cannot bring the
    /// old record back. A later sign-in has a greater version on any machine, as it is at least the time.
    func noteRemoval(_ stem: String) {
        let newest = newest(stem)
        if newest > 0 { note(newest + 1, stem) }
    }

    /// Returns the name of a session's local files. It includes a hash of the server's description.
    func fileName(_ stem: String) -> String { "\(stem)-\(FNV1a.digits(engine.description))" }

    private func fault(_ fault: StoreFault, _ stem: String) -> OIDCError {
        fault.recordError(location(stem))
    }
}

extension OIDCError {
    /// Returns the error of a record that no machine can use. A sign-in replaces it.
    static func damagedRecord(_ message: String) -> OIDCError {
        var error = OIDCError.untrusted(.store, message, hint: .signIn)
        error.code = .damagedSession
        return error
    }
}

extension StoreFault {
    /// Returns the error about a record of a shared store.
    fileprivate func recordError(_ location: String) -> OIDCError {
        let subject = "the session in \(DisplayText.clean(location))"
        switch self {
        case .otherKey:
            return .untrusted(.store, "\(subject) is another session's; it is not used", hint: .signIn)
        case .newerVersion(let found, let known):
            return .store(
                "\(subject) was written by a newer oidc: expected format \(known) at most, found \(found)",
                hint: .advice(.useNewerVersion))
        case .damaged(let reason):
            return .damagedRecord("\(subject) is damaged: \(reason)")
        case .notOpened(let error):
            return error
        }
    }
}
