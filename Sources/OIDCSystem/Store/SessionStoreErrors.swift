import OIDCCore

extension OIDCError {
    /// A fault of the store: kind `failed`, with the remedy.
    static func store(_ message: String, hint: Hint? = nil) -> OIDCError {
        OIDCError(.failed, message, hint: hint, stage: .store)
    }

    /// A file operation that failed; `subject` names the file.
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
                "\(subject): a part of this path is no directory", hint: .advice(.correctDirectory))
        }
        return .store("\(subject): \(error)")
    }
}
