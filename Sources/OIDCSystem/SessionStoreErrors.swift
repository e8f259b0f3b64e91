import OIDCCore

extension OIDCError {
    /// A fault of the store: kind `failed`, with the remedy.
    static func store(_ message: String, hint: String? = nil) -> OIDCError {
        OIDCError(.failed, message, hint: hint, stage: .store)
    }

    /// A file operation that failed; `subject` names the file.
    static func store(_ subject: String, _ error: Errno) -> OIDCError {
        if let hint = error.shortageHint { return .store("\(subject): \(error)", hint: hint) }
        if error.isFull {
            return .store(
                "\(subject): \(error)", hint: "free some space, or set OIDC_STATE_DIR to another disk")
        }
        if error.isReadOnly || error.isDenied {
            return .store(
                "\(subject): \(error)", hint: "set OIDC_STATE_DIR to a directory that you can write")
        }
        if error == .notADirectory {
            return .store(
                "\(subject): a part of this path is no directory", hint: "correct OIDC_STATE_DIR or HOME")
        }
        return .store("\(subject): \(error)")
    }
}
