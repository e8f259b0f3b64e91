import CommandLineKit
import OIDCCore
import OIDCShared
import Posix

struct ConfigNewKeyCommand: RunnableCommand {
    static let name = "new-key"
    static let summary = "Make a key for a shared store"
    static let declaration = Declaration<ConfigNewKeyCommand>(
        discussion: """
            Prints 32 random bytes as one line of base64, or writes them into a new file with mode 0600, for \
            store_key_file. Every machine of the fleet needs the same key. To replace it, add the new key as a second \
            line on every machine, then make it the first line, then remove the old one: the first line seals, both \
            open.
            """,
        examples: [
            Example("oidc config new-key ~/.config/oidc/store.key", "a key in a file of its own"),
            Example(
                "oidc config new-key | kubectl create secret generic oidc --from-file=store-key=/dev/stdin",
                "a key in a Kubernetes Secret, without a file"),
        ],
        operands: [.optional(\.file, "FILE", "the file to make; without one, stdout", completion: .file)],
        options: [.group(\.common)])

    var file: String?
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let key = SealingKeys.newKey()
        guard let file, file != "-" else {
            if context.console.isJSON {
                try context.console.output(["key": .string(key)])
            } else {
                try context.console.output(key)
            }
            return 0
        }
        guard !UserFile.isThere(file) else {
            throw OIDCError.usage(
                "\(DisplayText.clean(file)) already exists, and a lost key cannot be restored",
                hint: "name another file")
        }
        try UserFile.rewrite(file, followingLinks: false, named: Setting.storeKeyFile.name) {
            Array((key + "\n").utf8)
        }
        context.console.note("Wrote a new key to \(DisplayText.clean(file)), readable by you only.")
        guard context.console.isJSON else { return 0 }
        try context.console.output(["path": .string(UserFile.absolute(file))])
        return 0
    }
}
