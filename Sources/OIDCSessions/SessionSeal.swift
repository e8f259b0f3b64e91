package import OIDCCore

/// The form in which a store's records hold sessions.
package protocol SessionSeal: Sendable {
    /// Checks, without asking a keychain, that a record is a session of `key`, or of any key if that is nil.
    func check(_ record: Record, of key: SessionKey?) throws(StoreFault)

    /// Returns the session of a record, which must be that of `key`, or of any key if that is nil. Returns nil if the
    /// record only says that its session was removed.
    func open(_ record: Record, of key: SessionKey?) throws(StoreFault) -> Session?

    /// Returns the record of a session that replaces `current`. May ask a keychain, so it is called without any lock
    /// that others wait for only briefly.
    func seal(_ session: Session, over current: Record?) throws(OIDCError) -> [UInt8]

    /// Returns the failure in a record; nil if it is not one of `key`.
    func open(failure record: Record, of key: SessionKey) -> SharedFailure?

    /// Returns the record of a failure.
    func seal(_ failure: SharedFailure, of key: SessionKey) throws(OIDCError) -> [UInt8]

    /// Forgets the secret of a record that was removed. `record` is nil if it could not be read.
    func forget(_ record: Record?, of stem: String) throws(OIDCError)

    /// Forgets the secret of a record that a killed sign-in left.
    func forget(leftover: Record)

    /// Seals a secret that is kept beside the session, such as the verifier of a waiting sign-in.
    func seal(document: [UInt8], of key: SessionKey) throws(OIDCError) -> [UInt8]

    /// Opens a secret that `seal(document:of:)` sealed.
    func open(document: [UInt8], of key: SessionKey) throws(StoreFault) -> [UInt8]

    /// Forgets the key of a sealed secret that was removed.
    func forget(document: [UInt8])

    /// Checks that a session could be sealed; called before the user signs in.
    func probe() throws(OIDCError)

    /// Checks that the keys are available, without using them.
    func checkAvailable() throws(OIDCError)

    /// Returns the description of a store, or the location of a session, with the place of the keys.
    func description(of records: String) -> String
    func location(_ location: String) -> String
}

extension SessionSeal {
    package func open(failure record: Record, of key: SessionKey) -> SharedFailure? {
        SharedFailure(stored: record.bytes)
    }

    package func seal(_ failure: SharedFailure, of key: SessionKey) throws(OIDCError) -> [UInt8] {
        failure.json.bytes
    }

    package func forget(document: [UInt8]) {}
}

/// The form of sessions that are not sealed.
package struct PlainSeal: SessionSeal {
    package init() {}

    package func check(_ record: Record, of key: SessionKey?) throws(StoreFault) {
        _ = try open(record, of: key)
    }

    package func open(_ record: Record, of key: SessionKey?) throws(StoreFault) -> Session? {
        let session: Session?
        do throws(Session.Damage) {
            if let key {
                session = try Session(stored: record.bytes, for: key)
            } else {
                session = try Session(stored: record.bytes)
            }
        } catch {
            throw StoreFault(error)
        }
        guard let session else { throw .ofUnmatched(record.bytes) }
        return session
    }

    package func seal(_ session: Session, over current: Record?) throws(OIDCError) -> [UInt8] {
        session.json.bytes
    }

    package func seal(document: [UInt8], of key: SessionKey) throws(OIDCError) -> [UInt8] { document }
    package func open(document: [UInt8], of key: SessionKey) throws(StoreFault) -> [UInt8] { document }
    package func forget(_ record: Record?, of stem: String) throws(OIDCError) {}
    package func forget(leftover: Record) {}
    package func probe() throws(OIDCError) {}
    package func checkAvailable() throws(OIDCError) {}
    package func description(of records: String) -> String { records }
    package func location(_ location: String) -> String { location }
}
