import CommandLineKit
import OIDCCore
import OIDCCrypto

struct PKCECommand: RunnableCommand {
    static let name = "pkce"
    static let summary = "Generate a PKCE verifier and its challenge"
    static let declaration = Declaration<PKCECommand>(
        discussion: """
            Prints a code verifier of 32 random bytes and its S256 challenge (RFC 7636) as JSON. The plain \
            method is not offered.
            """,
        examples: [
            Example("oidc pkce", "a new pair"),
            Example("oidc pkce --verifier-file verifier.txt", "the challenge of an existing verifier"),
        ],
        options: [
            .value(
                \.verifierFile, "--verifier-file", "FILE", "read the verifier from a file, or - for stdin",
                completion: .file),
            .group(\.common),
        ])

    var verifierFile: String?
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let pkce: PKCE
        if let verifierFile {
            let text = try InputText.read(context.path(verifierFile), limit: 4_096, named: "--verifier-file")
            pkce = try PKCE(verifier: ASCII.trimmed(text))
        } else {
            pkce = PKCE.generate(random: Random.bytes)
        }
        try context.console.output([
            "code_verifier": .string(pkce.verifier.revealed),
            "code_challenge": .string(try pkce.challenge),
            "code_challenge_method": "S256",
        ])
        return 0
    }
}
