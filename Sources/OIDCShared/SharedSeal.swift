import OIDCCore
import OIDCCrypto
import OIDCSessions
import Synchronization

/// The form of sessions on a server that several machines share: sealed with the machines' common key, each with a
/// version that grows with every write.
final class SharedSeal: SessionSeal {
    let versions: RecordVersions
    let now: @Sendable () -> Instant
    private let load: @Sendable () throws(OIDCError) -> SealingKeys
    private let loaded = Mutex<SealingKeys?>(nil)

    init(
        _ versions: RecordVersions, now: @escaping @Sendable () -> Instant,
        keys load: @escaping @Sendable () throws(OIDCError) -> SealingKeys
    ) {
        self.versions = versions
        self.now = now
        self.load = load
    }

    func keys() throws(OIDCError) -> SealingKeys {
        if let keys = loaded.withLock({ $0 }) { return keys }
        let keys = try load()
        loaded.withLock { $0 = keys }
        return keys
    }

    func checkAvailable() throws(OIDCError) { _ = try keys() }
    func probe() throws(OIDCError) { _ = try keys() }

    func check(_ record: Record, of key: SessionKey?) throws(StoreFault) { _ = try open(record, of: key) }

    /// Refuses a record that is older than one that this machine had seen before it was read.
    func open(_ record: Record, of key: SessionKey?) throws(StoreFault) -> Session? {
        // The key of a removal may be gone; that must not keep anybody from signing in.
        guard unopenedRemoval(record) == nil else { return nil }
        let (sealed, plain) = try unsealed(record.bytes, .session, .removal)
        let session = sealed.content == .removal ? nil : try SharedSeal.session(plain, sealed)
        if let key, let session, !ExactText.isSame(session.key.text, key.text) {
            // Keys can be chosen that have the name of another's record, which must not be lost by that.
            throw session.key.fileStem == key.fileStem ? .otherKey : .ofAnotherSession
        }
        guard let reading = record.reading else { return session }
        // The server may return any record under any name.
        guard session?.key.fileStem ?? sealed.key == reading.stem else { throw .ofAnotherSession }
        let ended = sealed.content == .removal ? SharedSeal.ended(plain) : []
        guard sealed.version >= reading.newest else {
            // A sign-out stays one, also of a machine that had seen less, at a server that had lost data.
            if !ended.isEmpty { versions.note(SeenRecord(ended: ended), reading.stem) }
            if let latest = versions.seen(reading.stem).latest, ended.contains(latest) { return nil }
            throw .outdated(found: sealed.version, newest: reading.newest)
        }
        versions.note(
            SeenRecord(
                newest: sealed.version, latest: session?.signIn, key: session?.keyOfSignIn, ended: ended),
            reading.stem)
        // A machine that never saw the sign-out may have refreshed a session that the server brought back.
        if let session, hasEnded(session) { return nil }
        return session
    }

    /// Returns the fault of a record that claims to be a removal and was sealed with an unknown key; nil for any other.
    func unopenedRemoval(_ record: Record) -> StoreFault? {
        guard let sealed = try? SealedRecord(stored: record.bytes), sealed.content == .removal,
            let keys = try? keys(), keys.key(sealed.keyID) == nil
        else { return nil }
        return .unknownKey(sealed.keyID, known: keys.ids)
    }

    /// Returns whether this machine has seen the sign-out of a session, whatever became of its tokens elsewhere.
    func hasEnded(_ session: Session) -> Bool {
        session.signIn.map { versions.ended(session.key.fileStem).contains($0) } ?? false
    }

    /// Returns the sign-in of a record's session; nil if it cannot be read, or is known by none.
    func signIn(in bytes: [UInt8]?) -> String? {
        bytes.flatMap { try? session(in: $0) }?.signIn
    }

    /// Returns whether a removal is that of a session, whose version this machine knows to be old. Where it does not say
    /// what has ended, it counts if its version is later than the sign-in, as versions follow the clock.
    func ends(_ removal: Record, _ session: Session) -> Bool {
        guard let (sealed, plain) = try? unsealed(removal.bytes, .removal) else { return false }
        let ended = SharedSeal.ended(plain)
        guard let signIn = session.signIn, !ended.isEmpty else {
            return sealed.version > session.createdAt.secondsSinceEpoch
        }
        return ended.contains(signIn)
    }

    private static func ended(_ plain: [UInt8]) -> [String] {
        String(decoding: plain, as: UTF8.self).split(separator: " ").map(String.init)
    }

    /// Returns the session of a record of any version.
    func session(in bytes: [UInt8]) throws(StoreFault) -> Session {
        let (record, plain) = try unsealed(bytes, .session)
        return try SharedSeal.session(plain, record)
    }

