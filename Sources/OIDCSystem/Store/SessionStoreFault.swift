import OIDCCore

/// The reason why a file's content is not the requested session.
enum SessionFault: Hashable, Sendable {
    case otherKey
    case newerVersion(Int64)
    case damaged(String)

    init(_ damage: Session.Damage) {
        switch damage {
        case .notJSON(let reason): self = .damaged("it is not valid JSON: \(reason)")
        case .newerVersion(let version): self = .newerVersion(version)
        case .member(let name): self = .damaged("its member \(name) is missing or wrong")
        }
    }

    /// Returns the fault of a file that has no key, or another session's.
    static func ofUnmatched(_ bytes: [UInt8]) -> SessionFault {
        let key = (try? JSONValue(parsing: bytes))?["key"]?.string
        return key == nil ? SessionFault(.member("key")) : .otherKey
    }

    func storeError(_ path: String) -> OIDCError {
        let subject = "the session file \(DisplayText.clean(path))"
        switch self {
        case .otherKey:
            return .store(
                "\(subject) contains another session's key; it is neither used nor overwritten",
                hint: "move it away: mv \(ShellWord.quoted(path)) \(ShellWord.quoted(path)).old")
        case .newerVersion(let version):
            return .store(
                "\(subject) was written by a newer oidc: expected version \(Session.formatVersion) at most,"
                    + " found \(version)",
                hint: .advice(.useNewerVersion))
        case .damaged(let reason):
            return .damagedFile("\(subject) is damaged: \(reason)")
        }
    }
}

extension SessionKey {
    /// Returns the result of `read`, but nil for a damaged session of a grant without a user, as the next
    /// token replaces it.
    func readIfWhole(_ read: () throws(OIDCError) -> Session?) throws(OIDCError) -> Session? {
        do throws(OIDCError) {
            return try read()
        } catch {
            guard !grant.needsUser, error.code == .damagedSession else { throw error }
            return nil
        }
    }
}

extension OIDCError {
    /// Returns an error of kind `failed` about the store.
    static func store(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.failed, message, hint: hint, stage: .store)
    }

    /// Returns the error of a session file that cannot be used. A sign-in replaces it.
    static func damagedFile(_ message: String) -> OIDCError {
        OIDCError(.loginRequired, message, hint: .signIn, stage: .store, code: .damagedSession)
    }

    /// Returns the error of a failed file operation; `subject` names the file.
    static func store(_ subject: String, _ error: Errno) -> OIDCError {
        if let hint = error.shortageHint { return .store("\(subject): \(error)", hint: hint) }
        if error.isFull {
            return .store(
                "\(subject): \(error)", hint: .advice(.freeSpace))
        }
        if error.isReadOnly || error.isDenied {
            return .store(
                "\(subject): \(error)", hint: .advice(.useWritableDirectory))
        }
        if error == .notADirectory {
            return .store(
                "\(subject): a part of this path is not a directory", hint: .advice(.correctDirectory))
        }
        return .store("\(subject): \(error)")
    }
}
