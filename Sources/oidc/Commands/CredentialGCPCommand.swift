import CommandLineKit
import OIDCCore
import Posix

struct CredentialGCPCommand: RunnableCommand {
    static let name = "gcp"
    static let summary = "Give Google's libraries a token (external account)"
    static let declaration = Declaration<CredentialGCPCommand>(
        discussion: """
            Serves as the executable of an external account's credential source. As that protocol requires, a \
            failure is also JSON on stdout, with exit 0.
            """,
        examples: [
            Example("oidc credential gcp --setup -p work > account.json", "the configuration for Google"),
            Example("oidc credential gcp", "the answer that Google's library gets"),
        ],
        options: [
            .value(\.type, "--type", "TYPE", "the token to send: ID token, or JWT access token"),
            .flag(\.isSetup, "--setup", "print the external account's configuration"),
            .group(\.options), .group(\.common),
        ])

    var type = TokenKind.id
    var isSetup = false
    var options = ProviderOptions()
    var common = CommonOptions()

    private var standardType: String {
        type == .id ? GoogleCredential.idTokenType : GoogleCredential.jwtType
    }

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        let answer: JSONValue
        do {
            let account = try context.target(ofProgram: options).account()
            let tokenType = try GoogleCredential.tokenType(
                context.environment, setting: account.provider.settings.tools.gcpTokenType,
                default: standardType)
            answer = GoogleCredential.success(try CredentialToken(type, account), type: tokenType)
        } catch {
            guard error.kind != .interrupted else { throw error }
            answer = GoogleCredential.failure(error)
        }
        try context.console.output(answer.compact)
        return 0
    }

    /// Prints the configuration. Google's libraries split the command at every space, so no word may contain
    /// one.
    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let command = try CredentialCommandLine("gcp", context, options, type: type)
        guard !command.words.contains(where: { $0.contains(" ") }) else {
            throw .usage(
                "Google's libraries cannot pass on an option with a space in it",
                hint: "put these settings into a profile, and name it with -p")
        }
        let tokenType = try GoogleCredential.tokenType(
            [:], setting: command.settings.tools.gcpTokenType, default: standardType)
        let audience =
            "//iam.googleapis.com/projects/PROJECT_NUMBER/locations/global/workloadIdentityPools/POOL/providers/"
            + "PROVIDER"
        let configuration: JSONValue = [
            "type": "external_account", "audience": .string(audience),
            "subject_token_type": .string(tokenType), "token_url": "https://sts.googleapis.com/v1/token",
            "credential_source": [
                "executable": [
                    "command": .string(command.words.joined(separator: " ")), "timeout_millis": 30_000,
                ]
            ],
        ]
        try context.console.output(configuration.indented)
        context.console.note(
            "Put the names of your workload identity pool into audience, and set "
                + "GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES=1 where it is used.")
        return 0
    }
}
