import OIDCCore

/// The sessions that wait for a shared store. Each is kept on this machine, sealed like the records, until the server
/// has it; if the server is unreachable for too long or the process is killed, a later command writes it.
struct PendingSessions: Sendable {
    private let directory: SessionDirectory

    /// Creates access to the files in `pending` below a state directory.
    init(state path: String) {
        directory = SessionDirectory(
            path: "\(StateDirectories.trimmed(path))/pending", ending: ".sealed", noun: "pending session")
    }

    func content(_ name: String) -> [UInt8]? { try? directory.read(name) }

    func keep(_ bytes: [UInt8], _ name: String) throws(OIDCError) {
        try directory.replace(name) { _ in bytes }
    }

    func remove(_ name: String) {
        _ = try? directory.remove(name) { _ in }
    }
}

extension SharedRecords {
    /// Returns the content of a pending session's file: the session, and the one that it replaces.
    func pending(_ session: Session, replacing current: Session?) throws(OIDCError) -> [UInt8] {
        var object = JSONObject()
        object["session"] = session.json
        object["replaces"] = current?.json
        return try SealedRecord(
            sealing: JSONValue.object(object).bytes, .pending, of: session.key,
            version: max(1, now().secondsSinceEpoch), with: try keys().sealing
        ).bytes
    }

    /// Parses the content of a pending session's file.
    func pending(
        _ bytes: [UInt8], _ key: SessionKey
    ) throws(OIDCError) -> (session: Session, current: Session?) {
        let (record, plain) = try opened(bytes, .pending, key.fileStem)
        guard ExactText.isSame(record.key, key.text), let json = try? JSONValue(parsing: plain),
            let text = json["session"]
        else {
            throw .store("a pending session of \(engine.description) is damaged")
        }
        let current = try json["replaces"].map { json throws(OIDCError) in
            try parsed(json.bytes, record, key.fileStem)
        }
        return (try parsed(text.bytes, record, key.fileStem), current)
    }
}

extension SharedSessionStore {
    private func pendingName(_ key: SessionKey) -> String { records.fileName(key.fileStem) }

    /// Whether a session is kept on this machine.
    enum Keeping {
        case kept
        case failed(OIDCError)
        /// This machine has no directory for it.
        case impossible

        var isKept: Bool {
            if case .kept = self { return true }
            return false
        }

        /// Returns the error of the server, with a note about the session.
        func noted(in error: OIDCError) -> OIDCError {
            var error = error
            switch self {
            case .kept: error.message += "; it is kept on this machine, and the next command stores it"
            case .failed(let failure):
                error.message += "; it could not be kept on this machine either: \(failure.message)"
            case .impossible: break
            }
            return error
        }
    }

    /// Keeps a session on this machine until the server has it.
    func keepPending(_ session: Session, replacing current: Session?) -> Keeping {
        guard let pending else { return .impossible }
        do throws(OIDCError) {
            try pending.keep(try records.pending(session, replacing: current), pendingName(session.key))
            return .kept
        } catch {
            return .failed(error)
        }
    }

    /// Returns the session that waits for the server; nil if there is none.
    func pendingSession(_ key: SessionKey) throws(OIDCError) -> Session? {
        try pending?.content(pendingName(key)).map { bytes throws(OIDCError) in
            try records.pending(bytes, key).session
        }
    }

    /// Writes a pending session, unless the stored one has changed meanwhile.
    func writePending(_ key: SessionKey) throws(OIDCError) {
        let name = pendingName(key)
        guard let pending, let bytes = pending.content(name) else { return }
        let found: (session: Session, current: Session?)
        do throws(OIDCError) { found = try records.pending(bytes, key) } catch {
            // It may be sealed with a key that is only missing for now. A damaged one is useless.
            guard error.kind != .usage else { throw error }
            return pending.remove(name)
        }
        // Another process may have presented the same refresh token, and dropped it when it was refused.
        if try !replaced(found.current, with: found.session), let current = found.current {
            _ = try replaced(current.withoutRefreshToken, with: found.session)
        }
        pending.remove(name)
    }

    func removePending(_ key: SessionKey) {
        pending?.remove(pendingName(key))
    }
}
