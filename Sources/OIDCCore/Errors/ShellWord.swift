/// A string as one word for a shell, for a hint that is pasted.
package enum ShellWord {
    /// Returns the string without control characters, in single quotes if a shell would read it otherwise.
    package static func quoted(_ text: String) -> String {
        let text = DisplayText.clean(text, limit: 4_096)
        let isPlain = text.utf8.allSatisfy { ASCII.isAlphanumeric($0) || "/._-+,@%:=".utf8.contains($0) }
        guard !isPlain || text.isEmpty else { return text }
        var quoted: [UInt8] = [0x27]
        for byte in text.utf8 { quoted += byte == 0x27 ? Array(#"'\''"#.utf8) : [byte] }
        return String(decoding: quoted + [0x27], as: UTF8.self)
    }
}
