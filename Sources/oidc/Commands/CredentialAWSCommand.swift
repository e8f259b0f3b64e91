import CommandLineKit
import OIDCCore

struct CredentialAWSCommand: RunnableCommand {
    static let name = "aws"
    static let summary = "Get AWS keys for a role (credential_process)"
    static let declaration = Declaration<CredentialAWSCommand>(
        discussion: """
            Exchanges the ID token for keys of the role `aws_role_arn` at the AWS Security Token Service \
            (AssumeRoleWithWebIdentity), and prints them in version 1 of the credential_process format. The keys are \
            kept with the session until five minutes before they end.
            """,
        examples: [
            Example("oidc credential aws --setup -p work", "lines for ~/.aws/config"),
            Example("oidc credential aws --set aws_role_arn=arn:aws:iam::1:role/dev", "without a profile"),
        ],
        options: [
            .value(\.type, "--type", "TYPE", "the token to send: ID token, or access token"),
            .flag(\.isSetup, "--setup", "print the lines for AWS's configuration"),
            .group(\.options), .group(\.common),
        ])

    var type = TokenKind.id
    var isSetup = false
    var options = ProviderOptions()
    var common = CommonOptions()
    var hasJSONForm: Bool { !isSetup }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        let account = try context.target(ofProgram: options).account()
        let role = try AWSCredential.Role(account.provider.settings.tools)
        let name = AWSCredential.name(role, type)
        if let kept = try account.load()?.kept(name, at: context.now) {
            try context.console.output(kept.value.revealed)
            return 0
        }
        let token = try CredentialToken(type, account)
        let obtain = { () throws(OIDCError) in
            try account.provider.transport().perform(AWSCredential.call(role, token.text))
        }
        try context.console.output(try account.keeping(name, obtain).revealed)
        return 0
    }

    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let command = try CredentialCommandLine("aws", context, options, type: type)
        _ = try AWSCredential.Role(command.settings.tools)
        let profile = command.settings.profile
        let name = profile == "default" ? "oidc" : profile ?? "oidc"
        try context.console.output(
            "[profile \(ShellWord.quoted(name))]\ncredential_process = \(command.line)")
        return 0
    }
}
