import OIDCCore
import OIDCSessions
import Posix

/// The sessions that wait for a shared store. Each is kept on this machine, sealed like the records, until the server
/// has it; if the server is unreachable for too long or the process is killed, a later command writes it.
struct PendingSessions: Sendable {
    private static let ending = ".sealed"

    private let directory: SessionDirectory
    private let path: String

    /// Creates access to the files in `pending` below a state directory.
    init(state path: String) {
        self.path = "\(FilePath.trimmed(path))/pending"
        directory = SessionDirectory(
            path: self.path, ending: PendingSessions.ending, noun: "pending session")
    }

    /// The names of the sessions that wait.
    var names: [String] { (try? directory.names()) ?? [] }

    /// Why no session could wait here; nil if one could.
    var failure: OIDCError? { directory.failure }

    func location(_ name: String) -> String { directory.location(name) }

    func content(_ name: String) -> [UInt8]? { try? read(name) }

    /// Returns the content; nil if no session waits. Throws if one cannot be read.
    func read(_ name: String) throws(OIDCError) -> [UInt8]? {
        do throws(OIDCError) { return try directory.read(name) } catch {
            guard mayWait(name) else { return nil }
            throw keeping(error, name)
        }
    }

    /// Returns the error with a hint that keeps what waits here: in another directory, or once it is moved away, it would not
    /// be found.
    private func keeping(_ error: OIDCError, _ name: String) -> OIDCError {
        var error = error
        let directory = try? FilePath.status(path)
        let files = [location(name), "\(path)/\(name)\(SessionDirectory.leftoverEnding)"]
        let places = ([directory] + files.map { try? FilePath.status($0) }).compactMap { $0 }
        if places.contains(where: { $0.kind == .symbolicLink }) {
            error.hint =
                "a session may wait there: put what the link leads to in its place, or, if that is lost, remove the link"
        } else if places.contains(where: \.isSomeoneElses) {
            error.hint = .text(
                "a session may wait there, so make it yours again: sudo chown -R \"$USER\" "
                    + ShellWord.quoted(path))
        } else if let opening = FilePath.opening(path) {
            error.hint = .text("a session may wait there, so open it again: \(opening)")
        } else {
            return error
        }
        // Another directory is no way on.
        error.code = nil
        return error
    }

    /// Throws if a copy of a session cannot be read: that of this store, `name`, or of another spelling of its URL, also one
    /// that a killed process had not put in place. They are looked for in a directory of any mode and owner. `isReplaced` is
    /// whether a later sign-in has made one useless.
    func checkReadable(
        _ stem: String, _ name: String, unless isReplaced: (String) -> Bool
    ) throws(OIDCError) {
        _ = try read(name)
        let files: [String]
        do throws(Errno) { files = try FilePath.names(in: path) } catch {
            guard ![.noSuchFile, .notADirectory].contains(error), isReachable else { return }
            throw keeping(.store(DisplayText.clean(path), error), name)
        }
        for file in files where file.hasPrefix("\(stem)-") {
            for (ending, isWhole) in [
                (PendingSessions.ending, true), (SessionDirectory.leftoverEnding, false),
            ]
            where file.hasSuffix(ending) {
                let name = String(file.dropLast(ending.utf8.count))
                guard !isReplaced(name) else { continue }
                do throws(OIDCError) {
                    if isWhole {
                        _ = try read(name)
                    } else {
                        try directory.checkLeftover(name, besideFile: false)
                    }
                } catch { throw isWhole ? error : keeping(error, name) }
            }
        }
    }

    /// Returns whether a file may be there: not in a directory that this user cannot reach, whatever is wrong with it.
    private func mayWait(_ name: String) -> Bool {
        do throws(Errno) { _ = try FilePath.status(location(name)) } catch {
            if [.noSuchFile, .notADirectory].contains(error) { return false }
        }
        return isReachable
    }

    /// Whether the state directory can be reached, or could be until this user closed a directory above it.
    private var isReachable: Bool {
        do throws(Errno) { _ = try FilePath.status(FilePath.split(path).directory) } catch {
            return error != .permissionDenied || FilePath.opening(path) != nil
        }
        return true
    }

    /// The names of the copies that killed processes had not put in place.
    var leftovers: [String] { directory.leftovers }

    /// Completes the write of a killed process, if `isWhole` returns true for what it left: that may be the only copy of a
    /// refresh token. A later writer would have replaced it.
    func adoptLeftover(_ name: String, if isWhole: ([UInt8]) -> Bool) {
        directory.adoptLeftover(name) { _, leftover in isWhole(leftover.content) }
    }

    func keep(_ bytes: [UInt8], _ name: String) throws(OIDCError) {
        try directory.replace(name) { _ in bytes }
    }

    /// Returns whether a copy that a killed process had not put in place is still there, and whole.
    func hasLeftover(_ name: String, if isWhole: ([UInt8]) -> Bool) -> Bool {
        var isLeft = false
        directory.adoptLeftover(name) { _, leftover in
            isLeft = isWhole(leftover.content)
            return false
        }
        return isLeft
    }

    func remove(_ name: String) { _ = try? directory.remove(name) }

    /// Removes what waits, whatever was done to it.
    func removeAll(_ name: String) {
        remove(name)
        directory.removeForeignLeftover(name)
    }

    /// Removes a file unless another process has written it again.
    func remove(_ name: String, ifStill bytes: [UInt8]) {
        _ = try? directory.remove(name) { $0 == bytes ? .removed : .refused }
    }
}

/// The content of a pending session's file.
struct PendingSession {
    var session: Session
    /// The session that it replaces; nil if there was none.
    var current: Session?

    /// Returns the session to store in place of `stored`, which is nil after a sign-out; nil if `stored` stays.
    func replacement(of stored: Session?) -> Session? {
        guard let stored else { return current == nil || !session.key.grant.needsUser ? session : nil }
        return stored == current ? session : current.flatMap { stored.successor(session, of: $0) }
    }
}

extension SharedSeal {
    func seal(_ pending: PendingSession) throws(OIDCError) -> [UInt8] {
        var object = JSONObject()
        object["session"] = pending.session.json
        object["replaces"] = pending.current?.json
        return try sealed(
            JSONValue.object(object).bytes, .pending, of: pending.session.key,
            version: max(1, now().secondsSinceEpoch))
    }

    func open(pending bytes: [UInt8], _ stem: String) throws(StoreFault) -> PendingSession {
        let (record, plain) = try unsealed(bytes, .pending)
        guard let json = try? JSONValue(parsing: plain), let text = json["session"] else {
            throw StoreFault(.member("session"))
        }
        var pending = PendingSession(session: try SharedSeal.session(text.bytes, record))
        guard pending.session.key.fileStem == stem else { throw .ofAnotherSession }
        if let replaced = json["replaces"] {
            pending.current = try SharedSeal.session(replaced.bytes, record)
        }
        return pending
    }
}

/// The result of keeping a session on this machine.
enum LocalCopy {
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
