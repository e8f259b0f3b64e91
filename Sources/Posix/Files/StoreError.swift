package import OIDCCore

extension OIDCError {
    /// Returns an error of kind `failed` about the store.
    package static func store(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.failed, message, hint: hint, stage: .store)
    }

    /// Returns the error of a session file that cannot be used. A sign-in replaces it.
    package static func damagedFile(_ message: String) -> OIDCError {
        OIDCError(.loginRequired, message, hint: .signIn, stage: .store, code: .damagedSession)
    }

    /// Returns the error of a failed file operation; `subject` names the file. With its path, the hint opens a directory on
    /// the way to it that this user has closed to themselves.
    package static func store(_ subject: String, _ error: Errno, at path: String? = nil) -> OIDCError {
        if let hint = error.shortageHint { return .store("\(subject): \(error)", hint: hint) }
        if error.isFull {
            return .store(
                "\(subject): \(error)", hint: .advice(.freeSpace))
        }
        if error.isReadOnly || error.isDenied {
            let opening = error.isDenied ? path.flatMap { FilePath.opening($0) } : nil
            let hint = opening.map { Hint.text($0) } ?? .advice(.useWritableDirectory)
            return OIDCError(.failed, "\(subject): \(error)", hint: hint, stage: .store, code: .notWritable)
        }
        if error == .notADirectory {
            return .store(
                "\(subject): a part of this path is not a directory", hint: .advice(.correctDirectory))
        }
        return .store("\(subject): \(error)")
    }
}
