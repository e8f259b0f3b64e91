import OIDCCore

extension OIDCError {
    /// A fault of the store: kind `failed`, with the remedy.
    static func store(_ message: String, hint: String? = nil) -> OIDCError {
        OIDCError(.failed, message, hint: hint, stage: .store)
    }

    /// A file operation that failed; `subject` names the file.
    static func store(_ subject: String, _ error: FileSystemError) -> OIDCError {
        if error.isFull {
            return .store(
                "\(subject): \(error.text)", hint: "free some space, or set OIDC_STATE_DIR to another disk")
        }
        if error.isReadOnly || error.isDenied {
            return .store(
                "\(subject): \(error.text)", hint: "set OIDC_STATE_DIR to a directory that you can write")
        }
        if error.isNoDirectory {
            return .store(
                "\(subject): a part of this path is no directory", hint: "correct OIDC_STATE_DIR or HOME")
        }
        return .store("\(subject): \(error.text)")
    }
}

/// A path as a word for a shell, for a remedy that is pasted.
enum ShellWord {
    static func quoted(_ text: String) -> String {
        let text = DisplayText.clean(text, limit: 4_096)
        let isPlain = text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "/._-+,@%:=".utf8.contains($0) }
        guard !isPlain || text.isEmpty else { return text }
        var quoted: [UInt8] = [0x27]
        for byte in text.utf8 { quoted += byte == 0x27 ? Array(#"'\''"#.utf8) : [byte] }
        return String(decoding: quoted + [0x27], as: UTF8.self)
    }
}
