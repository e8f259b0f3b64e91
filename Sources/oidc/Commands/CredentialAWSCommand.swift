import CommandLineKit
import OIDCCore
import OIDCSystem

struct CredentialAWSCommand: RunnableCommand {
    static let name = "aws"
    static let summary = "Give aws the keys of a role (credential_process)"
    static let declaration = Declaration<CredentialAWSCommand>(
        discussion: """
            Exchanges the ID token for the keys of `aws_role_arn` at AWS's Security Token Service \
            (AssumeRoleWithWebIdentity), and prints version 1 of credential_process.
            """,
        examples: [
            Example("oidc credential aws --setup -p work", "what goes into ~/.aws/config"),
            Example("oidc credential aws --set aws_role_arn=arn:aws:iam::1:role/dev", "without a profile"),
        ],
        options: [
            .value(\.type, "--type", "TYPE", "the ID token, or an access token that AWS knows"),
            .flag(\.isSetup, "--setup", "print what goes into AWS's configuration"),
            .group(\.provider), .group(\.common),
        ])

    var type = TokenCommand.TokenKind.id
    var isSetup = false
    var provider = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        let access = try context.access(provider)
        let role = try AWSCredential.Role(access.setup.settings)
        let token = try HandedToken(type, access)
        let credential = try access.setup.transport().perform(AWSCredential.call(role, token.text))
        try context.console.output(credential.json.compact)
        return 0
    }

    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let more = type == .id ? [] : ["--type", type.rawValue]
        let setup = try CredentialSetup("aws", context, provider, more: more)
        _ = try AWSCredential.Role(setup.settings)
        let profile = setup.settings.profile
        let name = profile == "default" ? "oidc" : profile ?? "oidc"
        try context.console.output("[profile \(ShellWord.quoted(name))]\ncredential_process = \(setup.line)")
        return 0
    }
}
