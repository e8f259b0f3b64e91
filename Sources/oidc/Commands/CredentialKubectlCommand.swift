import CommandLineKit
import OIDCCore
import OIDCSystem

struct CredentialKubectlCommand: RunnableCommand {
    static let name = "kubectl"
    static let summary = "Give kubectl a token (ExecCredential)"
    static let declaration = Declaration<CredentialKubectlCommand>(
        discussion: """
            Answers in the version that KUBERNETES_EXEC_INFO asks for, v1 or v1beta1. Never asks anybody: \
            without a session it fails, and kubectl shows why.
            """,
        examples: [
            Example("oidc credential kubectl --setup -p work", "the command that configures kubectl"),
            Example("oidc credential kubectl --type access", "for a cluster that takes access tokens"),
        ],
        options: [
            .value(\.type, "--type", "TYPE", "the ID token, or the access token"),
            .flag(\.isSetup, "--setup", "print the command that configures kubectl"),
            .group(\.provider), .group(\.common),
        ])

    var type = TokenCommand.TokenKind.id
    var isSetup = false
    var provider = ProviderOptions()
    var common = CommonOptions()

    func run(_ context: CommandContext) throws(OIDCError) -> Int32 {
        guard !isSetup else { return try setUp(context) }
        let credential = try KubernetesCredential(
            executionInfo: context.environment["KUBERNETES_EXEC_INFO"])
        let token = try HandedToken(type, try context.access(provider))
        try context.console.output(credential.answer(token).compact)
        return 0
    }

    /// `v1beta1` is what old and new versions of kubectl both know.
    private func setUp(_ context: CommandContext) throws(OIDCError) -> Int32 {
        let more = type == .id ? [] : ["--type", type.rawValue]
        let setup = try CredentialSetup("kubectl", context, provider, more: more)
        var lines = [
            "kubectl config set-credentials oidc",
            "--exec-api-version=\(KubernetesCredential.group)/v1beta1",
            "--exec-command=\(ShellWord.quoted(setup.words[0]))",
        ]
        lines += setup.words.dropFirst().map { "--exec-arg=\(ShellWord.quoted($0))" }
        try context.console.output(lines.joined(separator: " \\\n  "))
        context.console.note("Then use it: kubectl --user=oidc …, or in a context with --user=oidc.")
        return 0
    }
}