    func seal(_ session: Session, over current: Record?) throws(OIDCError) -> [UInt8] {
        // Greater than that of `current`, which was opened, whatever this machine's clock says. The time matters only
        // if the server has lost the last record.
        var version = max(versions.newest(session.key.fileStem) + 1, now().secondsSinceEpoch)
        // That of a removal which cannot be opened is not proven, so it may not lead anywhere.
        if let current, unopenedRemoval(current) != nil,
            let sealed = try? SealedRecord(stored: current.bytes),
            sealed.version < version + 366 * 86_400
        {
            version = max(version, sealed.version + 1)
        }
        return try sealed(session.json.bytes, .session, of: session.key, version: version)
    }

    /// Returns the record that takes the place of a session that was removed. Nil if the keys cannot be used, or if
    /// `current` was sealed with another one, so the machines that have it could not open a record of ours.
    func removal(of stem: String, version: Int64, ended: [String], over current: Record?) -> [UInt8]? {
        guard let keys = try? keys() else { return nil }
        let sealed = current.flatMap { try? SealedRecord(stored: $0.bytes) }
        guard sealed.map({ keys.key($0.keyID) != nil }) ?? true else { return nil }
        return try? SealedRecord(
            sealing: Array(ended.joined(separator: " ").utf8), .removal, of: stem, version: version,
            with: keys.sealing
        ).bytes
    }

    func open(failure record: Record, of key: SessionKey) -> SharedFailure? {
        guard let (sealed, plain) = try? unsealed(record.bytes, .failure),
            ExactText.isSame(sealed.key, key.text), var failure = SharedFailure(stored: plain)
        else { return nil }
        // The clock of the machine that failed may be ahead of ours.
        let now = now()
        failure.time = min(failure.time, now)
        failure.sharedAt = failure.sharedAt.map { min($0, now) }
        return failure
    }

    func seal(_ failure: SharedFailure, of key: SessionKey) throws(OIDCError) -> [UInt8] {
        try sealed(failure.json.bytes, .failure, of: key, version: max(1, now().secondsSinceEpoch))
    }

    func sealed(
        _ plain: [UInt8], _ content: SealedRecord.Content, of key: SessionKey, version: Int64
    ) throws(OIDCError) -> [UInt8] {
        try SealedRecord(sealing: plain, content, of: key.text, version: version, with: try keys().sealing)
            .bytes
    }

    func unsealed(
        _ bytes: [UInt8], _ contents: SealedRecord.Content...
    ) throws(StoreFault) -> (SealedRecord, [UInt8]) {
        let record: SealedRecord
        do { record = try SealedRecord(stored: bytes) } catch {
            throw StoreFault(error, version: SealedRecord.formatVersion)
        }
        let keys: SealingKeys
        do throws(OIDCError) { keys = try self.keys() } catch { throw .notOpened(error) }
        guard let key = keys.key(record.keyID) else { throw .unknownKey(record.keyID, known: keys.ids) }
        let plain: [UInt8]
        do throws(CryptoError) {
            plain = try record.open(with: key)
        } catch {
            guard case .failed = error else { throw .notOpened(OIDCError(error, stage: .store)) }
            throw .untrusted("was changed by somebody without the key")
        }
        guard contents.contains(record.content) else { throw .ofAnotherSession }
        return (record, plain)
    }

    static func session(_ plain: [UInt8], _ record: SealedRecord) throws(StoreFault) -> Session {
        let session: Session
        do { session = try Session(stored: plain) } catch { throw StoreFault(error) }
        guard ExactText.isSame(session.key.text, record.key) else { throw .ofAnotherSession }
        return session
    }

    // Sealed records hold no secret elsewhere.
    func seal(document: [UInt8], of key: SessionKey) throws(OIDCError) -> [UInt8] {
        try sealed(document, .signIn, of: key, version: 1)
    }

    func open(document: [UInt8], of key: SessionKey) throws(StoreFault) -> [UInt8] {
        let (record, plain) = try unsealed(document, .signIn)
        guard ExactText.isSame(record.key, key.text) else { throw .ofAnotherSession }
        return plain
    }

    func forget(_ record: Record?, of stem: String) throws(OIDCError) {}
    func forget(leftover: Record) {}
    func description(of records: String) -> String { records }
    func location(_ location: String) -> String { location }
}

extension StoreFault {
    /// The fault of a record that the server returned for another session. Only a server that is broken or hostile
    /// does so, and a sign-in replaces it.
    static let ofAnotherSession = StoreFault.untrusted("is another session's; it is not used")
}

extension Session {
    /// The key as text, where there is a sign-in.
    var keyOfSignIn: String? { signIn == nil ? nil : key.text }
}
