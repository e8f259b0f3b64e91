import OIDCCore
import OIDCSessions
import Posix

/// The sessions that wait for a shared store. Each is kept on this machine, sealed like the records, until the server
/// has it; if the server is unreachable for too long or the process is killed, a later command writes it.
struct PendingSessions: Sendable {
    private let directory: SessionDirectory

    /// Creates access to the files in `pending` below a state directory.
    init(state path: String) {
        directory = SessionDirectory(
            path: "\(FilePath.trimmed(path))/pending", ending: ".sealed", noun: "pending session")
    }

    func content(_ name: String) -> [UInt8]? { try? directory.read(name) }

    func keep(_ bytes: [UInt8], _ name: String) throws(OIDCError) {
        try directory.replace(name) { _ in bytes }
    }

    func remove(_ name: String) {
        _ = try? directory.remove(name)
    }

    /// Removes a file unless another process has written it again.
    func remove(_ name: String, ifStill bytes: [UInt8]) {
        _ = try? directory.remove(name) { $0 == bytes ? .removed : .refused }
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

    /// The result of saving a session on this machine.
    private enum LocalCopy {
        case stored(_ bytes: [UInt8])
        case failed(OIDCError)
        /// This machine has no directory for it.
        case unavailable

        var bytes: [UInt8]? {
            if case .stored(let bytes) = self { return bytes }
            return nil
        }

        /// Returns the error of the server, with a note about the copy.
        func noted(in error: OIDCError) -> OIDCError {
            var error = error
            switch self {
            case .stored:
                error.message += "; the new session is kept on this machine, and the next command stores it"
            case .failed(let failure):
                error.message += "; it could not be kept on this machine either: \(failure.message)"
            case .unavailable: break
            }
            return error
        }
    }

    /// Replaces a session after its refresh token was presented. The new one exists nowhere else, so it is saved
    /// on this machine first: the server may not answer before this process is killed.
    func replaceRefreshed(
        _ current: Session?, with session: Session, under lease: SharedLease
    ) throws(OIDCError) -> Bool {
        let known = onServer(current, session.key)
        let copy = saveCopy(session, replacing: known)
        if let outage = lease.outage { throw copy.noted(in: outage) }
        let retries = copy.bytes == nil ? times.presenting.milliseconds / 3 : SharedSessionStore.retries
        let end = runtime.now().adding(milliseconds: retries)
        while true {
            do throws(OIDCError) {
                var isReplaced = try replaced(current, with: session)
                if !isReplaced, known != current { isReplaced = try replaced(known, with: session) }
                if let bytes = copy.bytes { pending?.remove(pendingName(session.key), ifStill: bytes) }
                return isReplaced
            } catch {
                guard error.kind == .unreachable, runtime.now() < end else {
                    if error.kind == .unreachable { lease.note(outage: error) }
                    throw copy.noted(in: error)
                }
                runtime.sleep(500)
            }
        }
    }

    /// How long a failed write is retried, in milliseconds. A failover takes a few seconds.
    private static let retries: Int64 = 5_000

    /// Returns the session that the server has: another one than `current` if that is still waiting for it.
    private func onServer(_ current: Session?, _ key: SessionKey) -> Session? {
        guard let bytes = pending?.content(pendingName(key)),
            let waiting = try? records.pending(bytes, key), waiting.session == current
        else { return current }
        return waiting.current
    }

    private func saveCopy(_ session: Session, replacing current: Session?) -> LocalCopy {
        guard let pending else { return .unavailable }
        do throws(OIDCError) {
            let bytes = try records.pending(session, replacing: current)
            try pending.keep(bytes, pendingName(session.key))
            return .stored(bytes)
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

    /// Whether a session waits for the server.
    func hasPending(_ key: SessionKey) -> Bool { pending?.content(pendingName(key)) != nil }

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
        if try !replaced(found.current, with: found.session), let current = found.current,
            let rest = try records.session(key)?.session, rest.isRest(of: current)
        {
            _ = try replaced(rest, with: found.session)
        }
        pending.remove(name, ifStill: bytes)
    }

    func removePending(_ key: SessionKey) {
        pending?.remove(pendingName(key))
    }
}
