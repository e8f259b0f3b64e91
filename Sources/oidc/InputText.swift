import OIDCCore
import OIDCSystem

/// Text that an option names: a file, or `-` for stdin.
enum InputText {
    static func read(_ path: String, limit: Int = 1 << 20, named name: String) throws(OIDCError) -> String {
        let bytes =
            path == "-"
            ? try UserFile.readStandardInput(limit: limit)
            : try UserFile.require(path, limit: limit, named: name).bytes
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw OIDCError.usage("\(name): expected UTF-8 text")
        }
        return text
    }
}
